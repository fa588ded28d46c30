"""The expense workflow as one pack: tools, collections, policies, milestones, claim patterns."""

from __future__ import annotations

from arh.canonical import Json
from arh.records.execution import Handler, Tool
from arh.records.packs import CollectionSpec, WorkflowPack
from arh.records.tools import Effect, Milestone, ResourceArgument, ToolManifest
from arh.workflows.expense import handlers, schemas, speech
from arh.workflows.expense.policies import POLICIES

TOOL_VERSION = "1.0"
OWNED_CLAIM = (ResourceArgument("claim_id", "claims"),)
SYSTEM_PROMPT = (
    "You decide on expense claims, one at a time, by the current expense policy. Read the claim and"
    " the rule that applies before you act: the first rule that fits, in the policy's order,"
    " decides. Make one decision for each claim: pay it, ask for a receipt, open a finance review,"
    " reject it, or do nothing if it is paid or being paid. Cite the rule in its current version."
    " Never pay a claim twice. Say only what the tools confirmed; if something failed or is not"
    " known, say so."
)


def _tool(
    name: str,
    effect: Effect,
    description: str,
    schema: tuple[Json, Json],
    handler: Handler,
) -> Tool:
    writes = effect is not Effect.READ
    return Tool(
        ToolManifest(
            name=name,
            version=TOOL_VERSION,
            description=description,
            effect=effect,
            parameters=schema[0],
            result=schema[1],
            key_argument="idempotency_key" if writes else None,
            resources=() if name == "get_policy_rule" else OWNED_CLAIM,
            amount_argument="amount" if name == "create_reimbursement" else None,
        ),
        handler,
    )


TOOLS = (
    _tool(
        "get_claim",
        Effect.READ,
        "Read one claim: amount, category, receipt, whose approval it has, and its payment.",
        (schemas.ONE_CLAIM, schemas.CLAIM),
        handlers.get_claim,
    ),
    _tool(
        "check_payment",
        Effect.READ,
        "Say whether a claim is paid or being paid, and under which number.",
        (schemas.ONE_CLAIM, schemas.PAYMENT_STATE),
        handlers.check_payment,
    ),
    _tool(
        "get_policy_rule",
        Effect.READ,
        "Read the rule on a topic; without a version, the current one.",
        (schemas.ONE_RULE, schemas.RULE),
        handlers.get_policy_rule,
    ),
    _tool(
        "create_reimbursement",
        Effect.TRANSACTIONAL,
        "Pay a claim, in cents. Above 250.00 it needs an approval on record."
        " Repeat the same idempotency key when you retry.",
        (schemas.CREATE_REIMBURSEMENT, schemas.PAYMENT),
        handlers.create_reimbursement,
    ),
    _tool(
        "request_receipt",
        Effect.TRANSACTIONAL,
        "Ask the claimant for the receipt that is missing.",
        (schemas.REQUEST_RECEIPT, schemas.RECEIPT_REQUEST),
        handlers.request_receipt,
    ),
    _tool(
        "open_finance_review",
        Effect.TRANSACTIONAL,
        "Hand a claim to finance, with the reason.",
        (schemas.OPEN_FINANCE_REVIEW, schemas.FINANCE_REVIEW),
        handlers.open_finance_review,
    ),
    _tool(
        "reject_claim",
        Effect.TRANSACTIONAL,
        "Reject a claim, with the reason.",
        (schemas.REJECT_CLAIM, schemas.REJECTION),
        handlers.reject_claim,
    ),
)


def _decisions(name: str, identifier: str) -> CollectionSpec:
    """Return a collection of decisions: a claim has one of a kind, for one reason."""
    return CollectionSpec(
        name,
        (identifier,),
        seeded=False,
        volatile=(identifier,),
        business_key=("claim_id", "reason"),
        fields=("claim_id", identifier, "reason", "rule"),
    )


COLLECTIONS = (
    CollectionSpec(
        "claims",
        ("claim_id",),
        tenant_field="tenant",
        fields=(
            "amount",
            "approved_by",
            "category",
            "claim_id",
            "currency",
            "employee_id",
            "employee_role",
            "note",
            "receipt",
            "tenant",
        ),
    ),
    CollectionSpec(
        "payments",
        ("claim_id",),
        tenant_field="tenant",
        volatile=("payment_id",),
        business_key=("claim_id",),
        fields=(
            "amount",
            "claim_id",
            "currency",
            "payment_id",
            "rule",
            "status",
            "tenant",
        ),
    ),
    CollectionSpec(
        "policy_rules",
        ("topic", "version"),
        fields=("current", "reason", "rule", "text", "topic", "version"),
    ),
    _decisions("receipt_requests", "request_id"),
    _decisions("finance_reviews", "review_id"),
    _decisions("rejections", "rejection_id"),
)

_PER_CLAIM = ("claim_id",)
MILESTONES = (
    Milestone("claim_read", "get_claim", per_arguments=_PER_CLAIM, justified=True),
    Milestone("payment_checked", "check_payment", per_arguments=_PER_CLAIM, justified=True),
    Milestone(
        "current_rule_read",
        "get_policy_rule",
        Json.of({"current": True}),
        per_arguments=("topic",),
    ),
    Milestone("claim_paid", "create_reimbursement", per_arguments=_PER_CLAIM, justified=True),
    Milestone("receipt_requested", "request_receipt", per_arguments=_PER_CLAIM, justified=True),
    Milestone("review_opened", "open_finance_review", per_arguments=_PER_CLAIM, justified=True),
    Milestone("claim_rejected", "reject_claim", per_arguments=_PER_CLAIM, justified=True),
)

PACK = WorkflowPack(
    name="expense",
    version="1.0",
    description="Expense claims by policy: three reads, one payment, three other decisions.",
    tools=TOOLS,
    collections=COLLECTIONS,
    policies=POLICIES,
    milestones=MILESTONES,
    claims=speech.CLAIMS,
    identifiers=speech.IDENTIFIERS,
    foreign_effects=speech.FOREIGN_EFFECTS,
    risks=(
        ("get_claim", "medium"),
        ("check_payment", "medium"),
        ("get_policy_rule", "low"),
        ("create_reimbursement", "critical"),
        ("request_receipt", "medium"),
        ("open_finance_review", "high"),
        ("reject_claim", "high"),
    ),
    system_prompt=SYSTEM_PROMPT,
)
