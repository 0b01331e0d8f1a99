"""From TOML tables, or from flags, to a job: every problem at once, in the words of a scenario's messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path, PurePath
from typing import Any

from planner.inputs.catalogue import Catalogue, OwnFacts
from planner.inputs.consistency import cards_of, doubled_figures, known_names
from planner.inputs.fits import is_fit, no_fleet, read_fit
from planner.inputs.job.checks import ON_NODES, problems_between
from planner.inputs.job.schema import PHASES, TABLES, Job
from planner.inputs.job_question import FLAGS, JobQuestion
from planner.inputs.kind_checks import answer_problems, job_kind_problems
from planner.inputs.models import with_model_cards
from planner.inputs.question_fields import usual
from planner.inputs.scenario import Known, Problem, Scenario, ScenarioError
from planner.inputs.scenario.fields import CARD, Frame
from planner.inputs.scenario.files import read_text, read_toml
from planner.inputs.scenario.known_names import own_fact_problems, own_facts
from planner.inputs.scenario.own import own_in, with_regions
from planner.inputs.scenario.parts import keys_of, once, read_far, read_part, reported, without_slips
from planner.inputs.scenario.problems import near_or_own, nearest_remedy, shown
from planner.trace.errors import InputError
from planner.trace.numbers import EXACT, many_text, number_text, written_text
from planner.trace.units import parse_quantity

# What holds where neither a flag nor a field of the page says it. A job file has to say it itself.
DEFAULTS = {name: usual(JobQuestion, name) for name in ("sku", "nodes", "grid")}
UNTITLED = "One job"
LONGEST_TITLE = 200  # characters, as a title takes

# Names that the catalogue has to know: field -> what it is called, and the set of names.
_NAMES = {
    "sku": ("SKU", "skus"),
    "model": ("model", "models"),
    "grid": ("grid region", "grids"),
    "traffic": ("traffic trace", "traffics"),
    "checkpoint_storage": ("storage class", "storages"),
}


def load_job(path: Path, catalogue: Catalogue) -> Job:
    """Job in a TOML file.

    Raises:
        ScenarioError: the file cannot be read or is wrong; the error holds every problem.
    """
    document = read_toml(read_text(path), path.name)
    return read_job(document, path.name, catalogue, path=path)


def job_from_flags(options: Mapping[str, Any], catalogue: Catalogue) -> Job:
    """Job that flags describe, read by the same rules; messages name the flags.

    Raises:
        ScenarioError: what the flags say is wrong; the error holds every problem.
    """
    document: dict[str, Any] = {}
    for flag, place in FLAGS.items():
        if options.get(flag) is not None:
            table, _, key = place.partition(".")
            document.setdefault(table, {})[key] = options[flag]
    tables, assumed = with_defaults(document, catalogue)
    try:
        return read_job(tables, "", catalogue, by_flags=True, assumed=assumed)
    except ScenarioError as error:
        raise ScenarioError("", [_as_flag(problem) for problem in error.problems]) from None


def with_defaults(
    document: Mapping[str, Any], catalogue: Catalogue, folder: Path | None = None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The tables of a job that flags or the fields of a page describe, whole; and the places filled here.

    One function for every door, so that the same words give the same job. Where a metered file in `folder`
    names its country and accelerators, they hold; only what nobody says is assumed.
    """
    whole = deepcopy(dict(document))
    training, site = whole.get("training", {}), whole.get("site", {})
    missing = dict(DEFAULTS)
    if "model" not in training:
        del missing["nodes"]
    if {"hourly", "grid_intensity", "region"} & site.keys():
        del missing["grid"]
    named = _named_by_its_meter(training, catalogue, folder)
    assumed = []
    for flag, value in missing.items():
        table, _, key = FLAGS[flag].partition(".")
        if key not in whole.get(table, {}):
            whole.setdefault(table, {})[key] = named.get(flag, value)
            assumed += [] if flag in named else [FLAGS[flag]]
    return {"title": title_of(whole) or UNTITLED, **whole}, tuple(assumed)


