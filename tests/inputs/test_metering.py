"""Metered files: energy worked by hand, faults named with their line, nothing guessed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import size

from planner.inputs.metering import read_metered
from planner.trace.errors import InputError

SAMPLES = Path(__file__).parents[1] / "metered"
HEADER = "timestamp, index, power.draw [W]\n"


@pytest.fixture
def write(tmp_path):
    def put(text: str, encoding: str = "utf-8") -> Path:
        path = tmp_path / "metered.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return put


def said(metered, words: str) -> bool:
    return any(words in note for note in metered.notes)


# ---- nvidia-smi


def test_nvidia_smi_by_hand():
    """Trapezoids: 650 W and 675 W for 10 s each, 500 W for 20 s over a lost row, then 110 and 100 W for 10 s.

    The ten minutes in which the log had stopped are not bridged: 20 + 10 s of each GPU are metered.
    """
    metered = read_metered(SAMPLES / "nvidia-smi.csv")

    joules = 6500 + 6750 + 10_000 + 1100 + 1000
    assert metered.it_kwh == pytest.approx(joules / 3.6e6, rel=1e-9)
    assert metered.accelerators_kwh == metered.it_kwh
    assert metered.accelerators == 2
    assert metered.accelerator_h == pytest.approx(60 / 3600)
    assert metered.gaps_h == pytest.approx(600 / 3600)
    assert metered.duration_h == pytest.approx(630 / 3600, abs=1e-5)
    assert metered.first == datetime(2024, 5, 1, 10, 0, 0, 100_000)
    assert metered.covers == "accelerators"
    assert "add the host" in metered.seen
    assert [str(row) for row in metered.bad_rows] == [
        "line 5: power.draw is '[N/A]', not a number in W of at least 0"
    ]
    assert said(metered, "the header occurs 2 times")
    assert said(metered, "name no zone")


def test_a_file_without_header_needs_its_columns():
    """650 and 675 W for 10 s each; `--format=csv,noheader,nounits` does not say which column is which."""
    path = SAMPLES / "nvidia-smi-bare.csv"

    metered = read_metered(path, columns=["timestamp", "index", "power.draw"])

    assert metered.it_kwh == pytest.approx(13_250 / 3.6e6)
    with pytest.raises(InputError, match="seems to have no header: name its columns"):
        read_metered(path)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (HEADER + "2024-05-01T10:00:00, 0, 360 W\n2024-05-01T10:00:10, 0, 360 W\n", "utf-8"),
        (HEADER + "2024/05/01 10:00:00, 0, 360\n2024/05/01 10:00:10, 0, 360\n", "utf-16"),
        (HEADER.replace("[W]", "[kW]") + "1714557600, 0, 0.36\n1714557610, 0, 0.36\n", "utf-8-sig"),
        (HEADER.replace(" [W]", "") + "1714557600.5, 0, 0.36 kW\n1714557610.5, 0, 360000 mW\n", "utf-8"),
        ("timestamp;index;power.draw [W]\n1714557600000;0;360,0 W\n1714557610000;0;360,0 W\n", "utf-8"),
        ('timestamp\tindex\tpower.draw [W]\n1714557600\t0\t"360,0"\n1714557610\t0\t3,6e2\n', "utf-8"),
    ],
)
def test_one_watt_hour_in_many_spellings(write, text, encoding):
    """360 W for 10 s is 1 Wh: units of header or cell, decimal commas, stamps of six kinds, byte orders."""
    metered = read_metered(write(text, encoding))

    assert metered.it_kwh == pytest.approx(0.001, rel=1e-9)
    assert metered.bad_rows == ()


def test_a_decimal_comma_in_a_file_of_commas_is_named(write):
    metered = read_metered(write(HEADER + "1714557600, 0, 360\n1714557610, 0, 360\n1714557620, 0, 360,5 W\n"))

    assert [str(row) for row in metered.bad_rows] == ["line 4: has 4 cells, 3 were expected: decimal commas?"]
    assert metered.it_kwh == pytest.approx(0.001)


@pytest.mark.parametrize(
    "cell", ["N/A", "[Not Supported]", "[Unknown Error]", "ERR!", "", "nan", "inf", "-5 W", "5 V", "1,000 W"]
)
def test_a_reading_that_is_none_is_named_and_left_out(write, cell):
    """360 W on both sides of it, 10 s apart: the interval is short enough to be bridged."""
    rows = f'1714557600, 0, 360\n1714557605, 0, "{cell}"\n1714557610, 0, 360\n'
    metered = read_metered(write(HEADER + rows))

    assert metered.it_kwh == pytest.approx(0.001)
    assert [row.line for row in metered.bad_rows] == [3]
    assert f"'{cell}'" in metered.bad_rows[0].reason


def test_a_unit_that_contradicts_the_header_is_refused(write):
    with pytest.raises(InputError, match="no accelerator has two samples") as error:
        read_metered(write(HEADER + "1714557600, 0, 0.36 kW\n1714557610, 0, 0.36 kW\n"))

    assert "line 2: power.draw is '0.36 kW', not a number in W" in str(error.value)


def test_order_and_repetition_change_nothing(write):
    """The same four samples sorted, and moved about with two repeated: three intervals of 1 Wh."""
    sorted_rows = [f"{1714557600 + 10 * k}, 0, 360\n" for k in range(4)]
    mixed = [sorted_rows[1], sorted_rows[0], sorted_rows[3], sorted_rows[3], sorted_rows[2]]
    mixed.append("1714557620, 0, 360\n")

    metered = read_metered(write(HEADER + "".join(mixed)))

    assert metered.it_kwh == pytest.approx(0.003)
    assert said(metered, "samples before the one above them, by up to 10 s: 2; sorted by time")
    assert said(metered, "samples that repeat a moment: 2; taken once, where they differ as their mean: 0")


def test_samples_of_one_moment_that_differ_become_their_mean(write):
    """300 and 420 W at one moment are 360 W."""
    text = "1714557600, 0, 300\n1714557600, 0, 420\n1714557610, 0, 360\n"
    metered = read_metered(write(HEADER + text))

    assert metered.it_kwh == pytest.approx(0.001)
    assert said(metered, "as their mean: 1")


def test_the_hour_that_stands_twice_in_autumn(write):
    """Berlin, 27 October 2024: from 1:30 to 3:30 on the clock are three hours, so 360 W are 1.08 kWh."""
    clock = ["01:30", "02:00", "02:30", "02:00", "02:30", "03:00", "03:30"]
    text = HEADER + "".join(f"2024/10/27 {time}:00.000, 0, 360 W\n" for time in clock)

    metered = read_metered(write(text), zone="Europe/Berlin")

    assert metered.duration_h == pytest.approx(3.0)
    assert metered.it_kwh == pytest.approx(1.08)
    assert metered.first == datetime(2024, 10, 26, 23, 30, tzinfo=UTC)
    assert said(read_metered(write(text)), "samples before the one above them, by up to 1800 s")


def test_the_hour_that_is_missing_in_spring(write):
    """Berlin, 31 March 2024: from 1:30 to 3:30 is one hour; 2:30 does not exist and is named."""
    clock = ["01:30", "02:30", "03:30"]
    text = HEADER + "".join(f"2024-03-31 {time}:00, 0, 360 W\n" for time in clock)

    metered = read_metered(write(text), zone="Europe/Berlin")

    assert metered.it_kwh == pytest.approx(0.36)
    assert [row.line for row in metered.bad_rows] == [3]


def test_zones_in_the_stamps_are_obeyed(write):
    """12:00 at +02:00 and 10:30 UTC are half an hour apart; a stamp without a zone among them is named."""
    text = "2024-05-01T12:00:00+02:00, 0, 360\n2024-05-01T10:30:00Z, 0, 360\n2024-05-01T11:00:00, 0, 360\n"

    metered = read_metered(write(HEADER + text))

    assert metered.it_kwh == pytest.approx(0.18)
    assert "names no zone, while others do" in metered.bad_rows[0].reason
    assert read_metered(write(HEADER + text), zone="UTC").it_kwh == pytest.approx(0.36)


def test_an_accelerator_that_was_watched_for_half_the_time(write):
    """GPU 1 joins after 100 of 200 s: that time of it was not metered, which is 50 s in the mean of two."""
    rows = [(10 * k, 0) for k in range(21)] + [(10 * k, 1) for k in range(10, 21)]
    text = HEADER + "".join(f"{1714557600 + t}, {gpu}, 360\n" for t, gpu in rows)

    metered = read_metered(write(text), gap_intervals=2)

    assert metered.gaps_h == pytest.approx(50 / 3600)
    assert metered.accelerator_h == pytest.approx(300 / 3600)
    assert metered.it_kwh == pytest.approx(0.03)


def test_without_a_column_of_accelerators_their_number_is_asked_for(write):
    path = write("timestamp, power.draw [W]\n1714557600, 360\n1714557610, 360\n")

    with pytest.raises(InputError, match="no column says which accelerator"):
        read_metered(path)
    assert read_metered(path, accelerators=1).it_kwh == pytest.approx(0.001)


@pytest.mark.slow
@given(
    watts=st.lists(st.floats(0, 1000), min_size=3, max_size=30),
    cut=st.integers(1, 28),
)
@settings(max_examples=size(15, nightly=100))
def test_a_log_cut_in_two_holds_the_same_energy(tmp_path_factory, watts, cut):
    """Energy is additive in time: both halves share the sample at the cut."""
    cut = min(cut, len(watts) - 2)
    folder = tmp_path_factory.mktemp("cut")

    def kwh(first: int, last: int) -> float:
        rows = [f"{1714557600 + k}, 0, {watts[k]:.6f}\n" for k in range(first, last + 1)]
        (folder / "part.csv").write_text(HEADER + "".join(rows))
        return read_metered(folder / "part.csv").it_kwh

    end = len(watts) - 1
    assert kwh(0, cut) + kwh(cut, end) == pytest.approx(kwh(0, end), rel=1e-9, abs=1e-15)


# ---- DCGM


def test_dcgm_counter_with_a_reset_by_hand():
    """42 kJ a minute at 700 W; node-a's counter began again and shows 41 kJ of the second minute.

    node-b has no reading in between, which its counter bridges: 42 + 41 + 42 and 126 kJ.
    """
    metered = read_metered(SAMPLES / "dcgm.csv")

    assert metered.it_kwh == pytest.approx((42 + 41 + 42 + 126) / 3600)
    assert metered.accelerators == 2
    assert metered.duration_h == pytest.approx(0.05)
    assert metered.first == datetime(2024, 5, 1, 10, 0, tzinfo=UTC)
    assert said(metered, "node-a/0: resets of the counter: 1")
    assert said(metered, "dcgm_fi_dev_power_usage gives 0.07 kWh")
    assert [row.line for row in metered.bad_rows] == [7]
    assert "no reading" in metered.bad_rows[0].reason


def test_dcgmi_dmon_by_hand(write):
    """The counter counts 1300 and 700 J in two seconds; power says the same, over the row without one."""
    metered = read_metered(SAMPLES / "dcgmi-dmon.txt", interval_s=1.0)

    assert metered.it_kwh == pytest.approx(2000 / 3.6e6)
    assert said(metered, "power gives 0.000555556 kWh")
    assert metered.first is None
    assert metered.duration_h == pytest.approx(2 / 3600)
    with pytest.raises(InputError, match="give interval_s"):
        read_metered(SAMPLES / "dcgmi-dmon.txt")


def test_dcgmi_dmon_with_stamps_before_its_lines(write):
    """`dcgmi dmon -e 155 | ts %.s`: 360 W for 10 s; a line cut short and one of another tool are named."""
    text = (
        "1714557600.1 #Entity   POWER\n1714557600.1 ID        W\n1714557600.2 GPU 0   360.0\n"
        "1714557605.2 GPU 0\n1714557606.0 Error: lost connection\n1714557610.2 GPU 0   360.0\n"
    )
    metered = read_metered(write(text))

    assert metered.it_kwh == pytest.approx(0.001)
    assert metered.first == datetime(2024, 5, 1, 10, 0, 0, 200_000, tzinfo=UTC)
    assert [row.line for row in metered.bad_rows] == [4, 5]


# ---- CodeCarbon


def test_codecarbon_2_takes_the_pue_out():
    """3.72 kWh were written with a PUE of 1.2, 6.2 kWh with none: 3.1 + 6.2; of it GPUs 2.8 + 5.6."""
    metered = read_metered(SAMPLES / "codecarbon-2.8.csv", zone="Europe/Paris")

    assert metered.it_kwh == pytest.approx(9.3)
    assert metered.accelerators_kwh == pytest.approx(8.4)
    assert metered.duration_h == pytest.approx(3.0)
    assert metered.accelerators == 4
    assert metered.accelerator_h == pytest.approx(12.0)
    assert metered.covers == "components"
    assert metered.places == ("FRA/ile-de-france",)
    assert metered.first == datetime(2024, 5, 1, 8, 0, tzinfo=UTC)
    assert said(metered, "with a PUE of 1, 1.2: divided by it")


def test_codecarbon_3_counts_a_run_once():
    """`flush` writes the run so far: 0.77 and then 1.54 kWh are one run of 1.54 kWh."""
    metered = read_metered(SAMPLES / "codecarbon-3.3.csv")

    assert metered.it_kwh == pytest.approx(1.54)
    assert metered.duration_h == pytest.approx(1.0)
    assert metered.places == ("USA/iowa", "gcp/us-central1")
    assert said(metered, "earlier states of a run that has a later row, not added: 1")


def test_codecarbon_rows_that_cannot_be(write):
    """A PUE below 1, no energy, and parts that are not the whole; runs that overlap are noted."""
    text = (
        "timestamp,run_id,duration,cpu_energy,gpu_energy,ram_energy,energy_consumed,pue\n"
        "2024-05-01T11:00:00,a,3600,0.1,0.8,0.1,1.0,1\n"
        "2024-05-01T11:30:00,b,3600,0.1,0.5,0.1,1.0,1\n"
        "2024-05-01T12:00:00,c,3600,0.1,0.8,0.1,1.0,0.9\n"
        "2024-05-01T13:00:00,d,3600,,,,,1\n"
    )
    metered = read_metered(write(text))

    assert metered.it_kwh == pytest.approx(2.0)
    assert {row.line for row in metered.bad_rows} == {4, 5}
    assert said(metered, "parts do not add up to their energy: 1, first in line 3")
    assert said(metered, "runs overlap in time")


def test_codecarbon_without_parts(write):
    """Version 1 wrote the whole alone: what accelerators took is unknown, not 0."""
    metered = read_metered(write("timestamp,duration,energy_consumed\n2021-05-01T11:00:00,3600,1.5\n"))

    assert metered.it_kwh == pytest.approx(1.5)
    assert metered.accelerators_kwh is None
    assert metered.accelerators is None


# ---- Slurm


def test_sacct_by_hand():
    """Job 101 drew 108 MJ = 30 kWh, its steps are in it; job 102 has its 9 MJ in the batch step alone."""
    metered = read_metered(SAMPLES / "sacct.txt")

    assert metered.it_kwh == pytest.approx(32.5)
    assert metered.duration_h == pytest.approx(2.5)
    assert metered.accelerators == 16
    assert metered.accelerator_h == pytest.approx(2 * 16 + 0.5 * 8)
    assert metered.covers == "unstated"
    assert metered.accelerators_kwh is None
    assert metered.last == datetime(2024, 5, 1, 13, 30)
    assert said(metered, "sacct does not name the plugin")
    assert metered.bad_rows[0].line == 8
    assert "not measured" in metered.bad_rows[0].reason
    assert read_metered(SAMPLES / "sacct.txt", covers="node").seen == "whole nodes"


def test_sacct_with_units_and_the_first_node_twice(write):
    """ConsumedEnergy 7.20M J are 2 kWh; without an external step Slurm adds batch and numbered steps."""
    text = (
        "JobID|Elapsed|AllocNodes|ConsumedEnergy\n"
        "7|1-02:00:00|2|7.20M\n7.batch|1-02:00:00|1|2.40M\n7.0|1-01:59:00|2|4.80M\n"
        "8|30:00|2|0\n8.batch|30:00|1|0\n8.0|29:00|2|3.6M\n"
    )
    metered = read_metered(write(text))

    assert metered.it_kwh == pytest.approx(2.0 + 1.0)
    assert metered.duration_h == pytest.approx(26.5)
    assert said(metered, "job 7: Slurm added the batch step")
    assert said(metered, "job 8: energy is of its steps")


def test_sacct_usage_of_trackable_resources(write):
    """TRESUsageInTot holds joules of a step: 3.6 MJ of an external step are 1 kWh."""
    text = (
        "JobID,ElapsedRaw,TRESUsageInTot\n9,60,\n"
        '9.extern,60,"cpu=00:00:00,energy=3600000,fs/disk=0"\n9.0,50,"cpu=00:00:50,energy=3000000"\n'
    )
    assert read_metered(write(text), accelerators=8).it_kwh == pytest.approx(1.0)


# ---- wrong files


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", "Its columns are: a, b."),
        ("JobID|Elapsed\n1|00:01:00\n", "without energy: ask for ConsumedEnergyRaw"),
        ("JobID   Elapsed  ConsumedEnergyRaw\n------- -------- ----\n1  00:01:00 5\n", "write it with -P"),
        ("", "is empty"),
        ("JobID|ElapsedRaw|ConsumedEnergyRaw\n1|60|0\n", "is an acct_gather_energy plugin configured"),
        ("duration,energy_consumed\nten,1\n", "no run has a duration and an energy"),
    ],
)
def test_a_file_of_another_kind(write, text, words):
    with pytest.raises(InputError) as error:
        read_metered(write(text))

    assert words in str(error.value)
    assert str(error.value).startswith("metered.csv: ")


def test_a_file_that_is_no_text_or_is_not_there(tmp_path):
    binary = tmp_path / "energy.xlsx"
    binary.write_bytes(b"PK\x03\x04\xff\xfe\x00")

    with pytest.raises(InputError, match=r"energy\.xlsx: is not a text file"):
        read_metered(binary)
    with pytest.raises(InputError, match=r"none\.csv: cannot be read: No such file"):
        read_metered(tmp_path / "none.csv")


def test_all_problems_at_once(write):
    with pytest.raises(InputError) as error:
        read_metered(write("dcgm_fi_dev_power_usage_x,gpux\n1,2\n"), gap_intervals=0.5)

    problems = str(error.value)
    for words in ("no column of power", "no column of time stamps", "gap_intervals", "which accelerator"):
        assert words in problems


def test_arguments_out_of_range(write):
    path = write(HEADER + "1714557600, 0, 360\n1714557610, 0, 360\n")

    with pytest.raises(InputError, match=r"got 'everything'\n.*accelerators is at least 1, got 0"):
        read_metered(path, covers="everything", accelerators=0)
    with pytest.raises(InputError, match="'Berlin' is no time zone"):
        read_metered(path, zone="Berlin")


def test_only_the_first_bad_rows_are_kept(write):
    rows = "".join(f"{1714557600 + k}, 0, N/A\n" for k in range(50))
    metered = read_metered(write(HEADER + rows + "1714557700, 0, 360\n1714557710, 0, 360\n"), keep_bad_rows=3)

    assert [row.line for row in metered.bad_rows] == [2, 3, 4]
    assert said(metered, "could not be read: 50")
