"""Step times on columns against plain Python, and every accelerator at every size with every layout.

Shape, hardware and constants are those of the catalogue; a row is one accelerator at one size in one layout.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.clock import Record, repeated
from planner.inputs.loading import load_catalogue
from planner.performance.bundles import SplitLimits, bundled, search_bundles, step_bundles
from planner.performance.layouts import Layout, best_layout, layout_candidates
from planner.performance.layouts.candidates import splits
from planner.performance.training import training_step_s
from planner.physics.training_options import ACCELERATOR_FACTS, SHAPE, TRAINING_CONSTANTS

SEED = 2025
MODEL = "llama-3.1-70b"
SEQUENCE_TOKENS = 8192
BATCH = 5040  # sequences; a number of many divisors, so that as many sizes divide it
NODE = 8  # accelerators by which sizes grow
LAYOUT = ("tp", "pp", "interleave", "cp", "micro_batch", "recompute", "sharding")
WHOLE = (*SHAPE, "vocabulary", "sequence_tokens", "global_batch", "sequence_parallel", "fused_attention")

Columns = dict[str, NDArray[np.float64]]


def model_arguments() -> dict[str, float]:
    """What one model, one recipe and the fitted constants give: the same in every row."""
    fact = load_catalogue().fact
    shape = {name: fact(f"model.{MODEL}.{name}").value for name in SHAPE}
    constants = {
        name: fact(f"performance.training.{known}").value for name, known in TRAINING_CONSTANTS.items()
    }
    return (
        shape
        | constants
        | {
            "vocabulary": fact(f"model.{MODEL}.vocab").value,
            "sequence_tokens": float(SEQUENCE_TOKENS),
            "global_batch": float(BATCH),
            "precision_factor": 1.0,
            "sequence_parallel": 1.0,
            "fused_attention": 1.0,
        }
    )


def chip_arguments() -> dict[str, dict[str, float]]:
    """Speeds of every accelerator of the catalogue that has all of them."""
    catalogue = load_catalogue()
    found = {}
    for chip in catalogue.names("accelerator", "matrix_efficiency"):
        keys = {name: f"accelerator.{chip}.{known}" for name, known in ACCELERATOR_FACTS.items()}
        if all(catalogue.has(key) for key in keys.values()):
            facts = {name: catalogue.fact(key).value for name, key in keys.items()}
            found[chip] = facts | {"matrix_tflop_per_s": facts["attention_tflop_per_s"]}
    return found


def sizes(count: int) -> list[int]:
    """Numbers of accelerators, whole nodes that the batch divides among."""
    return [NODE * n for n in islice((n for n in range(1, BATCH + 1) if BATCH % n == 0), count)]


def step_columns(rows: int) -> Columns:
    """So many layouts, drawn from all that divide, each on an accelerator drawn from all."""
    draw, chips = np.random.default_rng(SEED), list(chip_arguments().values())
    model = model_arguments()
    found = [_layouts(model, accelerators) for accelerators in sizes(24)[8:]]
    columns = {name: np.concatenate([each[name] for each in found]) for name in found[0]}
    layout, chip = draw.integers(len(columns["tp"]), size=rows), draw.integers(len(chips), size=rows)
    hardware = {name: np.array([one[name] for one in chips])[chip] for name in chips[0]}
    return {name: column[layout] for name, column in columns.items()} | hardware


def _layouts(model: Mapping[str, float], accelerators: int) -> Columns:
    columns = layout_candidates(
        **bundled(
            {
                "accelerators": accelerators,
                "global_batch": BATCH,
                "layers": int(model["layers"]),
                "heads": int(model["heads"]),
                "kv_heads": int(model["kv_heads"]),
                "sequence_tokens": SEQUENCE_TOKENS,
                "link_domain": NODE,
            },
            limits=SplitLimits,
        )
    )
    return {name: columns[name] for name in LAYOUT} | {
        "accelerators": np.full(len(columns["tp"]), float(accelerators))
    }


def steps_timed(rows: int, by: str, repeats: int) -> Record:
    """Step times of so many rows, in columns or by a loop of plain Python."""
    model, columns = model_arguments(), step_columns(rows)
    if by == "everfleet":
        answer = np.asarray(training_step_s(**step_bundles({**model, **columns})).total_s)
        taken = repeated(lambda: training_step_s(**step_bundles({**model, **columns})), repeats)
    else:
        each = rows_of(model, columns)
        answer = np.array([step_by_hand(row) for row in each])
        taken = repeated(lambda: [step_by_hand(row) for row in each], repeats)
    return {"rows": rows, "s": taken, "answer": answer[:: -(-rows // 1000)].tolist()}


def calls_timed(rows: int, repeats: int) -> Record:
    """The same function of ours, called for one row after the other."""
    each = rows_of(model_arguments(), step_columns(rows))
    return {
        "rows": rows,
        "s": repeated(lambda: [training_step_s(**step_bundles(row)) for row in each], repeats),
    }


def rows_of(model: Mapping[str, float], columns: Columns) -> list[dict[str, float]]:
    """Columns as one dict for each row."""
    names, lists = list(columns), [column.tolist() for column in columns.values()]
    return [dict(model) | dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]


def swept(chips: int | None, counts: int, repeats: int) -> Record:
    """The best layout of every accelerator at every size, of all that divide and fit in memory."""
    catalogue, model = load_catalogue(), model_arguments()
    whole = {name: int(model[name]) for name in WHOLE}
    constants = {name: value for name, value in model.items() if name not in WHOLE}
    usable = catalogue.fact("performance.training.usable_memory").value
    known = dict(islice(chip_arguments().items(), chips))
    memory = {chip: catalogue.fact(f"accelerator.{chip}.memory").value for chip in known}

    def sweep() -> list[Any]:
        splits.cache_clear()  # a first sweep has seen no size before
        return [
            best_layout(
                **search_bundles(
                    {
                        "accelerators": accelerators,
                        "memory_gb": memory[chip],
                        "usable_fraction": usable,
                        **whole,
                        **constants | speeds | {"link_domain": int(speeds["link_domain"])},
                    }
                )
            )
            for chip, speeds in known.items()
            for accelerators in sizes(counts)
        ]

    found = [one for one in sweep() if isinstance(one, Layout)]
    return {
        "chips": len(known),
        "sizes": counts,
        "searches": len(known) * counts,
        "with_layout": len(found),
        "layouts": sum(one.enumerated for one in found),
        "s": repeated(sweep, repeats),
    }


def step_by_hand(row: Mapping[str, float]) -> float:
    """Time of one step of a dense model in plain Python: the equations of `training_step_s`, unchecked."""
    tp, pp, accelerators = row["tp"], row["pp"], row["accelerators"]
    weights = _layer_weights(row)
    ranks = accelerators / (tp * pp * row["cp"])
    rounds = row["global_batch"] / (ranks * row["micro_batch"])
    tokens = row["micro_batch"] * row["sequence_tokens"] / row["cp"]
    deep = math.ceil(row["layers"] / pp)
    memory = row["memory_efficiency_fraction"] * row["memory_gb_per_s"] * 1e9
    width = row["hidden"] / math.sqrt(tp)
    speed = (
        row["matrix_tflop_per_s"]
        * 1e12
        * row["precision_factor"]
        * row["matrix_efficiency_fraction"]
        * row["stack_factor"]
        * width
        / (width + row["hidden_half_width"])
        * tokens
        / (tokens + row["tokens_half"])
    )
    busy = deep * _layer_by_hand(row, tokens, 2.0 * tokens * weights / tp / speed, memory)
    gather = deep * _gather_by_hand(row, 2.0 * weights / tp / 1e9)
    times = 3.0 if row["sharding"] >= 3 else 2.0 / rounds if row["sharding"] >= 2 else 0.0
    gathered = max(busy, times * gather) + row["fsdp_exposed_fraction"] * min(busy, times * gather)
    head = 6.0 * tokens * row["hidden"] * row["vocabulary"] / tp / speed
    head = (head + 8.0 * tokens * row["vocabulary"] / tp / memory) * (0.5 if pp > 1 else 1.0)
    micro_batch_s = gathered + head
    steps = micro_batch_s * rounds
    bubble = micro_batch_s * (pp - 1.0) / row["interleave"]
    network = row["network_gb_per_s"] * 1e9 * row["network_efficiency_fraction"]
    sent = 2.0 * tokens * row["hidden"] / tp / network + row["collective_latency_s"]
    transfer = 2.0 * rounds * row["interleave"] * sent * row["pipeline_exposed_fraction"] * (pp > 1)
    held = (deep * weights + (2.0 if pp <= 1 else 1.0) * row["vocabulary"] * row["hidden"]) / tp
    gradient = _gradient_by_hand(row, held, ranks * row["cp"]) * (row["sharding"] < 2)
    gradient -= min(row["data_parallel_hidden_fraction"] * gradient, 0.5 * steps)
    optimizer = 18.0 * held / (ranks * row["cp"] if row["sharding"] >= 1 else 1.0) / memory
    whole = steps + bubble + transfer + gradient + optimizer + row["fixed_s"]
    return whole * (1.0 + row["scale_drag_ratio"] * max(0.0, math.log2(accelerators / 8.0)))


def _layer_weights(row: Mapping[str, float]) -> float:
    attention = row["hidden"] ** 2 * (2.0 + 2.0 * row["kv_heads"] / row["heads"])
    return attention + (2.0 + row["gated"]) * row["hidden"] * row["ffn"]


def _layer_by_hand(row: Mapping[str, float], tokens: float, matrix: float, memory: float) -> float:
    """One layer and one micro-batch, forward and backward."""
    tp, hidden = row["tp"], row["hidden"]
    fast = row["link_gb_per_s"] * row["link_efficiency_fraction"]
    ports = row["link_domain"] * row["network_gb_per_s"] * row["network_efficiency_fraction"]
    ring = fast if tp <= row["link_domain"] else min(fast, ports)
    flops = 2.0 * tokens * row["sequence_tokens"] * hidden / tp
    attention = flops / (row["attention_tflop_per_s"] * 1e12 * row["attention_efficiency_fraction"])
    attention *= 1.0 + row["context_imbalance_fraction"] * (row["cp"] - 1.0) / row["cp"]
    elementwise = row["elementwise_bytes_per_value"] * tokens * hidden / tp / memory
    sent = 2.0 * (tp - 1.0) / tp * tokens * hidden * 2.0 / (ring * 1e9) * row["tensor_exposed_fraction"]
    domains = tp / row["link_domain"]
    hops = 2.0 * (tp - domains) * row["near_hop_s"] + 2.0 * (domains - 1.0) * row["far_hop_s"]
    started = row["collective_latency_s"] + hops * (domains > 1.0)
    exchange = 2.0 * (sent + started) * (tp > 1)
    again, scores = float(row["recompute"] == 2), float(row["recompute"] > 0)
    near = tp * row["cp"] <= row["link_domain"]
    keys = row["kv_heads"] * hidden / row["heads"]
    part = tokens * 2.0 * keys / tp * 2.0 / ((fast if near else ports / row["link_domain"]) * 1e9)
    rounds = (row["cp"] - 1.0) * (part + row["collective_latency_s"])
    overlapped = min(rounds, attention)
    context = rounds - overlapped + row["context_exposed_fraction"] * overlapped
    unread = hidden * row["ffn"] / _layer_weights(row)
    return (
        elementwise * (3.0 + again)
        + matrix * (3.0 + again * (1.0 - unread * (1.0 - row["unread_redone_fraction"])))
        + attention * (3.2 + scores)
        + exchange * (2.0 + again)
        + context * (3.0 + scores)
    )


def _gather_by_hand(row: Mapping[str, float], gathered_gb: float) -> float:
    near = min(row["link_domain"], row["accelerators"])
    network = near * row["network_gb_per_s"] * row["network_efficiency_fraction"]
    fast = row["link_gb_per_s"] * row["link_efficiency_fraction"]
    passed_on = 1.0 / 8.0 + max(0.0, 1.0 - 8.0 / near)
    return (
        gathered_gb * (1.0 - near / row["accelerators"]) / network
        + gathered_gb * passed_on / fast
        + row["fsdp_latency_s"]
    )


def _gradient_by_hand(row: Mapping[str, float], held: float, ranks: float) -> float:
    near = min(max(row["link_domain"] / row["tp"], 1.0), ranks)
    far = ranks / near
    fast = (near - 1.0) / near / (row["link_gb_per_s"] * row["link_efficiency_fraction"])
    slow = (far - 1.0) / far / (near * row["network_gb_per_s"] * row["network_efficiency_fraction"])
    return 4.0 * held / 1e9 * (fast + slow)