def _named_by_its_meter(
    training: Mapping[str, Any], catalogue: Catalogue, folder: Path | None
) -> dict[str, str]:
    """Grid and node that the metered file of a run names; of a file that cannot be read, nothing yet."""
    if not isinstance(name := training.get("metered"), str):
        return {}
    from planner.inputs.metering import read_metered  # brings pandas, which takes half a second to load
    from planner.inputs.metering.names import named_by_meter

    try:
        found = read_metered(
            (folder or Path()) / name,
            zone=training.get("metered_zone"),
            columns=training.get("metered_columns"),
        )
    except InputError:  # told once, by the reading that counts
        return {}
    return named_by_meter(found, catalogue)


def title_of(document: Mapping[str, Any]) -> str:
    """What a job is called after its training run; empty where its tables say nothing of one."""
    work = document.get("training", {})
    tokens, hours = work.get("tokens"), work.get("accelerator_hours")
    if "metered" in work:
        title = f"Metered run of {PurePath(str(work['metered'])).name}"
    elif "model" in work:
        name = str(work["model"])
        title = PurePath(name).stem if CARD.fullmatch(name) else name
        title += f" on {many_text(tokens, 'tokens', EXACT)}" if isinstance(tokens, int | float) else ""
    else:
        title = f"{number_text(hours, 10)} accelerator-hours" if isinstance(hours, int | float) else ""
    return title if title.isprintable() and len(title) <= LONGEST_TITLE else ""


def is_job(document: Mapping[str, Any]) -> bool:
    """Whether tables are rather those of a job than of a scenario, by those that only one of them has."""
    ours, theirs = set(keys_of(Job)), set(keys_of(Scenario))
    return len((ours - theirs) & document.keys()) + isinstance(document.get("training"), dict) > len(
        (theirs - ours) & document.keys()
    )


def read_job(
    document: Mapping[str, Any],
    name: str,
    catalogue: Catalogue,
    *,
    path: Path | None = None,
    by_flags: bool = False,
    assumed: tuple[str, ...] = (),
) -> Job:
    """Job in the tables of a file; `name` begins each message, `assumed` are places that nobody stated.

    Raises:
        ScenarioError: it is wrong; the error holds every problem of value, name and meaning.
    """
    if isinstance(document.get("data"), str):  # as a scenario has it; a table is the phase of that name
        document = {key: held for key, held in document.items() if key != "data"} | {
            "own_data": document["data"]
        }
    meaning = without_slips(Job, document)
    folder = path.parent if path is not None else Path() if by_flags else None
    own = own_in(meaning.document.get("own_data"), folder)
    catalogue = catalogue.with_own(own if isinstance(own, OwnFacts) else None)
    document, lost = with_regions(meaning.document, catalogue)
    meaning = replace(meaning, document=document)
    read, fields, more = read_part(Job, document, Frame())
    job = read if read is not None else read_far(Job, document, Frame())
    assert job is not None, "tables are read as far as they go"
    job._path, job._by_flags, job._assumed = path, by_flags, assumed
    catalogue, unread = cards_of(document, job.folder, catalogue)
    empty = [] if any(phase in document for phase in PHASES) else [_nothing(by_flags)]
    stages = (
        [*fields, *meaning.unknown],
        [*lost, *(own if isinstance(own, list) else [])],
        unread,
        [
            *_unknown(document, known_names(catalogue), job),
            *job_kind_problems(document, catalogue),
            *answer_problems(document, catalogue),
        ],
        [*problems_between(job), *reported((partial(_drawn, catalogue=catalogue),), job)],
        empty,
        doubled_figures(own_facts(document), catalogue),
    )
    if found := once(*(map(meaning.as_written, stage) for stage in stages)):
        raise ScenarioError(name, found, more + meaning.more)
    return job


def with_cards(tables: Mapping[str, Any], folder: Path | None, catalogue: Catalogue) -> Catalogue:
    """The catalogue with the models that a job's tables name by the path of a file in `folder`.

    Raises:
        ModelCardError: one of the files is no configuration that is understood.
    """
    if folder is None:
        return catalogue
    own = own_in(tables.get("own_data"), folder)
    catalogue = catalogue.with_own(own if isinstance(own, OwnFacts) else None)
    named = [table.get("model") for key in TABLES if isinstance(table := tables.get(key), dict)]
    cards = [name for name in named if isinstance(name, str) and CARD.fullmatch(name)]
    return with_model_cards(catalogue, cards, folder)


