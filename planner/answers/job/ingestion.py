"""Feeding a job's training: workers that preprocess its data, a fast tier before the drives, and stalls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from carbon.embodied import capacity_kgco2e
from planner.answers.job.setting import Setting
from planner.answers.job.work import Done
from planner.inputs.croissant import read_data_set
from planner.performance.ingestion import hot_tier_gb
from planner.physics.preprocessing import WORKER, worker_kw
from planner.physics.surroundings import stored_kwh
from planner.trace.numbers import count_text, number_text, percent_text
from planner.trace.quantities import Fact, Source, Traced, chosen, derive, total

WAITED = "Hours of nodes that wait for their data. Zhao et al., ISCA 2022: the supply sets the pace"

FED = ("training", "fine_tuning")  # phases that workers feed


@dataclass(frozen=True)
class Tier:
    """A fast tier in front of the drives: its size, its energy and the share of its making."""

    size_gb: Traced
    it_kwh: Traced
    made: Traced


@dataclass(frozen=True)
class Workers:
    """Hours and energy of the workers, and what they are."""

    sku: str
    node_h: Traced
    it_kwh: Traced


def with_stalls(setting: Setting, phase: str, done: Done) -> Done:
    """A predicted run whose nodes wait for their data for the share of the time that is not supplied."""
    stated = setting.job.ingestion
    if stated is None or stated.supplied_fraction is None or phase not in FED or done.states is None:
        return done
    supplied = setting.yours("ingestion.supplied", stated.supplied_fraction, "1")
    longer = (done.node_h / supplied).named("waited_h", WAITED)
    waiting = ((longer - done.node_h) * done.states.powers["restart_kw"]).named(
        "waiting_kwh", "Energy of nodes while they wait"
    )
    lasted, useful = done.duration_h, done.useful
    return replace(
        done,
        node_h=longer,
        it_kwh=(done.it_kwh + waiting).named("waited_kwh", "Energy of nodes that work and wait"),
        duration_h=None if lasted is None else (lasted / supplied).named("waited_h", WAITED),
        useful=None
        if useful is None
        else (useful * supplied).named(
            "waited_ratio", "Share of the hours that is useful where nodes wait for their data"
        ),
        states=None,
        notes=(
            *done.notes,
            f"{phase}: nodes wait for data in {percent_text(1.0 - stated.supplied_fraction)} of their hours",
        ),
    )


def workers_of(setting: Setting, work: Mapping[str, Done]) -> tuple[Workers, str]:
    """Workers that feed the nodes of training and fine-tuning for as long as those work; what they are."""
    stated = setting.job.ingestion
    assert stated is not None, "checked by the caller"
    fed = {name: done.node_h for name, done in work.items() if name in FED}
    each = setting.stated(
        "ingestion.workers_per_node", stated.workers_per_node, "1", "ingestion.workers_per_trainer"
    )
    hours = total("phases_h", {f"{name}_h": node_h for name, node_h in fed.items()})
    worker_h = (hours * each).named(
        "worker_time_h",
        "Hours of the workers that feed nodes. Zhao et al., ISCA 2022 (workers by trainer node)",
    )
    sku = setting.sku(stated.sku or WORKER)
    it = (worker_h * worker_kw(setting.fact, sku)).named("drawn_it_kwh", "IT energy of node-hours")
    named = " and ".join(name.replace("_", "-") for name in fed)
    return Workers(
        sku.name, worker_h, it
    ), f"{number_text(each.value, 3)} workers of {sku.name} for each node of {named}"


def stored_data(setting: Setting) -> tuple[Fact, str]:
    """What a job keeps, as it states or as its data set is described; and the data set in words.

    Raises:
        InputError: the description cannot be read, or does not say the size of a file.
    """
    stated = setting.job.storage
    assert stated is not None, "checked by the caller"
    if stated.dataset is None:
        return setting.yours("storage.amount", stated.amount_gb or 0.0, "GB"), ""
    path = setting.folder / stated.dataset
    found = read_data_set(path)
    files = f"{count_text(found.files)} files of {found.name}"
    source = Source("data-set", f"description of {found.name}", link=path.name)
    size = Fact(
        found.size_gb, "GB", key="job.storage.amount", source=source, locator="contentSize", kind="yours"
    )
    return size, f", {files}"


def fast_tier(setting: Setting, stored: Traced, kept: Traced) -> tuple[Tier | None, Traced]:
    """The tier that answers a stated share of the reads, and that share."""
    stated = setting.job.storage
    assert stated is not None, "checked by the caller"
    if stated.cache_hits_fraction is None:
        return None, chosen("hit_fraction", 0.0, "there is no fast tier")
    hits = setting.yours("storage.cache_hits", stated.cache_hits_fraction, "1")
    size = derive(
        hot_tier_gb,
        stored_gb=stored,
        hot_fraction=setting.fact("ingestion.hot_bytes"),
        hot_reads_fraction=setting.fact("ingestion.hot_reads"),
        hit_fraction=hits,
    )
    it = derive(
        stored_kwh,
        stored_gb=size,
        copies=chosen("copies", 1.0, "a copy that is lost is read again"),
        duration_h=kept,
        power_kw_per_gb=setting.fact("storage.ssd.power"),
    )
    drives = derive(
        capacity_kgco2e, capacity_gb=size, capacity_kgco2e_per_gb=setting.fact("storage.ssd.embodied")
    )
    return Tier(size, it, setting.node_share_kgco2e(drives, kept)), hits
