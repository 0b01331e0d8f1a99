"""Make data/solved/*.json.gz, the plans that the app opens with.

python docs/examples.py
"""

from __future__ import annotations

from planner.answers.plan.shipped import SOLVED, write_solved

if __name__ == "__main__":
    for stem in SOLVED:
        write_solved(stem)
