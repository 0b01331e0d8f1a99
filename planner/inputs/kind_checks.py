"""Which keys work for which kind of model: asked of the catalogue, refused with where they work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.inputs.catalogue import Catalogue
from planner.inputs.model_kinds import (
    BY_SAMPLES,
    DIFFUSION,
    IN_BATCHES,
    KINDS,
    LANGUAGE,
    RECOMMENDATION,
    SPEECH,
    TRAINED,
    VISION,
    WORDS,
    WRITES,
    kind_of_model,
)
from planner.inputs.scenario import Problem
from planner.inputs.scenario.checks import list_in
from planner.inputs.scenario.parts import entries_of
from planner.inputs.scenario.problems import place
from planner.inputs.scenario.service_checks import TARGETS, WHOLE, request_problems

# What a request of each kind is said by, with an example; a language model has several ways.
REQUESTS = {
    RECOMMENDATION: ("candidates", "270", "the samples that it scores for a request"),
    DIFFUSION: ("images", "1", "the images or films that it makes for a request"),
    VISION: ("images", "8", "the images of a request"),
    SPEECH: ("audio", '"30 s"', "the sound of a request"),
}
TRAINS = {"training": TRAINED, "pools": (LANGUAGE, VISION)}
HOURS_OF_SOUND = "audio_rate"  # what a model of speech does in a pool
# What a run trains on where it has samples alone, with an example of all and of a step.
SAMPLED = {RECOMMENDATION: ("4e12", "65536"), DIFFUSION: ("1e9", "2048")}
ANSWERED = ("items", "prompts")  # of pools: what a model writes answers to
OF_ENGINES = ("engine", "cache_precision", "power_caps", "clocks", "routing")  # of models that write tokens
OF_TEXTS = ("classes", "cache_hits", "cached_tokens", "phases")  # of language models alone


def kind_problems(document: Mapping[str, Any], catalogue: Catalogue) -> Iterator[Problem]:
    """Keys and tables that do not go with the kind of model which they name."""
    for i, entry in entries_of(document, "services"):
        yield from _service(entry, place(("services", i), document), catalogue)
    for section, kinds in TRAINS.items():
        for i, entry in entries_of(document, section):
            kind = kind_of_model(catalogue, _name(entry))
            if section == "pools" and (kind == SPEECH or HOURS_OF_SOUND in entry):
                yield from _heard(entry, place((section, i), document), kind)
            elif kind and kind not in kinds:
                yield Problem(
                    f"{place((section, i), document)}.model",
                    f"'{entry['model']}' is {WORDS[kind]}: it works in {_where(kind)}, not in [[{section}]]",
                )
    for i, entry in entries_of(document, "training"):
        yield from _run(entry, place(("training", i), document), catalogue)
    for i, entry in entries_of(document, "pools"):
        kind = kind_of_model(catalogue, _name(entry))
        key = next((key for key in ANSWERED if key in entry), "")
        if key and kind in TRAINS["pools"] and kind != LANGUAGE:
            yield Problem(
                f"{place(('pools', i), document)}.{key}",
                f"works for {WORDS[LANGUAGE]}; '{entry['model']}' is {WORDS[kind]}",
            )


def _heard(entry: Mapping[str, Any], at: str, kind: str) -> Iterator[Problem]:
    """Speech and hours of sound, which go together and with nothing else."""
    if kind == SPEECH and HOURS_OF_SOUND not in entry:
        yield Problem(
            f"{at}.{HOURS_OF_SOUND}",
            f"is missing, and '{entry['model']}' is {WORDS[kind]}, which writes sound down: write for "
            f'example {HOURS_OF_SOUND} = "20000 h/d" in place of another need',
        )
    elif kind and kind != SPEECH:
        yield Problem(
            f"{at}.{HOURS_OF_SOUND}", f"works for {WORDS[SPEECH]}; '{entry['model']}' is {WORDS[kind]}"
        )


def works_in_pools(catalogue: Catalogue, model: str, answers: bool) -> bool:
    """Whether a model does the work of pools: trains there, or answers prompts where they ask that."""
    return kind_of_model(catalogue, model) in (WRITES if answers else TRAINS["pools"])


def _where(kind: str) -> str:
    """The tables in which a kind of model works."""
    found = [f"[[{name}]]" for name, kinds in TRAINS.items() if kind in kinds]
    return " and ".join(["[[services]]", *(found or ["[[pools]]"] if kind == SPEECH else found)])


def _run(entry: Mapping[str, Any], at: str, catalogue: Catalogue) -> Iterator[Problem]:
    """Samples of models of recommendation and of images, tokens of the others; of vision models either."""
    name = _name(entry)
    kind = kind_of_model(catalogue, name)
    if kind not in TRAINS["training"]:
        return
    if kind in SAMPLED and "samples" not in entry:
        all_of, step = SAMPLED[kind]
        yield Problem(
            f"{at}.samples",
            f"is missing, and '{name}' is {WORDS[kind]}: write samples = {all_of} and batch_samples = "
            f"{step} in place of tokens",
        )
    if kind not in BY_SAMPLES and "samples" in entry:
        yield Problem(f"{at}.samples", f"{_of_samples(name, kind)}: write tokens")
    yield from _adapted(entry, at, kind)
    for key in ("power_caps", "clocks"):
        if kind == RECOMMENDATION and key in entry:
            yield Problem(f"{at}.{key}", f"does not work for {WORDS[kind]}, and '{name}' is one")


def _adapted(entry: Mapping[str, Any], at: str, kind: str) -> Iterator[Problem]:
    """Adapters stand next to the attention of models that train in sequences."""
    if entry.get("method") == "lora" and kind not in TRAINS["pools"]:
        works = " and ".join(WORDS[one] for one in TRAINS["pools"])
        yield Problem(f"{at}.method", f"works for {works}; '{entry['model']}' is {WORDS[kind]}: remove it")


def _of_samples(name: str | None, kind: str) -> str:
    """That samples are not of a kind of model."""
    return f"works for {', '.join(WORDS[one] for one in BY_SAMPLES)}; '{name}' is {WORDS[kind]}"


IN_JOBS = {
    "data": (LANGUAGE, VISION),
    "training": TRAINED,
    "fine_tuning": (LANGUAGE, VISION, DIFFUSION),
    "inference": KINDS,
}


def job_kind_problems(document: Mapping[str, Any], catalogue: Catalogue) -> Iterator[Problem]:
    """Phases of a job whose model is of a kind that they do not know, and tokens where it has samples."""
    for phase, kinds in IN_JOBS.items():
        table = document.get(phase)
        name = _name(table) if isinstance(table, dict) else None
        kind = kind_of_model(catalogue, name)
        if not kind or not isinstance(table, dict):
            continue
        yield from _adapted(table, phase, kind)
        if kind not in kinds:
            where = ", ".join(f"[{one}]" for one, known in IN_JOBS.items() if kind in known)
            yield Problem(
                f"{phase}.model", f"'{name}' is {WORDS[kind]}: it works in {where}, not in [{phase}]"
            )
        elif kind in SAMPLED and "tokens" in table:
            yield Problem(
                f"{phase}.tokens",
                f"'{name}' is {WORDS[kind]}, which trains on samples: write samples = {SAMPLED[kind][0]}",
            )
        elif kind not in BY_SAMPLES and "samples" in table:
            yield Problem(f"{phase}.samples", _of_samples(name, kind))
        elif kind != RECOMMENDATION and "samples" in table and "batch_samples" not in table:
            yield Problem(
                f"{phase}.batch_samples",
                f"is missing: write the images of a step, for example {SAMPLED[DIFFUSION][1]}",
            )


def answer_problems(document: Mapping[str, Any], catalogue: Catalogue) -> Iterator[Problem]:
    """What a request of a job's inference is, by its model's kind, and when it is in time, as for services.

    A job need not state targets: those of tokens are facts, and a batch waits as long as it takes.
    """
    table = document.get("inference")
    if not isinstance(table, dict):
        return
    of_kind = list(_service(table, "inference", catalogue))
    yield from of_kind
    if any("is missing" in problem.message for problem in of_kind):
        return  # what a request is follows from that
    whole = any(key in table for key in WHOLE)
    stated = dict(table)
    if whole and ("requests" in table or "tokens_per_s" in table):
        stated.setdefault("response_time", "1 d")
    elif not whole and "response_time" not in table:
        stated = {**TARGETS, **stated}
    yield from request_problems(stated, "inference")


def _service(entry: Mapping[str, Any], at: str, catalogue: Catalogue) -> Iterator[Problem]:
    name = _name(entry)
    kind = kind_of_model(catalogue, name)
    if not kind:
        return
    own = REQUESTS[kind][0] if kind in REQUESTS else ""
    for key in dict.fromkeys(key for key, *_ in REQUESTS.values()):
        if key in entry and key != own:
            of = " or ".join(WORDS[each] for each, (word, *_) in REQUESTS.items() if word == key)
            yield Problem(f"{at}.{key}", f"works for {of}; '{name}' is {WORDS[kind]}")
    if own and own not in entry:
        _, example, said = REQUESTS[kind]
        yield Problem(
            f"{at}.{own}",
            f"is missing, and '{name}' is {WORDS[kind]}: write {said}, for example {own} = {example}",
        )
    if kind in IN_BATCHES:
        for key in OF_ENGINES:
            if key in entry:
                yield Problem(f"{at}.{key}", f"works for models that write tokens; '{name}' is {WORDS[kind]}")
    for key in OF_TEXTS if kind != LANGUAGE else ():
        if key in entry:
            yield Problem(f"{at}.{key}", f"works for a language model; '{name}' is {WORDS[kind]}")
    for k, other in enumerate(list_in(entry, "models")):
        its = kind_of_model(catalogue, other if isinstance(other, str) else None)
        if its and its != kind:
            yield Problem(
                f"{at}.models[{k}]",
                f"'{other}' is {WORDS[its]}, and '{name}' {WORDS[kind]}: name models of one kind",
            )


def _name(entry: Mapping[str, Any]) -> str | None:
    name = entry.get("model")
    return name if isinstance(name, str) else None
