"""Monitoring in each format: the same samples in all of them, counts by hand, and what is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sizes import few_ranges

import everfleet as ef
from planner.answers.telemetry import telemetry_answer, telemetry_document, traffic_rows
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.own.reading import joined
from planner.inputs.telemetry import read_telemetry
from planner.trace.errors import InputError

SCRAPE = Path(__file__).parents[2] / "data" / "samples" / "dcgm-scrape.prom.gz"
H100 = "NVIDIA H100 80GB HBM3"
START_S = 1_793_188_800


def write(path: Path, held: Any) -> Path:
    path.write_text(held if isinstance(held, str) else json.dumps(held), encoding="utf-8")
    return path


def series(counter: str, values: list[float], device: str = "GPU-0", step_s: int = 60, **more: str) -> Any:
    """One series of query_range."""
    return {
        "metric": {"__name__": counter, "Hostname": "n1", "UUID": device, "modelName": H100, **more},
        "values": [[START_S + step_s * i, str(value)] for i, value in enumerate(values)],
    }


def answer(*found: Any) -> Any:
    return {"status": "success", "data": {"resultType": "matrix", "result": list(found)}}


def seen(path: Path, name: str = "own") -> Any:
    return telemetry_document(read_telemetry([path]), load_catalogue(data_folder()), name)


POWER = [70.0, 72.0, 74.0] * 4


def three_forms(folder: Path) -> list[Path]:
    """Twelve minutes of one resting accelerator, as JSON of Prometheus, as text, and as OTLP by line."""
    counters = {
        "DCGM_FI_DEV_POWER_USAGE": ("hw.power", POWER),
        "DCGM_FI_DEV_GPU_UTIL": ("hw.gpu.utilization", [0.0] * 12),
        "DCGM_FI_DEV_FB_USED": ("hw.gpu.memory.usage", [4.0] * 12),
    }
    labels = f'gpu="0",UUID="GPU-0",modelName="{H100}",Hostname="n1"'
    text = "\n".join(
        f"{name}{{{labels}}} {value} {1000 * (START_S + 60 * i)}"
        for name, (_, values) in counters.items()
        for i, value in enumerate(values)
    )
    scale = {"hw.gpu.memory.usage": 2**20}

    def attribute(key: str, value: str) -> Any:
        return {"key": key, "value": {"stringValue": value}}

    exports = [
        {
            "resourceMetrics": [
                {
                    "resource": {"attributes": [attribute("host.name", "n1")]},
                    "scopeMetrics": [
                        {
                            "metrics": [
                                {
                                    "name": name,
                                    "gauge": {
                                        "dataPoints": [
                                            {
                                                "timeUnixNano": str((START_S + 60 * i) * 10**9),
                                                "asDouble": values[i] * scale.get(name, 1),
                                                "attributes": [
                                                    attribute("hw.id", "GPU-0"),
                                                    attribute("hw.model", H100),
                                                    attribute("hw.type", "gpu"),
                                                ],
                                            }
                                        ]
                                    },
                                }
                                for name, values in counters.values()
                            ]
                        }
                    ],
                }
            ]
        }
        for i in range(12)
    ]
    return [
        write(
            folder / "range.json", answer(*(series(name, values) for name, (_, values) in counters.items()))
        ),
        write(folder / "scrape.prom", "# TYPE DCGM_FI_DEV_POWER_USAGE gauge\n" + text),
        write(folder / "otlp.jsonl", "\n".join(map(json.dumps, exports))),
    ]


def test_three_forms_of_the_same_samples_say_the_same(tmp_path: Path) -> None:
    """72 W in the mean of 70, 72 and 74, twelve samples, eleven minutes; in every format."""
    for path in three_forms(tmp_path):
        document = seen(path)
        (fact,) = document["facts"]
        (node,) = document["nodes"]

        assert (fact["key"], fact["unit"]) == ("accelerator.h100-sxm-80gb.idle_power", "W")
        assert fact["value"] == pytest.approx(72.0)
        assert node["seen_h"] == pytest.approx(11 / 60)
        assert node["energy_kwh"] == pytest.approx(0.072 * 11 / 60)


def test_the_same_file_packed_says_the_same(tmp_path: Path) -> None:
    plain = three_forms(tmp_path)[0]
    packed = tmp_path / "range.json.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))

    assert seen(packed)["facts"] == seen(plain)["facts"]


def test_a_model_in_memory_is_another_fact(tmp_path: Path) -> None:
    """5 % of 80 GB are 3,815 MiB: what holds more has a model loaded."""
    path = write(
        tmp_path / "loaded.json",
        answer(
            series("DCGM_FI_DEV_POWER_USAGE", [120.0] * 12),
            series("DCGM_FI_DEV_GPU_UTIL", [0.0] * 12),
            series("DCGM_FI_DEV_FB_USED", [61_000.0] * 12),
        ),
    )

    assert [one["key"] for one in seen(path)["facts"]] == ["accelerator.h100-sxm-80gb.loaded_idle_power"]


def test_xids_are_counted_where_the_gauge_changes(tmp_path: Path) -> None:
    """0 79 79 0 48 is two, both of hardware; 13 is the application's; what stood there at first is none."""
    path = write(
        tmp_path / "xid.json",
        answer(
            series("DCGM_FI_DEV_XID_ERRORS", [0, 79, 79, 0, 48], step_s=36_000),
            series("DCGM_FI_DEV_XID_ERRORS", [31, 31, 13, 13, 13], "GPU-1", step_s=36_000),
        ),
    )
    document = seen(path, "mine")
    (node,) = document["nodes"]
    rate = next(one for one in document["facts"] if one["key"].endswith("failure_rate"))

    assert (node["xids"], node["hardware_xids"]) == (3, 2)
    assert rate["key"] == "reliability.mine.failure_rate"
    assert rate["value"] == pytest.approx(2 / 40)  # two in 40 hours of one node
    assert rate["low"] == pytest.approx(0.2422 / 40, rel=1e-3)  # Garwood's limits of a count of 2
    assert rate["high"] == pytest.approx(7.2247 / 40, rel=1e-3)


