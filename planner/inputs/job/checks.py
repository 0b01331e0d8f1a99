"""What one field of a job cannot know: ways that exclude each other, and what a phase needs of the rest."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from planner.inputs.job.schema import Job, Work
from planner.inputs.scenario import Problem

# Ways to say what a phase of work took, and what belongs to each alone.
_DESCRIBED = ("model", "tokens")
_MEASURED = ("accelerator_hours", "metered")
_ONLY_DESCRIBED = (
    "precision",
    "sequence_tokens",
    "batch_tokens",
    "failures",
    "checkpoint_storage",
    "interval_h",
)
_ONLY_HOURS = ("power_kw", "energy_kwh", "useful_fraction", "duration_h")
_ONLY_METERED = (
    "metered_zone",
    "metered_covers",
    "metered_accelerators",
    "metered_columns",
    "metered_sampling_s",
)
_OF_HOURS = (
    "hourly_signal",
    "hourly_zone",
    "hourly_column",
    "hourly_unit",
    "hourly_time_zone",
    "hourly_repeats",
    "fill",
    "longest_gap_h",
)
_TOML = {
    "interval_h": "interval",
    "power_kw": "power",
    "energy_kwh": "energy",
    "useful_fraction": "useful",
    "duration_h": "duration",
    "metered_sampling_s": "metered_sampling",
}
EXAMPLES = {
    "rounds": "1000",
    "concurrency": "1000",
    "compute": '"60 s"',
    "upload": '"12 s"',
    "download": '"8 s"',
    "devices": "{ us = 0.5, in = 0.5 }",
}
_ON_NODES = ("data", "training", "fine_tuning", "inference", "experimentation")


def problems_between(job: Job, wrong: Collection[str]) -> Iterator[Problem]:
    """Everything that is wrong between the fields of tables that could be read by themselves."""
    yield from _grid(job, wrong)
    for name in ("data", "training", "fine_tuning"):
        work: Work | None = getattr(job, name)
        if work is not None:
            yield from _work(name, work)
    yield from _experimentation(job, wrong)
    yield from _inference(job)
    yield from _federated(job)
    yield from _storage(job)
    yield from _on_nodes(job, wrong)
    yield from _contract(job)


def _grid(job: Job, wrong: Collection[str]) -> Iterator[Problem]:
    site = job.site
    given = [
        name
        for name, value in (
            ("grid", site.grid),
            ("grid_intensity", site.grid_kgco2e_per_kwh),
            ("hourly", site.hourly),
        )
        if value is not None
    ]
    if not given and "site" not in wrong:
        yield Problem("site", "none of grid, grid_intensity and hourly is given: write one")
    for name in _OF_HOURS if site.hourly is None else ():
        if getattr(site, name) is not None:
            yield Problem(f"site.{name.removesuffix('_h')}", "has no effect without hourly")
    if "grid_intensity" in given and len(given) > 1:
        other = next(name for name in given if name != "grid_intensity")
        yield Problem("site", f"grid_intensity and {other} say the same thing twice: keep one")
    if site.hourly is not None and site.grid_decline_fraction is not None:
        yield Problem("site.grid_decline", "belongs to grid: an hourly series is of its own year")
    if site.grid_decline_fraction is not None and site.start is None:
        yield Problem("site.start", "is missing, and grid_decline needs it: write for example 2026-03-01")


def _work(name: str, work: Work) -> Iterator[Problem]:
    described = [key for key in _DESCRIBED if getattr(work, key) is not None]
    measured = [key for key in _MEASURED if getattr(work, key) is not None]
    if (len(described) == 2) + len(measured) != 1 or (described and measured):
        ways = f"{name}.model with {name}.tokens, or {name}.accelerator_hours, or {name}.metered"
        yield Problem(name, f"give {ways}: one of them")
        return
    for key in _ONLY_HOURS if described else _ONLY_DESCRIBED:
        if getattr(work, key) is not None:
            said = _TOML.get(key, key)
            reason = "it is predicted" if described else "nothing is predicted from hours"
            yield Problem(f"{name}.{said}", f"has no effect with {(described or measured)[0]}: {reason}")
    if described and work.nodes is None:
        yield Problem(f"{name}.nodes", f"is missing: write for example {name}.nodes = 64")
    if work.power_kw is not None and work.energy_kwh is not None:
        yield Problem(name, "power and energy say the same thing twice: keep one")
    if work.metered is not None and (work.power_kw or work.energy_kwh or work.duration_h):
        yield Problem(name, "metered holds energy and time: leave out power, energy and duration")
    for key in () if work.metered is not None else _ONLY_METERED:
        if getattr(work, key) is not None:
            yield Problem(f"{name}.{_TOML.get(key, key)}", "has no effect without metered")


def _experimentation(job: Job, wrong: Collection[str]) -> Iterator[Problem]:
    table = job.experimentation
    if table is None:
        return
    if table.of_training_ratio is not None and table.accelerator_hours is not None:
        yield Problem("experimentation", "of_training and accelerator_hours say the same thing: keep one")
    if table.accelerator_hours is None:
        if job.training is None and "training" not in wrong:
            yield Problem(
                "experimentation",
                "is a multiple of [training], which is not there: add it, or write accelerator_hours",
            )
        if table.power_kw is not None:
            yield Problem("experimentation.power", "has no effect without accelerator_hours")


def _inference(job: Job) -> Iterator[Problem]:
    table = job.inference
    if table is None:
        return
    counts = (table.requests is not None) + (table.requests_per_day is not None)
    if counts != 1:
        yield Problem("inference", "give requests_per_day with duration, or requests: one of the two")
    if table.requests_per_day is not None and table.duration_h is None:
        yield Problem("inference.duration", 'is missing, and requests_per_day needs it: write "365 d"')
    tokens = (table.tokens_in is not None) + (table.tokens_out is not None)
    if (table.traffic is None) == (tokens == 0):
        yield Problem("inference", "give traffic, or tokens_in with tokens_out: one of the two")
    elif tokens == 1:
        missing = "tokens_in" if table.tokens_in is None else "tokens_out"
        yield Problem(f"inference.{missing}", "is missing, and the other one needs it: write both")
    if (table.model is None) == (table.tokens_per_s is None):
        yield Problem(
            "inference", "give model (predicted), or tokens_per_s of one node (measured): one of the two"
        )
    if table.power_kw is not None and table.tokens_per_s is None:
        yield Problem("inference.power", "belongs to tokens_per_s; with model it is predicted")


def _federated(job: Job) -> Iterator[Problem]:
    table = job.federated
    if table is None:
        return
    needed = {
        "rounds": table.rounds,
        "concurrency": table.concurrency,
        "compute": table.compute_h,
        "upload": table.upload_h,
        "download": table.download_h,
        "devices": table.devices,
    }
    for key, value in needed.items():
        if value is None:
            yield Problem(f"federated.{key}", f"is missing: write for example {key} = {EXAMPLES[key]}")
    for key, value in (("buffer", table.buffer), ("dropped", table.dropped_fraction)):
        if value is not None and table.mode != "asynchronous":
            yield Problem(f"federated.{key}", 'has no effect without mode = "asynchronous"')
    if table.buffer is None and table.mode == "asynchronous":
        yield Problem(
            "federated.buffer",
            'is missing, and mode = "asynchronous" needs it: each of `rounds` '
            "updates of the model then takes so many sessions, and not one of every device: write "
            "for example buffer = 10",
        )
    if table.slowest_h is not None and table.mode == "asynchronous":
        yield Problem("federated.slowest", 'has no effect with mode = "asynchronous": no round waits')
    if table.population is not None and (strangers := sorted({*(table.devices or ())} - {*table.population})):
        yield Problem("federated.population", f"does not hold {', '.join(strangers)}, of which devices are")


def _storage(job: Job) -> Iterator[Problem]:
    for name in () if job.storage is None else ("amount", "duration", "medium"):
        attribute = {"amount": "amount_gb", "duration": "duration_h", "medium": "medium"}[name]
        if getattr(job.storage, attribute) is None:
            example = {"amount": '"500 TB"', "duration": '"24 month"', "medium": '"hdd"'}[name]
            yield Problem(f"storage.{name}", f"is missing: write for example {name} = {example}")


def _on_nodes(job: Job, wrong: Collection[str]) -> Iterator[Problem]:
    """What rests on nodes needs their kind, and what rests on the other phases needs one of those."""
    phases = [name for name in _ON_NODES if getattr(job, name) is not None]
    if job.hardware.sku is None and "hardware" not in wrong:
        for name in phases:
            if getattr(getattr(job, name), "sku", None) is None:
                yield Problem("hardware.sku", f'is missing, and [{name}] needs it: write sku = "h100-8"')
                break
    for name in ("network", "building", "end_of_life"):
        if getattr(job, name) is not None and not phases and not {*_ON_NODES} & {*wrong}:
            yield Problem(name, "is a share of work on nodes, and there is none: add [training] or another")


def _contract(job: Job) -> Iterator[Problem]:
    table = job.contract
    if table is None:
        return
    for name, value in (("covered", table.covered_fraction), ("intensity", table.contract_kgco2e_per_kwh)):
        if value is None:
            yield Problem(
                f"contract.{name}",
                f"is missing: write {name} = {'0.6' if name == 'covered' else chr(34) + '0 g/kWh' + chr(34)}",
            )
    if job.federated is not None:
        yield Problem(
            "contract",
            "covers a site's electricity, and federated devices draw their own: count them in two files",
        )
    if table.residual_kgco2e_per_kwh is None and (table.covered_fraction or 0) < 1:
        yield Problem(
            "contract.residual",
            "is missing, and what no contract covers takes the residual mix, "
            'not the grid average: write for example residual = "450 g/kWh"',
        )
