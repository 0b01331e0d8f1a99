"""Charts of what a plan trades."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import altair as alt

from planner.charts import INK, OUTLINE, PALETTE, Document, Picture, quantity_text, shown_scale


def front(document: Document) -> Picture | None:
    """Money over carbon, one mark for each plan; ends and knee are named beside theirs."""
    found = document["sections"]["front"]["tables"].get("points", [])
    if len(found) < 2:
        return None
    usd, usd_unit = shown_scale("USD", [row["cost_usd"] for row in found])
    kg, kg_unit = shown_scale("kgCO2e", [row["carbon_kgco2e"] for row in found])
    rows = [
        {
            "carbon": row["carbon_kgco2e"] / kg,
            "money": row["cost_usd"] / usd,
            "mark": row["mark"] if row["mark"] != "beaten" else "",
            "state": "beaten by another" if row["mark"] == "beaten" else "on the front",
        }
        for row in found
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(  # type: ignore[no-untyped-call]
        x=alt.X("carbon:Q", title=f"carbon ({kg_unit})", scale=alt.Scale(zero=False, padding=24)),
        y=alt.Y("money:Q", title=f"cost ({usd_unit})", scale=alt.Scale(zero=False, padding=16)),
    )
    states = ["on the front", "beaten by another"]
    legend = alt.Legend(title=None, orient="top")
    marks: Any = base.mark_point(size=70, filled=True, opacity=1, stroke=OUTLINE, strokeWidth=1).encode(
        color=alt.Color("state:N", scale=alt.Scale(domain=states, range=list(PALETTE)), legend=legend),
        shape=alt.Shape("state:N", scale=alt.Scale(domain=states, range=["circle", "cross"]), legend=legend),
    )
    line = base.transform_filter("datum.state == 'on the front'").mark_line(
        color=OUTLINE, interpolate="linear"
    )
    names = base.mark_text(color=INK, align="left", dx=8, dy=-8, fontSize=12).encode(text="mark:N")
    words = "; ".join(
        f"{row['mark'] or 'point'} {quantity_text(row['cost_usd'], 'USD')} at "
        f"{quantity_text(row['carbon_kgco2e'], 'kgCO2e')}"
        for row in found
        if row["mark"] != "beaten"
    )
    chart = alt.layer(line, marks, names).properties(height=300)
    return Picture("Money against carbon", f"Points of plans, money over carbon. {words}.", chart)


PICTURES: dict[str, Callable[[Document], Picture | None]] = {"front": front}
