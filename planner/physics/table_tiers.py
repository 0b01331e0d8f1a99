"""Embedding tables on the memories of a node: what a tier holds and reads, and ways to lay out a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from planner.inputs.embedding_tables import EmbeddingTable
from planner.inputs.placement_question import COLUMNS, COPIES, HBM, HOST, ROWS, SSD, WHOLE, PlacementQuestion
from planner.inputs.resolved import Inputs
from planner.performance.recommendation.parts import exchange_s
from planner.performance.recommendation.tiers import moved_gb, vectors_sent
from planner.physics.recommendation_step import CARDS
from planner.physics.training_options import link_domain
from planner.trace.columns import Floats
from planner.trace.quantities import Traced, chosen

UPDATED_RATIO = 2.0  # what an update moves over what the look-up reads: one state a row
STATE_BYTES = 4.0  # of such a state
LARGE = 0.05  # of the fastest memory: a part that rows are worth cutting for
COPIED = 0.1  # of the fastest memory that copies of one table may take
MOST_COPIES, MOST_PIECES = 3, 16


@dataclass(frozen=True, slots=True)
class Tier:
    """One memory of a device."""

    name: str
    capacity_gb: Traced
    gb_per_s: Traced
    efficiency: Traced
    block_bytes: float

    @property
    def s_per_gb(self) -> float:
        """Time for a gigabyte that is moved."""
        return 1.0 / (float(self.gb_per_s.value) * float(self.efficiency.value))


@dataclass(frozen=True, slots=True)
class Device:
    """A device of nodes of one kind: its tiers from fast to slow, and how it sends to others."""

    tiers: tuple[Tier, ...]
    links: dict[str, Traced]
    accelerators: Traced

    @property
    def s_per_gb(self) -> float:
        """Time for a gigabyte that is sent, without what starting takes."""
        return self.sends_s(1.0) - self.sends_s(0.0)

    def sends_s(self, gb: float) -> float:
        """Time of one exchange."""
        held = {name: float(one.value) for name, one in self.links.items()}
        return float(exchange_s(sent_gb=gb, accelerators=float(self.accelerators.value), **held))


@dataclass(frozen=True, slots=True)
class Way:
    """A table laid out in one way: equal pieces of steps, and steps that every device holds."""

    kind: str
    pieces: int
    sent_gb: float  # of a piece, in a step
    gb: Floats  # [I] of each step
    moved_gb: Floats  # [I, K] in a step, where it lies in a tier
    common: int  # steps at the start that every device holds
    copied_gb: float  # of those; their gradients are summed over all devices in training


def device_of(
    inputs: Inputs,
    tiers: Sequence[str],
    accelerators: Traced,
    *,
    sku: int = 0,
    usable: Traced | None = None,
    taken_gb: Traced | None = None,
) -> Device:
    """One of some accelerators of a SKU, with room for tables next to `taken_gb` of its usable memory."""
    at, fact = inputs.skus[sku], inputs.fact
    chip, each = f"accelerator.{at.accelerator}", inputs.server("accelerators")[sku]
    room = fact(f"{chip}.memory") * (usable or fact("performance.training.usable_memory"))
    links = {
        "link_domain": link_domain(inputs, sku),
        "link_gb_per_s": fact(f"{chip}.link_bandwidth"),
        "network_gb_per_s": fact(f"{chip}.network_bandwidth"),
        "link_efficiency_fraction": fact(
            f"{chip}.link_efficiency"
            if inputs.catalogue.link(at.accelerator) in CARDS
            else "performance.recommendation.link_efficiency"
        ),
        "network_efficiency_fraction": fact("performance.recommendation.network_efficiency"),
        "collective_latency_s": fact("performance.training.collective_latency"),
        "partner_latency_s": fact("performance.recommendation.partner_latency"),
    }
    made: dict[str, Callable[[], Tier]] = {
        HBM: lambda: Tier(
            HBM,
            (room if taken_gb is None else room - taken_gb).named("capacity_gb"),
            fact(f"{chip}.memory_bandwidth"),
            fact("performance.recommendation.memory_efficiency"),
            fact("placement.memory_block").value,
        ),
        HOST: lambda: Tier(
            HOST,
            (fact(f"server.{at.server}.cpu_memory") * fact("placement.host_share") / each).named(
                "capacity_gb"
            ),
            fact("placement.host_bandwidth"),
            fact("placement.host_efficiency"),
            fact("placement.host_block").value,
        ),
        SSD: lambda: Tier(
            SSD,
            fact("placement.ssd_capacity"),
            fact("placement.ssd_bandwidth"),
            fact("placement.ssd_efficiency"),
            fact("placement.ssd_block").value,
        ),
    }
    return Device(tuple(make() for name, make in made.items() if name in tiers), links, accelerators)


def accelerators_of(inputs: Inputs, nodes: int) -> Traced:
    """Accelerators of some nodes of the first SKU."""
    each = inputs.server("accelerators")[0]
    return (chosen("nodes", float(nodes), "a size to look at") * each).named("accelerators")


def ways_of(
    table: EmbeddingTable, question: PlacementQuestion, device: Device, exchange_bytes: float
) -> list[Way]:
    """Ways to lay out a table on the devices, each with what it holds, moves and sends.

    Columns are halved down to what the fastest memory reads at once, rows where that leaves large parts: each
    part by rows sends vectors of full width. Copies are of the most read rows.
    """
    devices = int(device.accelerators.value)
    read_ratio = 1.0 + UPDATED_RATIO if question.train else 1.0
    sent_ratio = 2.0 if question.train else 1.0
    make = partial(_way, table, question.batch, device, (read_ratio, sent_ratio * exchange_bytes))
    found = [make(WHOLE, 1, 0)] if WHOLE in question.ways else []
    halves = [2**k for k in range(1, 5) if 2**k <= min(devices, MOST_PIECES)]
    narrow = table.row_bytes / device.tiers[0].block_bytes
    columns = [p for p in halves if p <= narrow and not table.dim % p]
    if COLUMNS in question.ways:
        found += [make(COLUMNS, p, 0) for p in columns]
    whole_gb = table.size_gb / max([1, *columns])
    wanted = COLUMNS not in question.ways or whole_gb > LARGE * float(device.tiers[0].capacity_gb.value)
    if ROWS in question.ways and wanted:
        found += [make(ROWS, p, 0) for p in halves if p <= table.rows]
    if COPIES in question.ways and devices > 1:
        for hot in _prefixes(table, device):
            found.append(make(COPIES, 1, hot))
            if COLUMNS in question.ways and hot < len(table.reuse):
                found += [make(COPIES, p, hot) for p in columns]
    return found


def _prefixes(table: EmbeddingTable, device: Device) -> list[int]:
    """How many steps of the most read rows to copy: at most three numbers, as long as there is room."""
    room = COPIED * float(device.tiers[0].capacity_gb.value)
    held = np.cumsum([one.rows_fraction for one in table.reuse]) * table.size_gb
    fitting = int(np.searchsorted(held, room, side="right"))
    parts = (round(fitting * part / MOST_COPIES) for part in range(1, MOST_COPIES + 1))
    return sorted({part for part in parts if part})


def _way(
    table: EmbeddingTable,
    batch: int,
    device: Device,
    ratios: tuple[float, float],
    kind: str,
    pieces: int,
    common: int,
) -> Way:
    read_ratio, exchange_bytes = ratios
    devices = float(device.accelerators.value)
    by_rows = pieces if kind == ROWS else 1
    by_columns = pieces if kind != ROWS else 1
    held = np.array([one.rows_fraction for one in table.reuse])
    read = np.array([one.reads_fraction for one in table.reuse])
    own = np.arange(held.size) >= common
    part = np.where(own, 1.0 / by_rows, 1.0)
    width = np.where(own, table.row_bytes / by_columns, table.row_bytes)
    state = STATE_BYTES if read_ratio > 1 else 0.0
    reads = batch * table.pooling * read * np.where(own, 1.0 / by_rows, 1.0 / devices) * read_ratio
    moved = np.column_stack(
        [moved_gb(reads=reads, row_bytes=width, block_bytes=tier.block_bytes) for tier in device.tiers]
    )
    vectors = vectors_sent(
        pooling=table.pooling,
        summed=float(table.summed),
        parts=float(by_rows),
        local_fraction=float(min(1.0, read[:common].sum())) if common else 0.0,
    )
    whole = common == held.size
    sent = 0.0 if whole else batch * float(vectors) * table.dim / by_columns * exchange_bytes / 1e9
    gb = table.rows * held * part * (width + state) / 1e9
    return Way(kind, pieces, sent, gb, moved, common, float(gb[:common].sum()))
