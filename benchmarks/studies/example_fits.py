"""Make data/solved/fit-*.json, the fits of the shipped logs that the app opens with.

    python -m benchmarks.studies.example_fits

To be run when the fits change; a test says so.
"""

from __future__ import annotations

from pathlib import Path

from planner.answers.failures import SAMPLES, fit_of_sample
from planner.report.data import to_json

SOLVED = Path(__file__).resolve().parents[2] / "data" / "solved"


def write_fits() -> None:
    """Write each of them."""
    SOLVED.mkdir(exist_ok=True)
    for name in SAMPLES:
        text = to_json(fit_of_sample(name), sort_keys=False)
        (SOLVED / f"fit-{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_fits()
