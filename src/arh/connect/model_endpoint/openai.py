"""What both OpenAI dialects share: the form of an error, and what tools a client may offer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from arh.connect.model_endpoint.wire import Data, Fault, Wire
from arh.errors import quoted

# By reason: the status, the error's type and its code.
_FORMS: Final[Mapping[str, tuple[int, str, str | None]]] = {
    "invalid": (400, "invalid_request_error", None),
    "unauthorized": (401, "invalid_request_error", "invalid_api_key"),
    "not_found": (404, "invalid_request_error", "not_found"),
    "method": (405, "invalid_request_error", "method_not_allowed"),
    "length": (411, "invalid_request_error", "length_required"),
    "too_large": (413, "invalid_request_error", "request_too_large"),
    "media": (415, "invalid_request_error", "unsupported_media_type"),
    "host": (421, "invalid_request_error", "misdirected_request"),
    "rate_limited": (429, "rate_limit_error", "rate_limit_exceeded"),
    "malformed": (502, "server_error", None),
    "dependency_error": (503, "server_error", None),
    "timeout": (504, "server_error", "timeout"),
    "busy": (503, "server_error", None),
    "over": (503, "server_error", None),
}


def openai_fault(fault: Fault) -> tuple[int, Data]:
    """Return status and body of a fault as OpenAI's API has them."""
    status, kind, code = _FORMS.get(fault.reason, (500, "server_error", None))
    error: Data = {
        "message": fault.message,
        "type": kind,
        "param": fault.field or None,
        "code": code,
    }
    return status, {"error": error}


class Offered(Wire):
    """A tool that the client offers: a function of its own, or something that we refuse."""

    type: str


def refused_tools(tools: list[Offered] | None) -> Fault | None:
    """Return why the offered tools cannot be had: what a provider runs acts past the gateway."""
    for index, tool in enumerate(tools or ()):
        if tool.type != "function":
            field = f"tools[{index}].type"
            text = f"{field}: {quoted(tool.type)}: only functions of the client are supported"
            return Fault("invalid", text, field)
    return None


def refused_choice(choice: Any) -> Fault | None:  # noqa: ANN401 - whatever the client sent
    """Return why the client's choice of tools cannot be had: the run's model decides for itself."""
    if choice == "none":
        return Fault("invalid", "tool_choice: `none` is not supported", "tool_choice")
    return None