def test_too_short_a_time_gives_no_rate(tmp_path: Path) -> None:
    path = write(tmp_path / "xid.json", answer(series("DCGM_FI_DEV_XID_ERRORS", [0, 79, 79])))
    document = seen(path)

    assert document["facts"] == []
    assert any("too short for a rate" in note for note in document["notes"])


def test_a_missing_file_is_named_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^\S+none\.json: cannot be read: No such file or directory$"):
        read_telemetry([tmp_path / "none.json"])


def test_missing_counters_are_named_with_what_they_would_tell(tmp_path: Path) -> None:
    path = write(tmp_path / "power.json", answer(series("DCGM_FI_DEV_POWER_USAGE", POWER)))
    missing = {row["quantity"]: row["tells"] for row in seen(path)["missing"]}

    assert set(missing) == {"busy_fraction", "memory_mib", "xid", "ecc_dbe"}
    assert "DCGM_FI_DEV_XID_ERRORS" in missing["xid"]


def test_gaps_are_not_seen(tmp_path: Path) -> None:
    """Ten minutes, a day of silence, ten minutes: 20 minutes of power."""
    values = [[START_S + 60 * i, "500"] for i in range(11)]
    values += [[START_S + 86_400 + 60 * i, "500"] for i in range(11)]
    one = series("DCGM_FI_DEV_POWER_USAGE", []) | {"values": values}

    assert seen(write(tmp_path / "gap.json", answer(one)))["nodes"][0]["seen_h"] == pytest.approx(20 / 60)


def test_demand_of_an_engine_becomes_traffic(tmp_path: Path) -> None:
    """10 requests with 5,000 tokens read and 800 written in a minute; the counter then begins again at 4."""
    path = write(
        tmp_path / "vllm.json",
        answer(
            series("vllm:request_success_total", [100, 110, 4]),
            series("vllm:prompt_tokens_total", [9_000, 14_000, 2_000]),
            series("vllm:generation_tokens_total", [1_000, 1_800, 400]),
        ),
    )
    first, second = traffic_rows(read_telemetry([path]))

    assert (first["requests"], first["context_tokens"], first["generated_tokens"]) == (10, 500, 80)
    assert (second["requests"], second["context_tokens"], second["generated_tokens"]) == (4, 500, 100)


