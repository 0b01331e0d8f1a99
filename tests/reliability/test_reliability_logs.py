"""What is read from a log: by hand on small samples, and against other ways of counting."""

import itertools
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import size

from benchmarks.joblog import write_sacct
from planner.answers.failures.counts import periods_of
from reliability.logs import Mapping, gaps_h, parse_mapping, propose_mapping, read_log
from reliability.logs.hostlist import expand

LOGS = Path(__file__).parents[1] / "logs"


def said(log, text):
    return any(text in note for note in log.notes)


# Jobs


def test_jobs_by_hand():
    """A step, a pending job and a copy are no runs; sizes 1, 2 and 4 ran for 6.25, 8 and 80 node-hours."""
    log = read_log(LOGS / "sacct.txt")

    assert log.kind == "jobs"
    assert log.origin == datetime(2025, 3, 1, 1, tzinfo=UTC)
    assert log.window_h == 24
    assert log.jobs["nodes"].tolist() == [1, 2, 4]
    assert log.jobs["jobs"].tolist() == [4, 1, 2]
    assert log.jobs["node_h"].tolist() == pytest.approx([6.25, 8, 80], rel=1e-12)
    assert log.jobs["failures"].tolist() == [1, 0, 1]
    assert log.jobs["queue_mean_h"].tolist() == pytest.approx([0.5, 1, 1.5], rel=1e-12)
    assert log.node_h == pytest.approx(94.25, rel=1e-12)


def test_job_failures_name_their_node_and_cause():
    """FailedNode names node007 of four; job 103 ran on one. States without a severity are no failures."""
    log = read_log(LOGS / "sacct.txt")

    assert log.events["unit"].tolist() == ["node006", "node007"]
    assert log.events["start_h"].tolist() == pytest.approx([6.5, 11.0], rel=1e-12)
    assert set(log.events["cause"]) == {"NODE_FAIL"}
    assert set(log.events["severity"]) == {"hardware"}
    assert said(log, "Not counted as failures: CANCELLED 1, FAILED 1.")


def test_what_is_no_run_is_said():
    log = read_log(LOGS / "sacct.txt")

    assert said(log, "1 row of a job step ignored")
    assert said(log, "1 row of a job that never ran ignored")
    assert said(log, "1 row ignored as a repetition: same job and same start")
    assert said(log, "1 row of a job that had run before: requeued")
    assert said(log, "1 run still going at the end of the window: censored")


def test_nodes_of_a_job_log():
    """node[001-003,007] and node[001-004] are five nodes; node001 was the first to run anything."""
    units = read_log(LOGS / "sacct.txt").units.set_index("unit")

    assert sorted(units.index) == [f"node{i:03d}" for i in range(1, 8)]
    assert units.loc["node001"].tolist() == [0, 24]
    assert units.loc["node007"].tolist() == [1, 11]


def test_a_cause_that_reads_like_an_intended_stop_is_told(tmp_path):
    """It counts as a failure until the mapping says otherwise; what is unplanned is none."""
    path = tmp_path / "log.csv"
    causes = ("planned maintenance", "GPU", "unscheduled reboot", "planned maintenance")
    rows = [f"n{i},2025-01-0{i + 1},2025-01-0{i + 2},{cause}" for i, cause in enumerate(causes)]
    path.write_text("\n".join(["node,start,end,cause", *rows]) + "\n")
    mapping = propose_mapping(path)
    assert [note for note in read_log(path, mapping).notes if "intended" in note] == [
        "2 events of the cause 'planned maintenance' counted as failures: if they were intended, write "
        'planned = ["planned maintenance"] in the mapping.'
    ]
    named = replace(mapping, planned=("planned maintenance",))
    assert not [note for note in read_log(path, named).notes if "intended" in note]


def test_severities_and_planned_states_of_jobs_can_be_named():
    text = """kind = "jobs"
        separator = "|"
        timezone = "UTC"
        missing = ["Unknown", "None", "None assigned"]
        planned = ["preemption"]
        [columns]
        job = "JobID"
        state = "State"
        start = "Start"
        end = "End"
        nodes = "NNodes"
        [severity]
        FAILED = "user"
        CANCELLED = "preemption"
        NODE_FAIL = "ignore"
        """
    log = read_log(LOGS / "sacct.txt", parse_mapping(text))

    assert log.events["severity"].tolist() == ["preemption", "user"]
    assert log.failures["cause"].tolist() == ["FAILED"]
    assert log.jobs["failures"].tolist() == [1, 0, 0]
    assert log.units.empty
    assert said(log, "2 failures of a job name no node")


