"""What is under test, as a user names it: an agent of some kind, and the model behind it.

A kind of agent is one class here: what it is called, how its runs are timed, whether it can be
started, and what makes the agent of each actor.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from arh.bootstrap.models import ModelsUnderTest, ScriptedModels
from arh.bootstrap.system import AgentFactory, reference_agent
from arh.connect.callables import is_callable_name, load_callable
from arh.connect.json_lines import JsonLinesAgent
from arh.connect.mcp.agent import McpCommandAgent, require_mcp
from arh.connect.mcp.credentials import Principal
from arh.connect.process import check_command
from arh.errors import AuthoringError, safe
from arh.ports.sue import Agent
from arh.records.setup import ActorSetup
from arh.telemetry.commands import shown_command


class AgentUnderTest(Protocol):
    """One kind of agent, as chosen by the user."""

    @property
    def name(self) -> str:
        """What evidence and scorecard call the agent; no secret is in it."""
        ...

    @property
    def options(self) -> Mapping[str, str]:
        """The options, without dashes, that choose the same agent again; no secret is in them.

        An empty value stands for an option that takes none.
        """
        ...

    @property
    def wall_s_max(self) -> int | None:
        """Wall seconds that it may take for a task; `None` if its time is the run's own."""
        ...

    def check(self) -> None:
        """Refuse an agent that cannot be started, before anything runs.

        Raises:
            AuthoringError: It cannot.
        """
        ...

    def factory(self) -> AgentFactory:
        """Return what makes the agent of each actor.

        Raises:
            AuthoringError: It cannot be started.
        """
        ...


@dataclass(frozen=True, slots=True)
class ReferenceUnderTest:
    """The reference agent, in process and in the run's own time."""

    name: str = field(default="reference", init=False)
    options: Mapping[str, str] = field(default_factory=dict, init=False)
    wall_s_max: int | None = field(default=None, init=False)

    def check(self) -> None:
        """Return at once: it is always there."""

    def factory(self) -> AgentFactory:
        """Return what makes reference agents."""
        return reference_agent


@dataclass(frozen=True, slots=True)
class _Command:
    """What all commands have in common that are started for each task."""

    kind: ClassVar[str]
    option: ClassVar[str]
    command: str
    wall_s_max: int | None = 30
    model_endpoint: bool = False

    @property
    def name(self) -> str:
        """The command as it may be shown."""
        return f"{self.kind}: {shown_command(self.command)}"

    @property
    def options(self) -> Mapping[str, str]:
        """The command as it may be shown and written, its secrets taken out."""
        flags = {"model-endpoint": ""} if self.model_endpoint else {}
        return {self.option: shown_command(self.command), **flags}


@dataclass(frozen=True, slots=True)
class CommandUnderTest(_Command):
    """A command that speaks JSON lines, in a process of its own.

    With `model_endpoint`, its libraries find the run's model over HTTP.
    """

    kind = "command"
    option = "agent"

    def check(self) -> None:
        """Refuse a command that cannot be started.

        Raises:
            AuthoringError: It cannot.
        """
        check_command(self.command)

    def factory(self) -> AgentFactory:
        """Return what starts the command for each task.

        Raises:
            AuthoringError: It cannot be started.
        """
        self.check()
        agent = JsonLinesAgent(
            self.command,
            wall_ms_max=(self.wall_s_max or 0) * 1000,
            model_endpoint=self.model_endpoint,
            told=_complained,
        )
        return lambda _actor, _telemetry: agent


def _complained(words: str) -> None:
    """Say on our error stream, without secrets, what an agent's process said last on its own."""
    if words:
        from arh.telemetry.logs import diagnostics

        diagnostics(sys.stderr).warning("the agent's process failed", its_last_words=safe(words))


@dataclass(frozen=True, slots=True)
class CallableUnderTest:
    """A Python callable in our own process: its wall time is limited, and it cannot be killed."""

    named: str
    wall_s_max: int | None = 30

    @property
    def name(self) -> str:
        """What the user named, and that it ran beside us."""
        return f"callable, in process: {self.named}"

    @property
    def options(self) -> Mapping[str, str]:
        """The name of the callable."""
        return {"agent": self.named}

    def check(self) -> None:
        """Refuse what does not load or cannot work on a task.

        Raises:
            AuthoringError: It does not, or cannot.
        """
        load_callable(self.named)

    def factory(self) -> AgentFactory:
        """Return what hands tasks to the callable.

        Raises:
            AuthoringError: It does not load.
        """
        agent = load_callable(self.named)
        return lambda _actor, _telemetry: agent


@dataclass(frozen=True, slots=True)
class McpCommandUnderTest(_Command):
    """A command that is a client of the gateway over MCP, in a process of its own.

    With `model_endpoint`, its libraries find the run's model over HTTP.
    """

    kind = "command over MCP"
    option = "agent-mcp"

    def check(self) -> None:
        """Refuse a command that cannot be started, and any if the protocol's library is missing.

        Raises:
            AuthoringError: It cannot, or it is.
        """
        check_command(self.command, "--agent-mcp")
        require_mcp()

    def factory(self) -> AgentFactory:
        """Return what starts the command for each task, with a credential for this actor.

        Raises:
            AuthoringError: It cannot be started.
        """
        self.check()
        wall_ms_max = (self.wall_s_max or 0) * 1000
        return lambda actor, _telemetry: McpCommandAgent(
            self.command, principal_of(actor), wall_ms_max, self.model_endpoint, _complained
        )


MadeAgent = Callable[[Principal], Agent]


@dataclass(frozen=True, slots=True)
class ServedUnderTest:
    """An agent over MCP that somebody else starts, or that has started us."""

    made: MadeAgent
    wall_s_max: int | None = 600
    name: str = field(default="served over MCP", init=False)
    options: Mapping[str, str] = field(default_factory=dict, init=False)

    def check(self) -> None:
        """Refuse to serve without the protocol's library.

        Raises:
            AuthoringError: It is not installed.
        """
        require_mcp()

    def factory(self) -> AgentFactory:
        """Return what serves each task.

        Raises:
            AuthoringError: The protocol's library is not installed.
        """
        self.check()
        return lambda actor, _telemetry: self.made(principal_of(actor))


def principal_of(actor: ActorSetup) -> Principal:
    """Return what an actor's credential is bound to."""
    context = actor.context
    return Principal(context.subject, context.actor, context.tenant)


@dataclass(frozen=True, slots=True)
class UnderTest:
    """The configuration under test: an agent and its models; by default what comes with arh."""

    agent: AgentUnderTest = field(default_factory=ReferenceUnderTest)
    models: ModelsUnderTest = field(default_factory=ScriptedModels)

    @classmethod
    def of(
        cls,
        agent: str | None,
        wall_s_max: int = 30,
        *,
        model_endpoint: bool = False,
        mcp: str | None = None,
    ) -> UnderTest:
        """Return the agent that `--agent` names: a callable, a command, or the reference agent.

        `mcp` is the command of a client over MCP, in place of `agent`.

        Raises:
            AuthoringError: A model endpoint is wanted, and the agent is no command.
        """
        if agent is not None and not is_callable_name(agent):
            return cls(CommandUnderTest(agent, wall_s_max, model_endpoint))
        if mcp is not None:
            return cls(McpCommandUnderTest(mcp, wall_s_max, model_endpoint))
        if model_endpoint:
            raise AuthoringError.of(
                agent or "",
                field="--model-endpoint",
                expected="an --agent or --agent-mcp that is a command",
                hint="an agent in our process asks its session",
            )
        return cls() if agent is None else cls(CallableUnderTest(agent, wall_s_max))
