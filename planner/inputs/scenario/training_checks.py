"""How much a run trains on, in one way: tokens in sequences, or samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.inputs.scenario.problems import Problem

TOKENS = {"tokens": "2e12", "sequence_tokens": "8192", "batch_tokens": "4e6"}
SAMPLES = {"samples": "4e12", "batch_samples": "65536"}


def amount_problems(entry: Mapping[str, Any], at: str) -> Iterator[Problem]:
    """What a run states of its tokens, or of its samples; never of both."""
    by_samples = [key for key in SAMPLES if key in entry]
    if not by_samples:
        yield from _missing(entry, at, TOKENS)
        return
    for key in TOKENS:
        if key in entry:
            yield Problem(f"{at}.{key}", f"is next to {by_samples[0]}: a run has tokens or samples, keep one")
    yield from _missing(entry, at, SAMPLES)


def at_one_site(entry: Mapping[str, Any], at: str, document: Mapping[str, Any]) -> Iterator[Problem]:
    """What two sites may share: a run by tokens, in one piece, over a link."""
    if not entry.get("across"):
        return
    if not document.get("links"):
        yield Problem(
            f"{at}.across", "has no effect without [[links]]: state the link between two sites, or remove it"
        )
    for key in ("pausable", "samples"):
        if entry.get(key):
            yield Problem(f"{at}.across", f"is of runs in one piece, by tokens: remove it, or {key}")


def _missing(entry: Mapping[str, Any], at: str, keys: Mapping[str, str]) -> Iterator[Problem]:
    for key, example in keys.items():
        if key not in entry:
            yield Problem(f"{at}.{key}", f"is missing: write for example {key} = {example}")
