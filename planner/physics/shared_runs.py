"""Runs that two linked sites share: which can be at all, and what each half of one knows of the other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from planner.inputs.resolved import Inputs
from planner.inputs.scenario import TrainingJob
from planner.physics import across
from planner.physics.across import CROSSES, PIPELINE, Link, Waits
from planner.trace.columns import Indices
from planner.trace.quantities import Parts, Traced, chosen, pick

SITES = 2
FIRST_SHARES = (0.25, 0.5, 0.75)  # of the nodes of a run, at the first site of its link


@dataclass(frozen=True)
class Halves:
    """Columns of runs: the other half of each, the link between them, and what crosses it."""

    joint: Indices  # both halves of a run have one number, from 1 on; 0: at one site
    second: NDArray[np.bool_]  # which half of it
    group: Indices  # node group of the other half
    nodes: Indices  # and its nodes; 0 where there is none
    link: Indices  # of the scenario's
    crosses: Indices  # of `CROSSES`

    def some(self, rows: NDArray[np.intp]) -> Halves | None:
        """Those of some rows; nothing where none of them is half a run."""
        if not self.joint[rows].any():
            return None
        return Halves(**{one.name: getattr(self, one.name)[rows] for one in fields(self)})


@dataclass(frozen=True)
class Split:
    """A run on nodes of two groups: what crosses between them, and in how many equal parts it may be cut."""

    groups: tuple[int, int]
    nodes: tuple[int, int]
    link: int
    crosses: str

    @property
    def parts(self) -> int:
        """Copies or stages come in multiples of so many, so that each site holds whole ones."""
        return sum(self.nodes) // math.gcd(*self.nodes)


def splits(inputs: Inputs, job: TrainingJob, allowed: NDArray[np.bool_]) -> Iterator[Split]:
    """Every way in which a job may be shared by two node groups of one SKU at linked sites."""
    names = [site.name for site in inputs.sites]
    for number, link in enumerate(inputs.scenario.links):
        sites = [names.index(site) for site in link.sites]
        for sku in np.unique(inputs.node_group_sku).tolist():
            first, second = (_group_at(inputs, sku, site) for site in sites)
            if first is None or second is None or not (allowed[first] and allowed[second]):
                continue
            for nodes in job.nodes:
                for at_first in dict.fromkeys(round(share * nodes) for share in FIRST_SHARES):
                    if 0 < at_first < nodes:
                        for crosses in job.across:
                            yield Split((first, second), (at_first, nodes - at_first), number, crosses)


def _group_at(inputs: Inputs, sku: int, site: int) -> int | None:
    here = np.flatnonzero((inputs.node_group_sku == sku) & (inputs.node_group_site == site))
    return int(here[0]) if here.size else None


def linked(inputs: Inputs, halves: Halves) -> Link:
    """The link of each row, in columns."""
    stated = inputs.scenario.links

    def column(key: str, name: str, unit: str) -> Traced:
        items = [
            inputs.yours(f"links[{i}].{key}", float(getattr(one, name)), unit) for i, one in enumerate(stated)
        ]
        return pick(items, halves.link)

    return Link(
        column("bandwidth", "bandwidth_gb_per_s", "GB/s"),
        column("latency", "latency_s", "s"),
        column("oversubscription", "oversubscription_ratio", "1"),
    )


def copies_of(layout: Mapping[str, NDArray[np.float64]], accelerators: Traced) -> Traced:
    """Data-parallel copies of each row."""
    each = layout["tp"] * layout["pp"] * layout["cp"]
    return chosen("copies", np.asarray(accelerators.value) / each, "data-parallel copies of the layout")


def waits_of(
    inputs: Inputs,
    halves: Halves,
    arguments: dict[str, Traced],
    parameters: Traced,
    copies: Traced,
    step: Parts,
) -> Waits:
    """What a step of each row waits for its link; what crosses is the same in all rows."""
    crosses, link = CROSSES[int(halves.crosses[0])], linked(inputs, halves)
    if crosses != PIPELINE:
        return across.gradients(
            inputs.fact,
            step,
            link,
            parameters=parameters,
            hidden_fraction=arguments["data_parallel_hidden_fraction"],
            sites=SITES,
            crosses=crosses,
        )
    each = (arguments["global_batch"] / copies / arguments["micro_batch"]).named("micro_batches")
    return across.activations(
        step,
        link,
        micro_batch=arguments["micro_batch"],
        micro_batches=each,
        copies=copies,
        sequence_tokens=arguments["sequence_tokens"],
        hidden=arguments["hidden"],
        sites=SITES,
    )


def whole_nodes(nodes: Traced, halves: Halves | None) -> Traced:
    """Nodes of the whole run of each row."""
    if halves is None:
        return nodes
    others = chosen("nodes", halves.nodes.astype(float), "enumerated: the half of it at the other site")
    return (nodes + others).named("run_nodes")


def mean_rate(nodes: Traced, own: Traced, other: Traced, halves: Halves) -> Traced:
    """Failures of a node of each run over both of its halves, from the rates of the two."""
    others = chosen("nodes", halves.nodes.astype(float), "enumerated: the half of it at the other site")
    return ((nodes * own + others * other) / (nodes + others)).named(
        "mean_rate_per_node_h", "Failures of a node of a run whose halves stand at two sites"
    )


def once(name: str, each: Traced, halves: Halves | None) -> Traced:
    """What a run takes once, at the first of its halves."""
    if halves is None:
        return each
    paid = chosen("paid", (~halves.second).astype(float), "once for both halves of a run")
    return (each * paid).named(name)


def other_half(halves: Halves, policy: Indices, candidate: Indices, start_h: NDArray[np.float64]) -> Indices:
    """The row of the other half of each run, by candidate and start [R]; its own where it has none."""
    joint = halves.joint[candidate]
    order = np.lexsort((halves.second[candidate], start_h, policy[candidate], joint))
    pairs = order[joint[order] > 0].reshape(-1, 2)
    found = np.arange(len(candidate))
    found[pairs] = pairs[:, ::-1]
    return found
