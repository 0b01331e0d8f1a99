"""A trace of requests: the tokens of its prompts and answers, and its busiest hour."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from planner.inputs.series.table import Table, read_table
from planner.inputs.series.times import read_times
from planner.trace.errors import InputError
from planner.trace.numbers import count_text, fixed_text, number_text, written_text

if TYPE_CHECKING:
    import pandas as pd

_TIMES = (
    *(r"timestamp", r"time.*", r"arriv.*", r"date_?time", r"created.*", r"received.*", r"request_?time"),
    *(r"start.*", r"ts", r"minute", r"hour", r"date"),
)
_IN = (r"context_?tokens", r"(?:input|prompt|prefill|request)_?(?:tokens|length)", r"num_prefill_tokens")
_OUT = (
    r"generated_?tokens",
    r"(?:output|completion|decode|response)_?(?:tokens|length)",
    r"num_decode_tokens",
)
_REQUESTS = (r"requests", r"count", r".*_requests")
RATES = ("peak_rate", "mean_to_peak", "busiest_time")  # keys that a trace of a day or longer says
FLAT = 0.02  # of the load: a day whose hours differ by less has no busiest time
MOST_OF_ROW = 1e15  # requests or tokens: more than the world's in a row is a slip, and sums stay finite
A_DAY_H = 24.0
LONGEST_STEP_H = 1.01  # between rows that tell an hour from the next
SHORTEST_H = A_DAY_H  # of a trace that says how its busiest hour compares with the mean


@dataclass(frozen=True, slots=True, eq=False)
class HourlyRequests:
    """Requests in each hour of the day in UTC (24), over the mean of all: on the mean and the highest day."""

    mean_ratio: NDArray[np.float64]
    most_ratio: NDArray[np.float64]
    days: float


@dataclass(frozen=True, slots=True)
class RequestsRead:
    """What a trace says by the keys of a service, in words, and the lines that were left out with why."""

    values: dict[str, Any]
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    dropped: tuple[tuple[int, str], ...]


def read_requests(path: Path) -> RequestsRead:
    """What a trace holds: a row for each request, or for several where a column counts them.

    Raises:
        InputError: it is no table, or has neither times nor tokens; naming what to do instead.
    """
    table = read_table(path)
    columns = {
        "time": table.column(*_TIMES),
        "tokens_in": table.column(*_IN),
        "tokens_out": table.column(*_OUT),
        "requests": table.column(*_REQUESTS),
    }
    tokens = bool(columns["tokens_in"] and columns["tokens_out"])
    if not tokens and not columns["time"]:
        raise InputError(
            f"{table.name}: neither times nor tokens among {', '.join(table.header)}: name columns "
            "timestamp, context_tokens and generated_tokens"
        )
    held, dropped = _rows(table, columns)
    if held.empty and not dropped:
        raise InputError(f"{table.name}: every row counts 0 requests: name a trace that holds some")
    if held.empty:
        raise InputError(
            f"{table.name}: no row can be used; the first: line {dropped[0][0]}, {dropped[0][1]}"
        )
    read = ", ".join(f"{column} as {what}" for what, column in columns.items() if column)
    facts = [("rows used", count_text(len(held))), ("columns read", read)]
    values, notes = dict[str, Any](), list[str]()
    if tokens:
        _tokens(held, facts, values, notes)
    if columns["time"]:
        _rates(held, facts, values, notes)
    return RequestsRead(values, tuple(facts), tuple(notes), tuple(dropped))


def hourly_requests(path: Path) -> HourlyRequests:
    """The hours of the day of a trace of a day or longer; hours that it begins or ends in are left out.

    Raises:
        InputError: it is no table of requests, names no times, or is shorter than a day.
    """
    table = read_table(path)
    columns = {"time": table.column(*_TIMES), "requests": table.column(*_REQUESTS)}
    if not columns["time"]:
        raise InputError(f"{table.name}: no times among {', '.join(table.header)}: name a column timestamp")
    held, _ = _rows(table, columns)
    span_h, step_h = (0.0, 0.0) if held.empty else _span(held)
    if step_h > LONGEST_STEP_H:
        raise InputError(f"{table.name}: its rows are {number_text(step_h)} h apart, and hours are wanted")
    if span_h < SHORTEST_H:
        raise InputError(
            f"{table.name}: spans {fixed_text(span_h, 1)} h, and a day is wanted for the hours of a day"
        )
    hourly = held.set_index("time")["requests"].resample("h").sum()
    whole = hourly.iloc[1:-1] if len(hourly) >= A_DAY_H + 2 else hourly
    by_hour = whole.groupby(whole.index.hour)  # type: ignore[attr-defined]  # its index is of times
    mean = by_hour.mean().to_numpy(dtype=float)
    return HourlyRequests(
        mean / mean.mean(), by_hour.max().to_numpy(dtype=float) / mean.mean(), len(whole) / A_DAY_H
    )


def _rows(table: Table, columns: dict[str, str | None]) -> tuple[pd.DataFrame, list[tuple[int, str]]]:
    """The rows that can be used, and the line of each other with its reason."""
    import pandas as pd

    frame = pd.DataFrame({"requests": [1.0] * len(table.rows)})
    reason = pd.Series("", index=frame.index)
    for what, column in columns.items():
        if column is None:
            continue
        texts = pd.Series(table.texts(column), dtype=object)
        if what == "time":
            frame[what] = read_times(texts.astype(str), utc=True)
            wrong = frame[what].isna()
        else:
            frame[what] = pd.to_numeric(texts, errors="coerce")
            wrong = ~frame[what].between(0.0, MOST_OF_ROW)
        said = "is no time" if what == "time" else "is no count"
        reason = reason.mask(wrong & (reason == ""), texts.map(lambda text, say=said: f"'{text[:40]}' {say}"))
    kept = reason == ""
    dropped = [(table.lines[i], str(reason[i])) for i in reason.index[~kept]]
    return frame[kept & (frame["requests"] > 0)], dropped


def _tokens(
    held: pd.DataFrame, facts: list[tuple[str, str]], values: dict[str, Any], notes: list[str]
) -> None:
    """Mean prompt and answer, which take the place of a shipped trace."""
    weight = held["requests"] / held["requests"].sum()
    for what, label in (
        ("tokens_in", "tokens of a prompt, mean"),
        ("tokens_out", "tokens of an answer, mean"),
    ):
        mean = float((held[what] * weight).sum())
        facts.append((label, number_text(mean)))
        values[what] = float(written_text(mean))
    notes.append("Only the means are used: requests then come as independent ones do, at random.")


def _rates(
    held: pd.DataFrame, facts: list[tuple[str, str]], values: dict[str, Any], notes: list[str]
) -> None:
    """The busiest hour and how the mean compares with it, where the trace is long enough to say."""
    hourly = held.set_index("time")["requests"].resample("h").sum()
    first, last = held["time"].min(), held["time"].max()
    span_h, step_h = _span(held)
    facts.append(("time", f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}; UTC where no zone is named"))
    facts.append(("requests", count_text(held["requests"].sum())))
    if step_h > LONGEST_STEP_H:
        notes.append(
            f"Its rows are {number_text(step_h)} h apart, which says nothing of hours: the rates of the "
            "service stay."
        )
        return
    if span_h < SHORTEST_H:
        notes.append(
            f"It spans {fixed_text(span_h, 1)} h, and a day is wanted to say how the busiest hour "
            "compares: the rates "
            "of the service stay."
        )
        return
    peak_per_s, mean_per_s = float(hourly.max()) / 3600.0, float(held["requests"].sum()) / (3600.0 * span_h)
    facts.append(("requests a second in the busiest hour", number_text(peak_per_s)))
    facts.append(("mean over peak", number_text(min(1.0, mean_per_s / peak_per_s), 3)))
    values["peak_rate"] = f"{written_text(peak_per_s)} /s"
    values["mean_to_peak"] = float(written_text(min(1.0, mean_per_s / peak_per_s), 4))
    if (busiest := busiest_time_h(hourly)) is not None:
        facts.append(("hour around which most requests come", f"{number_text(busiest, 3)}, UTC"))
        values["busiest_time"] = f"{written_text(busiest, 3)} h"


def _span(held: pd.DataFrame) -> tuple[float, float]:
    """Hours from the first row to the end of the last one, and hours of a row: it counts until the next."""
    times_s = np.unique((held["time"] - held["time"].min()).dt.total_seconds().to_numpy(dtype=float))
    step_h = float(np.median(np.diff(times_s))) / 3600.0 if len(times_s) > 1 else 0.0
    return float(times_s[-1] - times_s[0]) / 3600.0 + step_h, step_h


def busiest_time_h(hourly: pd.Series[float]) -> float | None:
    """The hour of the day around which requests lie; None where all hours are alike.

    h = 24 / (2 pi) * arg sum_k x_k exp(2 pi i (k + 1/2) / 24),  x_k the mean load of hour k of the day

    Source: mean direction of a circular variable (Mardia and Jupp, Directional Statistics, 2000).
    """
    load = hourly.groupby(hourly.index.hour).mean()  # type: ignore[attr-defined]  # its index is of times
    angle = 2 * np.pi * (load.index.to_numpy() + 0.5) / A_DAY_H
    share = load.to_numpy() / load.max()
    middle = complex((share * np.exp(1j * angle)).sum() / share.sum())
    if abs(middle) < FLAT:
        return None
    return float(np.angle(middle) % (2 * np.pi) * A_DAY_H / (2 * np.pi))
