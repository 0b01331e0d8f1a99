"""Matrices, dense and of experts: our facts beside the measured tables that they were derived from."""

import csv
import itertools
import re
from collections import defaultdict
from statistics import median

import numpy as np
import pytest

from planner.inputs.loading import load_catalogue

CHIPS = {
    "H100 SXM": "h100-sxm-80gb",
    "H200": "h200-sxm-141gb",
    "B200": "b200-sxm-180gb",
    "B300": "b300-sxm-288gb",
    "GB200": "gb200-nvl72",
    "GB300": "gb300-nvl72",
    "L40S": "l40s",
    "RTX PRO 6000 Server": "rtx-pro-6000",
}
# Weights of a matrix: three of an expert, of which two are multiplied as one.
WEIGHTS = {
    "DeepSeek-V3": 1.5 * 7168 * 2048,
    "Qwen3-235B-A22B": 1.5 * 4096 * 1536,
    "Qwen3-30B-A3B": 1.5 * 2048 * 768,
    "Mixtral 8x7B": 1.5 * 4096 * 14336,
}
# Word of the table, word of the facts, bytes of a weight, how engines are joined.
PRECISIONS = (
    ("fp8_block", "fp8", 1.0, median),
    ("fp8", "fp8-tensor", 1.0, max),
    ("nvfp4", "fp4", 0.5625, median),
)
LEAST = 0.0025  # of the peak: shares below it are printed with one digit


def measured(shared, engine=""):
    """Shares of the peak by precision, chip, model and tokens an expert; of all engines or of one."""
    found = defaultdict(list)
    path = shared / "data" / "kernel_efficiency" / "kernel_efficiency.csv"
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if engine not in ("", row["engine"]):
                continue
            asked = re.match(r"(.+), (\d+) tokens per expert, balanced$", row["condition"])
            if (
                row["operation"] != "moe grouped gemm"
                or not asked
                or not row["metric"].startswith("share of dense")
            ):
                continue
            tflop_per_s = float(re.search(r"(\d+) TFLOP", row["metric"])[1])
            place = (row["precision"], row["chip"], asked[1], float(asked[2]), tflop_per_s)
            found[place].append(float(row["median"]))
    return found


def modelled(chip, word, value_bytes, weights, tokens, tflop_per_s, *, small=True):
    """Share of the peak: two operations a weight and token over the corner of reading and arithmetic."""
    catalogue = load_catalogue()

    def of(part):
        return catalogue.fact(f"kernel.{chip}.grouped_{part}@{word}").value

    bandwidth = catalogue.fact(f"accelerator.{chip}.memory_bandwidth").value * 1e9
    reading = value_bytes / (bandwidth * of("read_share"))
    less = 1.0 + (of("half_weights") / weights if small else 0.0)
    arithmetic = 2.0 * (tokens + of("half_tokens")) * less / (tflop_per_s * 1e12 * of("share"))
    return 2.0 * tokens / ((reading**4 + arithmetic**4) ** 0.25 * tflop_per_s * 1e12)


@pytest.mark.parametrize(("theirs", "ours", "value_bytes", "joined"), PRECISIONS)
def test_shares_of_experts_are_those_measured(shared, theirs, ours, value_bytes, joined):
    """NVIDIA aiconfigurator 095f58a51: root mean square within 25 %, Hopper with one scale 10 %."""
    table = measured(shared)
    for name, chip in CHIPS.items():
        rows = [
            (modelled(chip, ours, value_bytes, WEIGHTS[model], tokens, peak), joined(shares))
            for (precision, of, model, tokens, peak), shares in table.items()
            if (precision, of) == (theirs, name) and model in WEIGHTS and joined(shares) >= LEAST
        ]
        if not rows:
            continue
        error = np.sqrt(np.mean([np.log(mine / published) ** 2 for mine, published in rows]))
        hopper = theirs == "fp8" and name in ("H100 SXM", "H200")
        assert error < (0.1 if hopper else 0.25), (name, error, len(rows))
        assert len(rows) >= 20


def test_one_share_for_all_sizes_would_miss_small_experts():
    """Qwen3-30B on H100 with one scale: 0.285 at 1,024 tokens, where large ones would say twice as much."""
    asked = ("h100-sxm-80gb", "fp8-tensor", 1.0, WEIGHTS["Qwen3-30B-A3B"], 1024.0, 1979.0)

    assert modelled(*asked) == pytest.approx(0.285, rel=0.15)
    assert modelled(*asked, small=False) > 2.0 * 0.285