def test_a_window_cuts_runs_and_drops_failures_outside():
    """From 03:00 to 10:00 job 100 has 2 h, job 101 4 x 7 h, job 102 0.5 h, job 103 1.5 h."""
    text = """kind = "jobs"\nseparator = "|"\ntimezone = "UTC"\nmissing = ["Unknown", "None assigned"]
        [window]\nstart = "2025-03-01T03:00:00"\nend = "2025-03-01T10:00:00"
        [columns]\njob = "JobID"\nstate = "State"\nstart = "Start"\nend = "End"\nnodes = "NNodes"
        [severity]\nNODE_FAIL = "hardware"\n"""
    log = read_log(LOGS / "sacct.txt", parse_mapping(text))

    assert log.window_h == 7
    assert log.node_h == pytest.approx(2 + 28 + 0.5 + 1.5, rel=1e-12)
    assert log.jobs["node_h"].sum() == pytest.approx(log.node_h, rel=1e-12)
    assert len(log.events) == 1
    assert said(log, "3 runs outside the window left out")


@pytest.mark.slow
def test_jobs_agree_with_pandas(tmp_path):
    """An independent route: pandas holds all of a made-up log in memory and groups it by size."""
    path = tmp_path / "sacct.txt"
    write_sacct(path, rows=20_000, seed=7)

    log = read_log(path)
    rows = pd.read_csv(path, sep="|", parse_dates=["Eligible", "Start", "End"], dtype={"JobID": str})
    rows = rows[~rows["JobID"].str.contains(".", regex=False)]
    rows["node_h"] = rows["NNodes"] * (rows["End"] - rows["Start"]).dt.total_seconds() / 3600
    rows["wait_h"] = (rows["Start"] - rows["Eligible"]).dt.total_seconds() / 3600
    rows["failed"] = rows["State"] == "NODE_FAIL"
    sizes = rows.groupby("NNodes").agg(
        jobs=("node_h", "size"),
        node_h=("node_h", "sum"),
        failures=("failed", "sum"),
        queue_mean_h=("wait_h", "mean"),
        queue_median_h=("wait_h", "median"),
    )

    assert log.jobs["nodes"].tolist() == sizes.index.tolist()
    np.testing.assert_allclose(log.jobs[sizes.columns].to_numpy(float), sizes.to_numpy(float), rtol=1e-9)
    assert log.node_h == pytest.approx(rows["node_h"].sum(), rel=1e-9)


def test_the_same_seed_writes_the_same_job_log(tmp_path):
    for name in ("one.txt", "two.txt"):
        write_sacct(tmp_path / name, rows=500, seed=3)

    assert (tmp_path / "one.txt").read_bytes() == (tmp_path / "two.txt").read_bytes()


@pytest.mark.slow
def test_node_hours_of_jobs_in_each_period(tmp_path):
    """An independent route: each run cut at each edge by hand. The log is straight between points."""
    path = tmp_path / "sacct.txt"
    write_sacct(path, rows=2_000, seed=11)

    log = read_log(path)
    counts = periods_of(log, 30 * 24)
    rows = pd.read_csv(path, sep="|", parse_dates=["Start", "End"], dtype={"JobID": str})
    rows = rows[~rows["JobID"].str.contains(".", regex=False)]
    start_h, end_h = (
        (rows[name] - rows["Start"].min()).dt.total_seconds().to_numpy() / 3600 for name in ("Start", "End")
    )
    edges = np.append(counts.start_h, log.window_h)
    inside = [np.clip(end_h, a, b) - np.clip(start_h, a, b) for a, b in itertools.pairwise(edges)]

    np.testing.assert_allclose(counts.node_h, [(rows["NNodes"] * each).sum() for each in inside], rtol=2e-4)
    failed = (rows["State"] == "NODE_FAIL").to_numpy()
    assert counts.failures.sum() == (failed & (end_h >= counts.skipped_h)).sum()
    assert counts.skipped_h == pytest.approx(log.window_h % (30 * 24), rel=1e-9)


