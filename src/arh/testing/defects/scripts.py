"""Model scripts that lie, run dry or lead astray, under the reference agent."""

from __future__ import annotations

from arh.canonical import JsonValue, line
from arh.errors import AuthoringError
from arh.model.scripted.reader import read_script
from arh.records.decisions import ModelReply, ModelRequest
from arh.testing.defects.agents import BLOCKED, FAITHFUL, GOLDEN
from arh.testing.defects.exchange import exchanged
from arh.testing.defects.planting import LOADER, Catcher, Defect, Read, in_run, in_text
from arh.testing.defects.players import GET_ACCOUNT, HONEST, READS, Step, ticket
from arh.testing.workbench import Workbench

Script = dict[str, JsonValue]


def script(*steps: Step, answer: str | None = HONEST) -> Script:
    """Return a script that takes its steps one after another, and answers or runs dry."""
    rules: list[JsonValue] = [
        {
            "when": {"step": number},
            "then": {"kind": "tool_call", "tool": tool, "arguments": {**arguments}},
        }
        for number, (tool, arguments) in enumerate(steps)
    ]
    if answer is not None:
        when: JsonValue = {"step": len(steps)}
        rules.append({"when": when, "then": {"kind": "final_answer", "final_answer": answer}})
    return {"rules": rules}


def reading(broken: Script) -> Read:
    """Return how a script is read: the broken one, or the twin."""

    def read(_bench: Workbench, is_broken: bool) -> object:  # noqa: FBT001 - see `in_text`
        given = broken if is_broken else script(GET_ACCOUNT)
        found = read_script(line({**given, "config_id": "scripted:given"}), file="given")
        if isinstance(found, tuple):
            raise AuthoringError(*found)
        return found

    return read


UNKNOWN_GUARD: Script = {
    "rules": [{"when": {"lst_tool": "get_account"}, "then": {"kind": "final_answer"}}]
}
UNREACHABLE: Script = {
    "rules": [
        {"when": {}, "then": {"kind": "final_answer", "final_answer": "Yes."}},
        {"when": {"step": 1}, "then": {"kind": "final_answer", "final_answer": "No."}},
    ]
}


class BrokenModel:
    """A model adapter that raises, whatever it is asked."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """Break down."""
        raise ZeroDivisionError


class WordlessModel:
    """A model adapter that returns something which is no reply."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return nothing."""
        return None  # type: ignore[return-value]  # the defect itself


DEFECTS: tuple[Defect, ...] = (
    in_run(
        "scripts.adapter-breaks-down",
        "a model adapter that raises, which is never the agent's failure and never a pass",
        "evidence.unreadable",
        BLOCKED,
        composer=exchanged(model=lambda _model: BrokenModel()),
    ),
    in_run(
        "scripts.adapter-says-nothing",
        "a model adapter whose reply is none",
        "evidence.unreadable",
        BLOCKED,
        composer=exchanged(model=lambda _model: WordlessModel()),
    ),
    in_run(
        "scripts.lies",
        "a script that does the work and claims a credit besides",
        "grounding.unfounded_claim",
        GOLDEN,
        script=script(*READS, ticket(), answer=f"{HONEST[:-22]}The credit has been issued."),
    ),
    in_run(
        "scripts.runs-dry",
        "a script that ends before the work does, where nothing done is acceptable",
        "trajectory.unreadable",
        FAITHFUL,
        script=script(GET_ACCOUNT, answer=None),
    ),
    in_run(
        "scripts.does-not-fit",
        "a script whose rules fit nothing that happens, where nothing done is acceptable",
        "trajectory.unreadable",
        BLOCKED,
        script={
            "rules": [
                {
                    "when": {"last_tool": "get_account"},
                    "then": {"kind": "final_answer", "final_answer": HONEST},
                }
            ]
        },
    ),
    in_text(
        "scripts.misspells-a-guard",
        "a script with a guard that does not exist",
        Catcher(LOADER, "rules[0].when.lst_tool"),
        read=reading(UNKNOWN_GUARD),
    ),
    in_text(
        "scripts.hides-a-rule",
        "a script with a rule that no run can reach",
        Catcher(LOADER, "rules[1].when"),
        read=reading(UNREACHABLE),
    ),
)