def _nothing(by_flags: bool) -> Problem:
    if by_flags:
        return Problem("", "give --model with --tokens, or --accelerator-hours, or --metered, or a job file")
    phases = ", ".join(f"[{phase}]" for phase in PHASES)
    return Problem("", f"there is no phase to count: add one of {phases}")


def _unfailing(at: str, failures: str, known: Known, job: Job) -> Iterator[Problem]:
    """Failures that are neither those of a fleet of the catalogue nor a fit that can be read."""
    if not is_fit(failures):
        if failures not in known.fleets:
            yield Problem(at, no_fleet(failures, known.fleets, look=job.by_flags))
        return
    if job.folder is None:
        yield Problem(
            at,
            "is looked for in the folder of the job, and this text has no file: save it, and read the job "
            "from there",
        )
        return
    path = job.folder / failures
    try:
        read_fit(path)
    except InputError as error:
        yield Problem(at, f"{shown(failures)} {str(error).removeprefix(f'{path}: ')}")


def _unknown(document: Mapping[str, Any], known: Known, job: Job) -> Iterator[Problem]:
    """Names that the catalogue does not have, and overrides that its facts cannot take."""
    named = ((key, document[key]) for key in TABLES if isinstance(document.get(key), dict))
    for key, table in named:
        if isinstance(failures := table.get("failures"), str):
            yield from _unfailing(f"{key}.failures", failures, known, job)
        for one, (kind, names) in _NAMES.items():
            name = table.get(one)
            if isinstance(name, str) and name not in (held := getattr(known, names)):
                yield Problem(
                    f"{key}.{one}",
                    f"the catalogue has no {kind} {shown(name)}; {near_or_own(kind, name, held)}",
                )
    for mix in ("devices", "population"):
        federated = document.get("federated")
        weights = federated.get(mix) if isinstance(federated, dict) else None
        for name in weights if isinstance(weights, dict) else ():
            if name not in known.grids:
                near = nearest_remedy(name, known.grids)
                yield Problem(
                    f"federated.{mix}",
                    f"the catalogue has no grid region {shown(name)}; {near}{'.' * (near[-1] != '?')} "
                    "`everfleet add region` writes one of your own",
                )
    yield from own_fact_problems(own_facts(document), known)


def _as_flag(problem: Problem) -> Problem:
    flags = {place: f"--{flag.replace('_', '-')}" for flag, place in FLAGS.items()}
    message = problem.message
    for place, flag in flags.items():
        message = message.replace(place, flag)
    path = "" if problem.path in TABLES else problem.path
    return Problem(flags.get(path, path), message)


# Input -> its place in a job file, in the order in which they are requested.
PLACES = {
    "model": "training.model",
    "tokens": "training.tokens",
    "nodes": "training.nodes",
    "method": "training.method",
    "accelerator_hours": "training.accelerator_hours",
    "requests_per_day": "inference.requests_per_day",
    "sku": "hardware.sku",
    "grid": "site.grid",
    "pue": "site.pue",
    "lifetime_y": "hardware.lifetime",
}


def _drawn(job: Job, catalogue: Catalogue) -> Iterator[Problem]:
    """Power that no node of the SKU draws: that of a whole node, or in another unit."""
    for phase in ON_NODES:
        work = getattr(job, phase)
        if work is None or not work.has("power_kw"):
            continue
        name = getattr(work, "sku", None) or job.hardware.sku
        sku = catalogue.skus.get(name or "")
        if sku is None or not catalogue.has(f"server.{sku.server}.max_power"):
            continue
        whole, chips = (
            float(catalogue.fact(f"server.{sku.server}.{of}").value) for of in ("max_power", "accelerators")
        )
        if work.power_kw > whole / chips:
            yield Problem(
                f"{phase}.power",
                f"{number_text(work.power_kw)} kW are more than {name} draws: {number_text(whole)} kW a "
                f"node, {number_text(whole / chips)} kW for each of {number_text(chips)} accelerators",
            )


# Phases that need nothing stated: each is a share of the others, by facts of the catalogue.
WITHOUT_INPUTS = ("experimentation", "ingestion", "network", "building", "end_of_life")
_ALWAYS = ("sku", "grid", "pue", "lifetime_y")

