"""Calibration documents for a terminal, and the table of facts for a scenario."""

from __future__ import annotations

from collections.abc import Iterator

from planner.report.columns import Column, aligned
from planner.trace.numbers import count_text, fixed_text, number_text, percent_text
from planner.trace.records import Record

SERVED = (
    "# Serving: keep what --json prints as mine.json, and name it in a scenario,\n"
    '# [performance] calibration = "mine.json", or by `everfleet throughput --calibration`.'
)


def to_text(document: Record) -> str:
    """Each accelerator: the measurements, the factor, other sizes, power, and the facts to copy."""
    lines: list[str] = list(_files(document))
    for one in document["hardware"]:
        lines.append(one["accelerator"])
        if one["speed"]:
            lines += _speed(one["speed"])
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
    if any(one["serving"] for one in document["hardware"]):
        lines.append(SERVED)
    if rows:
        lines += ["# Put this table into a scenario or a job file.", "[facts]", *rows]
    return "\n".join([*lines, ""])


def _speed(speed: Record) -> Iterator[str]:
    yield from aligned(
        [
            Column("line", lambda row: str(row["line"]), 4),
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
        f"{number_text(speed['after'])}; "
        "networks, memory and host as before"
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
