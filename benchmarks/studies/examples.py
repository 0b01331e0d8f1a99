"""Make data/solved/*.json.gz, the plans that the app opens with.

    python -m benchmarks.studies.examples

To be run when facts or shipped scenarios change; a test says so.
"""

from __future__ import annotations

from planner.answers.plan.shipped import SOLVED, write_solved


def main() -> None:
    """Solve each of them."""
    for stem in SOLVED:
        write_solved(stem)


if __name__ == "__main__":
    main()
