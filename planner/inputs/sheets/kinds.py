"""Kinds of work: which table each is in, what tells it, what it has to state, and what it may state besides.

A kind is told by a key of its entry that is there, filled or not: an entry that is begun holds it empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from planner.inputs.catalogue import Catalogue
from planner.inputs.editing.fields import part_at
from planner.inputs.model_kinds import (
    BY_SAMPLES,
    IN_BATCHES,
    LANGUAGE,
    SPEECH,
    TRAINED,
    VISION,
    WRITES,
    kind_of_model,
    models_of,
)
from planner.inputs.scenario.base import Part
from planner.inputs.scenario.schema_services import RequestClass, UserRegion
from planner.inputs.scenario.schema_training import Ingestion

Row = Mapping[str, str]
Ways = tuple[str, ...]  # keys of which one has to be stated
WORK = ("services", "training", "pools")
# Tables whose rows belong to an entry of another, named by this key.
CHILDREN: Mapping[str, type[Part]] = {"regions": UserRegion, "classes": RequestClass}
PARENT = "service"
# Columns of a run that are keys of its workers, and what says that it has any.
FED = "ingestion"
WORKERS: Mapping[str, str] = {
    "workers_per_node": "workers_per_node",
    "workers": "workers",
    "worker_sku": "sku",
}
_RECORDINGS = "audio_rate"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of work. `tells` is empty for what its table holds otherwise; `short` begins a name."""

    name: str
    short: str
    table: str
    tells: Ways
    needs: tuple[Ways, ...]
    may: tuple[str, ...] = ()
    models: tuple[str, ...] = (LANGUAGE,)


# Of one table the first that an entry holds a key of; the last takes all others.
KINDS = (
    Kind("service", "", "services", (), (("users", "requests_per_day", _RECORDINGS),), models=()),
    Kind("team", "team-", "pools", (), (("people", "gpu_time"),), models=(LANGUAGE, VISION)),
    Kind(
        "training run",
        "train-",
        "training",
        (),
        (("tokens", "samples"), ("deadline",)),
        ("earliest", "nodes"),
        models=TRAINED,
    ),
    Kind(
        "evaluations",
        "evaluate-",
        "pools",
        ("passes",),
        (("items",), ("passes",)),
        ("tokens_in", "tokens_out"),
    ),
    Kind("batch inference", "batch-", "pools", ("items",), (("items",),), ("tokens_in", "tokens_out")),
    Kind(
        "tuning jobs",
        "tune-",
        "pools",
        ("jobs",),
        (("jobs",), ("job_tokens", "job_p50")),
        ("job_p99", "job_nodes", "sequence_tokens"),
        models=(LANGUAGE, VISION),
    ),
    Kind(
        "reinforcement learning",
        "rollouts-",
        "pools",
        ("prompts",),
        (("prompts",),),
        (
            "samples",
            "tokens_in",
            "tokens_out",
            "wasted",
            "mode",
            "step_prompts",
            "longest_tokens",
            "job_nodes",
        ),
    ),
    Kind(
        "agents",
        "agents-",
        "pools",
        ("campaigns",),
        (("campaigns",), ("agents",), ("campaign_time",)),
        ("agent_accelerators", "success"),
    ),
    Kind("recordings", "hear-", "pools", (_RECORDINGS,), ((_RECORDINGS,),), ("audio",), models=(SPEECH,)),
    Kind("data for a run", "write-", "pools", ("feeds",), (("feeds",),), ("tokens_in", "tokens_out")),
)


@dataclass(frozen=True, slots=True)
class Detail:
    """What an entry may state besides: its keys with what they begin as, or rows of a table of their own."""

    name: str
    keys: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[Ways, ...] = ()
    rows: str = ""
    instead: tuple[str, ...] = ()  # keys whose place it takes


DETAILS = (
    Detail("growth", {"growth": ""}, (("growth",),)),
    Detail("latency", {"first_token": "", "per_token": ""}),
    Detail("peak and availability", {"mean_to_peak": "", "availability": ""}),
    Detail("where users are", rows="regions"),
    Detail("prefill and decode apart", {"phases": "either"}),
    Detail("kinds of request", rows="classes", instead=("tokens_in", "tokens_out")),
    Detail("a prefix cache", {"cache_hits": "", "cached_tokens": ""}, (("cache_hits",),)),
    Detail("a published trace", {"traffic": ""}, (("traffic",),), instead=("tokens_in", "tokens_out")),
    Detail(
        "smaller models",
        {"models": "", "mean_quality_budget": "", "quality_budget": ""},
        (("models",), ("mean_quality_budget", "quality_budget")),
    ),
    Detail("a stage of a pipeline", {"pipeline": ""}, (("pipeline",),)),
    Detail("workers that feed it", {FED: "yes", **dict.fromkeys(WORKERS, "")}),
    Detail(
        "where its data come from",
        {"data_price": "", "bought": "", "generated": "", "passes": ""},
        (("data_price", "generated"),),
    ),
    Detail("adapters", {"method": "lora", "adapter_rank": ""}),
    Detail("preferences", {"reference_passes": "1"}),
)
_BY_NAME = {detail.name: detail for detail in DETAILS}
# What a child has to state.
CHILD_NEEDS: Mapping[str, tuple[Ways, ...]] = {
    "regions": (("users",),),
    "classes": (("share",), ("tokens_in",), ("tokens_out",)),
}