def jobs_file(folder: Path, *states: str) -> Path:
    """Jobs of ten hours on four nodes, each of 72 MJ by its external step."""
    number = {"set": True, "infinite": False, "number": 72_000_000}
    smaller = number | {"number": 1_000}
    jobs = [
        {
            "allocation_nodes": 4,
            "state": {"current": [state]},
            "time": {"start": START_S, "elapsed": 36_000},
            "steps": [{"statistics": {"energy": {"consumed": one}}} for one in (smaller, number)],
        }
        for state in states
    ]
    return write(folder / "sacct.json", {"meta": {"slurm": {}}, "jobs": [*jobs, {"allocation_nodes": 0}]})


def test_jobs_of_slurm_tell_of_nodes_that_failed(tmp_path: Path) -> None:
    """Three jobs are 120 node-hours and 60 kWh, 0.5 kW a node; one ended by its node."""
    document = seen(jobs_file(tmp_path, "COMPLETED", "NODE_FAIL", "CANCELLED"))
    (jobs,), (rate,) = document["jobs"], document["facts"]

    assert (jobs["jobs"], jobs["node_h"], jobs["node_failures"], jobs["left_out"]) == (3, 120.0, 1, 1)
    assert jobs["mean_node_kw"] == pytest.approx(0.5)
    assert rate["value"] == pytest.approx(1 / 120)


def test_scrapes_without_times_need_their_distance(tmp_path: Path) -> None:
    line = f'DCGM_FI_DEV_POWER_USAGE{{UUID="GPU-0",modelName="{H100}",Hostname="n1"}} 500\n'
    path = write(tmp_path / "three.prom", 3 * line)
    with pytest.raises(InputError, match="3 scrapes without times"):
        read_telemetry([path])
    found = read_telemetry([path], interval_s=30.0)

    assert list(np.diff(found.frame["time_s"])) == [30.0, 30.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello there\n", "is no monitoring that can be read"),
        ("{}", "is no monitoring that can be read"),
        (
            '{"status": "error", "error": "parse error", "data": {"result": []}}',
            "answered with an error: parse",
        ),
        ("[" * 100_000, "nested deeper"),
        ('{"a":' * 100_000, "nested deeper"),
        (
            json.dumps(answer(series("node_load1", [1, 2]))),
            "no counter that is understood; it has node_load1",
        ),
        (json.dumps(answer(series("DCGM_FI_DEV_POWER_USAGE", ["NaN", "+Inf", "1e400", "-1"]))), "no counter"),  # type: ignore[list-item]
    ],
)
def test_what_cannot_be_used_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_telemetry([write(tmp_path / "odd", text)])


def test_a_bomb_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planner.inputs.telemetry.reading.LARGEST_BYTES", 1_000_000)
    path = tmp_path / "bomb.prom.gz"
    path.write_bytes(gzip.compress(b"0" * 3_000_000))
    with pytest.raises(InputError, match="unpacks to more than 1 MB"):
        read_telemetry([path])
    (tmp_path / "latin").write_bytes('DCGM_FI_DEV_POWER_USAGE{a="\xe9"} 1'.encode("latin-1"))
    with pytest.raises(InputError, match="no UTF-8"):
        read_telemetry([tmp_path / "latin"])


def test_more_samples_than_fit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.inputs.telemetry.samples.MOST_SAMPLES", 5)
    with pytest.raises(InputError, match="more than 5 samples"):
        read_telemetry([write(tmp_path / "long.json", answer(series("DCGM_FI_DEV_POWER_USAGE", POWER)))])


def test_facts_are_written_again_in_the_place_of_those_before(tmp_path: Path) -> None:
    """A second file takes the place of the first: facts and source, none twice."""
    folder, (first, *_) = tmp_path / "mine", three_forms(tmp_path)
    telemetry_answer([first], "own", None, folder)
    later = json.loads(first.read_text())
    for one in later["data"]["result"]:
        one["values"] = [[at + 86_400, value.replace("70.0", "76.0")] for at, value in one["values"]]
    telemetry_answer([write(tmp_path / "later.json", later)], "own", None, folder)
    rows = (folder / "facts" / "telemetry-own.csv").read_text().splitlines()

    assert len(rows) == 2
    assert rows[1].startswith("accelerator.h100-sxm-80gb.idle_power,74,W,telemetry-own-2026")
    assert "2026-10-29" in rows[1]


