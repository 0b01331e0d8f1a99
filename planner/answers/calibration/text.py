"""Calibration documents for a terminal, and the table of facts for a scenario."""

from __future__ import annotations

from collections.abc import Iterator

from planner.report.columns import Column, aligned
from planner.trace.numbers import count_text, fixed_text, number_text, percent_text
from planner.trace.records import Record

KEPT = (
    "# {}: keep what --json prints as mine.json, and name it in a scenario,\n"
    '# [performance] calibration = "mine.json", or by `everfleet throughput --calibration`.'
)


def to_text(document: Record) -> str:
    """Each accelerator: the measurements, the factor, other sizes, power, and the facts to copy."""
    lines: list[str] = list(_files(document))
    for one in document["hardware"]:
        lines.append(one["accelerator"])
        if one["traced"]:
            lines += _traced(one["traced"])
        if one["speed"]:
            lines += _speed(one["speed"], "memory" if one["traced"] else "networks, memory and host")
        if one["power"]:
            lines += _power(one["power"])
        if one["constants"]:
            lines += _constants(one["constants"])
        for model in one["serving"]:
            lines += _serving(model)
        lines.append("")
    return "\n".join([*lines, facts_toml(document).rstrip()])


def _files(document: Record) -> Iterator[str]:
    """As what each result file was read, and what was left out of it."""
    for file in document["files"]:
        if "left_out" not in file:
            continue
        yield f"{_plain(file['file'])}: {file['format']}, {_points(file['points'])}"
        for one in file["left_out"]:
            yield f"  left out {_points(len(one['points']))}: {one['reason']}"
        yield ""


def _points(count: int) -> str:
    return f"{count_text(count)} point{'s' * (count != 1)}"


def facts_toml(document: Record) -> str:
    """The `[facts]` of a scenario or a job file; what was measured of serving needs the whole document."""
    rows = [f'"{key}" = "{stated}"' for key, stated in document["facts"].items()]
    lines = [f"# Calibrated on {_plain(document['file'])}"]
    parts = {"Exchanges and fixed time": "traced", "Serving": "serving"}
    more = [what for what, part in parts.items() if any(one[part] for one in document["hardware"])]
    if more:
        lines.append(KEPT.format("; ".join(more)))
    if rows:
        lines += ["# Put this table into a scenario or a job file.", "[facts]", *rows]
    return "\n".join([*lines, ""])


TERMS = {
    "compute": "kernels that compute",
    "exposed": "communication with nothing else running",
    "idle": "idle device",
    "step": "step",
}


def _traced(traced: Record) -> Iterator[str]:
    """The step of a trace by its terms, and what explains them."""
    yield f"  step of {_plain(traced['trace'])} ({traced['format']}, {count_text(traced['steps'])} recorded)"
    yield from aligned(
        [
            Column("", lambda row: TERMS[row["term"]], right=False),
            _ms("measured ms", "measured_s"),
            _ms("ours", "before_s"),
            _ms("after", "after_s"),
        ],
        traced["terms"],
        indent="  ",
        gap=" ",
    )
    exchanges, fixed = traced["constants"]
    yield (
        f"  exchanges x {fixed_text(exchanges['value'], 3)}; fixed time of a step "
        f"{number_text(1e3 * fixed['before'])} ms, now {number_text(1e3 * fixed['value'])} ms"
    )
    if traced["note"]:
        yield f"  {traced['note']}"


def _layouts(rows: list[Record]) -> Iterator[str]:
    """Other layouts, the fastest first, and why some are none."""
    yield "  the same run at other layouts, most tokens a second first:"
    yield from aligned(
        [
            Column("accelerators", lambda row: count_text(row["accelerators"]), 17),
            Column("batch", lambda row: count_text(row["batch_sequences"]), 7),
            *(_ms(f"{name} ms", f"{name}_s") for name in ("step", "compute", "exposed", "bubble", "idle")),
            _rate("tokens/s", "tokens_per_s", 11),
            Column("low .. high", _between, 23),
            Column(" layout", lambda row: f" {row['named']}", right=False),
        ],
        [row for row in rows if "reason" not in row],
        indent="  ",
        gap=" ",
    )
    for row in rows:
        if "reason" in row:
            yield f"  {count_text(row['accelerators']):>17} {row['named']}: {row['reason']}"


def _ms(heading: str, key: str) -> Column:
    return Column(heading, lambda row: number_text(1e3 * row[key]), 9)


