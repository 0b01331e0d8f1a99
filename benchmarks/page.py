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
SKUs. Further copies are on other grids, pay 7 % more for energy where a price is stated, and have 10 % less
work each, so that none is another's twin. One fresh process and one reading for each size; memory is the most
that it ever held. The plans that are shown for comparison are not solved.
"""
OPTIONS = """A layout search finds the fastest of all layouts that fit, for one job on one SKU at one size.
A row is one accelerator at one size in one layout; the bare loop does the same sums in plain Python and
checks nothing. The sweep looks for the best layout of a 70B model on {chips} accelerators at {sizes} sizes,
and finds one in {with_layout:,} of {searches:,} searches.
"""
PROGRAM = """Made-up fleets. S has 4 SKUs, 2 sites, 4 quarters and 5 jobs and services; M 12, 6, 8 and 50; L
25, 20, 12 and 500. Half of them are training jobs with a release and a deadline that may run in one of
three sizes on six SKUs at four sites (S: four at two); half are services with a demand by quarter. There
are price tiers, lead times, ends of life, racks, power, supply and budget, but no spares. `plain` is the
formulation that comes to mind first: a binary for each start, tiers by quarter, replicas counted from the
start, a high price on demand that is not carried. It describes the same fleet but lets no job pause, and
is a program of its own: what is compared is how near each gets to its own bound. Building and solving are
timed apart; ours builds once more within the time to solve. CBC states no bound before it is done, and gets
no first plan.
"""
BEFORE = """The same made-up fleets, and `everfleet plan next-quarter` from a shell, by an earlier state of
this repository ({title}) in the same run. The first run on a machine tries the engine and searches; now the
second takes the search that was kept, and makes the answer anew. The earlier quarter has its own facts and
scenario, and a smaller program: capital was charged over the horizon alone, without a value that is left or a
sale of what is bought.
"""
SWEEP = """The shipped `one-training-job` with {points} values of its PUE, planned into a store of SQLite.
What a point costs besides its plan is the time of the sweep less that of the bare plans, shared evenly among
the workers: starting them, handing tasks over, taking plans back and saving them. A bare plan takes {bare_ms}
ms here. An empty task does nothing; Dask's cluster ran before.
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
LIVES = """A simulated log: Weibull lives of units that were put in service over 2,000 days, with six traits
of two levels each, a row for each unit. lifelines gets the same rows, none of them grouped; its Cox goes row
by row, but time by time where many times are equal, as in whole days. Seconds are the least of three calls
(of one, where that took 10 s); memory is the most that a process held which did nothing else, libraries and
rows included. `apart` is the largest relative difference: of the curve and its band at a thousand ages
(Kaplan-Meier), of parameters and their standard errors (Weibull), of hazard ratios and the standard errors of
their logarithms (Cox).
"""
PLAYED = """One job of 16,384 GPUs over 54 days with 7.8 failures a day, an interval of 7.9 min, a write of
10 s and a restart of 5 min, played in columns, and by loops of plain Python that go from checkpoint to
checkpoint or from failure to failure. The fleet is AIReSim's default case, node by node: a job on 4,096 nodes
with weak nodes, standbys, spares and repair; its events are failures, stages of repair, host selections and
spares called in.
"""
JOB_LOG = """A made-up job log as `sacct --parsable2` prints it, to a table of jobs, node-hours, failures and
waits by size of job. pandas reads the six columns that the table needs, and groups; everfleet also checks
every row and finds the nodes, the failures and the node-hours over time. The two tables are the same. DuckDB,
which everfleet reads with, uses all cores.
"""
CARBON = """Made-up jobs, each with its own nodes, hours by state, PUE, grid, hardware and water: energy,
operational carbon, the embodied share and water. The bare loop goes over a list of dicts and checks nothing;
everfleet checks every input. Memory is the most that a process held which did nothing else, jobs included.
"""
APP = """The app on a server of its own. A re-run is one of a page's whole script, for a visitor who has
the page open, with all that it sends; its processor time is that of the server. The answer comes in two
parts, and TCP may hold the second one back for 40 ms. A first chart is read from the address to the
chart on screen, in a fresh context and on a server that has run; on a page without a chart, to all of
the page. A re-run in the browser is read from a click to the end of the run.
"""
CROWD = """Visitors side by side, who go from page to page without a pause. Each has a scenario with a
title of its own, which is looked for in all that the others are sent.
"""
AIMS = {"re-run": 0.05, "first chart": 2.5, "re-run in the browser": 0.3}  # s, on two cores of their own


