"""What is asked, and everything that is wrong with it at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.inputs import question_fields
from planner.inputs.catalogue import Catalogue
from planner.inputs.hardware_question import (
    ANSWERS,
    DRAW,
    GENERATE,
    HEAR,
    LOOK,
    RECOMMEND,
    SCORE,
    TEXT,
    VISION,
    WRITTEN,
    Question,
)
from planner.inputs.model_kinds import DIFFUSION, LANGUAGE, RECOMMENDATION, SPEECH, kind_of_model, models_of
from planner.inputs.model_kinds import VISION as SEES
from planner.inputs.placement_question import WAYS
from planner.inputs.scenario import Problem, ScenarioError
from planner.inputs.scenario.problems import near_or_own, nearest_remedy, shown
from planner.physics.precisions import FORMATS
from planner.physics.training_step import PRECISIONS as TRAINED

PRECISIONS = tuple(FORMATS)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
# Sizes to look for a target in: four steps for each doubling.
FINE = tuple(sorted({max(1, round(2**k * part)) for k in range(11) for part in (1.0, 1.25, 1.5, 1.75)}))


def question_of(said: Mapping[str, Any]) -> Question:
    """The question of what is stated by field; None is not stated, and a time may be text with its unit.

    Raises:
        InputError: a time is not understood; the error holds every one.
    """
    return Question(**question_fields.with_times(Question, said))


FIELDS = question_fields.fields_of(Question)
WORDS = {
    TEXT: "training a language model",
    VISION: "training a vision model",
    RECOMMEND: "training a recommendation model",
    DRAW: "training a model that makes images or films",
    ANSWERS: "serving a language model",
    SCORE: "scoring by a recommendation model",
    GENERATE: "making images or films",
    LOOK: "classifying images",
    HEAR: "writing speech down",
}


def models(catalogue: Catalogue) -> dict[str, str]:
    """Every model that can be requested, and its kind."""
    return {name: kind_of_model(catalogue, name) for name in models_of(catalogue)}


def choices(catalogue: Catalogue) -> dict[str, list[str]]:
    """What may be chosen by name; a SKU stands with its title."""
    return {
        "models": list(models(catalogue)),
        "writing": list(models_of(catalogue, [LANGUAGE])),
        "skus": [one.name for one in catalogue.skus.values()],
        "titles": [one.title for one in catalogue.skus.values()],
        "mixes": list(mixes(catalogue)),
        "precisions": list(PRECISIONS),
        "grids": list(catalogue.names("grid", "intensity")),
    }


def mixes(catalogue: Catalogue) -> dict[str, str]:
    """Request mixes by name, and by what they are of where that is plain: azure-conversation."""
    names = {name: name for name in catalogue.names("traffic", "mean_context")}
    spoken = {"azure-conversation": "azure-2023-conv", "azure-code": "azure-2023-code"}
    return names | {word: name for word, name in spoken.items() if name in names}


def kind_of(question: Question, catalogue: Catalogue) -> str:
    """What is done with which kind of model."""
    served = {RECOMMENDATION: SCORE, DIFFUSION: GENERATE, SEES: LOOK, SPEECH: HEAR}
    trained = {RECOMMENDATION: RECOMMEND, DIFFUSION: DRAW, SEES: VISION, SPEECH: HEAR}
    kind = models(catalogue)[question.model]
    return served.get(kind, ANSWERS) if question.serve else trained.get(kind, TEXT)


def checked_kind(question: Question, catalogue: Catalogue) -> str:
    """What is done with which kind of model.

    Raises:
        ScenarioError: the question is wrong; the error holds every problem.
    """
    problems = [*_names(question, catalogue), *_numbers(question), *_together(question)]
    kind = ""
    if question.model in models(catalogue):
        kind = kind_of(question, catalogue)
        if kind in WRITTEN and not question.serve:
            problems.append(
                Problem("--serve", f"{question.model} is a model of speech: only its serving is answered")
            )
        if not question.serve and question.precision in set(PRECISIONS) - set(TRAINED):
            problems.append(
                Problem(
                    "--precision",
                    f"{question.precision} is a format of serving: training is in {', '.join(TRAINED)}",
                )
            )
        if question.items is not None and question.response_s is None:
            problems.append(Problem("--items", "are those of a request, and need --response-time"))
        problems += _not_meant(question, kind)
    if problems:
        raise ScenarioError("", problems)
    return kind


def flag(name: str) -> str:
    """The option of the command line behind a field."""
    return question_fields.flag(name, Question)


def _names(question: Question, catalogue: Catalogue) -> Iterator[Problem]:
    known = models(catalogue)
    if question.model not in known:
        remedy = near_or_own("model", question.model, known)
        yield Problem("", f"the catalogue has no model {shown(question.model)}; {remedy}")
    for sku in question.skus:
        if sku not in catalogue.skus:
            yield Problem(
                "--sku", f"the catalogue has no SKU {shown(sku)}; {near_or_own('SKU', sku, catalogue.skus)}"
            )
    if question.precision not in PRECISIONS:
        yield Problem("--precision", f"{shown(question.precision)} is none of {', '.join(PRECISIONS)}")
    elif question.skus:
        yield from _without_precision(question, catalogue)
    if question.mix is not None and question.mix not in (named := mixes(catalogue)):
        yield Problem(
            "--mix",
            f"the catalogue has no request mix {shown(question.mix)}; {nearest_remedy(question.mix, named)}",
        )
    if question.grid is not None and question.grid not in (grids := catalogue.names("grid", "intensity")):
        yield Problem(
            "--grid",
            f"the catalogue has no grid {shown(question.grid)}; {near_or_own('grid', question.grid, grids)}",
        )
    engines = [one.name for one in catalogue.engines.values() if not one.only]
    if question.engine is not None and question.engine not in engines:
        yield Problem(
            "--engine",
            f"the catalogue has no serving engine {shown(question.engine)}; "
            f"{nearest_remedy(question.engine, engines)}",
        )


def _without_precision(question: Question, catalogue: Catalogue) -> Iterator[Problem]:
    """SKUs that were named and cannot compute at the precision; others only have it said in the table."""
    known = PRECISIONS if question.serve else TRAINED
    if question.precision not in known:
        return
    for sku in question.skus:
        if sku in catalogue.skus:
            chip = catalogue.skus[sku].accelerator
            has = [name for name in known if catalogue.has(f"accelerator.{chip}.{FORMATS[name].peak}_peak")]
            if question.precision not in has:
                yield Problem(
                    "--precision", f"{sku} does not compute in {question.precision}, but in {', '.join(has)}"
                )


def _numbers(question: Question) -> Iterator[Problem]:
    for size in question.nodes:
        if size < 1:
            yield Problem("--nodes", f"{size} is no size: write counts of 1 or more, such as 8,16,32")
    stated = {name: getattr(question, name) for name in FIELDS}
    for option, text in question_fields.out_of_range(Question, stated):
        yield Problem(option, text)
    sequence, batch = question.sequence_tokens, question.batch_tokens
    if sequence is not None and batch is not None and 0 < batch < sequence:
        yield Problem("--batch-tokens", f"{batch:g} hold no sequence of {sequence} tokens")


def _together(question: Question) -> Iterator[Problem]:
    if (question.tokens is None) != (question.by_h is None):
        yield Problem("--tokens", "and --by go together: --tokens 15e12 --by 90d")
    if question.tokens is not None and question.target_per_s is not None:
        yield Problem("--target", "and --tokens with --by say the same thing: give one of them")
    if bool(question.across) != bool(question.link):
        yield Problem("--across", "and --link go together: --link '800 Gbit/s, 20 ms, 2:1'")
    if question.across and len(question.skus) > 1:
        yield Problem("--sku", f"a run across sites is on one kind of node, got {', '.join(question.skus)}")
    if question.across and question.adapter_rank is not None:
        yield Problem("--adapter-rank", "has no gradients that are worth a link: leave out --across")
    if question.across and (question.wants_target or question.why):
        yield Problem("--across", "is asked alone: leave out --target, --tokens and --why")
    if question.tables is not None and not (question.skus and question.nodes):
        yield Problem("--tables", "are placed on every size: name --sku and --nodes")
    if question.tables is None and (question.table_set or question.table_ways):
        yield Problem("--tables", "is what --table-set and --table-ways are of: name a file")
    wrong = [way for way in question.table_ways if way not in WAYS]
    if wrong:
        yield Problem("--table-ways", f"{shown(', '.join(wrong))} is none of {', '.join(WAYS)}")
    if (question.input_tokens is None) != (question.output_tokens is None):
        yield Problem("--input-tokens", "and --output-tokens go together")
    if question.alike and question.output_tokens is None:
        yield Problem(
            "--alike", "says that answers are of one length: needs --input-tokens and --output-tokens"
        )
    if question.mix is not None and question.input_tokens is not None:
        yield Problem("--mix", "holds the lengths of requests: leave out --input-tokens and --output-tokens")
    if question.measured and question.calibration is not None:
        yield Problem("--measured", "and --calibration say the same thing: give one of them")
    if question.availability_fraction is not None and question.requests_per_s is None:
        yield Problem("--availability", "counts standby replicas, and needs --requests-per-second")
    if question.disaggregated and question.requests_per_s is None:
        yield Problem("--disaggregated", "counts replicas for a demand, and needs --requests-per-second")


def _not_meant(question: Question, kind: str) -> Iterator[Problem]:
    for name, one in FIELDS.items():
        stated = getattr(question, name) not in (None, (), "", False)
        if stated and one.kinds and kind not in one.kinds:
            meant = " or ".join(WORDS[each] for each in one.kinds[:2])
            yield Problem(flag(name), f"has no effect on {WORDS[kind]}; it is for {meant}")
