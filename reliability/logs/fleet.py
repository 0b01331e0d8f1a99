"""Who is in the fleet: units that never failed are in no log, and have to be requested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from reliability.logs.hostlist import expand
from reliability.logs.mapping import Mapping
from reliability.logs.problems import LogError, count_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


MOST_UNITS = 3_000_000  # more than any fleet has; each without a row gets a name in memory


@dataclass(frozen=True, slots=True)
class Fleet:
    """How many units there are, where that is known, and their names, where those are."""

    size: int | None
    names: tuple[str, ...]


def fleet_of(mapping: Mapping, fleet_size: int | None) -> Fleet:
    """The fleet that the caller or else the mapping states.

    Raises:
        LogError: the names cannot be read, or there are not as many as the size says.
    """
    try:
        names = tuple(dict.fromkeys(name for text in mapping.units for name in expand(text)))
    except ValueError as error:
        raise LogError([f"units: {error}"]) from error
    size = fleet_size if fleet_size is not None else mapping.fleet_size
    if size is not None and size < 1:
        raise LogError([f"fleet_size must be a number of units from 1 up, got {size}"])
    if size is not None and size > MOST_UNITS:
        raise LogError([f"fleet_size is {size:,}, and {MOST_UNITS:,} units are the most: is it a slip?"])
    if names and size is not None and size != len(names):
        raise LogError([f"fleet_size is {size}, but units names {len(names)}: leave one of them out"])
    return Fleet(len(names) if names else size, names)


def name_units(connection: DuckDBPyConnection, fleet: Fleet) -> None:
    """Put the names of the fleet where SQL finds them: `fleet_units`."""
    connection.register("named", pd.DataFrame({"name": pd.Series(fleet.names, dtype=object)}))
    connection.execute("CREATE TABLE fleet_units AS SELECT CAST(name AS VARCHAR) AS name FROM named")
    connection.unregister("named")


def unknown_unit(fleet: Fleet) -> tuple[str, str]:
    """The check, as SQL, that a unit is one of the fleet's names."""
    if not fleet.names:
        return "false", "NULL"
    return (
        "unit NOT IN (SELECT name FROM fleet_units)",
        f"concat('''', unit, ''' is none of the {count_of(len(fleet.names), 'unit')} of the fleet')",
    )


def quiet_units(seen: pd.DataFrame, fleet: Fleet, window_h: float, name: str) -> pd.DataFrame:
    """Units of the fleet that no row names: in service for the whole window.

    Raises:
        LogError: more units appear than the fleet has.
    """
    if fleet.size is None:
        return seen.iloc[:0]
    if len(seen) > fleet.size:
        raise LogError(
            [f"{name}: {len(seen):,} units appear, but the fleet has {fleet.size:,}: correct fleet_size"]
        )
    present = set(seen["unit"])
    nameless = [f"quiet {i + 1}" for i in range(fleet.size - len(seen))]
    unseen = [unit for unit in fleet.names if unit not in present] if fleet.names else nameless
    return pd.DataFrame({"unit": unseen, "entry_h": 0.0, "exit_h": window_h, "age_h": 0.0})


def quiet_units_of_groups(seen: pd.DataFrame, name: str) -> pd.DataFrame:
    """Units that no row names, of groups whose size the log tells: in service as long as any of their group.

    Raises:
        LogError: more units of a group appear than it has.
    """
    groups = seen.groupby("group_name").agg(
        seen=("unit", "size"),
        size=("group_size", "max"),
        entry_h=("entry_h", "min"),
        exit_h=("exit_h", "max"),
        age_h=("age_h", "max"),
    )
    if groups["size"].sum() > MOST_UNITS:
        raise LogError(
            [
                f"{name}: its groups have {groups['size'].sum():.6g} units, and {MOST_UNITS:,} are the most: "
                "correct the column of group_size"
            ]
        )
    over = groups[groups["seen"] > groups["size"]]
    if not over.empty:
        raise LogError(
            f"{name}: {row['seen']:g} units of group '{group}' appear, but it has {row['size']:g}: correct "
            "the column of group_size"
            for group, row in over.iterrows()
        )
    missing = (groups["size"] - groups["seen"]).astype(int)
    quiet = groups.loc[groups.index.repeat(missing), ["entry_h", "exit_h", "age_h"]].reset_index()
    rank = quiet.groupby("group_name").cumcount() + 1
    unit = quiet["group_name"] + "/quiet " + rank.astype(str)
    return quiet.drop(columns="group_name").assign(unit=unit)
