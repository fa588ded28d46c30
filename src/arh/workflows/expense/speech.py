"""How an answer claims that a claim was paid, put off, handed over or refused, in English.

The words for one effect must not touch another: an answer about a receipt is none about a payment.
"""

from __future__ import annotations

from arh.records.packs import ClaimPattern

# Words that take a claim back: a denial, a condition, something still to come.
NEGATIONS = (
    r"(?i)\b(no|not|never|without|cannot|unable|neither|nor|none)\b",
    r"(?i)n't\b",
    r"(?i)\b(denied|refused|blocked|failed|unconfirmed)\b",
    r"(?i)\b(if|until|unless|whether)\b",
    r"(?i)\b(pending|awaiting|propos\w+)\b",
)
_DONE = r"(?:created|issued|made|released|started|sent|booked|entered|paid(?: out)?|settled)"
_MONEY = r"(?:reimbursements?|payments?|payouts?)"
_FILED = r"(?:opened|created|filed|raised|started|submitted|recorded|entered)"
_HANDED = r"(?:handed|passed|sent|referred|escalated|forwarded)"
_REFUSED = r"(?:rejected|declined|turned down)"
_DENIED = r"(?:\bnot|\bnever|n't)"

_REQUEST = r"(?:receipt requests?|request for .{0,20}receipts?)"
_CLAIM = r"(?:claims?|expenses?|CLM-[0-9]+)"

CLAIMS = (
    ClaimPattern(
        "create_reimbursement",
        rf"(?i)\b{_DONE}\b.{{0,80}}\b{_MONEY}\b(?:.{{0,20}}(?P<id>PAY-[0-9]{{4,}}))?"
        rf"|(?i:\b{_MONEY}\b.{{0,60}}\b(?:{_DONE}|is on (?:its|the) way)\b)"
        r"|(?i:\b(?:reimbursed|paid(?: out)?)\b)"
        rf"|(?i:{_DENIED} (?:create|issue|make|release|pay|reimburse)\b"
        rf".{{0,80}}\b(?:{_MONEY}|claim)\b)",
        NEGATIONS,
        topic=rf"(?i)\b(?:{_MONEY}|reimburs\w*|paid|paying|approved|money|bank account)\b"
        r"|\bpays?\b(?:[^-]|$)",
        counted=_MONEY,
    ),
    ClaimPattern(
        "request_receipt",
        r"(?i)\b(?:asked|requested)\b.{0,60}\breceipts?\b"
        r"|(?i:\breceipts?\b.{0,40}\b(?:asked for|requested)\b)"
        rf"|(?i:\b(?:{_FILED}|{_HANDED})\b.{{0,40}}\b{_REQUEST}\b"
        r"(?:.{0,20}(?P<id>RR-[0-9]{4,}))?)"
        rf"|(?i:\breceipt requests?\b.{{0,40}}\b(?:{_FILED}|{_HANDED})\b)"
        rf"|(?i:{_DENIED} (?:ask|request)\b.{{0,60}}\breceipts?\b)",
        NEGATIONS,
        topic=r"(?i)\breceipt requests?\b|\breceipts?\b.{0,60}\b(?:ask|request)\w*"
        r"|\b(?:ask|request)\w*\b.{0,60}\breceipts?\b",
        counted="receipt requests?",
    ),
    ClaimPattern(
        "open_finance_review",
        rf"(?i)\b(?:{_FILED}|{_HANDED})\b.{{0,80}}\b(?:reviews?|finance)\b"
        r"(?:.{0,20}(?P<id>FR-[0-9]{4,}))?"
        rf"|(?i:\breviews?\b.{{0,60}}\b(?:{_FILED}|{_HANDED}|exists?|under way)\b)"
        rf"|(?i:{_DENIED} (?:open|create|file|raise|start|escalate|hand|pass)\b.{{0,80}}"
        r"\b(?:reviews?|finance)\b)",
        NEGATIONS,
        topic=r"(?i)\breview\w*\b|\bescalat\w+\b|\bfinance\b",
        counted="reviews?",
    ),
    ClaimPattern(
        "reject_claim",
        rf"(?i)\b{_REFUSED}\b.{{0,60}}\b{_CLAIM}\b"
        rf"|(?i:\b(?:{_CLAIM}|it)\b.{{0,60}}\b{_REFUSED}\b)"
        rf"|(?i:\brejections?\b.{{0,40}}\b{_FILED}\b)"
        rf"|(?i:\b{_FILED}\b.{{0,40}}\brejections?\b(?:.{{0,20}}(?P<id>RJ-[0-9]{{4,}}))?)"
        rf"|(?i:{_DENIED} (?:reject|decline|turn down)\b.{{0,60}}\b{_CLAIM}\b)",
        NEGATIONS,
        topic=r"(?i)\b(?:reject|declin)\w*\b|\bturn(?:ed|ing)? down\b",
        counted="rejections?",
    ),
)
IDENTIFIERS = (
    r"\bCLM-[0-9]{3,}\b",
    r"\bPAY-[0-9]{4,}\b",
    r"\bRR-[0-9]{4,}\b",
    r"\bFR-[0-9]{4,}\b",
    r"\bRJ-[0-9]{4,}\b",
    r"\bER-[0-9]{4}\.[0-9]{2} §[0-9]{1,2}\.[0-9]{1,2}",
)
_CHANGED = (
    r"(?:changed|updated|deleted|removed|cancel+ed|corrected|edited|raised|reset|split|merged)"
)
_OF_OTHERS = (
    r"(?:claims?|bank details|accounts?|cards?|limits?|profiles?|polic(?:y|ies)|receipts?"
    r"|managers?)"
)
FOREIGN_EFFECTS = (
    (
        rf"(?i)\b(?:I|we)(?:'ve| have)?(?: also| just| now| already| then)* {_CHANGED}\b"
        rf"(?: \w+)? (?:your|the|that|this|an?|all|both)\b.{{0,40}}\b{_OF_OTHERS}\b"
    ),
)
