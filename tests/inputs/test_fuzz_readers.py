"""Damaged files: no reader crashes or hangs, and what is too large, too deep or out of range is refused."""

import gzip
import json
import os
import signal
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from benchmarks.studies.fuzz_readers import READERS, Counted, damaged, fuzz, markdown
from carbon.signals import GridSignal
from planner.answers.calibration.results import read_files
from planner.answers.failures import downtime
from planner.cli import WRONG_INPUT, main
from planner.inputs.editing.series import traffic_found
from planner.inputs.files import MOST_COLUMNS, parse_json, read_limited
from planner.inputs.fits import read_calibration, read_fit
from planner.inputs.hardware_question import Stated
from planner.inputs.loading import load_catalogue
from planner.inputs.metering import read_metered
from planner.inputs.models import model_facts
from planner.inputs.scenario import Problem, ScenarioError, load_scenario, parse_scenario
from planner.inputs.series import read_series
from planner.trace.errors import LONGEST_CHARACTERS, InputError
from planner.trace.units import UnitError, convert_factor
from planner.validation import validate
from reliability.cox import fit_cox
from reliability.fitting import fit_best
from reliability.logs import LogError, Mapping, files, parse_mapping, read_log
from reliability.logs.hostlist import expand
from reliability.outages import HeldSpares, down_history

ROOT = Path(__file__).resolve().parents[2]
FITS = ROOT / "tests" / "broken" / "fits"
DEEP = "[" * 100_000


