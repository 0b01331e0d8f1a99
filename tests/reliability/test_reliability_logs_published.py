"""Logs that others published: counted here as their publications count them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq

from planner.answers.failures.counts import periods_of
from reliability.logs import gaps_h, propose_mapping, read_log

LANL = "data/lanl_failures/LA-UR-05-7318-failure-data-1996-2005.csv.xz"
HBD = "data/infinitehbd_trace/fault_trace.json"
TITAN = "data/titan_gpu_life"


@pytest.mark.slow
def test_titan_lifetimes(shared):
    """Ostrouchov et al., SC'20: 30,207 GPUs, 5,089 dead; of the old batch 5,027, by cage 1107, 1746, 2174."""
    log = read_log(shared / TITAN / "gc_summary_loc.csv")

    assert len(log.lives) == 30_207
    assert log.lives["died"].sum() == 5_089
    assert log.node_h / 8760 == pytest.approx(100_889.5, abs=0.05)
    old = log.lives[log.lives["batch"] == "old"]
    assert old["died"].sum() == 5_027
    assert old.groupby("cage")["died"].sum().to_dict() == {"0": 1_107, "1": 1_746, "2": 2_174}


@pytest.mark.slow
def test_titan_stays_and_events(shared):
    """Ostrouchov et al.: 4,826 DBE and 1,541 OTB, of 5,190 GPUs; stays add up to the summary's GPU-years."""
    log = read_log(shared / TITAN / "gc_full.csv")

    assert log.events["cause"].value_counts().to_dict() == {"DBE": 4_826, "OTB": 1_541}
    assert log.lives["died"].sum() == log.events["unit"].nunique() == 5_190
    assert len(log.units) == 30_207
    assert log.node_h / 8760 == pytest.approx(100_889.5, abs=0.05)


@pytest.mark.slow
@pytest.mark.nightly
def test_alarms_at_one_instant_are_one_event_of_titan(shared):
    """An independent route: pandas counts 27 rows with the GPU and the time of another."""
    path = shared / TITAN / "gc_full.csv"
    log = read_log(path, replace(propose_mapping(path), every_row_counts=False))
    rows = pd.read_csv(path, dtype=str).dropna(subset="event")

    assert len(log.events) == len(rows.drop_duplicates(["SN", "remove"])) == 6_367 - 27


@pytest.mark.slow
@pytest.mark.nightly
def test_lanl_failures(shared):
    """Schroeder and Gibson: repair 355 min mean, 54 median; this copy has 23,739 rows, 352.4 and 59."""
    log = read_log(shared / LANL)
    repair_min = (log.events["end_h"] - log.events["start_h"]) * 60

    assert len(log.events) == 23_739
    assert log.bad_row_count == 0
    assert repair_min.mean() == pytest.approx(352.4, abs=0.05)
    assert repair_min.median() == pytest.approx(59, abs=0.01)
    assert (log.events["severity"] == "hardware").mean() == pytest.approx(0.60, abs=0.02)
    assert (log.events["cause"] == "unknown").sum() == 453


@pytest.mark.slow
@pytest.mark.nightly
def test_lanl_units_that_never_failed(shared):
    """An independent route: pandas reads how many nodes each system has. System 17 names none, and is one."""
    log = read_log(shared / LANL)
    systems = log.units["unit"].str.partition("/")[0]
    rows = pd.read_csv(shared / LANL, dtype=str)
    nodes = rows.dropna(subset="nodes").groupby("System")["nodes"].first().astype(int)

    assert systems.value_counts().drop("17").to_dict() == nodes.to_dict()


@pytest.mark.slow
def test_lanl_quarters_agree_with_pandas(shared):
    """An independent route to the counts of system 20's 91-day quarters, in local time."""
    path = shared / LANL
    log = read_log(path)
    counts = periods_of(log, 91 * 24)
    rows = pd.read_csv(path, dtype=str)
    start = pd.to_datetime(rows["Prob Started"], format="%m/%d/%Y %H:%M")
    utc = start.dt.tz_localize("America/Denver", ambiguous=False, nonexistent="shift_forward")
    hours = (utc - utc.min()).dt.total_seconds() / 3600

    before_end = np.bincount(((log.window_h - hours) // (91 * 24)).astype(int))  # the newest quarter first
    np.testing.assert_array_equal(counts.failures, before_end[: counts.size][::-1])


def test_infinitehbd_faults(shared):
    """Shou et al.: 584 faults of 400 servers in 348 days, 4.20 for each 1000 node-days, 298 of hardware."""
    log = read_log(shared / HBD, fleet_size=400)
    outage_d = (log.events["end_h"] - log.events["start_h"]) / 24

    assert len(log.events) == 584
    assert len(log.events) / (400 * 348) * 1000 == pytest.approx(4.195, abs=0.001)
    assert (log.events["severity"] == "hardware").sum() == pytest.approx(298, abs=1)
    assert outage_d.mean() == pytest.approx(5.535, abs=0.0005)
    assert outage_d.median() == pytest.approx(0.851, abs=0.0005)
    assert outage_d.max() == pytest.approx(131, abs=0.1)
    assert log.lives["died"].sum() == 231
    assert len(log.units) == 400


def test_infinitehbd_unavailability(shared):
    """2.32 % of the node-days were lost; the two outages that overlap another count their hours once."""
    log = read_log(shared / HBD, fleet_size=400)

    assert 1 - log.node_h / (400 * log.window_h) == pytest.approx(0.0232, abs=0.0001)


def test_infinitehbd_gaps(shared):
    """The README: 55 starts share a timestamp. The rest are Weibull of shape 0.62, by maximum likelihood."""
    gaps = gaps_h(read_log(shared / HBD, fleet_size=400))
    logs = np.log(gaps.gap_h)

    def score(shape):
        weights = gaps.gap_h**shape
        return (weights * logs).sum() / weights.sum() - 1 / shape - logs.mean()

    assert gaps.zero_gaps == 55
    assert brentq(score, 0.1, 5) == pytest.approx(0.62, abs=0.005)
