"""What of an event is persisted: by schema, by name, by shape; what must be judged stays."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from arh.harness.evidence.recorder import Redact
from arh.records.packs import WorkflowPack
from arh.telemetry.correlation import correlate, run_key
from arh.telemetry.redaction import MASKED, SECRET, UNDECLARED, UNREADABLE, Redactor
from tests.unit.telemetry.golden import GOLDEN, Golden, sensitive, suite_of, unredacted
from tests.unit.telemetry.shapes import CANARIES

SUMMARY = "Customer reports duplicate billing"
CALL: dict[str, Any] = {
    "call_id": "call-0001",
    "requested_id": "req-1",
    "tool": "create_ticket",
    "arguments": None,
    "arguments_text": "",
    "argument_digest": "",
    "key": "",
    "operation_id": "",
    "result": None,
    "cause": "",
    "state": "s",
    "projection": "p",
}


def redactor(*fields: str, key: bytes = b"") -> Redactor:
    """Return the redactor of the support workflow, with fields of `create_ticket` sensitive."""
    pack: WorkflowPack = sensitive("create_ticket", *fields)(suite_of(GOLDEN).pack)
    return Redactor(pack, key=key)


def called(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - an event's own data
    """Return what is persisted of a call."""
    return redactor()("tool_call", {**CALL, **fields})


def test_a_run_without_secrets_is_persisted_as_it_is() -> None:
    """Redaction changes no byte of the golden run, hence no verdict."""
    assert Golden().run().output.lines == Golden(redact=unredacted).run().output.lines


def test_what_holds_no_secret_is_not_copied() -> None:
    """The same object comes back, so the usual case costs nothing but the search."""
    event: dict[str, object] = {"role": "user", "text": "Account A-1007 was charged twice."}

    assert redactor()("user_said", event) is event


def test_the_input_is_left_alone() -> None:
    """Whoever recorded the event may still hold it."""
    event = {**CALL, "arguments": {"extra": "x", "summary": CANARIES["api_key"]}}
    before = copy.deepcopy(event)
    redactor("summary")("tool_call", event)

    assert event == before


def test_only_declared_arguments_keep_their_values() -> None:
    """Names stay, so that an undeclared argument can still be judged as one."""
    arguments = {"account_id": "A-1", "extra": "value", "more": {"deep": [1]}, "count": 7}

    assert called(arguments=arguments)["arguments"] == {
        "account_id": "A-1",
        "extra": UNDECLARED,
        "more": UNDECLARED,
        "count": UNDECLARED,
    }


def test_fields_inside_of_a_declared_text_are_undeclared() -> None:
    """An object where the schema has a text was never agreed upon."""
    assert called(arguments={"account_id": {"a": "b"}})["arguments"] == {
        "account_id": {"a": UNDECLARED}
    }


def test_of_an_unknown_tool_nothing_is_declared() -> None:
    """Its arguments keep their names only."""
    assert called(tool="made_up", arguments={"a": 1})["arguments"] == {"a": UNDECLARED}


def test_the_argument_text_of_a_request_is_redacted_as_its_value_is() -> None:
    """The model's side and the gateway's side of a call keep the same."""
    text = '{"account_id":"A-1","extra":"value","pin":"480215"}'
    event = {"ask": 1, "decision": "calls", "requests": [["r-1", "create_ticket", text]]}
    ((_, _, kept),) = _list(redactor()("model_answered", event)["requests"])

    assert json.loads(kept) == {"account_id": "A-1", "extra": UNDECLARED, "pin": SECRET}


def test_an_argument_text_that_needs_nothing_stays_byte_for_byte() -> None:
    """Spelling and order are evidence."""
    text = '{ "summary": "x",  "account_id": "A-1" }'
    event = {"ask": 1, "decision": "calls", "requests": [["r-1", "create_ticket", text]]}

    assert redactor()("model_answered", event) == event


@pytest.mark.parametrize(("fields", "kept"), [((), '{"summary": '), (("summary",), UNREADABLE)])
def test_an_unreadable_text_of_a_sensitive_tool_is_dropped(
    fields: tuple[str, ...], kept: str
) -> None:
    """What cannot be read cannot be masked."""
    event = {"ask": 1, "decision": "calls", "requests": [["r-1", "create_ticket", '{"summary": ']]}

    assert redactor(*fields)("model_answered", event)["requests"] == [
        ["r-1", "create_ticket", kept]
    ]


@pytest.mark.parametrize("name", ["api_key", "API-KEY", "Authorization", "session_id", "pin"])
def test_a_field_with_a_secret_name_is_masked_at_any_depth(name: str) -> None:
    """In objects, lists and tuples; whatever its value is, and whether it was declared or not."""
    event: dict[str, object] = {"task": "t", "answer": {"a": [({name: {"x": 1}}, {name: None})]}}

    assert redactor()("agent_finished", event)["answer"] == {"a": [[{name: SECRET}, {name: None}]]}


def test_a_name_that_is_a_secret_itself_is_masked() -> None:
    """Names are kept because they are names, not because of what they say."""
    canary = CANARIES["api_key"]
    kept = called(arguments={canary: "x"})["arguments"]

    assert list(kept) == ["[redacted:api_key]"]


def test_numbers_digests_and_words_of_ours_stay() -> None:
    """A digest of sixteen digits in a row is no card, and a status is no prose."""
    event = {**CALL, "argument_digest": "4111111111111111", "status": "executed", "at_ms": 5}

    assert redactor()("tool_call", event) == event


def test_an_unknown_kind_of_event_is_searched_as_well() -> None:
    """What is added tomorrow is not let through today."""
    event: dict[str, object] = {"note": [CANARIES["aws_key"]]}

    assert redactor()("kind_of_tomorrow", event) == {"note": ["[redacted:aws_key]"]}


@pytest.mark.parametrize(
    "data",
    [
        {"value": object()},
        {"value": b"bytes"},
        {"value": "\ud800"},
        {"value": {1: "x"}},
        {"new_messages": "none"},
    ],
)
def test_a_redactor_that_fails_drops_the_content_and_says_so(data: dict[str, object]) -> None:
    """It never raises and never lets through what it could not look at."""
    event = {"seq": 3, "kind": "k", "source": "s", "at_ms": 4, "actor": "a", **data}
    kind = "model_asked" if "new_messages" in data else "k"

    assert redactor()(kind, event) == {
        "seq": 3,
        "kind": "k",
        "source": "s",
        "at_ms": 4,
        "actor": "",
        "redaction_failed": True,
    }


def test_what_has_no_end_is_dropped() -> None:
    """An object that holds itself comes back as failed, not never."""
    endless: dict[str, object] = {}
    endless["again"] = endless
    several: list[object] = []
    several.append(several)

    for value in (endless, several):
        assert redactor()("note", {"value": value})["redaction_failed"] is True


def test_a_run_of_which_an_event_was_dropped_cannot_pass() -> None:
    """A gap in evidence is a problem of the run."""

    def failing(pack: WorkflowPack) -> Redact:
        real = Redactor(pack)

        def redact(kind: str, data: dict[str, object]) -> dict[str, object]:
            return real(kind, {**data, "x": object()} if kind == "tool_call" else data)

        return redact

    run = Golden(redact=failing).run()

    assert run.output.evidence.problems
    assert run.verdict.status != "pass"


def test_a_sensitive_field_is_nowhere_in_a_run() -> None:
    """Not in the request, the arguments, the conversation, the stored record, nor its operation."""
    run = Golden(pack=sensitive("create_ticket", "summary")).run()

    assert SUMMARY not in run.text
    assert SUMMARY in Golden().run().text
    (commit,) = run.events("state_changed")
    assert commit["changes"][1]["value"]["summary"] == MASKED


def test_a_sensitive_result_is_nowhere_in_a_run() -> None:
    """Not in the result, nor in the message that tells the model, nor in the operation's reply."""
    run = Golden(pack=sensitive("create_ticket", "ticket_id")).run()
    (commit,) = run.events("state_changed")

    assert json.loads(commit["changes"][0]["value"]["body"]) == {"ok": {"ticket_id": MASKED}}
    assert run.events("tool_call")[3]["result"] == {"ticket_id": MASKED}
    assert "TK-0001" not in json.dumps(run.events("model_asked"))