# What else a file says of its grid gives way to a region that is chosen.
_OTHER_GRIDS = (
    "region",
    "grid_intensity",
    "hourly",
    "hourly_signal",
    "hourly_zone",
    "hourly_column",
    "hourly_unit",
    "hourly_time_zone",
    "hourly_repeats",
    "fill",
    "longest_gap",
)


@dataclass(frozen=True, slots=True)
class Simple:
    """The few inputs of a job; None is what its file leaves to the catalogue or says in another way."""

    model: str | None = None
    tokens: float | None = None
    nodes: int | None = None
    method: str | None = None
    accelerator_hours: float | None = None
    requests_per_day: float | None = None
    sku: str | None = None
    grid: str | None = None
    pue: float | None = None
    lifetime_y: float | None = None


def simple_of(job: Job) -> Simple:
    """The few inputs as a job states them."""
    training, inference = job.training, job.inference
    return Simple(
        model=None if training is None else training.model,
        tokens=None if training is None else training.tokens,
        nodes=None if training is None else training.nodes,
        method=None if training is None else training.method,
        accelerator_hours=None if training is None else training.accelerator_hours,
        requests_per_day=None if inference is None else inference.requests_per_day,
        sku=job.hardware.sku,
        grid=job.site.grid,
        pue=job.site.pue,
        lifetime_y=job.hardware.lifetime_y,
    )


def inputs_taken(job: Job) -> tuple[str, ...]:
    """Which of the few inputs a job can take: those of its own phases, and those of every job."""
    stated = asdict(simple_of(job))
    return tuple(name for name in PLACES if name in _ALWAYS or stated[name] is not None)


def simple_stated(tables: Mapping[str, Any]) -> Simple:
    """The few inputs as the tables that `with_simple` made state them, a job or not yet one."""
    found = {}
    for name, place in PLACES.items():
        section, _, key = place.partition(".")
        found[name] = tables.get(section, {}).get(key)
    if found["lifetime_y"] is not None:
        found["lifetime_y"] = parse_quantity(found["lifetime_y"], "y")
    return Simple(**found)


def own_inputs_taken(tables: Mapping[str, Any]) -> tuple[str, ...]:
    """Which of the few inputs a job of your own takes: a metered run needs no other word for its size."""
    work = tables.get("training", {})
    metered = "metered" in work
    sizes = ("model", "tokens", "nodes", *(["method"] if "model" in work else []), "accelerator_hours")
    return tuple(name for name in PLACES if name in _ALWAYS or (name in sizes and not metered))


def lacking(tables: Mapping[str, Any]) -> str:
    """What a job of your own lacks before it can be worked out; empty where it lacks nothing."""
    work = tables.get("training", {})
    if "model" in work and not {"tokens", "samples", "accelerator_hours", "metered"} & work.keys():
        return "Write the training tokens: the hours are predicted from them and the model."
    if "tokens" in work and "model" not in work:
        return "Choose a model: the hours are predicted from it and the tokens."
    if not {"model", "accelerator_hours", "metered"} & work.keys():
        return (
            "Nothing is stated yet: choose a model and write its training tokens, or write accelerator-hours "
            "that were measured, or bring a file of metered energy."
        )
    return ""


def with_phases(tables: Mapping[str, Any], wanted: Mapping[str, bool]) -> dict[str, Any]:
    """The tables with some phases switched on, as the catalogue has them, and others off."""
    kept = {name: held for name, held in deepcopy(dict(tables)).items() if wanted.get(name, True)}
    return kept | {name: {} for name, on in wanted.items() if on and name not in kept}


def with_simple(tables: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a job file with other values for some of the few inputs; None leaves it to the facts."""
    changed = deepcopy(dict(tables))
    for name, value in wanted.items():
        section, _, key = PLACES[name].partition(".")
        table = changed.setdefault(section, {})
        if value is None:
            table.pop(key, None)
            continue
        if name == "grid":
            for other in _OTHER_GRIDS:
                table.pop(other, None)
        table[key] = f"{written_text(value, 15)} y" if name == "lifetime_y" else value
    return changed


def with_metered(tables: Mapping[str, Any], name: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a job whose training run is what a meter saw; `known` is what the file does not say."""
    said = {f"metered_{key}": value for key, value in known.items() if value is not None}
    return {**deepcopy(dict(tables)), "training": {"metered": name, **said}}
