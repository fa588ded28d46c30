"""An agent as a Python class: a new one for each task, called in arh's own process.

Run it with: arh run FILE --agent examples.agents.callable_agent:SupportAgent
"""

from arh.ports.sue import Session
from arh.records.decisions import Calls, Decision, Final
from arh.records.messages import Message, ToolReply, ToolRequest
from arh.records.tasks import AgentReport, Task


class SupportAgent:
    """Asks the model, makes the calls, and says what the model said."""

    def run(self, task: Task, session: Session) -> AgentReport:
        """Work on the task and report how it ended."""
        messages = [Message("system", task.system_prompt), *task.messages]
        for _ in range(task.budgets.steps_max):
            decision = asked(messages, task, session)
            if not isinstance(decision, Calls):
                answer = decision.answer if isinstance(decision, Final) else None
                return AgentReport("completed" if answer else "safely_refused", answer)
            messages.append(Message("assistant", decision.text, decision.requests))
            messages += [called(request, task, session) for request in decision.requests]
        return AgentReport("step_budget")


def asked(messages: list[Message], task: Task, session: Session) -> Decision:
    """Return what the model decides."""
    left = task.budgets.deadline_ms - session.now_ms()
    return session.complete(tuple(messages), timeout_ms=left).decision


def called(request: ToolRequest, task: Task, session: Session) -> Message:
    """Make a call and return the message that answers it."""
    left = task.budgets.deadline_ms - session.now_ms()
    done = session.call(request, timeout_ms=left)
    reply = ToolReply(request.call_id, request.tool, done.status, done.reason, done.result)
    return Message("tool", "", reply=reply)


def claims_all_is_done(_task: Task, _session: Session) -> str:
    """Do nothing and claim the work is done: what the gate must catch."""
    return "I opened ticket TK-0001 for A-1007 and referenced incident EVT-402."