def page(measured: Record) -> str:
    """The whole page."""
    parts = [
        HEAD,
        *_ratios(measured),
        *_sizes(measured["sizes"]),
        *_program(measured["program"]),
        *_before(measured),
        *_sweep(measured["sweeps"]),
        *_seconds(measured),
        *_lives(measured["estimates"]),
        *_played(measured["played"]),
        *_job_log(measured["job_log"]),
        *_carbon(measured["carbon"]),
        *app_lines(measured["app"]),
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
        (
            "Step times of all layouts at once, against one at a time",
            f"{steps['count']:,} layouts",
            f"{faster:,.0f} x faster",
        ),
        *(
            (
                "Five equations through `derive`, against bare calls",
                f"columns of {one['rows']:,}",
                f"{one['derive_s']['min'] / one['bare_s']['min']:.2f} x the time",
            )
            for one in rates["derive"]
        ),
        *(_growth(rates["options"], what) for what in ("rows of training runs", "rows of replicas")),
        ("`everfleet --help`, against bare Python", "", f"{help_ratio:.1f} x the time"),
        ("lifelines loaded by planning, checkpoint table or job carbon", "", "yes" if loaded else "no"),
        *_reliability_ratios(measured),
        *_carbon_ratios(measured["carbon"]),
    ]
    lines += _performance_ratios(measured["performance"])
    note = "Ratios of the least times, which other work on the machine disturbs least."
    return ["## Ratios\n", _table(("what", "on", "result"), lines), note]


def _reliability_ratios(measured: Record) -> list[tuple[str, str, str]]:
    """The largest logs, and the jobs played."""
    most = max(one["rows"] for one in measured["estimates"])
    lines = [
        (
            f"{_title(one)}, against lifelines",
            f"{most:,} rows, times to the {one['resolution']}",
            f"{_times(one['lifelines'], one['everfleet']):.1f} x faster",
        )
        for one in measured["estimates"]
        if one["rows"] == most
    ]
    jobs, log = measured["played"], measured["job_log"]
    ours = _rate(jobs["failures"], jobs["s"])
    plain = {step: _rate(jobs["plain_failures"], jobs[f"by_{step}_s"]) for step in ("checkpoint", "failure")}
    lines += [
        (
            f"Jobs played in columns, against a loop from {step} to {step}",
            f"{jobs['failures']:,} failures",
            f"{ours / rate:,.0f} x faster",
        )
        for step, rate in plain.items()
    ]
    memory = log["everfleet"]["peak_mb"] / log["pandas"]["peak_mb"]
    found = f"{_times(log['everfleet'], log['pandas']):.2f} x the time, {memory:.2f} x the memory"
    return [*lines, ("A job log to jobs by size, against pandas", f"{log['rows']:,} rows", found)]


def _carbon_ratios(carbon: Record) -> list[tuple[str, str, str]]:
    estimates, calls = carbon["estimates"], carbon["calls"]
    each = _rate(estimates["jobs"], estimates["everfleet"]["s"])
    loop = _times(estimates["loop"], estimates["everfleet"])
    memory = estimates["everfleet"]["peak_mb"] / estimates["loop"]["peak_mb"]
    on = f"{estimates['jobs']:,} jobs"
    return [
        (
            "Carbon of jobs in columns, against the same functions job by job",
            on,
            f"{each / _rate(calls['jobs'], calls['s']):,.0f} x faster",
        ),
        (
            "Carbon of jobs in columns, against a bare loop that checks nothing",
            on,
            f"{loop:,.0f} x faster, {memory:.2f} x the memory",
        ),
    ]


