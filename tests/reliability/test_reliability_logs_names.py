"""Logs as people keep them: the names that columns have in the field, and the words that say down and up."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from planner.answers.failures.document import fit_document
from planner.inputs.log_question import FitQuestion
from reliability.logs import LogError, mapping_text, parse_mapping, propose_mapping, read_log

DOWN, UP = "2025-01-03 05:00:00", "2025-01-03 09:30:00"


def written(folder, text, name="log.csv"):
    (folder / name).write_text(text)
    return folder / name


def said(log, text):
    return any(text in note for note in log.notes)


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("node,failure_time,recovery_time", {"start": "failure_time", "end": "recovery_time"}),
        ("host,failed_at,repaired_at", {"unit": "host", "start": "failed_at", "end": "repaired_at"}),
        ("node_id,down_start,down_end", {"start": "down_start", "end": "down_end"}),
        ("hostname,outage_start,outage_end", {"start": "outage_start", "end": "outage_end"}),
        ("Server Name,Incident Start,Incident End", {"unit": "Server Name", "end": "Incident End"}),
        ("gpu_id,fail_time,repair_time", {"unit": "gpu_id", "start": "fail_time", "end": "repair_time"}),
        ("machine_id,start_time,end_time", {"unit": "machine_id", "end": "end_time"}),
        ("node,date_of_failure,date_of_repair", {"start": "date_of_failure", "end": "date_of_repair"}),
        ("node,failure_date,repaired_at", {"start": "failure_date", "end": "repaired_at"}),
    ],
)
def test_names_of_the_field_are_known(tmp_path, header, columns):
    mapping = propose_mapping(written(tmp_path, f"{header}\na,{DOWN},{UP}\n"))

    assert mapping.kind == "events"
    assert mapping.columns.items() >= columns.items()


@pytest.mark.parametrize(
    ("header", "role"),
    [("time_to_repair_h", "duration_h"), ("Downtime (min)", "duration_min"), ("mttr_hours", "duration_h")],
)
def test_lengths_of_outages_are_known_by_name_and_unit(tmp_path, header, role):
    mapping = propose_mapping(written(tmp_path, f"node,failure_time,{header}\na,{DOWN},4.5\n"))

    assert mapping.columns[role] == header


def test_a_time_that_holds_a_length_is_asked_for(tmp_path):
    """`recovery_time` may be a moment or how long it took; 270 is no moment, and has no unit."""
    path = written(tmp_path, f"node,failure_time,recovery_time\na,{DOWN},270\n")

    with pytest.raises(LogError, match=r"recovery_time holds plain numbers such as '270': is it how long"):
        propose_mapping(path)


def test_a_repaired_unit_has_no_life_that_ends(tmp_path):
    """With a repair, or with a unit that fails twice, a failure is one of several; else it is a death."""
    repaired = written(tmp_path, f"node,installed,failure_date,repaired_at\na,2024-01-01,{DOWN},{UP}\n")
    assert propose_mapping(repaired).kind == "events"
    again = written(tmp_path, f"node,installed,failed_at\na,2024-01-01,{DOWN}\na,2024-01-01,{UP}\n")
    assert propose_mapping(again).kind == "events"
    parts = written(tmp_path, f"serial,installed,failed_at\na,2024-01-01,{DOWN}\nb,2024-01-01,\n")
    assert propose_mapping(parts).kind == "lives"


@pytest.mark.parametrize(
    ("column", "down", "up"),
    [("event", "down", "up"), ("event", "NODE_DOWN", "NODE_UP"), ("status", "NotReady", "Ready")],
)
def test_a_row_that_ends_an_outage_is_no_failure(tmp_path, column, down, up):
    """Outages of 4 h and 1 h, and rows that repeat a state: two failures, where each row was one before."""
    hours = [(1, down), (2, down), (5, up), (6, up), (9, down), (10, up)]
    rows = [f"2025-01-01 {hour:02d}:00:00,a,{word}" for hour, word in hours]
    log = read_log(written(tmp_path, "\n".join([f"timestamp,node,{column}", *rows]) + "\n"))

    assert log.events["start_h"].tolist() == [0, 8]
    assert log.events["end_h"].tolist() == [4, 9]
    assert said(log, "2 rows repeat the state that their unit was in.")


def test_down_again_in_the_second_of_the_repair(tmp_path):
    """A log of days: repaired and down again on the 5th are two outages of 2 d, not one that never ends."""
    days = [(3, "down"), (5, "up"), (5, "down"), (7, "up"), (7, "down"), (7, "up")]
    rows = [f"2025-01-0{day},a,{word}" for day, word in days]
    text = "\n".join(["date,node,event", *rows]) + "\n"
    log = read_log(written(tmp_path, text), fleet_size=1)

    assert log.node_h == 0
    assert log.events["start_h"].tolist() == [0, 48, 96]


def test_unclear_words_are_asked_for(tmp_path):
    rows = [f"{DOWN},a,gpu_lost", f"{DOWN},b,ecc", f"{UP},a,recovered"]
    path = written(tmp_path, "\n".join(["timestamp,node,event", *rows]) + "\n")

    with pytest.raises(LogError) as caught:
        propose_mapping(path)
    assert "event holds 'gpu_lost', 'ecc', 'recovered', and 'recovered' is no failure" in str(caught.value)


def test_a_state_next_to_a_repair_is_that_of_the_ticket(tmp_path):
    """Each row has its end: 'resolved' says that the ticket is closed, and the failure counts."""
    path = written(tmp_path, f"node,failed_at,repaired_at,status\na,{DOWN},{UP},resolved\n")

    assert propose_mapping(path).transitions == {}


def test_objects_may_leave_out_what_they_do_not_know(tmp_path):
    """The first outage is not over: its end is a key of the others alone."""
    rows = [{"node": "a", "failure_time": DOWN}, {"node": "b", "failure_time": DOWN, "recovery_time": UP}]
    path = written(tmp_path, "\n".join(map(json.dumps, rows)), "log.jsonl")
    log = read_log(path)

    assert log.events.set_index("unit").loc["b", "end_h"] == 4.5


@pytest.mark.parametrize("text", ['{"items": [{"node": "a"}]}', '{"items": [' + '{"node": "a"},' * 9_000])
def test_records_inside_an_object(tmp_path, text):
    with pytest.raises(LogError, match=r"write a flat object for each record, each on a line"):
        propose_mapping(written(tmp_path, text, "log.json"))


@pytest.mark.parametrize(
    ("start", "form"),
    [("1735880400", "unix_s"), ("1735880400000", "unix_ms"), ("03/04/2025 10:00", "%d/%m/%Y %H:%M")],
)
def test_forms_of_times(tmp_path, start, form):
    """The day of the repair is the 13th, so that the day comes first in both columns."""
    end = {"unix_s": "1735880500", "unix_ms": "1735880500000"}.get(form, "13/04/2025 10:00")
    mapping = propose_mapping(written(tmp_path, f"node,failure_time,recovery_time\na,{start},{end}\n"))

    assert mapping.time_format == (form,)
    assert parse_mapping(mapping_text(mapping)) == mapping


def test_what_is_not_read_is_told(tmp_path):
    """Also the zone, and a unit whose failure begins the log: it has no time in which to live."""
    log = read_log(written(tmp_path, f"node,failed_at,rack\na,{DOWN},r1\nb,{UP},r2\n"))

    assert said(log, "Columns without a known meaning, not read: 'rack'.")
    assert said(log, "Times carry no zone and are taken as UTC")
    assert said(log, "1 unit failed when watching began")


def test_syslog_with_a_priority(tmp_path):
    line = "<4>1 2025-01-03T05:29:20Z n1 kernel - - - NVRM: Xid (PCI:0000:3b:00): 79, pid=123\n"
    log = read_log(written(tmp_path, line + line.replace("05:29", "06:29"), "syslog"))

    assert log.events["unit"].tolist() == ["n1", "n1"]


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2025-01-03 05:00:00 UTC", "2025-01-03 09:30:00 UTC"),
        ('"Jan 3, 2025 05:00"', '"Jan 3, 2025 09:30"'),
        ("03-Jan-2025 05:00", "03-Jan-2025 09:30"),
        ("1/13/25 05:00", "1/13/25 09:30"),
    ],
)
def test_times_as_spreadsheets_write_them(tmp_path, start, end):
    log = read_log(written(tmp_path, f"alertname,node,startsAt,endsAt\nx,a,{start},{end}\n"))

    assert log.events["end_h"].tolist() == [4.5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("JobID      State   Start\n-----\n1 FAILED 2\n", "print it with --parsable2"),
        ("JobID|State|Start|End\n1|FAILED|2|3\n", "a job log lacks NNodes: let sacct print NNodes, too"),
        (
            "failure_time,event\n2025-01-03,down\n2025-01-04,up\n",
            "no column for unit",
        ),
        (
            "node,date,time\na,2025-01-03,05:00:00\n",
            "time holds hours such as '05:00:00': write day and time into",
        ),
    ],
)
def test_a_log_that_lacks_something_is_told_what(tmp_path, text, message):
    with pytest.raises(LogError, match=message):
        propose_mapping(written(tmp_path, text))


def hours(count, gap_h, lasts_h, header, cells):
    """Rows every `gap_h` hours, each over after `lasts_h`."""
    begin = datetime(2025, 1, 1, tzinfo=UTC)
    rows = [header]
    for i in range(count):
        start = begin + timedelta(hours=gap_h * i)
        rows.append(cells.format(start=start.isoformat(), end=(start + timedelta(hours=lasts_h)).isoformat()))
    return "\n".join(rows) + "\n"


def test_a_log_that_names_no_node_has_a_rate_of_the_fleet_alone(tmp_path):
    """101 failures in 300 h on 64 nodes, each down for 10 h; half of their outages overlap."""
    path = tmp_path / "log.csv"
    path.write_text(hours(101, 3, 10, "start,end,cause", "{start},{end},gpu"), encoding="utf-8")

    with pytest.raises(LogError, match=r"no column names a node: .* state fleet_size"):
        read_log(path)
    log = read_log(path, fleet_size=64)
    sections = fit_document(log, FitQuestion())["sections"]
    repeats = [sections[name] for name in ("lemons", "lives")]

    assert log.names_no_node
    assert len(log.failures) == 101
    assert log.window_h == pytest.approx(310.0)
    # All 101 outages are counted, none as one with another that it overlaps.
    assert log.node_h == pytest.approx(64 * 310.0 - 101 * 10.0)
    assert all("names no node" in one["said"][0] and not one["tables"] for one in repeats)
    assert any("each is a failure of one of 64 units" in note for note in log.notes)


@pytest.mark.parametrize(("lasts_h", "ends_h"), [(25, 325), (200, 300)])
def test_a_log_that_was_cut_by_the_day_of_failure_ends_with_the_last(tmp_path, lasts_h, ends_h):
    """Failures every 3 h for 300 h: 25 h of silence at the end hold 8 that were due, 200 h hold 67."""
    path = tmp_path / "log.csv"
    path.write_text(hours(101, 3, lasts_h, "node,start,end", "n1,{start},{end}"), encoding="utf-8")

    log = read_log(path, fleet_size=10)

    assert log.window_h == pytest.approx(ends_h)
    assert any("67 were due" in note for note in log.notes) is (ends_h == 300)


EVENT = """{{"apiVersion": "v1", "kind": "Event", "reason": "{reason}",
 "lastTimestamp": "2025-01-{day}T00:00:00Z", "involvedObject": {{"kind": "{kind}", "name": "{name}"}}}}"""


@pytest.mark.parametrize("whole", [True, False])
def test_events_of_kubernetes_are_read_as_kubectl_writes_them(tmp_path, whole):
    """A node away from the 2nd to the 4th; its pod is told the same, and other events are no failures."""
    said = [
        ("Node", "NodeNotReady", "02"),
        ("Pod", "NodeNotReady", "02"),
        ("Node", "RegisteredNode", "03"),
        ("Node", "NodeReady", "04"),
        ("Pod", "Pulled", "05"),
        ("Node", "NodeNotReady", "06"),
    ]
    events = [EVENT.format(kind=kind, name=f"{kind}-1", reason=word, day=day) for kind, word, day in said]
    text = ",\n".join(events)
    path = tmp_path / "events.json"
    whole_list = f'{{"apiVersion": "v1", "items": [{text}], "kind": "List", "metadata": {{}}}}'
    lines = "\n".join(event.replace("\n", "") for event in events)
    path.write_text(whole_list if whole else lines, encoding="utf-8")

    log = read_log(path)

    assert list(log.failures["unit"]) == ["Node-1", "Node-1"]
    assert log.failures["end_h"].iloc[0] == pytest.approx(48.0)
    assert "3 rows that [only] of the mapping does not want: not read." in log.notes
    assert parse_mapping(mapping_text(propose_mapping(path))) == propose_mapping(path)