def test_nodes_that_jobs_share_are_said(tmp_path):
    """Two jobs of one node at the same time are two node-hours in an hour of one node."""
    rows = [f"{i}|COMPLETED|2025-01-01T00:00:00|2025-01-01T01:00:00|1|a" for i in (1, 2)]
    (tmp_path / "sacct.txt").write_text("JobID|State|Start|End|NNodes|NodeList\n" + "\n".join(rows))

    assert said(read_log(tmp_path / "sacct.txt"), "Jobs share nodes: their 2 node-hours are more than the 1")


# Events


def test_events_by_hand():
    """a1 was down 0-6 h and 5-8 h: one outage. Two alarms of a2 at one time: one event with both causes."""
    log = read_log(LOGS / "events.csv")

    assert log.events["unit"].tolist() == ["a1", "a2", "a3", "a1"]
    assert log.events["start_h"].tolist() == [0, 24, 48, 239]
    assert log.events["end_h"].tolist()[:3] == [8, 25, 60]
    assert np.isnan(log.events["end_h"].iloc[3])
    assert log.events["cause"].tolist() == ["fan+gpu", "nic, or cable+pcie", "firmware", "gpu"]
    assert log.events["planned"].tolist() == [False, False, True, False]
    assert said(log, "1 alarm within 0 s of another of the same unit coalesced with it: 5 events left")
    assert said(log, "1 outage merged with one of its unit that was not over")


def test_node_hours_leave_out_outages():
    """Three units for 239 h, less 8, 1 and 12 h down."""
    log = read_log(LOGS / "events.csv")

    assert log.node_h == pytest.approx(3 * 239 - 21, rel=1e-12)
    assert said(log, "1 outage without an end")


@pytest.mark.slow
def test_units_that_never_failed_are_asked_for_or_added():
    """Of ten nodes seven are in no row; they were up for all 239 h, and are censored."""
    unknown, known = read_log(LOGS / "events.csv"), read_log(LOGS / "events.csv", fleet_size=10)

    assert said(unknown, "3 units seen; those that never failed are in no log: state fleet_size")
    assert len(known.units) == 10
    assert known.node_h == pytest.approx(10 * 239 - 21, rel=1e-12)
    assert known.lives["died"].sum() == 2
    assert known.lives.loc[~known.lives["died"], "duration_h"].tolist() == [239] * 8


def test_every_row_counts_where_the_mapping_says_so():
    """Six rows, six events; the hours that two outages of a1 share are left out once."""
    text = """kind = "events"\nevery_row_counts = true
        [columns]\nunit = "node"\nstart = "start"\nend = "end"\ncause = "cause"\nplanned = "planned"\n"""
    log = read_log(LOGS / "events.csv", parse_mapping(text))

    assert len(log.events) == 6
    assert log.node_h == pytest.approx(3 * 239 - 21, rel=1e-12)
    assert said(log, "2 outages of a unit that was down already: kept as events")


def test_xids_within_seconds_are_one_event():
    """Xid 79, 48 and 45 of n1 within 5 s are one hardware fault; Xid 63 only keeps a record."""
    log = read_log(LOGS / "xid.csv")

    assert log.events["cause"].tolist() == ["xid45+xid48+xid79", "xid13"]
    assert log.events["severity"].tolist() == ["hardware", "application"]
    assert said(log, "2 alarms within 5 s of another of the same unit coalesced with it: 2 events left")
    assert said(log, "1 row dropped: [severity] says 'ignore'")


def test_kernel_messages_of_many_hosts():
    """Lines without an Xid are no records; a year has to be stated, as syslog writes none."""
    mapping = Mapping(
        "events",
        {"unit": "host", "start": "timestamp", "xid": "xid"},
        layout="kernel",
        timezone="UTC",
        time_format=("%b %d %H:%M:%S",),
        year=2025,
        coalesce_s=5,
    )
    log = read_log(LOGS / "syslog.txt", mapping)

    assert log.origin == datetime(2025, 3, 3, 12, 0, 2, tzinfo=UTC)
    assert log.events["unit"].tolist() == ["node001", "node002"]
    assert log.events["cause"].tolist() == ["xid45+xid79", "xid94"]
    assert [row.line for row in log.bad_rows] == [5]