def written(folder, content, name="file.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# The study, in small


@pytest.mark.slow
@pytest.mark.parametrize("seed", [11, 12])
@pytest.mark.parametrize("name", [name for name in READERS if name != "fit of a log"])
def test_damaged_files_neither_crash_nor_hang(name, seed):
    """Some dozens of inputs for each reader; the study itself takes a hundred thousand."""
    slow = ("failure log", "mapping of a log", "published values", "measurements", "traffic trace")

    counted = fuzz(name, inputs=3 if name in slow else 12, seed=seed)

    assert not counted.where, counted
    assert counted.read + counted.refused == counted.inputs


def test_the_same_seed_damages_alike():
    reader = READERS["fit.json"]

    assert damaged(reader, "fit.json", 3, 7) == damaged(reader, "fit.json", 3, 7)
    assert damaged(reader, "fit.json", 3, 7) != damaged(reader, "fit.json", 4, 7)


def test_the_table_adds_up():
    rows = {"a": Counted(inputs=2, read=1, crashes=1), "b": Counted(inputs=1_000, refused=1_000)}

    assert markdown(rows).splitlines()[-1].startswith("| all | 1,002 | 1 | 1,000 | 1 | 0 |")


# Sizes


def test_a_packed_log_that_unpacks_to_a_thousand_times_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MOST_UNPACKED_BYTES", 1_000_000)
    path = written(tmp_path, gzip.compress(b"node,start\n" + b"a,2025-01-01\n" * 400_000), "bomb.gz")

    with pytest.raises(LogError, match=r"unpacks to more than 1 MB, .* unpack it yourself"):
        read_log(path)


def test_an_honest_packed_log_is_read(tmp_path, monkeypatch):
    """Rows that differ pack to a tenth or so: far from the limit on the ratio."""
    monkeypatch.setattr(files, "MOST_UNPACKED_BYTES", 1)
    rows = [
        f"n{i * 7919 % 1000},2025-01-{1 + i % 28:02d}T{i * 31 % 24:02d}:{i * 17 % 60:02d}Z"
        for i in range(3000)
    ]
    path = written(tmp_path, gzip.compress("\n".join(["node,start", *rows]).encode()), "log.gz")

    assert len(read_log(path).units) == 1000


@pytest.mark.parametrize("line", ["x" * 3_000_000, "a," * 1_500_000])
def test_a_log_of_one_endless_line(tmp_path, line):
    with pytest.raises(LogError, match="line 1 is longer than 1,048,576 characters"):
        read_log(written(tmp_path, line))


def test_a_log_of_far_too_many_columns(tmp_path):
    path = written(tmp_path, "a," * 100_000 + "a\n")

    with pytest.raises(LogError, match="its header has 100,001 columns, and 2,000 are read at most"):
        read_log(path)
    with pytest.raises(LogError, match="100,001 columns"):
        read_log(path, Mapping("events", {"unit": "a", "start": "a"}))


def _read_any_series(path):
    return read_series(path, signal=GridSignal("average", "direct", "consumption"))


def _measurements(path):
    return read_files([path], load_catalogue(), Stated())


TABLES = [read_metered, _read_any_series, _measurements, lambda path: validate([path])]


@pytest.mark.parametrize("read", TABLES)
def test_tables_of_one_endless_line(tmp_path, read):
    with pytest.raises(InputError, match="longer than 1,000,000 characters"):
        read(written(tmp_path, "a," * 600_000 + "\n1"))


@pytest.mark.parametrize("read", TABLES[:3])
def test_tables_of_far_too_many_columns(tmp_path, read):
    with pytest.raises(InputError, match=f"has 5,001 cells, and {MOST_COLUMNS:,} are read at most"):
        read(written(tmp_path, "a," * 5_000 + "a\n" + "1," * 5_000 + "1\n"))


HEADERS = [
    "time,value",
    "time,value",
    "sku,model,precision,accelerators,quantity,value,unit,source,batch_sequences,sequence_tokens",
    "id,source,inputs,expected,unit,tolerance",
]


@pytest.mark.parametrize(("read", "header"), list(zip(TABLES, HEADERS, strict=True)))
def test_a_cell_longer_than_a_reader_of_csv_takes(tmp_path, read, header):
    with pytest.raises(InputError, match="field larger than field limit"):
        read(written(tmp_path, f"{header}\n{'x' * 140_000},1\n"))


def test_files_larger_than_is_read(tmp_path):
    with pytest.raises(InputError, match="larger than 1 MB: split it"):
        read_limited(written(tmp_path, "x" * 1_000_001), most_bytes=1_000_000)


def test_pipes_are_refused_not_waited_for(tmp_path, capsys):
    """A pipe that nobody writes into would keep its reader for ever."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)

    with pytest.raises(LogError, match=r"pipe\.csv: is no regular file"):
        read_log(pipe)
    for read in (*TABLES, read_fit, read_calibration, lambda path: model_facts("m", path)):
        with pytest.raises(InputError, match="is no regular file: write what it holds to a file"):
            read(pipe)
    log = str(ROOT / "tests" / "logs" / "events.csv")
    for arguments in (
        ["carbon", "--metered", str(pipe), "--sku", "h100-8"],
        ["carbon", str(pipe)],
        ["plan", str(pipe)],
        ["fit", log, "--mapping", str(pipe)],
    ):
        assert main(arguments) == WRONG_INPUT
        assert "is no regular file: write what it holds to a file" in capsys.readouterr().err


def test_what_a_shell_hands_over_is_read():
    """`<(zcat x.csv.gz)` is a pipe too, one that ends."""
    content = (ROOT / "tests" / "metered" / "nvidia-smi.csv").read_bytes()
    end, start = os.pipe()
    os.write(start, content)
    os.close(start)

    assert read_limited(Path(f"/dev/fd/{end}")) == content
    os.close(end)


def test_a_request_to_end_leaves_no_unpacked_log(tmp_path, monkeypatch):
    """SIGTERM while a log is read leaves as an exception does, so that what was unpacked goes too."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def killed(path, *_, **__):
        with tempfile.TemporaryDirectory(prefix="everfleet-"):
            assert list(tmp_path.iterdir())
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)  # the signal comes first

    monkeypatch.setattr("planner.answers.failures.reading.read_failures", killed)
    with pytest.raises(SystemExit) as ended:
        main(["fit", str(ROOT / "tests" / "logs" / "events.csv"), "--quiet"])

    assert ended.value.code == 128 + signal.SIGTERM
    assert not list(tmp_path.iterdir())
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


# Depths, numbers, names


def test_deeply_nested_json(tmp_path):
    deep = written(tmp_path, '[{"a":' * 50_000, "deep.json")

    for read in (read_fit, read_calibration, lambda path: model_facts("m", path)):
        with pytest.raises(InputError):
            read(deep)
    with pytest.raises(LogError, match="nested too deep"):
        read_log(deep)
    with pytest.raises(ValueError, match="deeper than 200 levels"):
        parse_json("[" * 201 + "]" * 201)
    assert main(["explain", str(deep), "carbon"]) == WRONG_INPUT


def test_deeply_nested_mappings():
    with pytest.raises(LogError, match="nested too deep"):
        parse_mapping(f"missing = {DEEP}")
    with pytest.raises(LogError, match="its keys have one part or two"):
        parse_mapping(".".join("a" * 50_000) + " = 1")


@pytest.mark.timeout(30)  # the square of this length would take minutes
def test_a_long_word_in_a_scenario_takes_no_time():
    """The search for long keys began at each letter of it: time grew with the square, 100,000 took 10 s."""
    with pytest.raises(ScenarioError):
        parse_scenario("x" * 1_000_000)