def kind_of(table: str, entry: Mapping[str, Any]) -> Kind:
    """The kind of work of an entry."""
    held = [kind for kind in KINDS if kind.table == table]
    named = (kind for kind in held if any(key in entry for key in kind.tells))
    return next(named, next(kind for kind in held if not kind.tells))


def kind_called(name: str) -> Kind:
    """The kind of work of a name."""
    return next(kind for kind in KINDS if kind.name == name)


def begun(kind: Kind, name: str, model: str, catalogue: Catalogue) -> dict[str, str]:
    """An entry of a kind as it is begun: with the keys that tell what it is, empty."""
    row = {"name": name, "model": model} | dict.fromkeys(kind.tells, "")
    if kind.name == "evaluations":
        row["items"] = ""
    if kind.table == "training" and kind_of_model(catalogue, model) in BY_SAMPLES:
        row["samples"] = ""
    if kind.table == "services" and kind_of_model(catalogue, model) == SPEECH:
        row[_RECORDINGS] = ""
    return row


def models_for(kind: Kind, catalogue: Catalogue) -> list[str]:
    """Models that do a kind of work; those with layers, which tokens train, first."""
    if not kind.models:
        return list(models_of(catalogue))
    layered = [*catalogue.names("model", "layers")] if LANGUAGE in kind.models else []
    return [name for name in dict.fromkeys([*layered, *models_of(catalogue, kind.models)])]


def needed(table: str, row: Row) -> Iterator[Ways]:
    """What an entry of work has to state: one key of each line, of those that it has a place for."""
    if table in CHILDREN:
        yield from CHILD_NEEDS[table]
        return
    for ways in kind_of(table, row).needs:
        if ways == ("tokens", "samples"):
            yield ("samples",) if "samples" in row else ("tokens",)
        elif _RECORDINGS in ways and _RECORDINGS not in row:
            yield tuple(key for key in ways if key != _RECORDINGS)
        else:
            yield ways
    for detail in DETAILS:
        if detail.keys and any(key in row for key in detail.keys) and _opened(detail, row):
            yield from detail.needs


def details_of(table: str, row: Row, catalogue: Catalogue) -> list[Detail]:
    """What an entry may state besides, by its kind of work and of model."""
    kind, model = kind_of(table, row), kind_of_model(catalogue, row.get("model"))
    if table == "services":
        reads = str(row.get("tokens_out")) == "0"
        writes = model in WRITES and not reads
        names = ["growth", *(["latency"] if writes else []), "peak and availability", "where users are"]
        if model == LANGUAGE:
            names += [] if reads else ["prefill and decode apart"]
            names += ["kinds of request", "a prefix cache", "a published trace"]
        if model in IN_BATCHES:
            names.append("a stage of a pipeline")
        names.append("smaller models")
    elif table == "training":
        names = ["workers that feed it", "where its data come from"]
        names += ["adapters"] if model in (LANGUAGE, VISION) else []
    else:
        names = [] if kind.name == "data for a run" else ["growth"]
        if kind.name in ("team", "tuning jobs", "reinforcement learning", "agents"):
            names.append("adapters")
        if kind.name == "tuning jobs":
            names.append("preferences")
    return [_BY_NAME[name] for name in names]


def opened(table: str, row: Row, children: Mapping[str, Sequence[Row]], catalogue: Catalogue) -> list[Detail]:
    """Those of them that an entry states; `children` are the rows that belong to it, by table."""
    return [
        detail
        for detail in details_of(table, row, catalogue)
        if (children.get(detail.rows) if detail.rows else _opened(detail, row))
    ]


def _opened(detail: Detail, row: Row) -> bool:
    return set(detail.keys) <= row.keys()


def part_of(table: str, key: str) -> tuple[type[Part], str]:
    """The table of the schema that a column of a sheet is of, and its key there."""
    if table == "training" and key in WORKERS:
        return Ingestion, WORKERS[key]
    return CHILDREN[table] if table in CHILDREN else part_at(table), key
