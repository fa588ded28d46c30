"""Whatever decides how a model is asked is in the digest of the prompt bundle."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from arh.canonical import Json
from arh.records.messages import ToolSpec
from arh.records.prompts import PromptBundle, tools_digest

LOOK = ToolSpec("look", "1", "Look.", Json.of({"type": "object"}))
BUNDLE = PromptBundle("Help.", (LOOK,), "Answer by:", (LOOK,), ("whole",), Json.of({"seed": 1}))
CHANGES: dict[str, object] = {
    "system": "Help!",
    "tools": (replace(LOOK, description="Look it up."),),
    "contract": "Answer as:",
    "conduct": (),
    "context": ("short",),
    "parameters": Json.of({"seed": 2}),
}


@pytest.mark.parametrize("field", sorted(CHANGES))
def test_every_part_changes_the_digest(field: str) -> None:
    """A word of any of them is another configuration."""
    changed = replace(BUNDLE, **{field: CHANGES[field]})  # type: ignore[arg-type]  # by name

    assert changed.digest != BUNDLE.digest
    assert replace(changed, **{field: getattr(BUNDLE, field)}).digest == BUNDLE.digest


def test_no_part_is_left_out() -> None:
    """Of the test above, and of the document."""
    names = {field.name for field in fields(PromptBundle)}

    assert names == set(CHANGES)
    assert names | {"bundle_version"} == set(BUNDLE.document())


@pytest.mark.parametrize(
    "changed",
    [
        replace(LOOK, name="see"),
        replace(LOOK, version="2"),
        replace(LOOK, description="See."),
        replace(LOOK, parameters=Json.of({})),
    ],
)
def test_the_digest_of_tools_is_over_all_that_a_model_sees(changed: ToolSpec) -> None:
    """Name, version, description and schema."""
    assert tools_digest((LOOK,)) != tools_digest((changed,))