def _performance_ratios(performance: Record) -> list[tuple[str, str, str]]:
    steps, calls = performance["steps"], performance["calls"]
    each = _rate(steps["rows"], steps["everfleet"]["s"])
    loop = _times(steps["loop"], steps["everfleet"])
    on = f"{steps['rows']:,} rows"
    return [
        (
            "Step times in columns, against the same function row by row",
            on,
            f"{each / _rate(calls['rows'], calls['s']):,.0f} x faster",
        ),
        ("Step times in columns, against a bare loop that checks nothing", on, f"{loop:,.0f} x faster"),
    ]


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
        "sites",
        "SKUs",
        "node groups",
        "jobs, pools and services",
        "candidates",
        "dropped before the program",
        "rows",
        "columns",
        "whole columns",
    )
    lines = [(name, *(f"{one[name]:,}" for one in sizes)) for name in counts]
    lines.append(("solve ended", *(_ended(one) for one in sizes)))
    lines += [(f"{phase}, s", *(_phase(one, phase) for one in sizes)) for phase in PHASES]
    lines.append(("all phases, s", *(f"{sum(one['seconds'].values()):.1f}" for one in sizes)))
    lines.append(("peak memory, MB", *(f"{one['peak_mb']:,.0f}" for one in sizes)))
    limits = ", ".join(f"{one['time_limit_s']:g} s" for one in sizes)
    goal = f"Solved to {100 * sizes[0]['gap_limit_fraction']:g} % or until time was up ({limits})."
    return ["## Time and memory against size\n", GROWTH.rstrip() + f"\n{goal}\n", _table(("", *names), lines)]


def _program(runs: Sequence[Record]) -> list[str]:
    head = (
        "fleet",
        "by",
        "rows",
        "columns",
        "whole columns",
        "build, s",
        "solve, s",
        "limit, s",
        "ended",
        "peak memory, MB",
    )
    lines = [
        (
            one["fleet"],
            one["way"],
            *(f"{one[name]:,}" for name in ("rows", "columns", "whole columns")),
            _short(one["build_s"]),
            _short(one["solve_s"]),
            f"{one['time_limit_s']:g}",
            _ended(one),
            f"{one['peak_mb']:,.0f}",
        )
        for one in runs
    ]
    goal = f"Solved to {100 * runs[0]['gap_limit_fraction']:g} % or until time was up."
    return ["## The program on made-up fleets\n", PROGRAM.rstrip() + f"\n{goal}\n", _table(head, lines)]


def _before(measured: Record) -> list[str]:
    """Nothing where no earlier checkout was at hand."""
    earlier = measured.get("before")
    if earlier is None:
        return []
    after = {one["fleet"]: one for one in measured["program"] if one["way"] == "everfleet"}
    lines = [
        (
            one["fleet"],
            *(
                text
                for each in (one, after[one["fleet"]])
                for text in (_short(each["solve_s"]), _ended(each))
            ),
        )
        for one in earlier["program"]
    ]
    quarters = (earlier["quarter"], earlier["quarter after"])
    lines += [
        (
            f"next-quarter, {name} run",
            *(
                text
                for each in quarters
                for text in (_short(each[f"{name}_s"]), f"gap {100 * each['gap_fraction']:.1f} %")
            ),
        )
        for name in ("first", "second")
    ]
    head = ("what", "before, s", "ended", "now, s", "ended")
    return ["## Before and after\n", BEFORE.format(title=earlier["title"]), _table(head, lines)]


def _sweep(sweep: Record) -> list[str]:
    """What each executor costs besides the plans; a negative overhead is noise."""
    head = (
        "executor",
        "first answer, s",
        "empty task, ms",
        f"sweep of {sweep['points']}, s",
        "besides its plan, ms a point",
    )
    lines = [
        (
            name,
            _short(one["first_answer_s"]),
            _short(1000 * one["empty_s_per_task"]),
            _short(one["sweep_s"]),
            _short(1000 * one["overhead_s_per_point"]),
        )
        for name, one in sweep["executors"].items()
    ]
    shown = SWEEP.format(points=sweep["points"], bare_ms=_short(1000 * sweep["bare_s_per_point"]))
    return ["## Sweeps\n", shown, _table(head, lines)]


def _ended(one: Record) -> str:
    gap = one["gap_fraction"]
    return one["status"] if gap is None else f"{one['status']}; gap {100 * gap:.1f} %"


def _phase(one: Record, phase: str) -> str:
    return _short(one["seconds"][phase]) if phase in one["seconds"] else "none"


