"""Invented secrets of every shape that redaction claims to see, put together at run time.

They are joined from parts, so that no scanner of this repository takes them for real ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from urllib.parse import quote, quote_plus

BODY = "0a1B2c3D4e5F6g7H8i9J"
CANARIES: Mapping[str, str] = {
    "api_key": "sk" + "-live-" + BODY,
    "aws_key": "AK" + "IAIOSFODNN7EXAMPLE",
    "github_token": "gh" + "p_" + BODY + BODY,
    "gitlab_token": "gl" + "pat-" + BODY,
    "slack_token": "xo" + "xb-123456789012-" + BODY,
    "google_key": "AI" + "za" + BODY + BODY,
    "npm_token": "np" + "m_" + BODY + BODY,
    "hub_token": "h" + "f_" + BODY + BODY,
    "sendgrid_key": "S" + "G." + BODY + "." + BODY,
    "jwt": "ey" + "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + BODY,
    "bearer": "Bearer " + BODY,
    "authorization": "Authorization: Basic dXNlcjpw" + BODY + "==",
    "cookie": "Cookie: sid=" + BODY,
    "password": "password=" + BODY,
    "client_secret": "client_secret: " + BODY,
    "url_credentials": "https://robot:" + BODY + "@db.example.com/x",
    "card_number": "4111 1111 1111 1111",
    "private_key": "-----BEGIN RSA PRIVATE" + f" KEY-----\n{BODY}\n-----END RSA PRIVATE KEY-----",
}
ENCODINGS: Mapping[str, Callable[[str], str]] = {
    "plain": str,
    "in prose": lambda text: f"it says {text} there",
    "quoted": lambda text: f'"{text}"',
    "JSON": lambda text: json.dumps({"note": f"first line\n{text}"}),
    "JSON in JSON": lambda text: json.dumps(json.dumps({"note": f"first line\n{text}"})),
    "url-encoded": lambda text: "q%3Dx%20" + quote(text, safe=""),
    "form-encoded": lambda text: "q=x+" + quote_plus(text),
}


def secret_part(text: str) -> str:
    """Return the part of a canary that must not be found anywhere."""
    return BODY if BODY in text else text


def traces_of(canary: str, content: bytes | str) -> list[str]:
    """Return in which encodings a canary's secret part still stands in some content."""
    text = content if isinstance(content, str) else content.decode()
    part = secret_part(canary)
    forms = {name: encode(part) for name, encode in ENCODINGS.items()}
    forms.update(plain=part, bare=quote(part, safe=""), plus=quote_plus(part))
    return sorted(name for name, form in forms.items() if form in text)
