"""Embedding tables as things that the solver places, and what it answers as bytes of devices and tiers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.embedding_tables import EmbeddingTable
from planner.inputs.placement_question import PlacementQuestion
from planner.performance.recommendation.parts import exchange_s
from planner.performance.recommendation.tiers import (
    above_bound_fraction,
    longest_s,
    placed_imbalance_ratio,
    tier_s,
)
from planner.physics.table_tiers import Device, Way, ways_of
from planner.trace.columns import Floats
from planner.trace.errors import InputError
from planner.trace.numbers import number_text
from planner.trace.quantities import Traced, chosen, derive
from solver.placing import Placement, Placing
from solver.placing_search import Found, by_weight, place

CLOSE = 1e-6
EVEN = "of whole tables, as if every device had an even part"
MOST_CELLS = 40_000_000  # parts of tables by devices by tiers: 320 MB of an answer

# Rules by which others place whole tables one after the other: what a table weighs.
GREEDY = ("size times look-ups", "size", "look-ups", "columns")


@dataclass(frozen=True, eq=False)
class PlacedTables:
    """Tables on devices: the way of each, and by device what is held, moved and sent."""

    device: Device
    found: Found
    ways: tuple[Way, ...]  # of each table
    pieces: NDArray[np.int64]  # [tables, devices]
    held_gb: Floats  # [devices, tiers]
    moved_gb: Floats  # [devices, tiers] in a step
    sent_gb: Floats  # [devices] in a step
    table_held_gb: Floats  # [tables, tiers] over all devices
    table_moved_gb: Floats  # [tables, tiers]
    even_moved_gb: float  # of a device with an even part of whole tables, in the fastest tier
    even_sent_gb: float
    saved_fraction: float  # of what whole tables would send; below 0 where parts by rows send more


@dataclass(frozen=True, slots=True)
class Baseline:
    """Whole tables placed by a rule; infinite where they do not fit so."""

    rule: str
    longest_s: float


def placed_tables(
    tables: Sequence[EmbeddingTable], question: PlacementQuestion, device: Device, exchange_bytes: float
) -> PlacedTables | None:
    """The best placement that was found, or None where the tables do not fit.

    Raises:
        InputError: a table cannot be laid out in any of the ways, or there is too much to place.
    """
    steps, devices = sum(len(one.reuse) for one in tables), int(device.accelerators.value)
    if steps * devices * len(device.tiers) > MOST_CELLS:
        raise InputError(
            f"--nodes: {len(tables)} tables in {steps} parts on {devices} devices are more than "
            f"{MOST_CELLS // 1_000_000} million places: fewer nodes, tiers, or bins of --reuse"
        )
    ways = _all_ways(tables, question, device, exchange_bytes)
    placing = _placing(ways, device, question.train)
    found = place(placing, time_limit_s=question.time_limit_s)
    if found.placement is None:
        return None
    whole = [_whole(one, question, device, exchange_bytes) for one in tables]
    return _read(ways, whole, placing, found, question, device)


def placed_once(
    tables: tuple[EmbeddingTable, ...], question: PlacementQuestion, device: Device, exchange_bytes: float
) -> PlacedTables | None:
    """As `placed_tables`; what was placed before on a device like this one is not searched again."""
    found = _REMEMBERED.get(key := (tables, question, exchange_bytes, _numbers(device)), _UNKNOWN)
    if found is _UNKNOWN:
        while len(_REMEMBERED) >= MOST_REMEMBERED:
            _REMEMBERED.pop(next(iter(_REMEMBERED)))
        found = _REMEMBERED[key] = placed_tables(tables, question, device, exchange_bytes)
    return None if found is None else replace(found, device=device)


_REMEMBERED: dict[Hashable, Any] = {}
_UNKNOWN = object()
MOST_REMEMBERED = 64


def _numbers(device: Device) -> Hashable:
    """What a placement depends on of a device."""
    tiers = tuple(
        (one.name, float(one.capacity_gb.value), one.s_per_gb, one.block_bytes) for one in device.tiers
    )
    return tiers, device.sends_s(0.0), device.sends_s(1.0), float(device.accelerators.value)


def placed_times(placed: PlacedTables, said: str) -> dict[str, Traced]:
    """Times of each device, of the step, of the bound, and how far they are apart; `said` is of what."""
    device = placed.device
    lookups = [
        derive(
            tier_s,
            moved_gb=chosen("moved_gb", placed.moved_gb[:, k], said),
            tier_gb_per_s=tier.gb_per_s,
            efficiency_fraction=tier.efficiency,
        )
        for k, tier in enumerate(device.tiers)
    ]
    lookup = lookups[0]
    for other in lookups[1:]:
        lookup = lookup + other
    lookup = lookup.named("lookup_s", "the memories of a device are read one after the other")
    exchange = derive(
        exchange_s,
        sent_gb=chosen("sent_gb", placed.sent_gb, said),
        accelerators=device.accelerators,
        **device.links,
    )
    each = (lookup + exchange).named("device_s", "look-ups, then their vectors are sent")
    step = derive(longest_s, device_s=each)
    # The bound is of what the placement decides; what starting an exchange takes comes to both.
    starts_s = device.sends_s(0.0)
    bound = chosen("bound_s", placed.found.bound_s + starts_s, "no placement is below it: solver/placing")
    even_lookup = derive(
        tier_s,
        moved_gb=chosen("moved_gb", placed.even_moved_gb, EVEN),
        tier_gb_per_s=device.tiers[0].gb_per_s,
        efficiency_fraction=device.tiers[0].efficiency,
    )
    even_exchange = derive(
        exchange_s,
        sent_gb=chosen("sent_gb", placed.even_sent_gb, EVEN),
        accelerators=device.accelerators,
        **device.links,
    )
    return {
        "lookup_s": lookup,
        "exchange_s": exchange,
        "device_s": each,
        "step_s": step,
        "bound_s": bound,
        "gap_fraction": derive(above_bound_fraction, longest_s=step, bound_s=bound),
        "imbalance_ratio": derive(
            placed_imbalance_ratio,
            longest_s=step,
            even_lookup_s=even_lookup,
            even_exchange_s=even_exchange,
        ),
    }


def baselines(
    tables: Sequence[EmbeddingTable], question: PlacementQuestion, device: Device, exchange_bytes: float
) -> list[Baseline]:
    """Greedy placements of whole tables: the heaviest first, on the device that has least so far."""
    whole = [[_whole(one, question, device, exchange_bytes)] for one in tables]
    placing = _placing(whole, device, question.train)
    weights = (
        [one.size_gb * one.pooling for one in tables],
        [one.size_gb for one in tables],
        [one.pooling * one.dim for one in tables],
        [one.dim for one in tables],
    )
    return [
        Baseline(rule, by_weight(placing, np.array(weight, dtype=float)))
        for rule, weight in zip(GREEDY, weights, strict=True)
    ]


def _whole(table: EmbeddingTable, question: PlacementQuestion, device: Device, exchange_bytes: float) -> Way:
    return ways_of(table, replace(question, ways=("whole",)), device, exchange_bytes)[0]


def _all_ways(
    tables: Sequence[EmbeddingTable], question: PlacementQuestion, device: Device, exchange_bytes: float
) -> list[list[Way]]:
    found = [ways_of(one, question, device, exchange_bytes) for one in tables]
    without = [one.name for one, ways in zip(tables, found, strict=True) if not ways]
    if without:
        raise InputError(
            f"--ways: {', '.join(question.ways)} lay out no table '{without[0]}' on "
            f"{int(device.accelerators.value)} devices; allow whole"
        )
    return found


def _placing(ways: Sequence[Sequence[Way]], device: Device, train: bool) -> Placing:
    flat = [one for own in ways for one in own]
    steps = [one.gb.size for one in flat]
    tier_s = np.array([tier.s_per_gb for tier in device.tiers])
    moved = np.concatenate([one.moved_gb for one in flat])
    common = np.concatenate([np.arange(one.gb.size) < one.common for one in flat])
    gb = np.concatenate([one.gb for one in flat])
    seconds = moved * tier_s
    if train:  # gradients of copies are summed over all devices: sent and gathered
        seconds = seconds + np.where(common, 2.0 * gb * device.s_per_gb, 0.0)[:, None]
    return Placing(
        devices=int(device.accelerators.value),
        capacity_gb=np.array([float(tier.capacity_gb.value) for tier in device.tiers]),
        thing=np.repeat(np.arange(len(ways)), [len(own) for own in ways]),
        count=np.array([one.pieces for one in flat]),
        sent_s=np.array([one.sent_gb for one in flat]) * device.s_per_gb,
        way=np.repeat(np.arange(len(flat)), steps),
        everywhere=common,
        gb=gb,
        seconds=np.maximum.accumulate(seconds, axis=1),
    )


def _read(
    ways: Sequence[Sequence[Way]],
    whole: Sequence[Way],
    placing: Placing,
    found: Found,
    question: PlacementQuestion,
    device: Device,
) -> PlacedTables:
    placement = found.placement
    assert isinstance(placement, Placement)
    flat = [one for own in ways for one in own]
    chosen = tuple(flat[way] for way in placement.ways)
    moved = np.concatenate([one.moved_gb for one in chosen])
    gb = np.concatenate([one.gb for one in chosen])
    table = np.repeat(np.arange(len(ways)), [one.gb.size for one in chosen])
    moved_gb = np.einsum("ik,idk->dk", moved, placement.kept)
    held_gb = placement.held_gb(placing)
    vectors_gb: Floats = np.array([one.sent_gb for one in chosen]) @ placement.pieces.astype(float)
    plain_gb = sum(one.sent_gb for one in whole)
    sent_gb = vectors_gb + (2.0 * sum(one.copied_gb for one in chosen) if question.train else 0.0)
    by_table = np.zeros((2, len(ways), len(device.tiers)))
    np.add.at(by_table[0], table, gb[:, None] * placement.kept.sum(axis=1))
    np.add.at(by_table[1], table, moved * placement.kept.sum(axis=1))
    _agree(placing, placement, device, moved_gb, sent_gb)
    even_gb = sum(float(one.moved_gb[:, 0].sum()) for one in whole) / placing.devices
    return PlacedTables(
        device,
        found,
        chosen,
        placement.pieces,
        held_gb,
        moved_gb,
        sent_gb,
        by_table[0],
        by_table[1],
        even_gb,
        plain_gb / placing.devices,
        1.0 - float(vectors_gb.sum()) / plain_gb if plain_gb else 0.0,
    )


def _agree(placing: Placing, placement: Placement, device: Device, moved_gb: Floats, sent_gb: Floats) -> None:
    """Refuse a difference between bytes by bandwidth and what the solver adds up: a fault of ours."""
    tier_s = np.array([tier.s_per_gb for tier in device.tiers])
    taken = moved_gb @ tier_s + sent_gb * device.s_per_gb
    if not np.allclose(taken, placement.device_s(placing), rtol=CLOSE, atol=1e-12):
        raise RuntimeError("bytes of a placement do not take the time that the solver says")


@dataclass(frozen=True, slots=True)
class Parts:
    """Tables of which a device holds parts whole: size and work of a table, and in how many equal parts."""

    size_gb: Floats
    cost: Floats
    count: NDArray[np.int64]


class NotProven(ValueError):
    """The search ended before its answer was proven the best."""


def fewest_devices(parts: Parts, memory_gb: float) -> int:
    """Fewest devices of one memory that hold every part whole, proven.

    Raises:
        ValueError: a part is larger than a device, or fewer devices are neither found nor ruled out.
    """
    largest = float((parts.size_gb / parts.count).max())
    if largest > memory_gb * (1 + CLOSE):
        raise ValueError(
            f"a table or part of {number_text(largest)} GB exceeds the {memory_gb:g} GB of a device: split it"
        )
    devices = max(1, int(np.ceil(parts.size_gb.sum() / memory_gb - CLOSE)))
    while not _fits(replace(parts, cost=0.0 * parts.cost), devices, memory_gb):
        devices += 1
    return devices


def least_largest_cost(parts: Parts, devices: int, memory_gb: float) -> float:
    """Least possible sum of work on the device that has most of it, proven.

    Raises:
        ValueError: the parts do not fit, or the least is not proven.
    """
    found = place(_of_parts(parts, devices, memory_gb))
    if not _fits(parts, devices, memory_gb, found):
        raise ValueError(
            f"{devices} devices of {memory_gb:g} GB do not hold "
            f"{number_text(float(parts.size_gb.sum()))} GB of parts"
        )
    if not found.exact:
        raise NotProven(f"no placement on {devices} devices was proven best")
    return found.step_s


def _fits(parts: Parts, devices: int, memory_gb: float, found: Found | None = None) -> bool:
    found = found or place(_of_parts(parts, devices, memory_gb))
    if found.placement is None and not found.exact:
        raise NotProven(f"whether {devices} devices hold the parts was not proven")
    return found.placement is not None


def _of_parts(parts: Parts, devices: int, memory_gb: float) -> Placing:
    tables = np.arange(parts.size_gb.size)
    return Placing(
        devices=devices,
        capacity_gb=np.array([memory_gb]),
        thing=tables,
        count=parts.count,
        sent_s=np.zeros(tables.size),
        way=tables,
        everywhere=np.zeros(tables.size, dtype=bool),
        gb=parts.size_gb / parts.count,
        seconds=(parts.cost / parts.count)[:, None],
    )
