"""Carbon of a job as the Hub reads it: metadata of a model card, and the card's section.

The Hub counts `emissions` in grams. They are those of the whole job, hardware included, and the text says so.

Source: Hugging Face, Displaying carbon emissions for your model.
"""

from __future__ import annotations

from planner.report.standards.formats import Files
from planner.report.standards.training_work import counted_said
from planner.report.standards.yaml import yaml_of
from planner.trace.records import Record

TYPES = {"training": "pre-training", "fine-tuning": "fine-tuning"}


def write(document: Record) -> Files:
    """`README.md`: metadata between rules, then the paragraph of the job."""
    totals = {row["name"]: row["value"] for row in document["totals"]}
    phases = [row["phase"] for row in document["tables"]["phases"]]
    site, hardware = document["inputs"].get("site", {}), document["inputs"].get("hardware", {})
    emissions = {
        "emissions": 1000.0 * totals["carbon"],
        "source": (
            f"everfleet {document['everfleet']}, facts {document['catalogue'][:12]}: "
            f"electricity, {counted_said(document)}, and the share of making the hardware"
        ),
        "training_type": next((TYPES[name] for name in phases if name in TYPES), None),
        "geographical_location": site.get("grid") or site.get("region") or site.get("hourly"),
        "hardware_used": hardware.get("sku"),
    }
    stated = {name: value for name, value in emissions.items() if value is not None}
    metadata = yaml_of({"co2_eq_emissions": stated})
    return {"README.md": f"---\n{metadata}---\n\n## Environmental impact\n\n{document['model_card']}\n"}
