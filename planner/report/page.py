"""The report as one HTML file."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import jinja2

from planner.report import charts
from planner.report.charts import Picture
from planner.report.charts.fronts import money_front
from planner.report.glance import glance
from planner.report.table_columns import TITLES, WAYS
from planner.report.tables import (
    infeasibility_tables,
    provenance,
    range_text,
    table_of,
    tables,
    ways_table,
    why_text,
)
from planner.trace.currency import in_its_currency
from planner.trace.numbers import quantity_text
from planner.trace.records import Document

TEMPLATES = Path(__file__).parent / "templates"


@in_its_currency
def to_html(document: Document) -> str:
    """The report as one file: charts drawn in place, every total and term opens, nothing is fetched."""
    drawn = {name: picture(document) for name, picture in charts.PLAN_PICTURES.items()}
    return template("plan.html").render(
        document=document,
        pictures={name: picture for name, picture in drawn.items() if picture is not None},
        svg=charts.to_svg,
        timeline_key=charts.TIMELINE_KEY,
        tables=tables(document),
        titles=TITLES,
        tornado=table_of("tornado", document["tornado"]) if document["tornado"] else None,
        infeasibility=infeasibility_tables(document),
        ways=ways_table(document),
        ways_title=WAYS,
        glance=[] if document["clash"] else glance(document),
        why=lambda name: why_text(document, name),
        quantity=quantity_text,
        spread=range_text,
        provenance=provenance(document),
    )


@cache
def template(name: str) -> jinja2.Template:
    """A page; names that people wrote are escaped in it."""
    loader = jinja2.FileSystemLoader(TEMPLATES)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template(name)


PICTURES: dict[str, Callable[[Document], Picture | None]] = {"front": money_front}
