"""How a live model is addressed: what an adapter is made from, a third party's too."""

from __future__ import annotations

from dataclasses import dataclass

from arh.canonical import Json

OUTPUT_TOKENS_MAX = 4096


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """One model, exactly named, and what goes with every request to it.

    `adapter` and `name` are the two halves of `--model ADAPTER:NAME`. `base_url` is empty where
    the adapter knows its own. `parameters` is a JSON object. `bundle` is the digest of the prompt
    bundle. No secret is in here.
    """

    adapter: str
    name: str
    base_url: str = ""
    parameters: Json = Json.of({})  # noqa: RUF009 - a Json never changes
    output_tokens_max: int = OUTPUT_TOKENS_MAX
    bundle: str = ""

    @property
    def identity(self) -> str:
        """The model as evidence and scorecard name it."""
        return f"{self.adapter}:{self.name}"
