"""Times of a log that are read the short way say what they say the long way."""

from __future__ import annotations

import itertools
import random

import duckdb
import pytest

from reliability.logs.hostlist import expand
from reliability.logs.mapping import Mapping
from reliability.logs.times import plain_seconds, seconds, zone_marks

TIME = "2024-02-29T23:05:09"
# What DuckDB reads in one way or another, or nearly.
ODD = (
    *("2024-01-01T00:00:0Z", "2024-01-01T00:00:0 ", " 024-01-01T00:00:00", "-024-01-01T00:00:00"),
    *("2024-01-01T00: 0:00", "2024-1-01T00:00:00", "2024-01-01 00:00+01", "2024-01-01T24:00:00"),
    *(
        "2024-01-01T00:00:00Z",
        "2024-01-01T00:00:00+01:00",
        "2024-01-01",
        "12024-1-1T00:00:00",
        "0000-01-01T00:00:00",
    ),
    *(
        "2023-02-29T00:00:00",
        "2024-01-01T00:00:60",
        "2024-01-01T00:00:0.",
        "infinity",
        "",
        "9999-12-31T23:59:59",
    ),
)


def mutated() -> list[str]:
    draw = random.Random(7)
    found = []
    for _ in range(400):
        at, sign = draw.randrange(len(TIME)), draw.choice("0179 -+:.TZtz")
        found.append(TIME[:at] + sign + TIME[at + draw.choice((0, 1)) :])
    return found


@pytest.mark.parametrize("timezone", ["UTC", "Europe/Berlin"])
def test_the_short_way_agrees_with_the_long_one(timezone: str) -> None:
    mapping = Mapping("jobs", {}, timezone=timezone)
    plain = plain_seconds("text")
    columns = [
        *(seconds("text", mapping, way) for way in (None, plain)),
        *(zone_marks("text", mapping, way) for way in (None, plain)),
    ]
    with duckdb.connect() as connection:
        connection.execute(f"SET TimeZone = '{timezone}'")
        connection.execute("CREATE TABLE times (text VARCHAR)")
        connection.executemany("INSERT INTO times VALUES (?)", [[text] for text in (TIME, *ODD, *mutated())])
        rows = connection.execute(f"SELECT text, {', '.join(columns)} FROM times").fetchall()
        (short,) = connection.execute(f"SELECT count({plain}) FROM times").fetchone() or (0,)

    assert [row for row in rows if row[1] != row[2] or row[3] != row[4]] == []
    assert 10 < short < len(rows) / 2


def test_a_plain_range_is_expanded_as_in_a_list() -> None:
    ranges = (
        "node[001-012]",
        "n[9-11]",
        "a-b[07-07]",
        "x[3-1]",
        "x[1-]",
        "[1-2]",
        "a[1-2]b",
        "a[1,3-4]",
        "a b[1-2]",
    )
    for text, other in itertools.product(ranges, ("", ",login1")):
        said = []
        for one in (text, text + other):
            try:
                said.append(expand(one))
            except ValueError:
                said.append(["refused"])
        whole = [*said[0], "login1"] if other and said[0] != ["refused"] else said[0]
        assert said[1] == whole
