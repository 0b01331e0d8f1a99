"""Mappings: proposed for what is recognised, written and read back, refused with every problem at once."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reliability.logs import (
    LogError,
    Mapping,
    mapping_text,
    parse_mapping,
    propose_mapping,
    read_log,
    read_mapping,
)

LOGS = Path(__file__).parents[1] / "logs"
GOOD = ("sacct.txt", "events.csv", "lives.csv", "xid.csv", "syslog.txt", "dmesg.txt")
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@pytest.mark.parametrize("name", GOOD)
def test_what_is_proposed_can_be_written_and_read(name):
    mapping = propose_mapping(LOGS / name)

    assert parse_mapping(mapping_text(mapping)) == mapping


@pytest.mark.slow
def test_a_mapping_written_to_a_file_reads_the_same_log(tmp_path):
    (tmp_path / "mapping.toml").write_text(mapping_text(propose_mapping(LOGS / "events.csv")))
    log = read_log(LOGS / "events.csv", read_mapping(tmp_path / "mapping.toml"))

    assert log.events.equals(read_log(LOGS / "events.csv").events)


@given(
    columns=st.fixed_dictionaries(
        {
            "unit": words | st.lists(words, min_size=1).map(tuple),
            "start": words,
        }
    ),
    severity=st.dictionaries(words, words),
    planned=st.lists(words).map(tuple),
    coalesce_s=st.floats(0, 1e6),
)
def test_any_words_survive_toml(columns, severity, planned, coalesce_s):
    mapping = Mapping("events", columns, severity=severity, planned=planned, coalesce_s=coalesce_s)

    assert parse_mapping(mapping_text(mapping)) == mapping


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("sacct.txt", {"job": "JobID", "state": "State", "nodes": "NNodes", "failed_node": "FailedNode"}),
        (
            "events.csv",
            {"unit": "node", "start": "start", "end": "end", "cause": "cause", "planned": "planned"},
        ),
        ("lives.csv", {"unit": "serial", "entry": "installed", "exit": "removed", "died": "dead"}),
        ("xid.csv", {"unit": "hostname", "start": "timestamp", "xid": "xid"}),
        ("syslog.txt", {"unit": "host", "start": "timestamp", "xid": "xid"}),
    ],
)
def test_columns_are_recognised_by_their_names(name, columns):
    assert propose_mapping(LOGS / name).columns.items() >= columns.items()


def test_dates_and_numbers_may_be_written_plainly():
    """A window of TOML dates, or of numbers for a log without dates; one word for a list of one."""
    text = 'kind = "events"\ncolumns = { unit = "a", start = "b" }\n'
    dated = parse_mapping(text + "window = { start = 2025-01-01 }")
    plain = parse_mapping(text + 'window = { end = 348 }\ntime_format = "since_start_d"')

    assert dated.window_start == "2025-01-01"
    assert plain.window_end == "348"
    assert plain.time_format == ("since_start_d",)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("kind = ", ["m.toml: is not TOML"]),
        ("", ["m.toml: kind is missing: it is 'jobs', 'events' or 'lives'", "m.toml: columns is missing"]),
        (
            'kind = "event"\ntimzone = "UTC"\ncoalesce_s = -1\ncolumns = { unit = "a", start = "b" }',
            [
                "m.toml: kind must be 'jobs', 'events' or 'lives', got 'event'",
                "m.toml: unknown key 'timzone': did you mean 'timezone'",
                "m.toml: coalesce_s must be seconds, from 0 up, got -1",
            ],
        ),
        (
            'kind = "events"\ntimezone = "Europe/Berln"\ncolumns = { unit = "a", start = "b" }',
            ["m.toml: timezone 'Europe/Berln' is not known: did you mean 'Europe/Berlin'"],
        ),
        (
            'kind = "events"\ncolumns = { node = "a", start = "b" }',
            ["m.toml: columns.node: a log of events has no such role", "m.toml: columns.unit is missing"],
        ),
        ('kind = "events"\ncolumns = { unit = "a", start = ["b"] }', ["m.toml: columns must be a table"]),
        (
            'kind = "events"\nfleet_size = true\ncolumns = { unit = "a", start = "b" }',
            ["m.toml: fleet_size must be a number of units"],
        ),
        (
            'kind = "events"\ncolumns = { unit = "a", start = "b", transition = "c" }',
            ["m.toml: columns.transition and [transitions] belong together"],
        ),
        (
            'kind = "lives"\ncolumns = { unit = "a", died = "b", death = "c" }',
            [
                "m.toml: columns: a life needs a duration",
                "m.toml: columns: a life needs one of died, censored",
            ],
        ),
        (
            'kind = "events"\ntime_format = "days"\ncolumns = { unit = "a", start = "b" }',
            ["m.toml: time_format must be 'iso', 'unix_s' (or _ms), 'since_start_d'"],
        ),
    ],
)
def test_every_problem_of_a_mapping_is_told(text, problems):
    with pytest.raises(LogError) as caught:
        parse_mapping(text, "m.toml")

    assert len(caught.value.problems) == len(problems)
    for shown, wanted in zip(caught.value.problems, problems, strict=True):
        assert shown.startswith(wanted)


def test_a_mapping_that_is_not_there(tmp_path):
    with pytest.raises(LogError, match=r"none\.toml: cannot be read"):
        read_mapping(tmp_path / "none.toml")


def test_fleet_size_and_names_must_agree(tmp_path):
    mapping = Mapping("events", {"unit": "node", "start": "start"}, units=("n[1-3]",), fleet_size=4)

    with pytest.raises(LogError, match="fleet_size is 4, but units names 3: leave one of them out"):
        read_log(LOGS / "events.csv", mapping)