@pytest.mark.solve
@pytest.mark.slow
def test_an_hour_of_a_scrape_becomes_facts_that_a_plan_rests_on(tmp_path: Path, root: Path) -> None:
    """The plan's fact of power at rest is ours no more: measured, from the user's file, by its counter."""
    folder = tmp_path / "mine"
    ef.telemetry(SCRAPE, folder=folder)
    with few_ranges(plans=4, jobs=4):
        fleet = ef.plan(root / "tests" / "own_scenario.toml", baselines=False, data=folder)
    tables = fleet.to_dict()["tables"]
    fact = next(
        one
        for name in ("facts", "facts_weighed")
        for one in tables[name]
        if one["key"] == "accelerator.h100-sxm-80gb.idle_power"
    )

    assert fact["value"] == pytest.approx(0.0707804, rel=1e-6)
    assert fact["kind"] == "measured"
    assert fact["source"].startswith("Monitoring of our own nodes: dcgm-scrape.prom.gz, 2026-10-28T12:00Z")
    assert "telemetry-own.csv" in fact["locator"]
    assert "DCGM_FI_DEV_POWER_USAGE" in fact["locator"]


# ---- lost time of jobs, and records of GCM


def workload(measure: str, value: float, job: str = "a", **labels: str) -> Any:
    """A running sum of ml-goodput as Cloud Monitoring lists it: half of it an hour before the whole."""
    kind = {"type": f"compute.googleapis.com/workload/{measure}", "labels": labels}
    points = [
        {"interval": {"endTime": f"2026-10-28T{hour}:00:00Z"}, "value": {"doubleValue": value * share}}
        for hour, share in ((13, 1.0), (12, 0.5))
    ]
    return {"metric": kind, "resource": {"labels": {"workload_id": job}}, "points": points}


LOST = {
    "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION": 1800.0,
    "TPU_INITIALIZATION": 400.0,
    "TRAINING_PREP": 200.0,
    "PROGRAM_STARTUP": 250.0,
    "UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME": 120.0,
    "WASTED_PROGRESS_FROM_DISRUPTION": 900.0,
}


def goodput(stops: int = 4) -> Any:
    found = [workload("badput_time", value, badput_source=name) for name, value in LOST.items()]
    found += [workload("badput_time", 9e9, badput_source="OTHER", window_type="INTERVAL")]
    found += [workload("disruptions", stops), workload("total_elapsed_time", 86_400.0)]
    return {"timeSeries": found}


def test_lost_time_becomes_parts_of_a_restart(tmp_path: Path) -> None:
    """Four stops and five starts: 450 s of recovery and 30 s of load a stop, 120 and 50 s a start."""
    document = seen(write(tmp_path / "goodput.json", goodput()))
    facts = {one["key"]: one["value"] for one in document["facts"]}
    lost = {row["lost_to"]: row for row in document["lost"]}

    assert facts["reliability.initialisation_time"] == pytest.approx(120 / 60)
    assert facts["checkpoint.warm_up_time"] == pytest.approx(50 / 60)
    assert facts["reliability.swap_time"] == pytest.approx(
        (450 - 30) / 60
    )  # 30 s to detect, by the catalogue
    assert facts["reliability.restart_time"] == pytest.approx((450 + 30 + 120 + 50) / 60)
    assert lost["wasted progress from disruption"]["share_fraction"] == pytest.approx(900 / 86_400)
    assert "other" not in lost  # of a window, not a running sum


def test_jobs_that_never_stopped_say_what_a_start_takes_alone(tmp_path: Path) -> None:
    keys = [one["key"] for one in seen(write(tmp_path / "one.json", goodput(stops=0)))["facts"]]

    assert keys == ["reliability.initialisation_time", "checkpoint.warm_up_time"]