@pytest.mark.timeout(30)  # some of these never ended
@pytest.mark.parametrize("unit", ["x" * 100_000, "1/" * 30_000 + "h", "9^9^9^9", "(9^9)^9^9", "cm^99999999"])
def test_units_that_nobody_writes(unit):
    with pytest.raises(UnitError, match="is not known here"):
        convert_factor(unit, "kW")


def test_a_fit_with_a_long_unit_is_refused(tmp_path):
    fit = json.loads((FITS / "whole.json").read_text())
    fit["rate"]["unit"] = "x" * 100_000

    with pytest.raises(InputError, match=r"is not a whole fit: .* of 100,000 characters") as caught:
        read_fit(written(tmp_path, json.dumps(fit), "unit.json"))
    assert len(str(caught.value)) < 500


def test_configurations_with_endless_numbers(tmp_path):
    card = {
        "model_type": "gpt2",
        "n_layer": 12,
        "n_embd": 10**400,
        "n_head": 12,
        "vocab_size": 50257,
    }

    with pytest.raises(InputError, match=r"n_embd is larger than any model has, .* up to 1,000,000,000"):
        model_facts("big", written(tmp_path, json.dumps(card), "config.json"))


def test_messages_do_not_quote_a_long_value_whole(tmp_path):
    card = {"model_type": "gpt2", "n_layer": "x" * 100_000, "n_embd": 768, "n_head": 12, "vocab_size": 9}

    with pytest.raises(InputError, match=r"n_layer is a whole number from 1, got .*…") as caught:
        model_facts("big", written(tmp_path, json.dumps(card), "config.json"))
    assert len(str(caught.value)) <= LONGEST_CHARACTERS
    with pytest.raises(LogError) as refused:
        read_log(written(tmp_path, "node,start\n" + "a," + "y" * 100_000))
    assert len(str(refused.value)) < 3_000


def test_a_message_names_so_many_problems():
    """Half a million bad rows are no reading matter."""
    shown = str(InputError("\n".join(f"line {i} is bad" for i in range(1_000))))

    assert shown.splitlines()[-1] == "and 800 more problems"
    assert len(shown.splitlines()) == 201


def test_a_message_ends_before_nobody_reads_on():
    """Two hundred problems of some length were 28,000 characters; what is left out is counted."""
    for error in (
        InputError("\n".join(f"line {i} is bad: {'x' * 120}" for i in range(150))),
        ScenarioError("own.toml", [Problem(f"pools[{i}]", "y" * 120) for i in range(140)], more=10),
    ):
        *shown, last = str(error).splitlines()

        assert len(str(error)) <= 5_000
        assert last == f"and {150 - len(shown)} more problems"


def test_a_header_longer_than_a_reader_of_csv_takes(tmp_path):
    with pytest.raises(InputError, match=r"file\.csv:1: cannot be read as cells: field larger"):
        _measurements(written(tmp_path, f"sku,{'x' * 140_000}\n1,1\n"))


def _codecarbon(folder, **changed):
    """Two runs, the second with other cells, read without any warning."""
    header, one, two = (ROOT / "tests" / "metered" / "codecarbon-germany.csv").read_text().splitlines()[:3]
    cells = dict(zip(header.split(","), two.split(","), strict=True)) | changed
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read_metered(written(folder, "\n".join([header, one, ",".join(cells.values())]) + "\n"))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"duration": "1" + "0" * 17}, "duration is 1e+17 s, more than 100 years: its start is not a date"),
        ({"duration": "1e12"}, "duration is 1e+12 s, more than 100 years: its start is not a date"),
        ({"duration": "1e308"}, "duration is '1e308', more than any meter counts"),
        ({"gpu_energy": "1e308"}, "gpu_energy is '1e308', more than any meter counts"),
        ({"gpu_count": "9" * 300}, f"gpu_count is '{'9' * 300}', more than any meter counts"),
        ({"pue": "0"}, "pue is 0, below 1"),
        ({"timestamp": "1700-01-01T00:00:00"}, "is not a date of the years 1900 to 9999"),
    ],
)
def test_metered_runs_of_endless_numbers_are_bad_rows(tmp_path, changed, reason):
    """They ended in dates before the first year, in a division by zero or in infinite sums."""
    found = _codecarbon(tmp_path, **changed)

    (row,) = found.bad_rows
    assert row.line == 3
    assert reason in row.reason
    assert np.isfinite([found.it_kwh, found.accelerators_kwh, found.accelerator_h]).all()


