"""How the scopes of a job or a plan stand to the inventory that a firm reports.

Source: GHG Protocol, "Corporate Value Chain (Scope 3) Standard", 2011, section 5.5, category 2 (capital goods
are not spread over years) and category 1 (services); "Scope 2 Guidance", 2015, chapter 5 (who consumes).
"""

from __future__ import annotations

from planner.trace.numbers import mass

CLOUDS = {"aws": "AWS", "azure": "Azure", "gcp": "Google Cloud"}
_SHARE = (
    "Capital goods are counted by the share of their life. The GHG Protocol takes them whole in the year of "
    "purchase"
)


def capital_note(ordered_kgco2e: float = 0.0) -> str:
    """What an inventory takes in place of shares of lives; with the making of what a plan orders."""
    ordered = f": {mass(ordered_kgco2e)} for the nodes that are ordered here" if ordered_kgco2e else ""
    return f"{_SHARE}{ordered}."


def holder_note(provider: str) -> str:
    """Whose scopes these are; empty where no provider runs the nodes."""
    if not provider:
        return ""
    return (
        f"These are the scopes of who runs the nodes. To a customer of {provider} all of it is scope 3, "
        "category 1 (a service that is bought)."
    )