def test_a_sensitive_value_is_masked_where_prose_repeats_it() -> None:
    """From the moment that it is known, an answer cannot tell it either."""
    run = Golden(pack=sensitive("create_ticket", "ticket_id")).run()

    (finish,) = run.events("agent_finished")
    assert "I opened ticket [masked] for" in finish["answer"]["message"]


@pytest.mark.parametrize("key", [b"", b"the auditor's key"])
def test_attempt_decision_and_commit_are_still_joined(key: bytes) -> None:
    """Digests over sensitive values are exchanged everywhere alike: no source contradicts."""
    change = sensitive("create_ticket", "summary")
    run = Golden(pack=change, redact=lambda pack: Redactor(pack, key=key)).run()
    evidence = run.output.evidence
    (commit,) = evidence.commits
    plain = Golden().run().output.evidence.commits[0]

    assert evidence.discrepancies == ()
    assert evidence.problems == ()
    assert evidence.calls[3].argument_digest == commit.argument_digest != plain.argument_digest
    assert evidence.calls[3].operation_id == commit.operation_id != plain.operation_id
    assert run.verdict.result("guardrails") == Golden().run().verdict.result("guardrails")


def test_no_digest_over_a_sensitive_value_is_left() -> None:
    """Neither of arguments nor records nor states: whoever tries all values learns nothing."""
    plain = Golden().run()
    (commit,) = plain.events("state_changed")
    digests = {
        commit["argument_digest"],
        commit["operation_id"],
        commit["state_after"],
        *(change["digest_after"] for change in commit["changes"]),
        plain.events("tool_call")[3]["projection"],
    }
    run = Golden(pack=sensitive("create_ticket", "summary")).run()

    assert [digest for digest in digests if digest in run.text] == []
    assert all(digest in plain.text for digest in digests)


