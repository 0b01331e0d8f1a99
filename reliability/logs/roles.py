"""What the columns of a log can be: the roles of each kind, and the units of durations."""

from __future__ import annotations

# A year is 365 days.
SECONDS = {"s": 1.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0, "y": 31_536_000.0}
SINCE_START = {f"since_start_{unit}": seconds for unit, seconds in SECONDS.items()}
SINCE_1970 = {"unix_s": 1.0, "unix_ms": 1e-3}
DURATIONS = tuple(f"duration_{unit}" for unit in SECONDS)
ENTRY_AGES = tuple(f"entry_age_{unit}" for unit in SECONDS)
TIMES = ("start", "end", "entry", "exit", "death")
NEEDED = {"jobs": ("job", "state", "start", "end", "nodes"), "events": ("unit", "start"), "lives": ("unit",)}
OTHER = {
    "jobs": ("submit", "eligible", "node_list", "failed_node"),
    "events": (
        *("end", *DURATIONS, "cause", "xid", "severity", "planned", "transition"),
        *("entry", "exit", "group", "group_size"),
    ),
    "lives": (*DURATIONS, *ENTRY_AGES, "entry", "exit", "death", "died", "censored"),
}
# These may be spread over several columns.
SEVERAL = ("unit", "cause")
LAYOUTS = ("table", "json", "kernel")

Columns = dict[str, str | tuple[str, ...]]
