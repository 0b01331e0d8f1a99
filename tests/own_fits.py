"""A fit of a log of one's own, as its document has it."""

from __future__ import annotations

from typing import Any


def fit_of(name: str, bad_rows: int = 0) -> dict[str, Any]:
    """The document of a fit, as `everfleet fit` makes it, of as little as is read here."""
    rate = {"value": 5.0, "low": 4.0, "high": 6.0, "unit": "1/(1000 node d)"}
    return {
        "everfleet_fit": 1,
        "title": "own",
        "name": "own",
        "rate": rate,
        "nodes": 10,
        "accelerators_per_node": None,
        "definition": "hardware",
        "source": name,
        "rate_shape": 3.0,
        "outage": None,
        "variance_to_mean": None,
        "sections": {
            "read": {
                "title": "What was read",
                "said": ["Read as a table."],
                "tables": {"read": [{"read": "failures", "value": "9"}]},
            },
            "rate": {"title": "Rate", "said": ["Counted: hardware."], "tables": {}},
        },
        "bad_rows": [{"file": name, "line": i, "reason": "no time"} for i in range(bad_rows)],
        "bad_row_count": bad_rows,
    }
