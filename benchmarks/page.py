"""The measurements as a page: what holds on any machine first, seconds after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.clock import Record

HEAD = """# Benchmarks

Written by `make bench`; every ratio compares two things measured in the same run.
"""
GROWTH = """Each size is the shipped `next-quarter` with 1, 2 or 4 times its sites, fleet, training jobs,
pools and services, and one more SKU on the market for each further copy; supply and budget grow along. What
may run where is work times places, so the search is 1, 4 and 16 times as large, and more with the further
SKUs. Further copies stand on other grids, pay 7 % more for energy where a price is stated, and have 10 % less
work each, so that none is another's twin. One fresh process and one reading for each size; memory is the most
that it ever held. The plans that are shown for comparison are not solved.
"""
PHASES = (
    "import",
    "read",
    "candidates and coefficients",
    "build",
    "solve and check",
    "account",
    "document",
)
SPREAD = ("min", "median", "max")


def page(measured: Record) -> str:
    """The whole page."""
    parts = [
        HEAD,
        *_ratios(measured),
        *_sizes(measured["sizes"]),
        *_seconds(measured),
        _about(measured["machine"]),
    ]
    return "\n".join(part.rstrip() + "\n" for part in parts)


def _ratios(measured: Record) -> list[str]:
    rates, started = measured["rates"], measured["startup"]
    steps = rates["steps"]
    faster = steps["rows_s"]["min"] / steps["sample"] * steps["count"] / steps["columns_s"]["min"]
    help_ratio = started["everfleet --help"]["min"] / started["bare Python"]["min"]
    loaded = rates["questions"]["lifelines_loaded"]
    lines = [
        ("Step times of all layouts at once, against one at a time", f"{steps['count']:,} layouts",
         f"{faster:,.0f} x faster"),
        *(
            ("Five equations through `derive`, against bare calls", f"columns of {one['rows']:,}",
             f"{one['derive_s']['min'] / one['bare_s']['min']:.2f} x the time")
            for one in rates["derive"]
        ),
        *(_growth(rates["options"], what) for what in ("rows of training runs", "rows of replicas")),
        ("`everfleet --help`, against bare Python", "", f"{help_ratio:.1f} x the time"),
        ("lifelines loaded by planning, checkpoint table or job carbon", "", "yes" if loaded else "no"),
    ]  # fmt: skip
    note = "Ratios of the least times, which other work on the machine disturbs least."
    return ["## Ratios\n", _table(("what", "on", "result"), lines), note]


def _growth(options: Sequence[Record], what: str) -> tuple[str, str, str]:
    """How the time of one row changes from the smallest to the largest size."""
    each = [one for one in options if one["what"] == what]
    first, last = each[0], each[-1]
    ratio = (last["s"]["min"] / last["count"]) / (first["s"]["min"] / first["count"])
    return (
        f"Coefficients, {what}: a row among many, against a row among few",
        f"{last['count']:,} and {first['count']:,}",
        f"{ratio:.2f} x the time",
    )


def _sizes(sizes: Sequence[Record]) -> list[str]:
    names = [f"x{one['size']}" for one in sizes]
    counts = (
        "sites", "SKUs", "node pools", "jobs, pools and services", "candidates", "dropped before the program",
        "rows", "columns", "whole columns",
    )  # fmt: skip
    lines = [(name, *(f"{one[name]:,}" for one in sizes)) for name in counts]
    lines.append(("solve ended", *(_ended(one) for one in sizes)))
    lines += [(f"{phase}, s", *(_phase(one, phase) for one in sizes)) for phase in PHASES]
    lines.append(("all phases, s", *(f"{sum(one['seconds'].values()):.1f}" for one in sizes)))
    lines.append(("peak memory, MB", *(f"{one['peak_mb']:,.0f}" for one in sizes)))
    limits = ", ".join(f"{one['time_limit_s']:g} s" for one in sizes)
    goal = f"Solved to {100 * sizes[0]['asked_gap_fraction']:g} % or until time was up ({limits})."
    return ["## Time and memory against size\n", GROWTH.rstrip() + f"\n{goal}\n", _table(("", *names), lines)]


def _ended(one: Record) -> str:
    gap = one["gap_fraction"]
    return one["status"] if gap is None else f"{one['status']}; gap {100 * gap:.1f} %"


def _phase(one: Record, phase: str) -> str:
    return _short(one["seconds"][phase]) if phase in one["seconds"] else "none"


def _seconds(measured: Record) -> list[str]:
    rates, started = measured["rates"], measured["startup"]
    steps = rates["steps"]
    timed = [(f"{one['what']}, x{one['copies'] ** 2}", one["count"], one["s"]) for one in rates["options"]]
    timed += [
        ("step times, all layouts at once", steps["count"], steps["columns_s"]),
        ("step times, one layout at a time", steps["sample"], steps["rows_s"]),
    ]
    options = [
        (what, f"{count:,}", f"{count / taken['median']:,.0f}", *_three(taken, 1000.0))
        for what, count, taken in timed
    ]
    waits = [(f"`{name}`" if "everfleet" in name else name, *_three(one)) for name, one in started.items()]
    waits += [(name, *_three(one)) for name, one in rates["questions"].items() if isinstance(one, dict)]
    return [
        "## Options and coefficients\n",
        "A layout search finds the fastest of all layouts that fit, for one job on one SKU at one size.\n",
        _table(("what", "count", "a second", *(f"{name}, ms" for name in SPREAD)), options),
        "## Waiting\n",
        _table(("what", *(f"{name}, s" for name in SPREAD)), waits),
    ]


def _about(machine: Record) -> str:
    """What it ran on, without naming it."""
    shared = f", while other work ran too (load {machine['load']:.1f})" if machine["busy"] else ""
    cores = f"Measured with {machine['cores']} cores{shared}; the solver runs on one thread."
    return f"## The machine\n\n{cores} {machine['versions']}.\n"


def _three(spread: Record, factor: float = 1.0) -> tuple[str, ...]:
    return tuple(_short(spread[name] * factor) for name in SPREAD)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in rows) + "\n"