def test_generation_without_end(tmp_path):
    header = "datetime,Fossil Gas [MW],Nuclear [MW]\n"
    signal_ = GridSignal("average", "direct", "production")

    for cells in ("inf,5", "1e308,1e308"):
        with pytest.raises(InputError, match=r"'Fossil Gas .MW.' is not a number"):
            read_series(written(tmp_path, f"{header}2024-01-01T00:00Z,{cells}\n"), signal=signal_)


def test_a_trace_that_counts_nothing(tmp_path):
    scenario = load_scenario(ROOT / "data" / "scenarios" / "serving-only.toml")
    trace = b"timestamp,requests\n2024-01-01T00:00:00,0\n2024-01-02T00:00:00,0\n"

    with pytest.raises(InputError, match="every row counts 0 requests"):
        traffic_found("trace.csv", trace, scenario, scenario.services[0].name)


def test_slurm_energy_without_readable_times(tmp_path):
    """The energy counts; when it was is not known."""
    text = (ROOT / "tests" / "metered" / "sacct.txt").read_text()
    text = text.replace("2024-05-01T", "2Q24/05/01 at ")

    found = read_metered(written(tmp_path, text, "sacct.txt"), zone="UTC")

    assert found.it_kwh > 0
    assert found.first is None


def test_values_without_end_are_null_and_say_so(tmp_path, capsys):
    row = 'a,b,"{""quantity"": ""reliability.rate_interval"", ""failures"": 1}",1e-320,1/h,informative\n'
    path = written(tmp_path, "id,source,inputs,expected,unit,tolerance\n" + row)

    main(["validate", str(path), "--json"])
    (found,) = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)["tables"]["rows"]
    assert found["error"] is None


# Logs


@pytest.mark.slow
def test_keys_of_json_logs_may_hold_anything(tmp_path):
    """A quote, a dot, nothing at all or a star in a key broke the path that led to its value."""
    keys = ['a"b', "", "*", "a.b", "c/d", "e~f", "'"]
    rows = [
        {"node": f"n{i}", "start": f"2025-01-0{i + 1}", **{key: f"{key}{i}" for key in keys}}
        for i in range(4)
    ]
    path = written(tmp_path, "\n".join(map(json.dumps, rows)), "log.json")

    assert len(read_log(path).units) == 4
    for key in ('a"b', "a.b"):
        log = read_log(
            path,
            Mapping(
                "events", {"unit": "node", "start": "start", "cause": key}, layout="json", timezone="UTC"
            ),
        )
        assert list(log.events["cause"]) == [f"{key}{i}" for i in range(4)]


@pytest.mark.parametrize("name", ["entry_h", "age_h", "left_h", "unit", "covariate_0", 'a"b', "Site,site"])
def test_covariates_may_be_called_as_our_columns(tmp_path, name):
    cells = ",".join("ab"[: name.count(",") + 1])
    path = written(
        tmp_path, f"serial,hours,died,{name}\n" + "".join(f"g{i},{9 + i},yes,{cells}\n" for i in range(5))
    )
    if '"' in name:
        path = written(tmp_path, path.read_text().replace('a"b', '"a""b"'))
    log = read_log(path)

    assert sorted(log.lives["duration_h"]) == [9.0, 10.0, 11.0, 12.0, 13.0]
    extra = [column for column in log.lives.columns if column.startswith((*name.split(","), name))]
    assert any(list(log.lives[column]) == ["a"] * 5 for column in extra)


@pytest.mark.parametrize(
    "time_", ["-2025-01-02T00:00:00Z", "12025-01-02T00:00:00Z", "294247-01-10T00:00:00Z"]
)
def test_times_that_no_calendar_holds_are_bad_rows(tmp_path, time_):
    rows = "".join(f"n{i},2025-01-0{i + 1}T00:00:00Z\n" for i in range(5))

    log = read_log(written(tmp_path, f"node,start\n{rows}n9,{time_}\n"))

    assert log.bad_row_count == 1
    assert str(log.bad_rows[0]) == f"file.csv:7: start '{time_}' is not a time"


@pytest.mark.parametrize("nodes", ["9223372036854775808", "3000001", "1e300"])
def test_jobs_on_more_nodes_than_there_are_are_bad_rows(tmp_path, nodes):
    text = (ROOT / "data" / "samples" / "slurm-simulated.txt").read_text().splitlines()[:40]
    at = text[0].split("|").index("NNodes")
    row = next(i for i in range(1, 40) if "." not in text[i].split("|")[0])
    cells = text[row].split("|")
    text[row] = "|".join([*cells[:at], nodes, *cells[at + 1 :]])

    log = read_log(written(tmp_path, "\n".join(text) + "\n", "sacct.txt"))

    assert log.bad_row_count == 1
    assert f"'{nodes}' is not a number of nodes: 3,000,000 are the most" in str(log.bad_rows[0])


