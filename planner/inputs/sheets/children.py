"""Tables whose rows belong to an entry of another: regions of users and kinds of request of a service."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from planner.inputs.catalogue import Catalogue
from planner.inputs.scenario.problems import nearest_remedy
from planner.inputs.sheets.defaults import Making
from planner.inputs.sheets.kinds import CHILDREN, FED, PARENT, WORKERS
from planner.inputs.sheets.reading import Sheet
from planner.trace.numbers import number_text

_DIGITS = 6  # of a share that is worked out
Children = Mapping[str, Mapping[str, list[dict[str, Any]]]]


def children_of(sheets: Iterable[Sheet], making: Making) -> Children:
    """Rows of these tables by the name of their service, then by table."""
    services = {
        row["name"]: None
        for sheet in sheets
        if sheet.table == "services"
        for _, row in sheet.rows
        if "name" in row
    }
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    places: dict[str, list[str]] = {}
    for sheet in sheets:
        if sheet.table not in CHILDREN:
            continue
        for line, row in sheet.rows:
            where = f"{sheet.where}, line {line}"
            if row.get(PARENT) not in services:
                said = f"'{row[PARENT]}' is in no table of services" if row.get(PARENT) else "is empty"
                making.wrong(where, f"{PARENT}: {said}; {nearest_remedy(row.get(PARENT, ''), services)}")
                continue
            entry = {
                key: making.read(sheet.table, key, text, where) for key, text in row.items() if key != PARENT
            }
            if "users" in entry:
                entry["users"] = users_called(str(entry["users"]), making.catalogue)
            found.setdefault(row[PARENT], {}).setdefault(sheet.table, []).append(entry)
            if sheet.table == "regions":
                places.setdefault(row[PARENT], []).append(where)
    for name, where_each in places.items():
        _share_out(name, found[name]["regions"], where_each, making)
    return found


def users_called(text: str, catalogue: Catalogue) -> str:
    """The place that a text means: a region of a provider, a country by its code or its name, else itself."""
    if text in catalogue.regions:
        return text
    words = text.casefold()
    codes = [name for name in catalogue.names("grid", "intensity") if len(name) == 2]
    if words in codes:
        return words
    return next((code for code in codes if country_of(code, catalogue).casefold() == words), text)


def country_of(code: str, catalogue: Catalogue) -> str:
    """The name of a country, as the note of its grid has it."""
    return catalogue.fact(f"grid.{code}.intensity").note.partition(";")[0]


def _share_out(name: str, regions: Sequence[dict[str, Any]], places: Sequence[str], making: Making) -> None:
    """Regions without a share take equal parts of what the others leave; one that is none is told alone."""
    lacking = [i for i, region in enumerate(regions) if "share" not in region]
    stated = [region["share"] for region in regions if "share" in region]
    if not lacking:
        return
    are_shares = all(isinstance(share, int | float) and 0 < share <= 1 for share in stated)
    left = (1.0 - sum(stated)) / len(lacking) if are_shares else 1.0 / len(regions)
    if left <= 0:
        making.wrong(places[lacking[0]], "share: is empty, and those of the others leave nothing: state it")
    for i in lacking:
        regions[i]["share"] = round(left, _DIGITS)
    where = ", ".join(str(regions[i].get("users", "a region")) for i in lacking)
    making.notes.append(f"{name}: users in {where} have a share of {number_text(left)}, what others leave")


def nest_workers(entry: dict[str, Any]) -> None:
    """Columns of a run that are keys of the workers which feed it, as the table that they are."""
    held = {key: entry.pop(column) for column, key in WORKERS.items() if column in entry}
    wanted = entry.pop(FED, bool(held))
    if wanted or held:
        entry[FED] = held
