"""How fast the planner is and how it grows: `python -m benchmarks` measures and writes docs/benchmarks.md."""
