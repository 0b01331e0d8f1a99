"""Embedding tables placed by us and by greedy rules: 26 published ones, and 856 made to published totals.

    python -m benchmarks.studies.placement

Rows and columns of the 856 tables are not published, only their number, the look-ups and touched rows of one
batch, and how often rows are read. Sizes and look-ups are drawn from log-normal laws whose totals are those.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from planner.answers.placement import placement_document
from planner.inputs.placement_question import PlacementQuestion
from planner.trace.records import Record

TABLES, LOOKUPS, TOUCHED_ROWS, SAMPLES, SEED = 856, 887_017_990, 128_435_723, 65_536, 7
ROWS_A_TOUCHED_ROW = 40.0  # of a table over those that one batch reads: assumed
WIDTHS = (32, 64, 128, 256)
SPREAD = {"pooling": 1.0, "rows": 1.6}  # of the logarithms: assumed
REUSE, DATASET = Path("dlrm_datasets_reuse.csv"), "fbgemm_t856_bs65536.pt"


def drawn_tables(seed: int = SEED) -> str:
    """The CSV of 856 tables; the same seed gives the same ones."""
    random = np.random.default_rng(seed)
    pooling = random.lognormal(0.0, SPREAD["pooling"], TABLES)
    pooling = np.maximum(1, np.round(pooling * LOOKUPS / SAMPLES / pooling.sum()))
    rows = random.lognormal(0.0, SPREAD["rows"], TABLES)
    rows = np.maximum(10, np.round(rows * TOUCHED_ROWS * ROWS_A_TOUCHED_ROW / rows.sum()))
    width = random.choice(WIDTHS, TABLES)
    lines = [
        f"{at},{int(held)},{wide},{int(read)}"
        for at, (held, wide, read) in enumerate(zip(rows, width, pooling, strict=True))
    ]
    return "\n".join(["table,rows,dim,pooling", *lines, ""])


def main() -> None:
    """Print each case with its gap and what greedy rules take over ours."""
    with tempfile.TemporaryDirectory() as folder:
        drawn = Path(folder) / "drawn.csv"
        drawn.write_text(drawn_tables(), encoding="utf-8")
        criteo = Path("criteo_tables.csv")
        for path, model, sku, nodes in (
            (criteo, "mlperf_dlrm_dcnv2_multihot", "h100-8", 1),
            (criteo, "mlperf_dlrm_dcnv2_multihot", "a100-40-8", 2),
            (criteo, "mlperf_dlrm_dcnv2_multihot", "l4-8", 1),
            (drawn, "", "h100-8", 1),
            (drawn, "", "h100-8", 4),
            (drawn, "", "h100-8", 16),
            (drawn, "", "l4-8", 16),
        ):
            question = PlacementQuestion(
                model=model, reuse=REUSE, dataset=DATASET, sku=sku, nodes=(nodes,), train=True
            )
            began = time.monotonic()
            document = placement_document(path, question)
            say(path, document, time.monotonic() - began)


def say(path: Path, document: Record, seconds: float) -> None:
    """One line of a case."""
    size = document["sizes"][0]
    if not size["fits"]:
        sys.stdout.write(f"{path.stem:14} {document['title']}: does not fit\n")
        return
    rules = [f"{row['over_ours_ratio']:.1f}" if row["fits"] else "-" for row in document["rules"]]
    slow = 1.0 - document["tiers"][0]["moved_fraction"]
    sys.stdout.write(
        f"{path.stem:14} {document['title']}, {size['accelerators']} chips: {1e3 * size['step_s']:.3f} ms, "
        f"gap {100 * size['gap_fraction']:.1f} %, {seconds:.0f} s; slow bytes {100 * slow:.2f} %; "
        f"greedy over ours {', '.join(rules)}\n"
    )


if __name__ == "__main__":
    main()
