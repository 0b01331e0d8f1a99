"""Plans AI fleets so that they finish their work, on time, at the least carbon and money.

The handful of names below is the whole public surface; everything else is a room of its own.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "load_scenario": "planner.inputs.scenario",
    "load_catalogue": "planner.inputs.loading",
    "plan_fleet": "planner.program.plan",
    "explain": "planner.trace.explain",
    "derive": "planner.trace.quantities",
    "recompute": "planner.trace.recomputation",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that `--help` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'planner' has no name '{name}'; it offers {', '.join(__all__)}")
    return getattr(import_module(_HOMES[name]), name)