def test_kernel_messages_of_one_host():
    """Seconds since the boot, of a host that dmesg does not name."""
    log = read_log(LOGS / "dmesg.txt")

    assert log.origin is None
    assert log.events["start_h"].tolist() == [1, 10]
    assert log.units["unit"].tolist() == ["dmesg.txt"]


def test_starts_and_ends_in_rows_of_their_own(tmp_path):
    """The first 'up' ends an outage before the log; the last 'down' is not over. The pairs last 2 and 1 h."""
    rows = ["n,1,up", "n,2,down", "n,4,up", "n,5,down", "n,6,up", "n,9,down"]
    (tmp_path / "trace.csv").write_text("\n".join(["node,hour,what", *rows]))
    text = """kind = "events"\ntime_format = "since_start_h"\ntransitions = { start = "down", end = "up" }
        [columns]\nunit = "node"\nstart = "hour"\ntransition = "what"\n"""
    log = read_log(tmp_path / "trace.csv", parse_mapping(text))

    assert log.events["start_h"].tolist() == [2, 5, 9]
    assert log.events["end_h"].tolist()[:2] == [4, 6]
    assert said(log, "1 row ended an outage that began before the log")
    assert said(log, "1 row began an outage that the log does not end")


def test_units_in_service_before_the_log_are_left_truncated(tmp_path):
    """A unit of 31 days when watching began, that failed 24 h later: age 744 to 768 h."""
    (tmp_path / "log.csv").write_text(
        "node,installed,start\na,2025-01-01T00:00:00Z,2025-02-02T00:00:00Z\nb,,2025-02-01T00:00:00Z\n"
    )
    log = read_log(tmp_path / "log.csv")

    life = log.lives.set_index("unit").loc["a"]
    assert (life["entry_h"], life["duration_h"], life["died"]) == (744, 768, True)
    assert said(log, "1 unit in service before the window: left-truncated")


def test_local_times_and_the_hour_that_comes_twice(tmp_path):
    """Berlin left summer time on 2024-10-26/27: from 00:00 to 06:00 are 7 h, and 02:30 is not clear."""
    rows = ("a,2024-10-27 00:00", "b,2024-10-27 02:30", "c,2024-10-27 06:00")
    (tmp_path / "log.csv").write_text("\n".join(["node,start", *rows]))
    mapping = Mapping("events", {"unit": "node", "start": "start"}, timezone="Europe/Berlin")
    log = read_log(tmp_path / "log.csv", mapping)

    assert log.origin == datetime(2024, 10, 26, 22, tzinfo=UTC)
    assert log.events["start_h"].tolist() == [0, 3.5, 7]
    assert said(log, "1 row in the hour that clocks show twice in autumn: read as winter time")


def test_times_in_forms_of_their_own(tmp_path):
    """Day first, as no month is the 31st; comma in quotes; Windows line ends and a byte order mark."""
    (tmp_path / "log.csv").write_bytes(
        b'\xef\xbb\xbfhost,opened,reason\r\nn1,31/01/2025 10:00,"a ""b"", c"\r\nn2, 31/01/2025 12:30 ,d\r\n'
    )
    log = read_log(tmp_path / "log.csv")

    assert log.events["start_h"].tolist() == [0, 2.5]
    assert log.events["cause"].tolist() == ['a "b", c', "d"]
    assert log.origin == datetime(2025, 1, 31, 10, tzinfo=UTC)


@pytest.mark.slow
@given(
    outages=st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 50), st.integers(0, 20)), min_size=1, max_size=12
    )
)
@settings(max_examples=size(10, nightly=25))
@pytest.mark.nightly
def test_merged_outages_cover_the_same_hours(tmp_path_factory, outages):
    """An independent route: mark each hour that a unit is down. No merged outages of a unit overlap."""
    path = tmp_path_factory.mktemp("log") / "log.csv"
    rows = [f"{unit},{start},{start + length}" for unit, start, length in outages]
    path.write_text("\n".join(["node,from,to", *rows]))
    text = """kind = "events"\ntime_format = "since_start_h"\nwindow = { start = 0, end = 100 }
        [columns]\nunit = "node"\nstart = "from"\nend = "to"\n"""
    log = read_log(path, parse_mapping(text), fleet_size=3)

    down = {(unit, hour) for unit, start, length in outages for hour in range(start, start + length)}
    assert log.node_h == pytest.approx(300 - len(down), abs=1e-9)
    for _, events in log.events.groupby("unit"):
        assert (events["start_h"].to_numpy()[1:] >= events["end_h"].to_numpy()[:-1]).all()