# Word of the table, word of the engine; word of the table, precision, bytes of a weight.
ENGINES = {"vllm": "vllm", "trtllm": "tensorrt-llm", "sglang": "sglang"}
DENSE = {"bfloat16": ("bf16", 2.0), "fp8": ("fp8", 1.0), "nvfp4": ("fp4", 0.5625)}
GROUPED = {"bfloat16": "bf16", "fp8_block": "fp8", "nvfp4": "fp4"}
BYTES = {"bf16": 2.0, "fp8": 1.0, "fp4": 0.5625}
MANY = 128.0  # tokens an expert, from which on the start of a kernel is short


@pytest.mark.parametrize("theirs", ENGINES)
def test_experts_of_an_engine_are_those_it_was_measured_with(shared, theirs):
    """Root mean square within a third for most, half for any: our rows stand for experts on one to four."""
    catalogue, table, errors = load_catalogue(), measured(shared, theirs), []
    for (name, chip), (word, ours) in itertools.product(CHIPS.items(), GROUPED.items()):
        key = f"{ours}-{ENGINES[theirs]}"
        if not catalogue.has(f"kernel.{chip}.grouped_share@{key}"):
            continue
        apart = [
            np.log(modelled(chip, key, BYTES[ours], WEIGHTS[model], tokens, peak) / shares[0])
            for (precision, of, model, tokens, peak), shares in table.items()
            if (precision, of) == (word, name) and model in WEIGHTS and tokens >= MANY
        ]
        if apart:
            errors.append(float(np.sqrt(np.mean(np.square(apart)))))

    assert len(errors) >= 3
    assert np.median(errors) < 0.32
    assert max(errors) < 0.5


@pytest.mark.parametrize("theirs", ENGINES)
def test_matrices_of_an_engine_are_those_it_was_measured_with(shared, theirs):
    """Medians of n and k from 4,096 to 28,672, at 16 to 16,384 rows: within 20 % root mean square on most."""
    catalogue, errors = load_catalogue(), defaultdict(list)
    path = shared / "data" / "kernel_efficiency" / "kernel_efficiency.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if (row["operation"], row["engine"]) == ("gemm", theirs)
            and row["precision"] in DENSE
            and row["chip"] in CHIPS
        ]
    for row in rows:
        chip, (precision, value_bytes) = CHIPS[row["chip"]], DENSE[row["precision"]]
        of = {
            part: catalogue.fact(f"kernel.{chip}.{part}@{precision}-{ENGINES[theirs]}").value
            for part in ("matrix_share", "weight_read_share", "matrix_half_tokens", "matrix_half_weights")
        }
        tokens, weights = float(re.search(r"m=(\d+)", row["condition"])[1]), (4096.0 * 28672.0)
        flop_per_s = float(re.search(r"([\d.]+) TFLOP", row["metric"])[1]) * 1e12
        bandwidth = catalogue.fact(f"accelerator.{chip}.memory_bandwidth").value * 1e9
        reading = weights * value_bytes / (bandwidth * of["weight_read_share"])
        less = 1.0 + of["matrix_half_weights"] / weights
        rows_and_half = tokens + of["matrix_half_tokens"]
        arithmetic = 2.0 * weights * rows_and_half * less / (flop_per_s * of["matrix_share"])
        start_s = catalogue.fact(f"kernel.{chip}.matrix_time@{precision}-{ENGINES[theirs]}").value
        share = 2.0 * weights * tokens / (start_s + (reading**4 + arithmetic**4) ** 0.25) / flop_per_s
        errors[chip, precision].append(float(np.log(share / float(row["median"]))))
    spread = [float(np.sqrt(np.mean(np.square(own)))) for own in errors.values()]

    assert len(spread) >= 16
    assert np.median(spread) < 0.2
    assert max(spread) < 0.4


def test_more_power_speeds_up_experts_as_it_does_dense_matrices():
    """MI325X has the dies of MI300X and 1,000 W in place of 750: 1,519 beside 1,273 TFLOP/s (AMD)."""
    catalogue = load_catalogue()
    for grouped, dense in (("bf16", "bf16"), ("w4a16", "bf16"), ("fp8", "fp8"), ("fp8-tensor", "fp8")):
        more, less = (
            catalogue.fact(f"kernel.{chip}.matrix_share@{dense}").value for chip in ("mi325x", "mi300x")
        )
        experts = (
            catalogue.fact(f"kernel.{chip}.grouped_share@{grouped}").value for chip in ("mi325x", "prior")
        )
        assert next(experts) / next(experts) == pytest.approx(more / less, rel=0.005)
