"""What one field of a job cannot know: ways that exclude each other, and what a phase needs of the rest."""

from __future__ import annotations

from collections.abc import Iterator

from planner.inputs.job.schema import Job
from planner.inputs.job.schema_work import Work
from planner.inputs.scenario import Problem
from planner.inputs.scenario.parts import reported
from planner.inputs.scenario.problems import rank_without_adapters
from planner.inputs.scenario.training_checks import less_than_a_step_text

# Ways to say what a phase of work took, and what belongs to each alone.
_DESCRIBED = ("model", "tokens")
_MEASURED = ("accelerator_hours", "metered")
_ONLY_DESCRIBED = (
    "precision",
    "method",
    "adapter_rank",
    "sequence_tokens",
    "batch_tokens",
    "failures",
    "checkpoint_storage",
    "interval_h",
    "data_usd_per_million",
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
    "data_usd_per_million": "data_price",
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
ON_NODES = ("data", "training", "fine_tuning", "inference", "experimentation")


def problems_between(job: Job) -> Iterator[Problem]:
    """Everything that is wrong between the fields of a job, of which some may be wrong themselves."""
    yield from reported(CHECKS, job)


def _grid(job: Job) -> Iterator[Problem]:
    site = job.site
    ways = {"grid": "grid", "grid_intensity": "grid_kgco2e_per_kwh", "hourly": "hourly"}
    given = [name for name, attribute in ways.items() if site.has(attribute)]
    if not given and not site.has("region"):
        yield Problem("site", "none of grid, grid_intensity and hourly is given: write one")
    for name in () if site.has("hourly") else _OF_HOURS:
        if site.has(name):
            yield Problem(f"site.{name.removesuffix('_h')}", "has no effect without hourly")
    if "grid_intensity" in given and len(given) > 1:
        other = next(name for name in given if name != "grid_intensity")
        yield Problem("site", f"grid_intensity and {other} say the same thing twice: keep one")


def _declining(job: Job) -> Iterator[Problem]:
    site = job.site
    if site.has("hourly", "grid_decline_fraction"):
        yield Problem("site.grid_decline", "belongs to grid: an hourly series is of its own year")
    if site.has("grid_decline_fraction") and not site.has("start"):
        yield Problem("site.start", "is missing, and grid_decline needs it: write for example 2026-03-01")


def _data(job: Job) -> Iterator[Problem]:
    yield from _work("data", job.data)


def _training(job: Job) -> Iterator[Problem]:
    yield from _work("training", job.training)


def _fine_tuning(job: Job) -> Iterator[Problem]:
    yield from _work("fine_tuning", job.fine_tuning)


def _work(name: str, work: Work | None) -> Iterator[Problem]:
    if work is None:
        return
    described = [key for key in (*_DESCRIBED, "samples") if work.has(key)]
    if work.has("tokens", "samples"):
        yield Problem(f"{name}.samples", "is next to tokens: a run has one of them, keep that")
        return
    for key in ("sequence_tokens", "batch_tokens") if work.has("samples") else ("batch_samples",):
        if work.has(key):
            other = "samples" if work.has("samples") else "tokens"
            yield Problem(
                f"{name}.{key}", f"has no effect with {other}" if other in described else "needs samples"
            )
    measured = [key for key in _MEASURED if work.has(key)]
    if (len(described) == 2) + len(measured) != 1 or (described and measured):
        ways = f"{name}.model with {name}.tokens, or {name}.accelerator_hours, or {name}.metered"
        yield Problem(name, f"give {ways}: one of them")
        return
    for key in _ONLY_HOURS if described else _ONLY_DESCRIBED:
        if work.has(key):
            said = _TOML.get(key, key)
            reason = "it is predicted" if described else "nothing is predicted from hours"
            yield Problem(f"{name}.{said}", f"has no effect with {(described or measured)[0]}: {reason}")
    yield from _data_price(name, work)
    for key, step in (("tokens", "batch_tokens"), ("samples", "batch_samples")):
        if work.reads(key, step) and getattr(work, key) < (least := getattr(work, step)):
            yield Problem(f"{name}.{key}", less_than_a_step_text(getattr(work, key), least))
    if described and not work.has("nodes"):
        yield Problem(f"{name}.nodes", f"is missing: write for example {name}.nodes = 64")
    if work.has("power_kw", "energy_kwh"):
        yield Problem(name, "power and energy say the same thing twice: keep one")
    if work.has("metered") and {"power_kw", "energy_kwh", "duration_h"} & work.model_fields_set:
        yield Problem(name, "metered holds energy and time: leave out power, energy and duration")
    for key in () if work.has("metered") else _ONLY_METERED:
        if work.has(key):
            yield Problem(f"{name}.{_TOML.get(key, key)}", "has no effect without metered")
    if described:
        stated = {key: getattr(work, key) for key in ("method", "adapter_rank") if work.has(key)}
        yield from rank_without_adapters(stated, name)


def _data_price(name: str, work: Work) -> Iterator[Problem]:
    """A price of data where data is trained on, and what belongs to it alone."""
    if work.has("data_usd_per_million") and name == "data":
        yield Problem("data.data_price", "is of what training buys: write it there")
    for attribute, key in (("bought_fraction", "bought"), ("passes", "passes")):
        if work.has(attribute) and not work.has("data_usd_per_million"):
            yield Problem(f"{name}.{key}", "has no effect without data_price: write it, or remove this")


def _experimentation(job: Job) -> Iterator[Problem]:
    table = job.experimentation
    if table is None:
        return
    if table.has("of_training_ratio", "accelerator_hours"):
        yield Problem("experimentation", "of_training and accelerator_hours say the same thing: keep one")
    if not table.has("accelerator_hours"):
        if not job.has("training"):
            yield Problem(
                "experimentation",
                "is a multiple of [training], which is not there: add it, or write accelerator_hours",
            )
        if table.has("power_kw"):
            yield Problem("experimentation.power", "has no effect without accelerator_hours")


def _requests(job: Job) -> Iterator[Problem]:
    table = job.inference
    if table is None:
        return
    if table.has("requests") == table.has("requests_per_day"):
        yield Problem("inference", "give requests_per_day with duration, or requests: one of the two")
    if table.has("requests_per_day") and not table.has("duration_h"):
        yield Problem("inference.duration", 'is missing, and requests_per_day needs it: write "365 d"')


_OF_A_MODEL = {
    "precision": "precision",
    "mean_to_peak": "mean_to_peak_fraction",
    "first_token": "first_token_s",
    "per_token": "per_token_s",
    "response_time": "response_time_s",
}
_NOT_TOKENS = {"images": "images", "audio": "audio_s", "candidates": "candidates"}


def _answering(job: Job) -> Iterator[Problem]:
    table = job.inference
    if table is None:
        return
    if table.has("model") == table.has("tokens_per_s"):
        yield Problem(
            "inference", "give model (predicted), or tokens_per_s of one node (measured): one of the two"
        )
    if table.has("power_kw") and not table.has("tokens_per_s"):
        yield Problem("inference.power", "belongs to tokens_per_s; with model it is predicted")
    for key, attribute in _OF_A_MODEL.items():
        if table.has("tokens_per_s") and table.has(attribute):
            yield Problem(
                f"inference.{key}", "has no effect with tokens_per_s, which is what a node gives on average"
            )
    for key, attribute in _NOT_TOKENS.items():
        if table.has("tokens_per_s") and table.has(attribute):
            yield Problem(
                f"inference.{key}", "belongs to model; tokens_per_s counts tokens: write tokens_out"
            )
    if table.has("tokens_per_s") and table.tokens_out == 0:
        yield Problem("inference.tokens_out", "is 0, and tokens_per_s counts what is written: write model")


def _federated(job: Job) -> Iterator[Problem]:
    table = job.federated
    if table is None:
        return
    needed = {key: f"{key}_h" if key in ("compute", "upload", "download") else key for key in EXAMPLES}
    for key, attribute in needed.items():
        if not table.has(attribute):
            yield Problem(f"federated.{key}", f"is missing: write for example {key} = {EXAMPLES[key]}")


def _rounds(job: Job) -> Iterator[Problem]:
    table = job.federated
    if table is None:
        return
    asynchronous = table.mode == "asynchronous"
    for key, attribute in (("buffer", "buffer"), ("dropped", "dropped_fraction")):
        if table.has(attribute) and not asynchronous:
            yield Problem(f"federated.{key}", 'has no effect without mode = "asynchronous"')
    if not table.has("buffer") and asynchronous:
        yield Problem(
            "federated.buffer",
            'is missing, and mode = "asynchronous" needs it: each of `rounds` '
            "updates of the model then takes so many sessions, and not one of every device: write "
            "for example buffer = 10",
        )
    if table.has("slowest_h") and asynchronous:
        yield Problem("federated.slowest", 'has no effect with mode = "asynchronous": no round waits')


def _strangers(job: Job) -> Iterator[Problem]:
    table = job.federated
    if table is None:
        return
    groups = (
        ("population", table.population, table.devices),
        ("tier_population", table.tier_population, table.tiers),
    )
    for key, whole, picked in groups:
        if whole is not None and (strangers := sorted({*(picked or ())} - {*whole})):
            yield Problem(f"federated.{key}", f"does not hold {', '.join(strangers)}, of which devices are")


def _tiers(job: Job) -> Iterator[Problem]:
    table = job.federated
    if table is None:
        return
    if table.tiers is None:
        for key in ("tier_compute", "tier_population"):
            if table.has(key):
                yield Problem(
                    f"federated.{key}",
                    "has no effect without tiers: write for example tiers = { fast = 0.3, slow = 0.7 }",
                )
    elif table.tier_compute is None:
        yield Problem(
            "federated.tier_compute",
            "is missing, and tiers differ in nothing else: write for example "
            "tier_compute = { fast = 0.5, slow = 1.4 }",
        )
    elif {*table.tiers} != {*table.tier_compute}:
        odd = sorted({*table.tiers} ^ {*table.tier_compute})
        yield Problem(
            "federated.tier_compute",
            f"names each of tiers once; {', '.join(odd)} stands in one of them alone",
        )


def _ingestion(job: Job) -> Iterator[Problem]:
    table = job.ingestion
    if table is None:
        return
    fed = {name: getattr(job, name) for name in ("training", "fine_tuning") if job.has(name)}
    if not fed:
        yield Problem(
            "ingestion", "feeds training and fine_tuning, and the job has neither: state one, or leave it out"
        )
    elif table.has("supplied_fraction") and not any(
        (one.has("tokens") or one.has("samples")) and one.has("model") for one in fed.values()
    ):
        yield Problem(
            "ingestion.supplied", "has no effect on measured hours, which hold their stalls: leave it out"
        )


def _storage(job: Job) -> Iterator[Problem]:
    table = job.storage
    examples = {"amount": '"500 TB"', "duration": '"24 month"', "medium": '"hdd"'}
    attributes = {"amount": "amount_gb", "duration": "duration_h", "medium": "medium"}
    if table is None:
        return
    for name, attribute in attributes.items():
        if not table.has(attribute) and not (name == "amount" and table.has("dataset")):
            yield Problem(f"storage.{name}", f"is missing: write for example {name} = {examples[name]}")
    if table.has("dataset") and table.has("amount_gb"):
        yield Problem("storage.amount", "is next to dataset, which says it: leave one of them out")


def _on_nodes(job: Job) -> Iterator[Problem]:
    """What rests on nodes needs their kind."""
    if job.hardware.has("sku"):
        return
    for name in ON_NODES:
        table = getattr(job, name)
        if table is not None and "sku" not in table.model_fields_set:
            yield Problem("hardware.sku", f'is missing, and [{name}] needs it: write sku = "h100-8"')
            return


def _shares(job: Job) -> Iterator[Problem]:
    """What rests on the other phases needs one of those."""
    for name in ("network", "building", "end_of_life"):
        if job.has(name) and not {*ON_NODES} & job.model_fields_set:
            yield Problem(name, "is a share of work on nodes, and there is none: add [training] or another")


def _contract(job: Job) -> Iterator[Problem]:
    table = job.contract
    if table is None:
        return
    for name, attribute in (("covered", "covered_fraction"), ("intensity", "contract_kgco2e_per_kwh")):
        if not table.has(attribute):
            yield Problem(
                f"contract.{name}",
                f"is missing: write {name} = {'0.6' if name == 'covered' else chr(34) + '0 g/kWh' + chr(34)}",
            )
    if job.has("federated"):
        yield Problem(
            "contract",
            "covers a site's electricity, and federated devices draw their own: count them in two files",
        )


def _residual(job: Job) -> Iterator[Problem]:
    table = job.contract
    if table is not None and not table.has("residual_kgco2e_per_kwh") and (table.covered_fraction or 0) < 1:
        yield Problem(
            "contract.residual",
            "is missing, and what no contract covers takes the residual mix, "
            'not the grid average: write for example residual = "450 g/kWh"',
        )


CHECKS = (
    _grid,
    _declining,
    _data,
    _training,
    _fine_tuning,
    _experimentation,
    _requests,
    _answering,
    _federated,
    _tiers,
    _ingestion,
    _rounds,
    _strangers,
    _storage,
    _on_nodes,
    _shares,
    _contract,
    _residual,
)