def test_lost_time_becomes_facts_that_a_plan_reads(tmp_path: Path) -> None:
    found, _, added = telemetry_answer(
        [write(tmp_path / "goodput.json", goodput())], "own", None, tmp_path / "mine"
    )

    assert added is not None
    assert found.lost[0].first_s == pytest.approx(found.lost[0].last_s - 86_400)
    with_mine = joined(tmp_path / "mine", load_catalogue(data_folder()))
    assert with_mine.fact("reliability.restart_time").value == pytest.approx(650 / 3600, rel=1e-5)  # h


def test_what_is_no_series_or_no_time_is_left_out(tmp_path: Path) -> None:
    """Entries that are no table, and times of 400 digits, next to those that can be read."""
    held = goodput()
    held["timeSeries"] += [3, None, []]
    checks = [gcm_check(hour, 0) for hour in range(3)]
    checks[1]["double"]["end_time"] = 10**400

    assert seen(write(tmp_path / "goodput.json", held))["facts"] != []
    found = read_telemetry([write(tmp_path / "gcm.json", checks)])
    assert found.notes == ("gcm.json: left out 1 samples: a check without result or time",)
    assert len(found.frame) == 2


def gcm_job(number: int, state: str, **more: Any) -> Any:
    job = {"JobID": str(number), "State": state, "AllocNodes": "4", "ElapsedRaw": "36000"}
    return {"time": 1, "cluster": "c", "sacct": job | {"Start": "2026-10-28T01:00:00+00:00"} | more}


def gcm_check(minute: int, result: int, name: str = "nvidia smi ecc_uncorrected") -> Any:
    flat = {"node": "n1", "health_check": name, "result": result, "end_time": START_S + 3600.0 * minute}
    return {
        "int": {"result": flat["result"]},
        "double": {"end_time": flat["end_time"]},
        "normal": {"node": flat["node"], "health_check": flat["health_check"]},
    }


def test_a_count_of_400_digits_is_none(tmp_path: Path) -> None:
    """Nodes of a job that no float holds crashed: they are not known."""
    jobs = [gcm_job(1, "NODE_FAIL", AllocNodes=10**400, ElapsedRaw=10**400), gcm_job(2, "COMPLETED")]
    found = read_telemetry([write(tmp_path / "gcm.json", jobs)])

    assert found.jobs[0].node_h == pytest.approx(40.0)


def test_jobs_of_gcm_are_those_of_slurm(tmp_path: Path) -> None:
    """Two jobs of four nodes for ten hours, one of them ended by a node; a step and a copy count nothing."""
    jobs = [gcm_job(1, "NODE_FAIL"), gcm_job(2, "CANCELLED by 7"), gcm_job(2, "CANCELLED by 7")]
    jobs.append(gcm_job(2, "COMPLETED", JobID="2.batch"))
    document = seen(write(tmp_path / "gcm.jsonl", "\n".join(map(json.dumps, jobs))), "mine")
    (row,), (fact,) = document["jobs"], document["facts"]

    assert (row["jobs"], row["node_h"], row["node_failures"]) == (2, 80.0, 1)
    assert (fact["key"], fact["value"]) == ("reliability.mine.failure_rate", 1 / 80)
    assert seen(write(tmp_path / "list.json", jobs), "mine")["facts"] == document["facts"]


def test_a_node_of_gcm_fails_when_its_hardware_becomes_critical(tmp_path: Path) -> None:
    """Well, critical, critical in two ways, well, critical: two failures in 40 hours; software counts not."""
    results = [0, 2, 2, 0, 2, *[2] * 36]
    checks = [gcm_check(hour, result) for hour, result in enumerate(results)]
    checks += [gcm_check(2, 2, "check pci"), gcm_check(3, 0, "check pci"), gcm_check(0, 2, "check ssh")]
    document = seen(write(tmp_path / "gcm.jsonl", "\n".join(map(json.dumps, checks))), "mine")
    (fact,) = document["facts"]

    assert (fact["key"], fact["value"]) == ("reliability.mine.failure_rate", pytest.approx(2 / 40))
    assert document["missing"] == []
    assert document["nodes"][0]["accelerators"] is None  # checks are of the node