def test_a_key_lets_its_owner_check_a_digest() -> None:
    """The token is the HMAC of the true digest under the run's key."""
    change = sensitive("create_ticket", "summary")
    run = Golden(pack=change, redact=lambda pack: Redactor(pack, key=b"k")).run()
    true = Golden().run().output.evidence.calls[3].argument_digest

    own = run_key(b"k", run.output.run_id)
    assert run.output.evidence.calls[3].argument_digest == correlate(true, own)


def test_one_redactor_forgets_a_run_when_the_next_one_starts() -> None:
    """The same run twice gives the same lines: nothing is carried over."""
    change = sensitive("create_ticket", "summary")
    shared = Redactor(change(suite_of(GOLDEN).pack))
    runs = [Golden(pack=change, redact=lambda _pack: shared).run() for _ in range(2)]

    assert runs[0].output.lines == runs[1].output.lines


def _list(value: object) -> list[Any]:
    assert isinstance(value, list)
    return value


REPLIES = (
    {"status": "executed", "reason": "ok", "result": {"ticket_id": "TK-1"}},
    {"status": "executed", "reason": "ok", "result": {"ticket_id": "TK-1", "unheard_of": "x"}},
    {"status": "executed", "reason": "ok", "result": {"ticket_id": {"summary": "x"}}},
    {"status": "executed", "reason": {"summary": "x"}, "result": {"ticket_id": "TK-1"}},
    {"status": ["password"], "reason": "ok", "result": {"ticket_id": "TK-1"}},
    {"status": "executed", "reason": "ok", "result": {"ticket_id": "x", "password": "hunter2"}},
    {"status": "executed", "reason": "ok", "result": "summary"},
    {"status": "executed", "result": {"ticket_id": "TK-1"}},
    {"reason": "ok", "status": "s", "result": {"ticket_id": "TK-1"}, "summary": "x"},
)


@pytest.mark.parametrize("fields", [(), ("summary",), ("ticket_id",), ("status",), ("reason",)])
@pytest.mark.parametrize("reply", REPLIES)
def test_a_reply_that_is_seen_to_be_harmless_is_what_the_careful_way_leaves(
    reply: dict[str, object], fields: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shortcut for the usual reply never keeps what would have been taken out."""
    asked = [["r-1", "create_ticket", "{}"]]
    messages = [
        {"role": "assistant", "text": "", "requests": asked},
        {"role": "tool", "text": json.dumps(reply), "call_id": "r-1"},
    ]
    event: dict[str, object] = {"ask": 2, "message_count": 4, "new_messages": messages}
    short = redactor(*fields)("model_asked", event)
    monkeypatch.setattr(Redactor, "_is_plain_reply", lambda *_: False)

    assert short == redactor(*fields)("model_asked", event)
