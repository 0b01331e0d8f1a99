"""Every kind of work by the guided start and by tables: a file that checks, a plan that holds it."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import pytest

from planner.answers.check import check
from planner.answers.plan.preprocessing import feeding_records
from planner.answers.plan.work import job_records, pool_records, service_records
from planner.answers.start import Guided, guided, uploads_found
from planner.inputs.editing.fields import rules_of
from planner.inputs.loading import load_catalogue
from planner.inputs.scenario import ScenarioError
from planner.inputs.scenario.files import write_toml
from planner.inputs.scenario.schema_pools import WAYS
from planner.inputs.sheets.guide import Answers, default_rows, place_row
from planner.inputs.sheets.kinds import (
    DETAILS,
    KINDS,
    begun,
    details_of,
    kind_called,
    kind_of,
    models_for,
    opened,
    part_of,
)
from planner.inputs.sheets.problem_fields import Field
from planner.inputs.sheets.reading import vocabulary
from planner.program.plan import plan_fleet
from planner.trace.errors import InputError

TODAY = date(2026, 11, 25)
CATALOGUE = load_catalogue()
Tables = Mapping[str, Sequence[Mapping[str, str]]]
CHAT = {"name": "chat", "model": "llama-3.1-8b", "users": "200k"}
RUN = {"name": "run", "model": "llama-3.1-8b", "tokens": "40B", "deadline": "2027-03-31"}
WRITES = {"name": "pool", "model": "llama-3.1-8b"}
# Of each kind, and of each thing that it may state besides: what is answered.
CASES: Mapping[str, Tables] = {
    "service": {"services": [CHAT | {"growth": "30 %"}]},
    "sound": {
        "services": [{"name": "chat", "model": "whisper-large-v3", "audio_rate": "5k", "audio": "2 min"}]
    },
    "regions": {
        "services": [CHAT],
        "regions": [
            {"service": "chat", "users": "de", "share": "60 %", "sites": "de", "busiest_time": "19"},
            {"service": "chat", "users": "fr", "latency": "de 12, paris 3 ms", "busiest_time": "20"},
        ],
    },
    "prefill apart": {"services": [CHAT | {"phases": "apart"}]},
    "classes": {
        "services": [CHAT | {"cache_hits": "40 %", "cached_tokens": ""}],
        "classes": [
            {"service": "chat", "share": "0.4", "tokens_in": "3000", "tokens_out": "100"},
            {"service": "chat", "share": "0.6", "tokens_in": "300", "tokens_out": "400"},
        ],
    },
    "trace": {"services": [CHAT | {"traffic": "azure-2023-conv"}]},
    "smaller models": {
        "services": [
            {"name": "chat", "model": "llama-3.1-70b", "users": "20k", "models": "Llama 3.1 8B"}
            | {"mean_quality_budget": "3 %", "quality_budget": ""}
        ]
    },
    "pipeline": {
        "services": [
            {"name": "filter", "model": "rm1", "requests_per_day": "2M", "pipeline": "feed"},
            {"name": "chat", "model": "dlrm-dcnv2", "requests_per_day": "2M", "pipeline": "feed"},
        ]
    },
    "run fed by workers": {
        "training": [RUN | {"ingestion": "yes", "workers_per_node": "3", "workers": "", "worker_sku": ""}]
    },
    "data for a run": {
        "training": [
            RUN
            | {"earliest": "2027-02-01", "generated": "10 %", "data_price": "0.5 USD / 1e6 tokens"}
            | {"bought": "", "passes": ""}
        ],
        "pools": [WRITES | {"feeds": "run"}],
    },
    "team": {"pools": [WRITES | {"people": "20", "growth": "60 %"}]},
    "batch inference": {"pools": [WRITES | {"items": "5M"}]},
    "evaluations": {"pools": [WRITES | {"items": "43,090", "passes": "24", "tokens_out": "0"}]},
    "tuning jobs": {
        "pools": [
            WRITES
            | {"jobs": "30", "job_tokens": "200M"}
            | {"method": "lora", "adapter_rank": "", "reference_passes": "1"}
        ]
    },
    "tuning jobs by hours": {"pools": [WRITES | {"jobs": "30", "job_p50": "7", "job_p99": "300"}]},
    "reinforcement learning": {"pools": [WRITES | {"prompts": "150k", "wasted": "20 %"}]},
    "asynchronous": {"pools": [WRITES | {"prompts": "150k", "mode": "asynchronous"}]},
    "agents": {
        "pools": [
            WRITES
            | {"campaigns": "20", "agents": "11", "campaign_time": "24", "success": "47.7 %"}
            | {"agent_accelerators": "0.5"}
        ]
    },
    "recordings": {
        "pools": [{"name": "pool", "model": "whisper-large-v3", "audio_rate": "150k", "audio": "20 min"}]
    },
}


def asked(tables: Tables) -> Answers:
    sites = [
        {**place_row("de", CATALOGUE), "power_cap": "700"},
        {**place_row("fr", CATALOGUE), "name": "paris", "power_cap": "500"},
    ]
    market = [{"sku": "h100-8", "lead_time": "0"}]
    return Answers({"sites": sites, "market": market, **tables}, horizon={"periods": 3, "period": "month"})


def of(tables: Tables) -> Guided:
    return guided(asked(tables), CATALOGUE, today=TODAY, data=None, files={})


@pytest.mark.parametrize("tables", CASES.values(), ids=CASES)
def test_each_kind_becomes_a_file_that_checks(tables: Tables) -> None:
    found = of(tables)

    assert not any(found.missing.values()), found.missing
    assert not found.wrong
    assert found.found is not None
    made = tomllib.loads(found.text)
    for table, rows in tables.items():
        if table in ("regions", "classes"):
            (service,) = made["services"]
            assert len(service[table]) == len(rows)
            continue
        for row, entry in zip(rows, made[table], strict=True):
            named = {key: value for key, value in row.items() if value and key not in ("users", "people")}
            kept = {*entry, *entry.get("ingestion", {})} | {"requests_per_day"}
            assert named.keys() <= kept, (table, named, entry)


@pytest.mark.solve
@pytest.mark.parametrize("tables", CASES.values(), ids=CASES)
def test_a_plan_holds_each_kind(tables: Tables) -> None:
    """Of each entry that was asked for, some of it is done somewhere."""
    scenario = check(of(tables).text, "mine.toml")
    plan = plan_fleet(scenario.but(solve=scenario.solve.but(gap_fraction=0.05)), baselines=False)

    solution = plan.answer.solution
    assert solution is not None
    done = {
        "services": {row["service"] for row in service_records(plan, solution)},
        "pools": {row["pool"] for row in pool_records(plan, solution)},
        "training": {row["job"] for row in job_records(plan, solution)},
    }
    for table, names in done.items():
        assert {row["name"] for row in tables.get(table, ())} == names
    if "ingestion" in str(tables):
        assert feeding_records(plan, solution)


def test_what_is_stated_is_what_is_planned_for() -> None:
    """Needs by hand: 5,000 h of sound a day in pieces of 2 min, twice the mean at the peak; 20 campaigns."""
    sound = check(of(CASES["sound"]).text, "x").services[0]
    agents = check(of(CASES["agents"]).text, "x").pools[0]
    regions = check(of(CASES["regions"]).text, "x").services[0].regions
    run = check(of(CASES["run fed by workers"]).text, "x").training[0]
    grown = check(of(CASES["service"]).text, "x").services[0].peak_requests_per_s

    assert sound.peak_requests_per_s == pytest.approx((5000 * 3600 / 120 / 86400 * 2,) * 3)
    assert sound.tokens_out is None or sound.tokens_out == pytest.approx(3.5 * 120)
    assert agents.campaigns_per_d == pytest.approx((20 * 12 / 365.25,) * 3)
    assert (agents.agents, agents.campaign_time_h, agents.success_fraction) == (11, 24, 0.477)
    assert [(one.users, one.share_fraction, one.busiest_time_h) for one in regions] == [
        ("de", 0.6, 19),
        ("fr", 0.4, 20),
    ]
    assert regions[0].sites == ("de",)
    assert regions[1].latency_s == {"de": 0.012, "paris": 0.003}
    assert run.ingestion is not None
    assert (run.ingestion.workers_per_node, run.ingestion.workers) == (3, None)
    assert grown[2] / grown[0] == pytest.approx(1.3 ** (2 / 12))


# A case, the field that is answered wrong, and what is told there.
WRONG = (
    ("service", ("services", 1, "growth"), "much", "'much' is not a number with a unit"),
    ("service", ("services", 1, "first_token"), "soon", "'soon' is not a number with a unit"),
    ("service", ("services", 1, "mean_to_peak"), "0", "is no share above 0"),
    ("sound", ("services", 1, "audio_rate"), "a lot", "'a lot' is not a number with a unit"),
    ("sound", ("services", 1, "audio"), "-3", "out of range"),
    ("regions", ("regions", 1, "users"), "atlantis", "no place 'atlantis' is known"),
    ("regions", ("regions", 2, "users"), "de", "'de' stands in several"),
    ("regions", ("regions", 1, "share"), "90", "is out of range"),
    ("regions", ("regions", 1, "share"), "most", "'most' is no number"),
    ("regions", ("regions", 1, "sites"), "rome", "no site or rental 'rome'"),
    ("regions", ("regions", 1, "busiest_time"), "27", "out of range"),
    ("regions", ("regions", 2, "busiest_time"), "", "is missing, and others state it"),
    ("regions", ("regions", 2, "latency"), "near", "'near' is no site with a time"),
    ("prefill apart", ("services", 1, "phases"), "yes", "apart"),
    ("classes", ("services", 1, "cache_hits"), "2", "out of range"),
    ("classes", ("services", 1, "cached_tokens"), "some", "'some' is no number"),
    ("classes", ("classes", 1, "share"), "0.7", "their shares add up to 1.3"),
    ("classes", ("classes", 2, "tokens_in"), "few", "'few' is no number"),
    ("classes", ("classes", 2, "tokens_out"), "-1", "out of range"),
    ("trace", ("services", 1, "traffic"), "mine", "mine"),
    ("smaller models", ("services", 1, "models"), "gpt-9", "gpt-9"),
    ("smaller models", ("services", 1, "mean_quality_budget"), "3", "out of range"),
    ("pipeline", ("services", 2, "response_time"), "9", "is that of the whole pipeline 'feed'"),
    ("run fed by workers", ("training", 1, "workers_per_node"), "x", "'x' is no number"),
    ("run fed by workers", ("training", 1, "workers"), "0.5", "is not a whole number"),
    ("run fed by workers", ("training", 1, "worker_sku"), "z99", "'z99' is no node"),
    ("data for a run", ("training", 1, "data_price"), "cheap", "is not a price"),
    ("data for a run", ("training", 1, "bought"), "95 %", "together"),
    ("data for a run", ("training", 1, "generated"), "2", "out of range"),
    ("data for a run", ("training", 1, "passes"), "0", "out of range"),
    ("data for a run", ("pools", 1, "feeds"), "other", "no training run 'other'"),
    ("batch inference", ("pools", 1, "items"), "many", "'many' is not a number with a unit"),
    ("evaluations", ("pools", 1, "passes"), "0", "out of range"),
    ("tuning jobs", ("pools", 1, "jobs"), "some", "'some' is not a number with a unit"),
    ("tuning jobs", ("pools", 1, "job_tokens"), "lots", "'lots' is no number"),
    ("tuning jobs", ("pools", 1, "adapter_rank"), "0", "out of range"),
    ("tuning jobs", ("pools", 1, "reference_passes"), "99", "out of range"),
    ("tuning jobs by hours", ("pools", 1, "job_p99"), "3", "is below job_p50"),
    ("tuning jobs by hours", ("pools", 1, "job_p99"), "", "is missing, and jobs needs it"),
    ("reinforcement learning", ("pools", 1, "prompts"), "x", "'x' is not a number with a unit"),
    ("reinforcement learning", ("pools", 1, "wasted"), "100 %", "out of range"),
    ("reinforcement learning", ("pools", 1, "longest_tokens"), "9", "is below tokens_out"),
    ("asynchronous", ("pools", 1, "step_prompts"), "64", "has no effect where no step waits"),
    ("asynchronous", ("pools", 1, "mode"), "maybe", "maybe"),
    ("agents", ("pools", 1, "campaigns"), "x", "'x' is not a number with a unit"),
    ("agents", ("pools", 1, "agents"), "0", "out of range"),
    ("agents", ("pools", 1, "campaign_time"), "1 kg", "1 kg"),
    ("agents", ("pools", 1, "success"), "0", "out of range"),
    ("agents", ("pools", 1, "agent_accelerators"), "0", "out of range"),
    ("recordings", ("pools", 1, "audio_rate"), "x", "'x' is not a number with a unit"),
    ("recordings", ("pools", 1, "audio"), "2 d", "out of range"),
)


@pytest.mark.parametrize(
    ("case", "at", "text", "said"), WRONG, ids=[f"{w[0]}: {w[1][2]} {w[2]}" for w in WRONG]
)
def test_a_wrong_value_is_told_once_at_its_field(
    case: str, at: tuple[str, int, str], text: str, said: str
) -> None:
    table, number, key = at
    tables = {name: [dict(row) for row in rows] for name, rows in CASES[case].items()}
    tables[table][number - 1][key] = text
    found = of(tables)

    assert [len(lines) for lines in found.wrong.values()] == [1], found.wrong
    assert [*found.wrong] == ["Work"]
    (field, told), *more = found.fields.items()
    assert (field, more) == (Field(*at), []) or (case, key) == ("regions", "users")
    assert said in told
    assert found.found is None


def test_what_lacks_is_told_in_words_and_what_stands_is_checked_meanwhile() -> None:
    some: Tables = {
        "services": [{"name": "hear", "model": "whisper-large-v3", "audio_rate": ""}],
        "regions": [
            {"service": "hear", "users": "", "busiest_time": "27"},
            {"service": "hear", "users": "", "busiest_time": "9"},
        ],
        "pools": [
            WRITES | {"campaigns": "", "agents": "-1"},
            WRITES | {"name": "tune", "jobs": "3", "job_p50": "x"},
            WRITES | {"name": "more", "feeds": ""},
        ],
        "training": [RUN | {"deadline": ""}],
    }
    found = of(some)

    assert found.missing["Work"] == [
        "hear: users or requests per day or hours of sound a day",
        "run: deadline",
        "pool: campaigns a month, campaign time",
        "more: the run that it writes for",
        *["a region of hear: where its users are"] * 2,
    ]
    assert {field: told[:20] for field, told in found.fields.items()} == {
        Field("regions", 1, "busiest_time"): "'27 h' is out of ran",
        Field("pools", 1, "agents"): "-1 is out of range: ",
        Field("pools", 2, "job_p50"): "'x' is not a number ",
    }


def test_the_last_region_takes_what_the_others_leave() -> None:
    more = [{"service": "chat", "users": "it"}, {"service": "chat", "users": "es"}]
    tables = {**CASES["regions"], "regions": [{"service": "chat", "users": "de", "share": "0.6"}, *more]}
    found = of(tables)
    full = of({**tables, "regions": [{"service": "chat", "users": "de", "share": "1"}, *more]})

    assert [one.share_fraction for one in check(found.text, "x").services[0].regions] == [0.6, 0.2, 0.2]
    assert "chat: users in it, es have a share of 0.2, what others leave" in found.notes
    assert full.fields == {
        Field("regions", 2, "share"): "is empty, and those of the others leave nothing: state it"
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_kind_has_models_and_begins_with_what_tells_it(kind: Any) -> None:
    models = models_for(kind, CATALOGUE)
    row = begun(kind, "one", models[0], CATALOGUE)

    assert kind_of(kind.table, row) == kind
    assert kind_called(kind.name) == kind
    for ways in kind.needs:
        assert all(part_of(kind.table, key) for key in ways)
    assert [*opened(kind.table, row, {}, CATALOGUE)] == []
    if kind.table != "services":
        shown = {line["what"] for line in default_rows("Work", asked({kind.table: [row]}), CATALOGUE)}
        assert shown or kind.name == "data for a run"


def test_what_a_model_may_state_besides_is_of_its_kind() -> None:
    def names(table: str, **row: str) -> set[str]:
        return {detail.name for detail in details_of(table, row, CATALOGUE)}

    assert "prefill and decode apart" in names("services", model="llama-3.1-8b")
    reads = names("services", model="llama-3.1-8b", tokens_out="0")
    assert not {"prefill and decode apart", "latency"} & reads
    assert "latency" in names("services", model="whisper-large-v3")
    assert names("services", model="sdxl") == {
        "growth",
        "peak and availability",
        "where users are",
        "a stage of a pipeline",
        "smaller models",
    }
    assert "growth" not in names("pools", model="llama-3.1-8b", feeds="")
    assert {detail.name for detail in DETAILS} == {
        name
        for kind in KINDS
        for model in models_for(kind, CATALOGUE)
        for name in names(kind.table, **begun(kind, "x", model, CATALOGUE))
    }


# Keys of work that neither the guide nor tables ask for, and why. A new key has to be in one of both places.
NOT_ASKED = {
    "tables": "a file of one's own next to the scenario",
    "curve": "a file of one's own next to the scenario",
    "target": "a file of one's own next to the scenario",
    "traffic_shape": "a file of one's own next to the scenario",
    "people": "asked for; it becomes accelerator-hours",
    "checkpoint_storage": "a class of the catalogue, parallel-fs by default",
    "precision": "how it is done",
    "answers": "of benchmarks: requests of users spread",
    "person_time": "the fact planning.person_time",
    **dict.fromkeys(
        ("cache_precision", "precisions", "techniques", "engine", "power_caps", "clocks", "routing"),
        "how it is done",
    ),
    **dict.fromkeys(
        ("skus", "sites", "skus_today", "sites_today", "least_replicas"), "where work may be done"
    ),
    **dict.fromkeys(("data_site", "data_moved", "logs_moved", "across"), "where data lie"),
    **dict.fromkeys(("demand_error", "unmet_penalty", "busiest_time"), "how sure, and when"),
    **dict.fromkeys(("checkpoint", "checkpoint_interval", "deadline_confidence"), "how a run is kept"),
    **dict.fromkeys(
        ("may_be_left_out", "left_out_penalty", "count", "pausable", "partial", "ramp"), "which may give"
    ),
    **dict.fromkeys(("window", "may_wait", "batch_sequences"), "how work waits"),
}


@pytest.mark.parametrize("table", ["services", "training", "pools"])
def test_each_key_of_work_is_asked_for_or_left_out_for_a_reason(table: str) -> None:
    columns = {part_of(table, key)[1] for key in vocabulary()[table] if key != "tells"}
    own = {"period", "requests_per_day", "accelerators"}

    assert {*rules_of(table)} - columns - NOT_ASKED.keys() == set()
    assert (columns - own) - {*rules_of(table), "ingestion", "workers_per_node", "workers", "sku"} == set()
    assert {way.key for way in WAYS} <= {*vocabulary()["pools"]}


SITES = "Site;Region;Power (MW);Racks\nfrankfurt;aws/eu-central-1;0.8;40\n"
MARKET = "SKU,Price (USD),Lead time (d)\nh100-8,300000,0\n"


def from_tables(**files: str) -> dict[str, Any]:
    named = {
        f"{name}.csv": text.encode() for name, text in ({"sites": SITES, "market": MARKET} | files).items()
    }
    return tomllib.loads(uploads_found(named, title="mine", today=TODAY)[0])


def test_tables_carry_sound_regions_and_each_kind_of_pool() -> None:
    """As people head them; a way each row, by month where it is stated by month."""
    made = from_tables(
        speech="Service,Model,Month,Hours of sound a day,Audio length\n"
        'captions,whisper-large-v3,2027-01,3000,2 min\ncaptions,,2027-02,"3,800",\n',
        users="Service,Country,Share,Latency,Busiest hour\ncaptions,Germany,70 %,frankfurt 12 ms,19\n"
        "captions,fr,,,20\n",
        batch="Pool,Model,Items per day,Tokens in,Tokens out,Passes\neval,llama-3.1-8b,43090,300,300,24\n",
        agents="Team,Model,Campaigns per month,Agents,Campaign time (h),Success rate,GPUs of an agent\n"
        "search,llama-3.1-8b,20,11,24,47.7 %,0.5\n",
        runs="Run,Model,Tokens,Deadline,Workers per node,Most workers\n"
        "pretrain,llama-3.1-8b,1e11,2027-02-28,22,60\n",
    )
    (speech,), (run,) = made["services"], made["training"]
    pools = {pool["name"]: pool for pool in made["pools"]}

    assert speech["audio_rate"] == ["3000 h/d", "3800 h/d"]
    assert speech["audio"] == "2 min"
    assert speech["regions"] == [
        {"users": "de", "share": 0.7, "latency": {"frankfurt": "12 ms"}, "busiest_time": "19 h"},
        {"users": "fr", "share": 0.3, "busiest_time": "20 h"},
    ]
    assert (pools["eval"]["items"], pools["eval"]["passes"]) == ("43090 /d", 24)
    assert (pools["search"]["campaigns"], pools["search"]["success"]) == ("20 /month", 0.477)
    assert run["ingestion"] == {"workers_per_node": 22, "workers": 60}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            {"users": "Service,Country,Share\nvoice,de,1\n"},
            "users.csv, line 2: service: 'voice' is in no table of services",
        ),
        (
            {"pools": "Pool,Model,Month,Items,GPU hours\na,llama-3-8b,2027-01,5,\na,llama-3-8b,2027-02,,5\n"},
            "gpu_time: a is stated by items in the rows before",
        ),
        (
            {"pools": "Pool,Model,Items,Prompts\na,llama-3-8b,5,6\n"},
            "items, prompts: state one of them",
        ),
        (
            {"training": "Run,Model,Tokens,Deadline,Fed by workers\na,llama-3-8b,1e9,2027-06-30,maybe\n"},
            "ingestion: 'maybe' is neither yes nor no",
        ),
    ],
)
def test_tables_that_do_not_fit_are_told_with_their_place(files: dict[str, str], said: str) -> None:
    services = "Service,Model,Peak rate\nchat,llama-3.1-8b,3\n"
    with pytest.raises(InputError) as caught:
        from_tables(services=services, **files)

    assert said in str(caught.value)


@pytest.mark.slow  # a check for each key of each kind
@pytest.mark.parametrize("case", CASES)
def test_a_value_of_work_that_cannot_be_read_is_told_and_breaks_no_other_check(case: str) -> None:
    made = tomllib.loads(of(CASES[case]).text)
    for table in ("services", "training", "pools"):
        for i, entry in enumerate(made.get(table, ())):
            inner = [(key, k) for key in ("regions", "classes") for k in range(len(entry.get(key, ())))]
            for at in [(), *inner, *([("ingestion",)] if "ingestion" in entry else [])]:
                for key in reached(entry, at):
                    wrong = copy.deepcopy(made)
                    reached(wrong[table][i], at)[key] = {"@": "@"}
                    with pytest.raises(ScenarioError):
                        check(write_toml(wrong), "x")


def reached(entry: Any, at: Sequence[Any]) -> dict[str, Any]:
    for step in at:
        entry = entry[step]
    found: dict[str, Any] = entry
    return found
