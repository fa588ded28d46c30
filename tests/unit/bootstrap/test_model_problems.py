"""What a live model does not run without."""

from __future__ import annotations

import argparse

from arh.bootstrap.model_arguments import add_model
from arh.bootstrap.model_problems import live_problems

CEILINGS = ("--max-model-calls", "9", "--max-tokens", "9", "--max-minutes", "9", "--price", "0,0")


def problems(*words: str) -> list[str]:
    """Return what is wrong with the options of a live model."""
    parser = argparse.ArgumentParser()
    add_model(parser)
    chosen = parser.parse_args(["--live", "--sanitised", *CEILINGS, *words])
    return [str(problem) for problem in live_problems(chosen, "openai", "m-1")]


def test_nothing_to_spend_is_a_ceiling() -> None:
    """A model that costs nothing may cost nothing; only a ceiling that was left out is missing."""
    assert problems("--max-cost-usd", "0") == []
    assert problems() == ["`--model`: a live model needs --max-cost-usd N"]