@pytest.mark.parametrize("form", ["%💥d.%m.%Y", "%Y-%m-%", "%Y-%-"])
def test_forms_of_times_that_nobody_knows_are_refused(form):
    """The database names what it does not know by its first byte, which is no text."""
    with pytest.raises(LogError, match=r"time_format.* or a form such as '%d\.%m\.%Y %H:%M'"):
        parse_mapping(f'kind = "events"\ntime_format = "{form}"\n[columns]\nunit = "a"\nstart = "b"\n')
    assert parse_mapping(
        'kind = "events"\ntime_format = "%Y年%-m%%"\n[columns]\nunit = "a"\nstart = "b"\n'
    ).time_format == ("%Y年%-m%%",)


@pytest.mark.parametrize(("years", "fewest"), [(9, 100), (20, 50), (90, 8)])
def test_pools_of_a_long_history_look_back_for_a_while(monkeypatch, years, fewest):
    """A slip in one year made a log of decades: its pools looked back on so many weeks that it took 10 s."""
    looked_back = []

    def sized(*, history, review_h, **_):
        looked_back.append((history.end_h - history.from_h[0]) / review_h)
        return HeldSpares(1, 1.0, 0.0, 1)

    monkeypatch.setattr(downtime, "spares_by_history", sized)
    start_h = np.arange(0.0, 8766.0 * years, 500.0)
    history = down_history(start_h=start_h, end_h=start_h + 20.0, window_end_h=8766.0 * years)

    scores = downtime.spares_scores(history, 0.9, 168.0)

    assert scores[0]["reviews"] >= fewest
    assert sum(looked_back) <= 1.2 * downtime.MOST_LOOKED_BACK


def test_a_window_of_centuries_is_refused(tmp_path):
    rows = "".join(f"n{i},2025-01-0{i + 1}T00:00:00Z\n" for i in range(5))

    with pytest.raises(LogError, match="its times span 2,024 years, and 100 are the most"):
        read_log(written(tmp_path, f"node,start\n{rows}n9,0001-01-01T00:00:00Z\n"))


@pytest.mark.slow
@pytest.mark.parametrize("text", ["n[0-99999][0-99999]", "n[0-999999,0-9]"])
def test_node_lists_of_millions_are_refused(text):
    with pytest.raises(ValueError, match="names more than 1,000,000 nodes"):
        expand(text)


def test_fleets_of_endless_size_are_refused(tmp_path):
    """Each unit that no row names gets a name in memory: a slip of a digit took all of it."""
    events = ROOT / "tests" / "logs" / "events.csv"
    with pytest.raises(LogError, match=r"fleet_size is 1,000,000,000,000, and 3,000,000 units are the most"):
        read_log(events, fleet_size=10**12)
    rows = "".join(f"n{i},2025-01-0{i + 1},g,1e12\n" for i in range(5))
    columns = {"unit": "node", "start": "start", "group": "group", "group_size": "size"}
    with pytest.raises(LogError, match=r"its groups have 1e\+12 units, .* correct the column of group_size"):
        read_log(
            written(tmp_path, f"node,start,group,size\n{rows}"), Mapping("events", columns, timezone="UTC")
        )


# Fits


def test_fits_say_where_they_have_no_top():
    """A likelihood that only flattens is no hill: its covariance is no spread, and its band broke."""
    random = np.random.default_rng(4)
    site = np.array(["a"] * 30 + ["b"] * 5)
    died = np.array([True] * 30 + [False] * 5)
    with pytest.raises(ValueError, match="has no finite value"):
        fit_cox(duration_h=random.weibull(1.2, 35) * 900, observed=died, covariates={"site": site})

    ranked = fit_best(duration_h=[1.0, 1.0, 1.0, 1.0, 1e9], observed=[True, True, True, True, False])
    for fit in ranked.fits:
        assert np.all(np.diag(fit.covariance) > 0)


def test_a_fit_is_silent(recwarn):
    """Ages from seconds to centuries once overflowed in the gamma function, and SciPy said so."""
    random = np.random.default_rng(1)
    fit_best(duration_h=np.exp(random.normal(6.0, 6.0, 60)), observed=np.arange(60) % 5 > 0)

    assert not [one for one in recwarn if issubclass(one.category, RuntimeWarning)]
