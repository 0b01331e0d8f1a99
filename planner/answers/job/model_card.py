"""A job for a model card: a table, a paragraph, what is inside and what is not, version and sources."""

from __future__ import annotations

from planner.physics.upstream import is_marginal
from planner.trace.numbers import count_text, energy, mass, money, number_text, percent_text
from planner.trace.records import Record

GRAMS = 0.1  # kg: below it, grams read better


def said(value: float, unit: str) -> str:
    """A quantity as a reader wants it."""
    match unit:
        case "kgCO2e" | "kgCO2e/h" if abs(value) < GRAMS:
            return f"{small(value * 1000)} gCO2e{unit.removeprefix('kgCO2e')}"
        case "kgCO2e":
            return mass(value)
        case "kgCO2e/h":
            return f"{mass(value)}/h"
        case "kWh" if 0 < abs(value) < 1:
            return f"{small(value * 1000)} Wh"
        case "kWh":
            return energy(value)
        case "L":
            return f"{number_text(value / 1000)} m3" if value >= 1000 else f"{small(value)} L"
        case "USD":
            return money(value)
        case _:
            return f"{number_text(value)} {unit}"


def small(value: float) -> str:
    """Three digits, no exponent where it can be helped."""
    return number_text(value, 3)


def card_of(document: Record) -> str:
    """The paragraph that a model card takes."""
    totals = {total["name"]: total for total in document["totals"]}
    carbon = totals["carbon"]
    said_of = {name: said(totals[name]["value"], totals[name]["unit"]) for name in totals}
    low, high = (said(carbon[end], carbon["unit"]) for end in ("p5", "p95"))
    between = f"{low} to {high}, p5 to p95" if carbon["p5"] != carbon["p95"] else "nothing in it has a range"
    work = [f"{row['phase']}: {row['what']}" for row in document["phases"] if row["what"]]
    left_out = ", ".join(document["left_out"])
    return (
        f"{_hours(totals)}{said_of['energy']} at the meter. It caused {said_of['carbon']} "
        f"({between}): {said_of['operational']} from electricity ({accounting_said(document)}, "
        f"{grid_said(document)}) and {said_of['embodied']} as the share of making the hardware. "
        f"Water: {said_of['water']}. Counted: {'; '.join(work)}. "
        + (f"Not counted: {left_out}." if left_out else "All phases are counted.")
    )


def accounting_said(document: Record) -> str:
    """How the electricity is counted: by the place, or by the stations that answer a change."""
    return "by marginal hours" if is_marginal(document["boundary"].get("grid", "")) else "location-based"


def grid_said(document: Record) -> str:
    """The grid behind the figure, and how it counts."""
    site, signal = document["inputs"].get("site", {}), document["boundary"].get("grid")
    if "hourly" in site:
        where = f"hour by hour, {site['hourly']}"
    elif "grid" in site:
        where = f"region {site['grid']}"
    else:
        where = "a grid factor of our own"
    return f"{where}, {signal}" if signal else where


def assumed_said(document: Record) -> str:
    """What nobody stated and the figures rest on; empty where the job states all of it."""
    shown = "; ".join(f"{row['what']} {row['value']}" for row in document["assumed"])
    return f"Not stated, so assumed: {shown}." if shown else ""


def _hours(totals: Record) -> str:
    if "accelerator_hours" not in totals:
        return "The job used "
    return f"The job used {count_text(totals['accelerator_hours']['value'])} accelerator-hours and "


def to_card(document: Record) -> str:
    """Markdown for a model card."""
    lines = [
        "## Environmental impact",
        "",
        document["model_card"],
        "",
        "| | value | p5 | p95 |",
        "|---|---:|---:|---:|",
    ]
    for total in (*document["totals"], *document["scores"]):
        cells = " | ".join(said(total[name], total["unit"]) for name in ("value", "p5", "p95"))
        lines.append(f"| {total['label']} | {cells} |")
    lines += ["", "| phase | carbon | share | electricity | hardware |", "|---|---:|---:|---:|---:|"]
    for row in document["phases"]:
        parts = " | ".join(said(row[name], "kgCO2e") for name in ("electricity_kgco2e", "hardware_kgco2e"))
        lines.append(
            f"| {row['phase']} | {said(row['kgco2e'], 'kgCO2e')} | "
            f"{percent_text(row['of_total_fraction'])} | {parts} |"
        )
    said_too = [assumed_said(document), *document["notes"]]
    lines += [f"\n- {note}" for note in said_too if note]
    made = f"Made with everfleet {document['everfleet']}, facts {document['catalogue'][:12]}. Sources:"
    lines += ["", f"Boundary: {boundary_said(document)}", "", made, ""]
    return "\n".join(lines + [f"- {source}" for source in sources_of(document)])


def boundary_said(document: Record) -> str:
    """What is inside the line, and what is not."""
    left_out = ", ".join(document["left_out"]) or "none"
    counted = accounting_said(document)
    federated = any(row["phase"] == "federated" for row in document["phases"])
    devices = "the making of users' devices" if federated else "users' devices"
    bought = f"scope 2 {counted}" if counted == "location-based" else f"electricity {counted}, of no scope"
    return (
        f"{bought} ({grid_said(document)}); scope 3 as the hardware's share of its life, idle "
        f"hours charged to the used ones; water of cooling and of generation, not of making hardware. Phases "
        f"left out: {left_out}. Staff, offices, {devices} and parts that repair replaces are left out."
        + "".join(f" {note}" for note in document.get("inventory_notes", []))
    )


def sources_of(document: Record) -> list[str]:
    """Sources of the facts behind the figures, each once."""
    named = sorted({fact["source"] for fact in document["facts"] if fact["kind"] != "yours"})
    return [source for source in named if source]
