"""Bad logs: what each is told, and that single bad rows are named rather than guessed."""

import gzip
import lzma
from pathlib import Path

import pytest

from reliability.logs import BadRow, LogError, Mapping, parse_mapping, read_log

BROKEN = Path(__file__).parents[1] / "logs" / "broken"
ROWS = b"node,start\na,2025-01-01\n" * 99
EVENTS = {"unit": "node", "start": "start"}


def refused(path, mapping=None, **given):
    with pytest.raises(LogError) as caught:
        read_log(path, mapping, **given)
    return str(caught.value)


# Nothing can be read


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("zero-bytes.csv", "zero-bytes.csv: the file is empty: write the log again, or leave it out"),
        ("header-only.csv", "header-only.csv: holds no records"),
        ("mixed-zones.csv", "1 row with and 1 row without a time zone: write all times with one"),
        (
            "missing-column.csv",
            "no column for start (such as start, start_time, failure_time, timestamp; is it 'strat'",
        ),
        ("mostly-bad.csv", "start holds times of no form that is known, such as 'yesterday'"),
        ("day-or-month.csv", "of more than one form (%m/%d/%Y %H:%M or %d/%m/%Y %H:%M), such as '03/04/2025"),
        ("plain-numbers.csv", "start holds plain numbers such as '1.5': say what they count in a mapping"),
    ],
)
def test_logs_that_cannot_be_read(name, message):
    assert message in refused(BROKEN / name)


def test_the_time_that_is_shown_is_one_that_cannot_be_read(tmp_path):
    """A good day in the first row was the example of a form that is not known."""
    (tmp_path / "log.csv").write_text("node,start\na,2026-01-05\nb,soon\n", encoding="utf-8")

    assert "of no form that is known, such as 'soon'" in refused(tmp_path / "log.csv")


def test_a_file_that_is_not_there():
    assert refused(BROKEN / "none.csv") == "none.csv: cannot be read: No such file or directory"


@pytest.mark.slow
def test_packed_files_are_read(tmp_path):
    """The same rows, whatever they are packed in; the name does not matter."""
    text = (BROKEN.parent / "events.csv").read_bytes()
    (tmp_path / "log.gz").write_bytes(gzip.compress(text))
    (tmp_path / "log.csv").write_bytes(lzma.compress(text))

    plain = read_log(BROKEN.parent / "events.csv")
    for name in ("log.gz", "log.csv"):
        assert read_log(tmp_path / name).events.equals(plain.events)


@pytest.mark.parametrize("name", ["program", "log.gz"])
def test_what_is_no_text_is_refused(tmp_path, name):
    """A program, or a picture in a gzip: said at once, instead of a header of noise."""
    content = b"\x7fELF\x02\x01" + bytes(40)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)

    assert f"{name}: is not a text file" in refused(tmp_path / name)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "log.csv.gz: the file is empty"),
        (gzip.compress(b""), "log.csv.gz: the file is empty"),
        (gzip.compress(ROWS)[:-20], "the gzip file ends too early: copy or download it again"),
        (lzma.compress(ROWS)[:-20], "the xz file ends too early: copy or download it again"),
        (gzip.compress(b"node,start\n")[:-8] + bytes(8), "the gzip file is damaged: CRC check failed"),
        (b"\xfd7zXZ\x00" + bytes(40), "the xz file is damaged"),
    ],
    ids=lambda value: "content" if isinstance(value, bytes) else None,  # gzip packs the hour in
)
def test_packed_files_that_are_empty_or_broken(tmp_path, content, message):
    (tmp_path / "log.csv.gz").write_bytes(content)

    assert message in refused(tmp_path / "log.csv.gz")


def test_json_that_ends_too_early(tmp_path):
    (tmp_path / "trace.json").write_text('[{"node": "a", "start": "2025-01-01"}, {"node": "b"')

    assert "trace.json: cannot be read: Invalid Input Error: Malformed" in refused(tmp_path / "trace.json")


def test_mostly_bad_rows_stop_the_reading():
    """Three of four rows are bad: most likely the mapping is wrong; the first of them are shown."""
    shown = refused(BROKEN / "mostly-bad.csv", Mapping("events", EVENTS))

    assert "mostly-bad.csv: 3 of 4 rows cannot be used: correct the mapping or the file" in shown
    assert "mostly-bad.csv:2: start 'yesterday' is not a time" in shown


def test_times_without_a_zone_need_one():
    mapping = Mapping("events", {"unit": "hostname", "start": "timestamp"})
    shown = refused(BROKEN.parent / "xid.csv", mapping)

    assert "xid.csv: times carry no zone: add timezone, such as 'UTC', to the mapping" in shown


def test_times_without_a_year_need_one():
    assert "times of the form '%b %d %H:%M:%S' carry no year" in refused(BROKEN.parent / "syslog.txt")


def test_columns_that_are_not_there_are_all_named():
    mapping = Mapping("events", {"unit": "nodes", "start": "begin", "cause": ("cause", "why")})
    shown = refused(BROKEN / "end-before-start.csv", mapping).splitlines()

    assert shown[0] == "end-before-start.csv: columns.unit: there is no column 'nodes': did you mean 'node'?"
    assert shown[1].startswith(
        "end-before-start.csv: columns.start: there is no column 'begin': there is node"
    )
    assert shown[2].startswith("end-before-start.csv: columns.cause: there is no column 'why'")


def test_a_window_that_ends_before_it_starts():
    mapping = Mapping("events", EVENTS, window_start="2025-01-02", window_end="2025-01-01")

    assert "the window ends where it starts or before, after -24 h" in refused(
        BROKEN / "duplicates.csv", mapping
    )