# Lives


def test_lives_by_hand():
    """g1 died after 30 days; g2 is there at the last day seen (50 days); g3 left alive; g4 died after 40."""
    log = read_log(LOGS / "lives.csv")

    assert log.kind == "lives"
    assert log.lives["duration_h"].tolist() == [30 * 24, 50 * 24, 10 * 24, 40 * 24]
    assert log.lives["died"].tolist() == [True, False, False, True]
    assert log.lives["sku"].tolist() == ["h100", "h100", "h200", "h200"]
    assert log.events["unit"].tolist() == ["g1", "g4"]
    assert log.node_h == 130 * 24
    assert said(log, "2 units alive when last seen: right-censored")


def test_a_window_truncates_and_censors_lives():
    """Watched from day 20 to day 45: g1 enters at age 20 d; g4's death at day 50 is not seen."""
    text = """kind = "lives"\ntimezone = "UTC"\nwindow = { start = 2025-01-21, end = 2025-02-15 }
        [columns]\nunit = "serial"\nentry = "installed"\nexit = "removed"\ndied = "dead"\n"""
    lives = read_log(LOGS / "lives.csv", parse_mapping(text)).lives.set_index("unit")

    assert (lives["entry_h"] / 24).to_dict() == {"g1": 20, "g2": 20, "g3": 0, "g4": 10}
    assert (lives["duration_h"] / 24).to_dict() == {"g1": 30, "g2": 45, "g3": 10, "g4": 35}
    assert lives["died"].to_dict() == {"g1": True, "g2": False, "g3": False, "g4": False}


def test_ages_without_dates(tmp_path):
    """Years are of 365 days; an age of entry is left truncation; censored is the opposite of died."""
    (tmp_path / "lives.csv").write_text("id,years,entry_age_d,censored\nx,1,0,no\ny,2,365,yes\n")
    log = read_log(tmp_path / "lives.csv")

    assert log.origin is None
    assert log.lives["duration_h"].tolist() == [8760, 17520]
    assert log.lives["entry_h"].tolist() == [0, 8760]
    assert log.lives["died"].tolist() == [True, False]
    assert log.node_h == 2 * 8760
    assert periods_of(log, 24).size == 0


# Gaps and counts


def test_gaps_of_the_fleet_and_of_a_unit():
    """Unplanned failures at 0, 24 and 239 h; a1 failed at 0 and 239 h."""
    log = read_log(LOGS / "events.csv")

    assert gaps_h(log).gap_h.tolist() == [24, 215]
    assert gaps_h(log, within_unit=True).gap_h.tolist() == [239]


def test_zero_gaps_are_left_out_and_counted(tmp_path):
    (tmp_path / "log.csv").write_text(
        "node,start\n" + "".join(f"n{i},2025-01-01T0{h}:00:00Z\n" for i, h in enumerate((0, 1, 1, 1, 4)))
    )
    gaps = gaps_h(read_log(tmp_path / "log.csv"))

    assert gaps.gap_h.tolist() == [1, 3]
    assert gaps.zero_gaps == 2


# Names of nodes


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("node[001-003,7]", ["node001", "node002", "node003", "node7"]),
        ("a,b[9-11]", ["a", "b9", "b10", "b11"]),
        ("r[1-2]n[01-02]-ib", ["r1n01-ib", "r1n02-ib", "r2n01-ib", "r2n02-ib"]),
    ],
)
def test_host_lists_as_slurm_writes_them(text, names):
    assert expand(text) == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("node[1-3", "has a bracket that is not closed"),
        ("node[3-1]", "is not a list of numbers and rising ranges"),
        ("node[a-b]", "is not a list of numbers and rising ranges"),
        ("node[0-99999999]", "names more than 1,000,000 nodes"),
    ],
)
def test_host_lists_that_are_none(text, message):
    with pytest.raises(ValueError, match=message):
        expand(text)
