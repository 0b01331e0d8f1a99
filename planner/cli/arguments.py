"""Options that several commands have, and how the text of an option becomes a value."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Container
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Any

from planner.inputs.question_fields import fields_of, flag

MOST_SIZES = 1000  # of a range
CHANGE_EXAMPLE = "policy.carbon_price=300 USD/t"

# Adds a command: its name, what runs it, what it is about.
AddCommand = Callable[[str, Callable[[argparse.Namespace], int], str], argparse.ArgumentParser]


def scenario_options(parser: argparse.ArgumentParser) -> None:
    """A scenario, and what is changed in it."""
    parser.add_argument("scenario", metavar="SCENARIO", help="a TOML file, or the name of a shipped scenario")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        dest="changes",
        help=f"change one value, for example --set '{CHANGE_EXAMPLE}'",
    )
    for option, of, what in (
        ("--traffic", "SERVICE", "take the tokens and rates of a service from a trace of requests (CSV)"),
        ("--hourly", "SITE", "take the grid of a site from hours of its intensity (CSV)"),
        ("--electricity", "SITE", "take the price of electricity of a site from hours of it (CSV)"),
    ):
        parser.add_argument(option, action="append", default=[], metavar=f"{of}=FILE", help=what)
    parser.add_argument(
        "--currency", metavar="CODE", help="show money in this currency, at its one rate: EUR, GBP, ..."
    )


def data_option(parser: argparse.ArgumentParser) -> None:
    """Facts of one's own."""
    parser.add_argument(
        "--data",
        dest="own_data",
        metavar="PATH",
        help="your own facts next to ours: a folder that `everfleet add` writes, or one TOML file; "
        "EVERFLEET_DATA",
    )


def quiet_option(parser: argparse.ArgumentParser) -> None:
    """Work in silence."""
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def store_option(parser: argparse.ArgumentParser) -> None:
    """Where saved plans lie."""
    parser.add_argument(
        "--store", metavar="ADDRESS", help="a SQLite file or a URL; EVERFLEET_STORE, or your data folder"
    )


def label_options(parser: argparse.ArgumentParser) -> None:
    """What a saved plan is called."""
    labels = parser.add_argument_group("of a saved plan")
    labels.add_argument("--name", help="what it is called in lists")
    labels.add_argument("--note", help="what there is to say about it")
    labels.add_argument("--tag", action="append", metavar="TAG,...", help="words to find it by")
    labels.add_argument("--owner", help="whose it is")


def names(text: str) -> tuple[str, ...]:
    """Names apart by commas."""
    return tuple(name for part in text.split(",") if (name := part.strip()))


def whole(text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number: write for example 3") from None


def count(text: str) -> int:
    """A whole number of at least 1."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no count of at least 1: write for example 3")
    return number


def positive(text: str) -> float:
    """A number above zero."""
    value = _finite(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number above 0")
    return value


def not_negative(text: str) -> float:
    """A number of zero or more."""
    value = _finite(text)
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of 0 or more")
    return value


def _finite(text: str) -> float:
    """A finite number; not a number where the text is none."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def points(text: str) -> int:
    """Plans of a front."""
    points = count(text)
    if points < 2:
        raise argparse.ArgumentTypeError("a front has two ends: ask for 2 points or more")
    return points


def percent(text: str) -> float:
    """A share: 0.02 or 2 %."""
    try:
        bare = text.strip().removesuffix("%")
        share = float(bare) / (1.0 if bare == text.strip() else 100.0)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 10:
        raise argparse.ArgumentTypeError(f"'{text}' is no share: write for example '2 %' or 0.02")
    return share


def seed(text: str) -> int:
    """A seed of random numbers."""
    number = int(text) if text.strip().isdecimal() else -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no seed: write a whole number of at least 0")
    return number


def port(text: str) -> int:
    """A port that a program of a user may listen at."""
    number = int(text) if text.strip().isdecimal() else 0
    if not 1024 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"'{text}' is no port: write a number from 1024 to 65535")
    return number


def program_file(text: str) -> Path:
    """A file whose ending says in which format a program is written."""
    path = Path(text)
    if path.suffix.lower() not in (".lp", ".mps"):
        raise argparse.ArgumentTypeError(f"'{text}' is no program file: end it in .lp or .mps")
    return path


def day(text: str) -> date:
    """A day as ISO 8601 has it."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a day: write for example 2025-03-01") from None


def share(text: str) -> float | str:
    """A number, or text in percent as it is: the job's rules read both."""
    try:
        return float(text)
    except ValueError:
        return text


def sizes(text: str) -> tuple[int, ...]:
    """Counts of accelerators, apart by commas."""
    try:
        sizes = tuple(int(part) for part in text.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' are no counts of accelerators: write for example 64,512")
    return sizes


def node_counts(text: str) -> tuple[int, ...]:
    """Sizes apart by commas, or from one to another; whether they are sizes is for the question to say."""
    found: list[int] = []
    try:
        for part in text.split(","):
            first, _, last = part.partition("..")
            sizes = range(int(first), min(int(last or first), int(first) + MOST_SIZES) + 1)
            if not sizes:
                raise ValueError(f"{first} is above {last}")
            found += sizes
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{text}' are no node counts: write for example 8,16,32 or 1..4"
        ) from None
    return tuple(found)


_READERS: dict[str, Callable[[str], Any]] = {
    "names": names,
    "counts": node_counts,
    "count": int,
    "number": float,
    "rate": float,
    "share": float,
    "path": Path,
    "whole": count,
    "day": day,
    "seed": seed,
    "percent": share,
    "excess": percent,
    "positive": positive,
    "not_negative": not_negative,
}


def question_options(
    parser: argparse.ArgumentParser, question: type[Any], only: Container[str] | None = None
) -> None:
    """An option for each field that a question asks, or `only` for some; what is not said stays None."""
    groups: dict[str, Any] = {"": parser}
    defaults = {one.name: one.default for one in fields(question)}
    for name, one in fields_of(question).items():
        if only is not None and name not in only:
            continue
        group = groups.get(one.group) or groups.setdefault(one.group, parser.add_argument_group(one.group))
        option, about = flag(name, question), one.said.replace("%", "%%")
        if one.reads == "flag":
            action = "store_false" if defaults[name] else "store_true"
            group.add_argument(option, dest=name, action=action, default=defaults[name], help=about)
        else:
            read = _READERS.get(one.reads, str)
            shown = one.value or option.removeprefix("--").replace("-", "_").upper()
            how = {"nargs": "?", "const": ""} if one.reads == "parts" else {}
            group.add_argument(option, dest=name, type=read, metavar=shown, help=about, **how)


def format_option(parser: argparse.ArgumentParser, of: str) -> None:
    """Another way to write an answer: `--as`, by the name of a published format."""
    parser.add_argument("--as", dest="written_as", metavar="NAME", help=f"in a published format: {of}")