def test_a_window_that_is_no_time():
    shown = refused(BROKEN / "duplicates.csv", Mapping("events", EVENTS, window_start="noon"))

    assert "window.start: 'noon' is not a time as in the log (iso)" in shown


def test_more_units_than_the_fleet_has():
    path = BROKEN / "unknown-node.csv"

    assert "3 units appear, but the fleet has 2" in refused(path, fleet_size=2)
    assert "7 nodes appear, but the fleet has 2" in refused(BROKEN.parent / "sacct.txt", fleet_size=2)
    assert "fleet_size must be a number of units from 1 up, got 0" in refused(path, fleet_size=0)


def test_too_little_memory_is_said():
    assert "0.001 GB of memory do not do" in refused(BROKEN.parent / "sacct.txt", memory_gb=0.001)


# Single rows are left out


def rows_left_out(name, mapping=None, folder=BROKEN):
    log = read_log(folder / name, mapping)
    assert log.bad_row_count == len(log.bad_rows)
    return [(row.line, row.reason) for row in log.bad_rows], log


def test_an_end_before_its_start():
    rows, log = rows_left_out("end-before-start.csv")

    assert rows == [(3, "ends 2025-01-01T23:00:00Z, before its start 2025-01-02T00:00:00Z")]
    assert log.bad_rows[0] == BadRow("end-before-start.csv", *rows[0])
    assert log.events["unit"].tolist() == ["a", "c"]


def test_negative_and_nan_durations():
    rows, log = rows_left_out("bad-durations.csv")

    assert rows == [
        (3, "duration_h '-5' is not a number from 0 up"),
        (4, "duration_h 'nan' is not a number from 0 up"),
    ]
    assert log.lives["unit"].tolist() == ["g1", "g4", "g5"]


@pytest.mark.slow
def test_decimal_commas():
    """Between semicolons a comma is a decimal; between commas it is a cell too many."""
    rows, _ = rows_left_out("decimal-commas.csv")
    unquoted, _ = rows_left_out("decimal-commas-unquoted.csv")

    assert rows[0] == (2, "duration_h '10,5' is not a number from 0 up: write a decimal point")
    assert unquoted == [
        (2, "4 cells, the header has 3: quote a cell that holds a comma, and write 1.5 for 1,5")
    ]


def test_lines_keep_their_numbers(tmp_path):
    """A line that is no text and a blank one come before; neither shifts the count."""
    (tmp_path / "odd-lines.csv").write_bytes(
        b"\nnode,start,end\na,2025-01-01T00:00:00Z,2025-01-01T01:00:00Z\nb\xff,2025-01-01T02:00:00Z,\n\n"
        b"c,2025-01-01T03:00:00Z,2025-01-01T01:00:00Z\nd,2025-01-01T04:00:00Z,\n"
        b'"e,2025-01-01T05:00:00Z,\nf,2025-01-01T06:00:00Z,\n'
    )
    rows, log = rows_left_out("odd-lines.csv", folder=tmp_path)

    assert rows == [
        (4, "is not a line of UTF-8 text below 1 MiB"),
        (6, "ends 2025-01-01T01:00:00Z, before its start 2025-01-01T03:00:00Z"),
        (8, "a quote that its line does not close"),
    ]
    assert log.events["unit"].tolist() == ["a", "d", "f"]


def test_an_unknown_node():
    """The mapping names the fleet: node09 is none of it, and node03 and node04 never failed."""
    text = """kind = "events"\nunits = ["node[01-04]"]
        [columns]\nunit = "node"\nstart = "start"\nend = "end"\n"""
    rows, log = rows_left_out("unknown-node.csv", parse_mapping(text))

    assert rows == [(3, "'node09' is none of the 4 units of the fleet")]
    assert log.units["unit"].tolist() == ["node01", "node02", "node03", "node04"]


def test_bad_jobs():
    rows, log = rows_left_out("bad-jobs.txt")

    assert rows == [
        (3, "COMPLETED without an end"),
        (4, "State 'EXPLODED' is not a state of Slurm"),
        (5, "ends 2025-01-01T01:00:00, before its start 2025-01-01T02:00:00"),
        (6, "NNodes '1,5' is not a whole number from 1 up: write a decimal point"),
        (7, "FAILED without a start"),
    ]
    assert log.jobs["jobs"].tolist() == [1, 4]


def test_many_bad_rows_are_counted_and_the_first_kept(tmp_path):
    rows = [f"n{i},2025-01-0{1 + i % 2}T00:00:00Z,{'x' if i % 3 == 0 else ''}" for i in range(300)]
    (tmp_path / "log.csv").write_text("\n".join(["node,start,end", *rows]))
    log = read_log(tmp_path / "log.csv", keep_bad_rows=5)

    assert log.bad_row_count == 100
    assert [row.line for row in log.bad_rows] == [2, 5, 8, 11, 14]
    assert "100 bad rows left out; the first: log.csv:2: end 'x' is not a time." in log.notes


# Little can be said


def test_all_rows_the_same():
    """Three copies are one failure."""
    log = read_log(BROKEN / "duplicates.csv")

    assert len(log.events) == 1
    assert "2 alarms within 0 s of another of the same unit coalesced with it: 1 event left." in log.notes


def test_all_censored():
    log = read_log(BROKEN / "all-censored.csv")

    assert not log.lives["died"].any()
    assert "No failure at all, every life is censored: a rate has an upper limit only." in log.notes


def test_one_failure():
    log = read_log(BROKEN / "one-failure.csv")

    assert len(log.failures) == 1
    assert "One failure only: a rate has a very wide interval, and a lifetime has no shape." in log.notes
