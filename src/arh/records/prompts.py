"""The prompt bundle: everything but the conversation that decides how a model is asked.

One versioned artefact with one digest: whoever changes a word of it changes the configuration under
test, and a comparison with an older release names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from arh.canonical import Json, JsonValue, digest
from arh.records.messages import ToolSpec

BUNDLE_VERSION: Final = "1"


@dataclass(frozen=True, slots=True)
class PromptBundle:
    """What a model is told besides the conversation.

    `system` is the system text, `tools` what the workflow can offer, `contract` the sentence before
    a demanded answer's schema, `conduct` the further tools that a live model asks and declines
    with, `context` the rules by which a conversation is made, `parameters` what goes to the model
    with each request.
    """

    system: str
    tools: tuple[ToolSpec, ...]
    contract: str = ""
    conduct: tuple[ToolSpec, ...] = ()
    context: tuple[str, ...] = ()
    parameters: Json = Json.of({})  # noqa: RUF009 - a Json never changes

    def document(self) -> dict[str, JsonValue]:
        """Return the bundle as JSON: what its digest is over."""
        return {
            "bundle_version": BUNDLE_VERSION,
            "system": self.system,
            "tools": [_tool(tool) for tool in self.tools],
            "contract": self.contract,
            "conduct": [_tool(tool) for tool in self.conduct],
            "context": list(self.context),
            "parameters": self.parameters.value(),
        }

    @property
    def digest(self) -> str:
        """The SHA-256 of the canonical document."""
        return digest(self.document())


def tools_digest(tools: tuple[ToolSpec, ...]) -> str:
    """Return the digest of tools as a model sees them."""
    return digest([_tool(tool) for tool in tools])


def _tool(tool: ToolSpec) -> dict[str, JsonValue]:
    return {
        "name": tool.name,
        "version": tool.version,
        "description": tool.description,
        "parameters": tool.parameters.value(),
    }
