"""Every column of the answers that are no plan has a meaning, and no meaning has lost its column."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

import everfleet as ef
from benchmarks.site.meanings import ANSWERS
from benchmarks.site.pages import tables
from planner.report.table_columns import meaning_of

ROOT = Path(__file__).resolve().parents[2]


def answers(kind: str, folder: Path) -> list[ef.Answer]:
    """Real answers that have all tables of a kind between them."""
    match kind:
        case "job":
            return [ef.job_carbon(name) for name in ("train-8b", "chat-service")]
        case "fit":
            return [ef.load(ROOT / "data" / "solved" / f"fit-{log}.json") for log in ("infinitehbd", "slurm")]
        case "throughput":
            return [
                ef.throughput("llama-3.1-8b", skus=["h100-8"], tokens=1e12, by_h="2000 h"),
                ef.throughput("llama-3.1-70b", skus=["h100-8", "l40s-8"], serve=True),
            ]
        case "traces":
            steps = []
            for at, kernel in enumerate(("gemm", "ncclDevKernel_AllReduce")):
                told = {"Collective name": "allreduce", "In msg nelems": 8, "dtype": "Float"}
                event = {"ph": "X", "cat": "kernel", "name": kernel, "ts": at, "dur": 1, "args": told}
                step = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": 9}
                steps.append(folder / f"{at}.json")
                steps[-1].write_text(json.dumps({"traceEvents": [event, step]}), encoding="utf-8")
            graph = ROOT / "data" / "samples" / "chakra_small.0.json"
            return [ef.trace(*steps, represent=1), ef.trace(graph, graph, represent=1)]
        case "across":
            link = "800 Gbit/s, 20 ms"
            return [ef.throughput("llama-3.1-8b", across=f"dallas:{n},oregon:2", link=link) for n in (2, 93)]
        case "placement":
            tables, model = "criteo_tables.csv", "mlperf_dlrm_dcnv2_multihot"
            return [
                ef.place(tables, model=model, sku="gh200-96-1", nodes=[1, 2], tiers=tiers, time_limit_s=0.5)
                for tiers in (["hbm", "host", "ssd"], ["hbm"])
            ]
    dearer = {"name": "dearer", "probability": 0.5, "electricity": 2}
    both = [{"name": "as stated", "probability": 0.5}, dearer]
    return [ef.futures("one-training-job", changes={"futures": both})]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ANSWERS)
def test_every_column_has_a_meaning_and_every_meaning_a_column(kind: str, tmp_path: Path) -> None:
    columns: dict[str, set[str]] = defaultdict(set)
    for answer in answers(kind, tmp_path):
        for name, table in answer.tables.items():
            columns[name] |= {key for record in table.records for key in record}
    held = {(name, key) for name, keys in columns.items() for key in keys}
    said = {(name, key) for name, keys in ANSWERS[kind].items() for key in keys}

    assert {each for each in held - said if not meaning_of(*each)} == set()
    assert said - held == set()


def test_the_reference_of_tables_has_them() -> None:
    page = tables()

    assert "## Failures of a log, survival: `fit` `survival`" in page
    assert "| `each_j` | J | energy of each |" in page
