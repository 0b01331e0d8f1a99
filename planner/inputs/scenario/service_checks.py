"""What a request of a service is, and when its answer is in time: said once, in words that fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.inputs.scenario.problems import Problem

WHOLE = ("candidates", "images")  # of requests that are answered as a whole
LENGTHS = ("tokens_in", "tokens_out")
EXACT = 1e-6  # of a sum of shares
TARGETS = {"first_token": "1.5 s", "per_token": "60 ms"}


def request_problems(entry: Mapping[str, Any], at: str) -> Iterator[Problem]:
    """One way to say what a request is, and targets that go with it."""
    said = [key for key in ("traffic", "classes", "audio", *WHOLE) if key in entry]
    lengths = [key for key in LENGTHS if key in entry]
    if len(said) > 1:
        yield Problem(at, f"{' and '.join(said)} each say what a request is: keep one")
        return
    yield from _lengths(entry, at, said[0] if said else "", lengths)
    whole = next((key for key in WHOLE if key in entry), "")
    # With a response time alone nobody knows yet which targets go with the request.
    if said or lengths or "response_time" not in entry:
        yield from _targets(entry, at, whole)
    yield from _shares(entry, at)
    yield from _phases(entry, at)
    if "answers" in entry and (said or not entry.get("tokens_out")):
        yield Problem(
            f"{at}.answers",
            "says how answers of one tokens_out spread: write tokens_in and tokens_out, or remove this",
        )
    if "cached_tokens" in entry and "cache_hits" not in entry:
        yield Problem(f"{at}.cached_tokens", "has no effect without cache_hits: write that, or remove this")


def _phases(entry: Mapping[str, Any], at: str) -> Iterator[Problem]:
    """What replicas cannot do that read prompts and write answers apart."""
    if entry.get("phases") not in ("apart", "either"):
        return
    if entry.get("tokens_out") == 0 or "response_time" in entry:
        yield Problem(f"{at}.phases", "no answer is written apart from its prompt here: remove this")
    if "power_caps" in entry:
        yield Problem(
            f"{at}.power_caps", "works where one kind of replica reads and writes: remove this, or phases"
        )


def _shares(entry: Mapping[str, Any], at: str) -> Iterator[Problem]:
    """Shares of classes that are a whole."""
    classes = entry.get("classes")
    if classes == []:
        yield Problem(f"{at}.classes", "is empty: begin each with [[services.classes]], or remove it")
    if not isinstance(classes, list) or not classes:
        return
    shares = [one.get("share") if isinstance(one, dict) else None for one in classes]
    known = [float(one) for one in shares if isinstance(one, int | float) and not isinstance(one, bool)]
    if len(known) == len(shares) and abs(sum(known) - 1.0) > EXACT:
        yield Problem(
            f"{at}.classes", f"their shares add up to {sum(known):.6g}: write shares that add up to 1"
        )


def _lengths(entry: Mapping[str, Any], at: str, way: str, lengths: list[str]) -> Iterator[Problem]:
    if way == "audio":
        if "tokens_in" in lengths:
            yield Problem(f"{at}.tokens_in", "follows from audio: remove one of them")
    elif way in WHOLE and lengths:
        yield Problem(f"{at}.{lengths[0]}", f"has no effect next to {way}, which is answered as a whole")
    elif way and lengths:
        yield Problem(at, f"{way} and {' and '.join(lengths)} say the same thing twice: keep one")
    elif not way and not lengths:
        yield Problem(
            at,
            f"neither traffic nor {' and '.join(LENGTHS)} is given: write one, or candidates, images or "
            "audio where the model scores, draws or hears",
        )
    elif not way and len(lengths) < len(LENGTHS):
        missing = next(key for key in LENGTHS if key not in lengths)
        yield Problem(f"{at}.{missing}", f"is missing, and {lengths[0]} needs it: write both, or traffic")


def _targets(entry: Mapping[str, Any], at: str, whole: str) -> Iterator[Problem]:
    given = [key for key in TARGETS if key in entry]
    reads = entry.get("tokens_out") == 0 and not isinstance(entry.get("tokens_out"), bool)
    responds = "response_time" in entry
    if whole:
        for key in given:
            yield Problem(
                f"{at}.{key}", f"is for models that write tokens; {whole} go with response_time: write that"
            )
        if not responds:
            yield Problem(
                f"{at}.response_time",
                f'is missing, and {whole} need it: write for example response_time = "100 ms"',
            )
    elif responds and reads:
        if given:
            yield Problem(at, f"response_time and {' and '.join(given)} say the same thing twice: keep one")
    elif responds:
        yield Problem(
            f"{at}.response_time",
            "is for answers that come at once (candidates, images, tokens_out = 0): write first_token and "
            "per_token",
        )
    else:
        for key, example in TARGETS.items():
            if key not in given and not (reads and key == "per_token"):
                yield Problem(f"{at}.{key}", f'is missing: write for example {key} = "{example}"')