def _speed(speed: Record, kept: str) -> Iterator[str]:
    yield from aligned(
        [
            Column("line", lambda row: str(row["line"] or ""), 4),
            Column("accelerators", lambda row: count_text(row["accelerators"]), 12),
            _rate("measured", "measured_tokens_per_s", 13),
            _rate("ours", "before_tokens_per_s", 13),
            Column("error", lambda row: percent_text(row["before_error"], sign=True), 7),
            Column("factor", lambda row: fixed_text(row["factor"], 3), 7),
            _rate("after", "after_tokens_per_s", 13),
            Column("error", lambda row: percent_text(row["after_error"], sign=True), 7),
            Column(" tokens/s", lambda row: f" {row['model']} {row['precision']}", right=False),
        ],
        speed["points"],
        indent="  ",
        gap=" ",
    )
    yield (
        f"  matrix efficiency {number_text(speed['before'])} x {fixed_text(speed['factor'], 3)} = "
        f"{number_text(speed['after'])}; {kept} as before"
    )
    yield f"  error to expect at other sizes: {_error(speed['expected_error'])}"
    works = [size for size in speed["sizes"] if "reason" not in size]
    yield from aligned(
        [
            Column("accelerators", lambda row: count_text(row["accelerators"]), 17),
            _rate("ours", "before_tokens_per_s", 13),
            _rate("after", "after_tokens_per_s", 13),
            Column("low .. high", _between, 27),
            Column(" layout", lambda row: f" {row['layout']}", right=False),
        ],
        works,
        indent="  ",
        gap=" ",
    )
    for size in speed["sizes"]:
        if "reason" in size:
            yield f"  {count_text(size['accelerators']):>17} {size['reason']}"
    if speed["layouts"]:
        yield from _layouts(speed["layouts"])


def _rate(heading: str, key: str, width: int) -> Column:
    return Column(heading, lambda row: count_text(row[key]), width)


def _between(row: Record) -> str:
    return f"{count_text(row['low_tokens_per_s'])} .. {count_text(row['high_tokens_per_s'])}"


def _error(error: Record) -> str:
    """Own points show their worst; what is published says what nine in ten keep."""
    reach = "at worst" if error["errors"] else "nine in ten within"
    return f"{percent_text(error['median'])}, {reach} {percent_text(error['worst'])}: {error['from']}"


WHAT = {
    "matrices": "rate of matrices",
    "memory": "rate of memory",
    "step": "time of a step on the host",
    "sequence": "time of each request on the host",
}


def _constants(fitted: Record) -> Iterator[str]:
    """Factors on the constants of the accelerator and its engines."""
    yield (
        f"  constants of serving, fitted to {fitted['points']} points: median error "
        f"{percent_text(fitted['before_error'])} before, {percent_text(fitted['after_error'])} after"
    )
    for one in fitted["constants"]:
        what = WHAT[one["constant"]] + (f", {one['engine']}" if one["engine"] else "")
        yield (
            f"    {what:<48} x {fixed_text(one['factor'], 3)} ({fixed_text(one['low_factor'], 3)} .. "
            f"{fixed_text(one['high_factor'], 3)})"
        )
    yield f"  error to expect of other models: {_error(fitted['expected_error'])}"


def _serving(model: Record) -> Iterator[str]:
    yield f"  serving {model['model']} in {model['precision']}"
    yield from aligned(
        [
            Column("line", lambda row: str(row["line"]), 4),
            Column("accelerators", lambda row: count_text(row["accelerators"]), 12),
            Column("batch", lambda row: number_text(row["batch"]), 9),
            _rate("measured", "measured_tokens_per_s", 11),
            _rate("ours", "before_tokens_per_s", 11),
            Column("error", lambda row: percent_text(row["before_error"], sign=True), 7),
            Column("factor", lambda row: fixed_text(row["factor"], 3), 7),
            Column(" tokens/s", lambda _: "", right=False),
        ],
        model["points"],
        indent="  ",
        gap=" ",
    )
    error = model["expected_error"]
    yield f"  error to expect at other batches: {_error(error)}"
    yield f"  at other splits: at worst {percent_text(max(error['worst'], error['other_splits_worst']))}"
    yield from aligned(
        [
            Column("accelerators", lambda row: count_text(row["accelerators"]), 17),
            Column("batch", lambda row: number_text(row["batch"]), 9),
            _rate("ours", "before_tokens_per_s", 11),
            _rate("after", "after_tokens_per_s", 11),
            Column("low .. high", _between, 21),
        ],
        model["batches"],
        indent="  ",
        gap=" ",
    )


def _power(power: Record) -> Iterator[str]:
    for row in power["points"]:
        yield (
            f"  line {row['line']}: {row['quantity'].replace('_', ' ')} "
            f"{count_text(1000 * row['measured_kw'])} W is {count_text(1000 * row['accelerator_kw'])} W an "
            "accelerator; "
            f"ours {count_text(1000 * row['before_kw'])} W, factor {fixed_text(row['factor'], 3)}"
        )
    yield (
        f"  rating that the power law scales {count_text(1000 * power['before_kw'])} W x "
        f"{fixed_text(power['factor'], 3)} = "
        f"{count_text(1000 * power['after_kw'])} W"
    )
    errors = power["left_out_errors"]
    if errors:
        yield (
            "  each power predicted from the others: "
            f"{', '.join(percent_text(error, sign=True) for error in errors)}"
        )
    else:
        yield "  one power measured: how far off others may be, only a second one says"


def _plain(name: str) -> str:
    """A file name that cannot leave a comment."""
    return "".join(sign if sign.isprintable() else "?" for sign in name)