def _seconds(measured: Record) -> list[str]:
    rates, started = measured["rates"], measured["startup"]
    steps, performance = rates["steps"], measured["performance"]
    timed = [(f"{one['what']}, x{one['copies'] ** 2}", one["count"], one["s"]) for one in rates["options"]]
    timed += [
        ("step times, all layouts at once", steps["count"], steps["columns_s"]),
        ("step times, one layout at a time", steps["sample"], steps["rows_s"]),
        *_performance(performance),
    ]
    options = [
        (what, f"{count:,}", f"{count / taken['median']:,.0f}", *_three(taken, 1000.0))
        for what, count, taken in timed
    ]
    waits = [(f"`{name}`" if "everfleet" in name else name, *_three(one)) for name, one in started.items()]
    waits += [(name, *_three(one)) for name, one in rates["questions"].items() if isinstance(one, dict)]
    return [
        "## Options and coefficients\n",
        OPTIONS.format(**performance["sweep"]),
        _table(("what", "count", "a second", *(f"{name}, ms" for name in SPREAD)), options),
        "## Waiting\n",
        _table(("what", *(f"{name}, s" for name in SPREAD)), waits),
    ]


def _performance(performance: Record) -> list[tuple[str, int, Record]]:
    steps, calls, sweep = performance["steps"], performance["calls"], performance["sweep"]
    return [
        ("step times, rows in columns", steps["rows"], steps["everfleet"]["s"]),
        ("step times, rows in a bare loop", steps["rows"], steps["loop"]["s"]),
        ("step times, the same function row by row", calls["rows"], calls["s"]),
        ("layouts of the sweep", sweep["layouts"], sweep["s"]),
        ("layout searches of the sweep", sweep["searches"], sweep["s"]),
    ]


def _lives(estimates: Sequence[Record]) -> list[str]:
    head = (
        "estimate",
        "times to the",
        "rows",
        "everfleet, s",
        "lifelines, s",
        "faster",
        "apart",
        "everfleet, MB",
        "lifelines, MB",
    )
    lines = [
        (
            _title(one),
            one["resolution"],
            f"{one['rows']:,}",
            *(_short(one[by]["s"]["min"]) for by in ("everfleet", "lifelines")),
            f"{_times(one['lifelines'], one['everfleet']):.1f} x",
            f"{one['apart_fraction']:.0e}",
            *(f"{one[by]['peak_mb']:,.0f}" for by in ("everfleet", "lifelines")),
        )
        for one in estimates
    ]
    return ["## Lives against lifelines\n", LIVES, _table(head, lines)]


def _title(one: Record) -> str:
    return {"kaplan-meier": "Kaplan-Meier", "weibull": "Weibull", "cox": "Cox, 6 covariates"}[one["what"]]


def _times(first: Record, second: Record) -> float:
    """How many times as long the first takes."""
    return float(first["s"]["min"] / second["s"]["min"])


def _rate(count: int, taken: Record) -> float:
    """How many in a second."""
    return float(count / taken["min"])


def _played(jobs: Record) -> list[str]:
    plain = f"{jobs['plain_ettr_fraction']:.4f} (standard error {jobs['plain_standard_error']:.4f})"
    alone = f"{jobs['ettr_fraction']:.4f}"
    timed = [
        ("jobs in columns", jobs["jobs"], jobs["failures"], jobs["s"], alone),
        (
            "jobs from checkpoint to checkpoint",
            jobs["plain_jobs"],
            jobs["plain_failures"],
            jobs["by_checkpoint_s"],
            plain,
        ),
        (
            "jobs from failure to failure",
            jobs["plain_jobs"],
            jobs["plain_failures"],
            jobs["by_failure_s"],
            plain,
        ),
        ("fleets, node by node", jobs["fleets"], jobs["events"], jobs["fleet_s"], ""),
    ]
    lines = [
        (what, f"{count:,}", f"{events:,}", f"{_rate(events, taken):,.0f}", *_three(taken), ettr)
        for what, count, events, taken, ettr in timed
    ]
    seconds = (f"{name}, s" for name in SPREAD)
    head = ("what", "played", "failures or events", "a second", *seconds, "mean ETTR")
    held = f"All of it in one process, which held {jobs['peak_mb']:,.0f} MB at most."
    return ["## Played jobs\n", PLAYED, _table(head, lines), held]


