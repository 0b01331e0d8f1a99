"""Software Carbon Intensity for AI: the score of a provider and of a consumer, each per functional unit.

SCI = C / R,  C = O + M: carbon of electricity and of hardware within the boundary of the one who reports.

What both share (storage, network, the building, the end of life) is divided as the carbon of their own
phases is. Market-based carbon is in no score.

Source: Green Software Foundation, SCI for AI (boundaries: section 6; units: section 8); ISO/IEC 21031:2024.
"""

from __future__ import annotations

from collections.abc import Iterable

from planner.report.plain import to_json
from planner.report.standards.formats import Files, StandardError
from planner.report.standards.training_work import counted_said, training_work
from planner.trace.records import Record

PROVIDER = ("data", "experimentation", "training", "fine-tuning", "federated")
CONSUMER = ("inference",)
MILLION, PETA, BILLION = 1e6, 1e15, 1e9


def write(document: Record) -> Files:
    """`sci.json` with both scores, of those boundaries that the job has work in."""
    phases = document["tables"]["phases"]
    own = {side: _sum(phases, names) for side, names in (("provider", PROVIDER), ("consumer", CONSUMER))}
    shared = [row for row in phases if row["phase"] not in (*PROVIDER, *CONSUMER)]
    whole = sum(one["kgco2e"] for one in own.values())
    if not whole:
        raise StandardError("sci: the job neither trains nor answers, so that it has no unit of work")
    found = {
        "specification": "SCI for AI, draft of January 2026; ISO/IEC 21031:2024",
        "title": document["title"],
        "method": "SCI = (O + M) / R",
        "grid": document["boundary"].get("grid", "stated by the job"),
        "operational": counted_said(document),
        "left_out": document["left_out"],
        "scores": [
            _score(document, side, own[side], shared, own[side]["kgco2e"] / whole)
            for side in own
            if own[side]["kgco2e"]
        ],
        "everfleet": document["everfleet"],
        "facts": document["catalogue"],
    }
    return {"sci.json": to_json(found, sort_keys=False)}


def _score(document: Record, side: str, own: Record, shared: list[Record], share: float) -> Record:
    """One score: its carbon, the units that the job states, and the quotients."""
    carbon = {
        name: own[name] + share * sum(row[name] for row in shared)
        for name in ("electricity_kgco2e", "hardware_kgco2e")
    }
    total = sum(carbon.values())
    units = _provider_units(document) if side == "provider" else _consumer_units(document)
    return {
        "persona": side,
        "boundary": own["phases"] + [row["phase"] for row in shared],
        "shared_fraction": share if shared else None,
        "operational_kgco2e": carbon["electricity_kgco2e"],
        "embodied_kgco2e": carbon["hardware_kgco2e"],
        "carbon_kgco2e": total,
        "functional_units": [
            {
                "unit": unit,
                "amount": amount,
                "sci_gco2e_per_unit": 1000.0 * total / amount,
                "counted": counted,
            }
            for unit, amount, counted in units
        ],
    }


def _provider_units(document: Record) -> list[tuple[str, float, str]]:
    work = training_work(document)
    found = []
    if work.tokens is not None:
        found.append(("million training tokens", work.tokens / MILLION, "gross: tokens that are trained on"))
    if work.flop is not None:
        found.append(("PFLOP", work.flop / PETA, "effective: 6 operations a token and active parameter"))
    if work.parameters is not None:
        found.append(("billion parameters", work.parameters / BILLION, "gross: all parameters"))
    return found


def _consumer_units(document: Record) -> list[tuple[str, float, str]]:
    """Requests, tokens written and things made, by what the job's own scores divide its inference by."""
    rows = document["tables"]["scores"]
    scores = {row["name"]: row["value"] for row in rows}
    items = [row["label"].rpartition(" per ")[2] for row in rows if row["name"] == "per_item"]
    inference = _sum(document["tables"]["phases"], CONSUMER)["kgco2e"]
    every = (
        ("request", "per_request", "requests that are answered"),
        (
            "million tokens",
            "per_million_tokens_written",
            "tokens that are written; those read are not counted",
        ),
        *((item, "per_item", "what requests ask for") for item in items),
    )
    return [(unit, inference / scores[name], counted) for unit, name, counted in every if scores.get(name)]


def _sum(rows: list[Record], names: Iterable[str]) -> Record:
    mine = [row for row in rows if row["phase"] in names]
    return {
        "phases": [row["phase"] for row in mine],
        **{
            name: sum(row[name] for row in mine)
            for name in ("kgco2e", "electricity_kgco2e", "hardware_kgco2e")
        },
    }
