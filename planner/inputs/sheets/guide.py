"""A scenario counted for step by step: what a step fills, what it lacks, what holds where nothing is said.

The answers are rows as a spreadsheet has them, so that both become a scenario by one road.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from planner.inputs.catalogue import Catalogue, Region
from planner.inputs.editing.fields import catalogued, default_of, value_of
from planner.inputs.geography import spots
from planner.inputs.model_kinds import SPEECH, kind_of_model
from planner.inputs.scenario import Problem, ScenarioError
from planner.inputs.scenario.parts import keys_of
from planner.inputs.sheets.children import country_of
from planner.inputs.sheets.defaults import defaults_of, start_defaults
from planner.inputs.sheets.families import take_one_signal
from planner.inputs.sheets.kinds import (
    CHILDREN,
    FED,
    KINDS,
    PARENT,
    WORK,
    WORKERS,
    Row,
    kind_of,
    needed,
    part_of,
)
from planner.inputs.sheets.making import Made, scenario_from
from planner.inputs.sheets.periods import next_quarter
from planner.inputs.sheets.problem_fields import Field
from planner.inputs.sheets.reading import NUMBER, stated_rows
from planner.trace.currency import USD
from planner.trace.numbers import number_text
from planner.trace.quantities import Fact
from planner.trace.records import Record

STEPS: Mapping[str, tuple[str, ...]] = {
    "Places": ("sites",),
    "Fleet": ("fleet",),
    "Work": (*WORK, *CHILDREN),
    "Policy": ("horizon", "policy", "reliability"),
    "Market": ("market", "rental"),
    "Review": (),
}
# What an entry has to state: one key of each line; of work its kind says that.
_NEEDED: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "sites": (("power_cap",),),
    "fleet": (("nodes",), ("in_service",)),
    "rental": (("region", "grid"),),
}
# What is put where an entry lacks something, so that the rest of it can be checked.
_STAND_INS = {
    "power_cap": "1 MW",
    "nodes": "1",
    "in_service": "2026-01-01",  # after every chip was first sold
    "users": "1000",
    "tokens": "1e9",
    "samples": "1e9",
    "people": "1",
    "region": "aws/us-east-1",
    "items": "1000",
    "passes": "1",
    "jobs": "1",
    "job_tokens": "1e6",
    "prompts": "1000",
    "campaigns": "1",
    "agents": "1",
    "campaign_time": "1",
    "audio_rate": "1",
    "growth": "0 %",
    "cache_hits": "0.1",
}
# What may be left out, and is shown with what holds then.
_LEFT_OUT: Mapping[str, tuple[str, ...]] = {
    "sites": ("grid", "pue", "electricity_price", "space_price", "racks"),
    "fleet": ("life", "resale"),
    "services": (
        "requests_per_day",
        "mean_to_peak",
        "tokens_in",
        "tokens_out",
        "first_token",
        "per_token",
        "candidates",
        "images",
        "audio",
        "response_time",
        "availability",
        "precision",
    ),
    "training": (
        "nodes",
        "sequence_tokens",
        "batch_tokens",
        "batch_samples",
        "precision",
        "checkpoint_storage",
        "workers_per_node",
        "worker_sku",
    ),
    "pools": (
        "gpu_time",
        *dict.fromkeys(key for kind in KINDS if kind.table == "pools" for key in kind.may),
        "utilisation",
    ),
    "policy": ("discount_rate", "node_life", "confidence", "retirement"),
    "reliability": ("failures", "restart", "repair", "spare_confidence"),
    "market": ("price", "lead_time"),
    "rental": ("price", "pue"),
}
_BEHIND = {
    ("sites", "racks"): "planning.rack_power",
    ("services", "requests_per_day"): "planning.user_requests",
    ("pools", "gpu_time"): "planning.person_time",
    ("training", "workers_per_node"): "ingestion.workers_per_trainer",
}
_OF_SOUND = "speech.default.tokens_per_s"  # what a model of speech writes where nobody says how much
_SAID = {
    ("sites", "grid"): "carbon of electricity",
    ("sites", "racks"): "power for each rack",
    ("services", "requests_per_day"): "requests of a user on a day",
    ("pools", "gpu_time"): "accelerator-hours of a person in a month",
}
_WORDS = {
    "gpu_time": "accelerator-hours",
    "audio_rate": "hours of sound a day",
    "items": "items a day",
    "jobs": "jobs a day",
    "prompts": "prompts a day",
    "campaigns": "campaigns a month",
    "job_tokens": "tokens of a job",
    "job_p50": "hours of a job",
    "feeds": "the run that it writes for",
    "regions.users": "where its users are",
}
_OF_CHILDREN = {"regions": "a region", "classes": "a kind of request"}
_OURS = "assumed: data/start.toml"


@dataclass(frozen=True, slots=True)
class Answers:
    """What was answered so far: rows by table, and keys of the horizon and the policy."""

    tables: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    horizon: Mapping[str, Any] = field(default_factory=dict)
    policy: Mapping[str, Any] = field(default_factory=dict)
    currency: str = USD
    title: str = ""
    buys: bool = True


def places(catalogue: Catalogue) -> dict[str, str]:
    """What a place may be named by, with its words: own regions, countries, then regions of providers."""
    own = catalogue.own.regions if catalogue.own else {}
    found = {name: f"{one.title} ({name}), yours" for name, one in own.items()}
    for name in catalogue.names("grid", "intensity"):
        if len(name) == 2 and name not in found:
            found[name] = f"{country_of(name, catalogue)} ({name})"
    return found | {
        name: f"{one.title}, {one.country} ({name})"
        for name, one in catalogue.regions.items()
        if name not in found
    }


def place_row(place: str, catalogue: Catalogue, taken: Sequence[str] = ()) -> dict[str, str]:
    """What a row states of a place: its region or grid, and a name that no other has."""
    short = place.rpartition("/")[2]
    name = next(name for name in (short, *(f"{short}-{i}" for i in range(2, 1000))) if name not in taken)
    return {"name": name, ("region" if place in catalogue.regions else "grid"): place}


def missing(answers: Answers) -> dict[str, list[str]]:
    """What each step still lacks, in words."""
    found: dict[str, list[str]] = {step: [] for step in STEPS}
    for step, tables in STEPS.items():
        for table in tables:
            for row in answers.tables.get(table, ()):
                if ways := [" or ".join(words(key, table) for key in keys) for keys in lacks(table, row)]:
                    found[step].append(f"{entry(table, row)}: {', '.join(ways)}")
    stated = {table for table, rows in answers.tables.items() if rows}
    if "sites" not in stated:
        found["Places"].append("a place where nodes stand or may stand")
    if not stated & {*WORK}:
        found["Work"].append("a service, a run or a team: something that a plan is for")
    if not stated & {"market", "rental"} and not (answers.buys and "fleet" in stated):
        found["Market"].append("something to buy or to rent: no fleet stands")
    if answers.policy.get("objective") == "weighted" and not answers.policy.get("carbon_price"):
        found["Policy"].append("carbon price: the weighted objective needs it")
    return found


def lacks(table: str, row: Row) -> list[tuple[str, ...]]:
    """What an entry has to state yet: one key of each line."""
    ways = needed(table, row) if table in (*WORK, *CHILDREN) else _NEEDED.get(table, ())
    return [keys for keys in ways if not any(row.get(key) for key in keys)]


def numbered(answers: Answers) -> Answers:
    """The same with the number of each row in it, which it keeps where others are left out."""
    return replace(
        answers,
        tables={
            table: [{**row, NUMBER: str(number)} for number, row in enumerate(rows, start=1)]
            for table, rows in answers.tables.items()
        },
    )


def with_stand_ins(answers: Answers) -> Answers:
    """The same with something wherever an entry lacks it: so that what is stated can be checked already.

    An entry that lacks what nothing can stand for is left out: a run without a deadline. A service whose
    classes are begun is without them.
    """
    found: dict[str, list[Row]] = {}
    for table, rows in answers.tables.items():
        held = found.setdefault(table, [])
        for row in rows:
            keys = [ways[0] for ways in lacks(table, row)]
            if table == "regions":
                held.append({**row, **{key: _another_country(rows, held) for key in keys}})
            elif all(key in _STAND_INS for key in keys):
                held.append({**row, **{key: _STAND_INS[key] for key in keys}})
    services, runs = ({row.get("name") for row in found.get(table, ())} for table in ("services", "training"))
    if "pools" in found:
        found["pools"] = [row for row in found["pools"] if "feeds" not in row or row["feeds"] in runs]
    if "classes" in found:
        stated = answers.tables["classes"]
        services = services - {row.get(PARENT) for row in stated if lacks("classes", row)}
        found["classes"] = [row for row in found["classes"] if row.get(PARENT) in services]
    return replace(answers, tables=found)


def _another_country(stated: Sequence[Row], held: Sequence[Row]) -> str:
    """A place of users that no region names yet."""
    taken = {row.get("users") for row in (*stated, *held)}
    return next(name for name in spots() if len(name) == 2 and name not in taken)


def entry(table: str, row: Row) -> str:
    """What an entry is called."""
    if table in CHILDREN:
        of = row.get(PARENT) or "a service"
        return f"{of}, users in {row['users']}" if row.get("users") else f"{_OF_CHILDREN[table]} of {of}"
    at = f" at {row['site']}" if row.get("site") else ""
    return row.get("name") or f"{row.get('sku') or row.get('model') or table}{at}"


def entry_of(at: Field, answers: Answers) -> str:
    """The entry and the key of a field in words."""
    rows = answers.tables.get(at.table, ())
    called = entry(at.table, rows[at.number - 1]) if at.number else at.table
    return f"{called}: {words(at.key, at.table)}"


def words(key: str, table: str = "") -> str:
    """A key in words."""
    return _WORDS.get(f"{table}.{key}") or _WORDS.get(key, key.replace("_", " "))


def stated_tables(
    answers: Answers, catalogue: Catalogue, *, title: str, today: date, data: str | None
) -> Made:
    """The tables of the scenario that the answers state.

    Raises:
        ScenarioError: what cannot be understood, by table and line.
    """
    sheets = [stated_rows(table, rows, answers.currency) for table, rows in answers.tables.items() if rows]
    root: dict[str, Any] = {} if answers.currency == USD else {"currency": answers.currency}
    if data is not None:
        root["data"] = data
    policy = {
        key: value_of("policy", key, str(value))
        for key, value in answers.policy.items()
        if value and (key != "carbon_price" or answers.policy.get("objective") == "weighted")
    }
    horizon = {**answers.horizon, "start": _first_day(answers.horizon.get("start"), today)}
    settings = {**root, "horizon": horizon, "policy": policy}
    return scenario_from(
        sheets,
        catalogue,
        title=answers.title or title,
        today=today,
        settings=settings,
        buys=answers.buys,
    )


def _first_day(stated: Any, today: date) -> date:
    if not stated:
        return next_quarter(today)
    try:
        return date.fromisoformat(str(stated))
    except ValueError:
        said = f"'{stated}' is no day: write for example 2027-01-01"
        raise ScenarioError("", [Problem("horizon.start", said)]) from None


def default_rows(step: str, answers: Answers, catalogue: Catalogue) -> list[Record]:
    """What holds in a step where nothing is said: value, range and source; entries alike are one row."""
    found: dict[tuple[str, ...], list[str]] = {}
    tables = {table: [dict(row) for row in rows] for table, rows in answers.tables.items()}
    take_one_signal(tables, catalogue)
    for table, name, row in _stated(step, replace(answers, tables=tables)):
        for key in _LEFT_OUT.get(table, ()):
            if (key == "grid" or not row.get(key)) and not _needless(table, key, row, catalogue):
                found.setdefault((key, *_default(table, key, row, catalogue)), []).append(name)
    return [
        {
            "of": ", ".join(dict.fromkeys(names)),
            "what": _SAID.get((_table(step, key), key), words(key)),
            "default": value,
            "range": spread,
            "source": source,
        }
        for (key, value, spread, source), names in found.items()
    ]


def default_text(table: str, key: str, row: Row, catalogue: Catalogue) -> str:
    """What a key is where nothing is said, in a few words."""
    return _default(table, key, row, catalogue)[0]


def _table(step: str, key: str) -> str:
    return next((table for table in STEPS[step] if key in _LEFT_OUT.get(table, ())), "")


def _stated(step: str, answers: Answers) -> Iterator[tuple[str, str, Row]]:
    for table in STEPS[step]:
        if table in ("policy", "reliability"):
            yield table, table, {key: str(value) for key, value in answers.policy.items() if value}
        rows = list(answers.tables.get(table, ()))
        if table == "market" and not rows and answers.buys:
            stands = dict.fromkeys(row["sku"] for row in answers.tables.get("fleet", ()))
            rows = [{"sku": sku} for sku in stands]
        for row in rows:
            yield table, entry(table, row), row


def _needless(table: str, key: str, row: Row, catalogue: Catalogue) -> bool:
    """Whether a default has no part in a row: space that is owned, people who are not named, other kinds."""
    counted = {"requests_per_day": "users", "gpu_time": "people"}.get(key)
    if counted is not None:
        return not row.get(counted)
    if table == "pools" and key in kind_of(table, row).may:
        return row.get("mode") == "asynchronous" and key in ("step_prompts", "longest_tokens")
    if table == "pools":
        return key != "utilisation"
    if table == "services" and key == "tokens_out" and _writes_sound(row, catalogue):
        return False
    if table == "training" and key in WORKERS:
        return FED not in row
    if table in ("services", "training"):
        return key not in defaults_of(start_defaults(), table, row, catalogue)
    return key == "space_price" and row.get("space") == "owned"


def _writes_sound(row: Row, catalogue: Catalogue) -> bool:
    return kind_of_model(catalogue, row.get("model")) == SPEECH


def _default(table: str, key: str, row: Row, catalogue: Catalogue) -> tuple[str, str, str]:
    """Value, range and source of what holds where a key is left out."""
    ours = start_defaults()
    fact = _fact(table, key, row, catalogue)
    if fact is not None:
        return _of_fact(fact)
    if (held := defaults_of(ours, table, row, catalogue).get(key)) is not None:
        value, spread = held[0], held[1].strip(" ()")
        return ", ".join(map(str, value)) if isinstance(value, list) else str(value), spread, _OURS
    part, key = part_of(table, key)
    name = keys_of(part).get(key)
    if name is None:
        return "none", "", ""
    value, source = default_of(part, name, table, row, catalogue)
    said = re.fullmatch(r"the fact ([\w.]+)", value)
    if said and catalogue.has(said[1]):
        return _of_fact(catalogue.fact(said[1]))
    return value or "none: state it", "", source.partition(";")[0] if value else ""


def _fact(table: str, key: str, row: Row, catalogue: Catalogue) -> Fact | None:
    region: Region | None = catalogue.regions.get(row.get("region", ""))
    grid = row.get("grid") or (region.grid if region else "")
    if (name := _BEHIND.get((table, key))) is not None:
        return catalogue.fact(name)
    if (table, key) == ("services", "tokens_out") and _writes_sound(row, catalogue):
        return catalogue.fact(_OF_SOUND)
    if key == "grid":
        return catalogue.facts.get(f"grid.{grid}.intensity")
    if key == "pue" and region is not None and region.pue:
        return catalogue.fact(region.pue_key)
    return catalogued(table, key, {**row, "grid": grid}, catalogue)


def _of_fact(fact: Fact) -> tuple[str, str, str]:
    """A fact as its source states it, its range in the same unit."""
    number, _, unit = fact.stated.partition(" ")
    unit = "" if unit in ("1", "count") else f" {unit}".replace(" 1/d", " a day").rstrip()
    spread = ""
    if fact.low is not None and fact.high is not None:
        scale = float(number) / fact.value if fact.value else 1.0
        spread = f"{number_text(scale * fact.low)} to {number_text(scale * fact.high)}{unit}"
    return f"{number}{unit}", spread, f"{fact.key}: {fact.kind}, {fact.source.cite()}"