def _job_log(log: Record) -> list[str]:
    read = f"{log['rows']:,}", f"{log['file_mb']:,.0f}"
    lines = [
        (by, *read, *_three(log[by]["s"]), f"{log[by]['peak_mb']:,.0f}") for by in ("everfleet", "pandas")
    ]
    head = ("by", "rows", "file, MB", *(f"{name}, s" for name in SPREAD), "peak memory, MB")
    return ["## Reading a job log\n", JOB_LOG, _table(head, lines)]


def _carbon(carbon: Record) -> list[str]:
    estimates, calls = carbon["estimates"], carbon["calls"]
    ours, loop = estimates["everfleet"], estimates["loop"]
    held, loop_held = (f"{one['peak_mb']:,.0f}" for one in (ours, loop))
    timed = [
        ("jobs in columns", estimates["jobs"], ours["s"], held),
        ("jobs in a bare loop", estimates["jobs"], loop["s"], loop_held),
        ("the same functions, job by job", calls["jobs"], calls["s"], ""),
    ]
    head = ("a second", *(f"{name}, s" for name in SPREAD), "peak memory, MB")
    return [
        "## Carbon of jobs\n",
        CARBON,
        _table(("what", "jobs", *head), _rates(timed)),
    ]


def _rates(timed: Sequence[tuple[str, int, Record, str]]) -> list[tuple[str, ...]]:
    return [
        (what, f"{count:,}", f"{_rate(count, taken):,.0f}", *_three(taken), held)
        for what, count, taken, held in timed
    ]


def app_lines(app: Record) -> list[str]:
    """Pages one by one, in a browser where there is one, and many visitors."""
    browser = app["browser"] or {"first": [], "reruns": []}
    first = {one["page"]: one for one in browser["first"]}
    reruns = {one["page"]: one for one in browser["reruns"]}
    head = (
        "page",
        "processor a re-run, ms",
        "re-run p50, ms",
        "p95, ms",
        "first chart in a browser, s",
        "re-run there p50, ms",
        "p95, ms",
    )
    lines = [
        (
            one["page"],
            "" if one["cpu_s"] is None else _short(1000 * one["cpu_s"]),
            *_two(one),
            _first(first.get(one["page"])),
            *_two(reruns.get(one["page"])),
        )
        for one in app["pages"]
    ]
    aims = (
        "aim",
        _short(1000 * AIMS["re-run"]),
        "",
        "",
        _short(AIMS["first chart"]),
        "",
        _short(1000 * AIMS["re-run in the browser"]),
    )
    none = [] if app["browser"] else ["No Chromium is installed: what a browser would show was not read."]
    return ["## App\n", APP, _table(head, [*lines, aims]), *none, CROWD, _crowd(app["crowd"])]


def _two(one: Record | None) -> tuple[str, str]:
    return ("", "") if one is None else (_short(1000 * one["s"]["p50"]), _short(1000 * one["s"]["p95"]))


def _first(one: Record | None) -> str:
    if one is None:
        return ""
    return _short(one["s"]["median"]) + (" (no chart)" if one["shown"] == "page" else "")


def _crowd(crowd: Record) -> str:
    held = [("" if crowd[when] is None else _short(crowd[when])) for when in ("before_mb", "after_mb")]
    lines = [
        (
            str(crowd["visitors"]),
            str(crowd["runs"]),
            _short(crowd["runs_per_s"]),
            *(f"{crowd['s'][name]:.2f}" for name in ("p50", "p95")),
            *held,
            str(crowd["leaks"]),
            str(crowd["failed"]),
        )
    ]
    head = (
        "visitors",
        "runs",
        "runs a second",
        "p50, s",
        "p95, s",
        "memory before, MB",
        "after, MB",
        "leaks",
        "failed",
    )
    return _table(head, lines)


def _about(machine: Record) -> str:
    """What it ran on, without naming it."""
    shared = f", while other work ran too (load {machine['load']:.1f})" if machine["busy"] else ""
    cores = f"Measured with {machine['cores']} cores{shared}"
    threads = "an engine of the solver runs on one thread, and at most two run side by side"
    return f"## The machine\n\n{cores}; {threads}. {machine['versions']}.\n"


def _three(spread: Record, factor: float = 1.0) -> tuple[str, ...]:
    return tuple(_short(spread[name] * factor) for name in SPREAD)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in rows) + "\n"
