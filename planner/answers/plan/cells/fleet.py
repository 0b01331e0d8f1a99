"""Where the numbers of the fleet come from: nodes period by period."""

from __future__ import annotations

from planner.answers.plan.cells.horizon import hours_of, period_starts
from planner.report.cells import CHOSEN, DECIDED, Cell, Number, rows_of, total, value_of
from planner.report.charts import Record
from planner.trace.explain import Explanation

Below = dict[str, Number | Explanation]


def fleet(cell: Cell) -> Number | None:
    """Nodes in service, and what they do."""
    match cell.key:
        case "in_service_nodes":
            return _in_service(cell)
        case "used_nodes":
            return _used(cell)
        case "idle_nodes":
            names = [key for key in ("in_service_nodes", "parked_nodes", "used_nodes") if cell.has(key)]
            return cell.number(
                " - ".join(names),
                about="nodes in service that nothing runs on, over the hours of the period",
                inputs={name: _of(cell, name) for name in names},
            )
        case "parked_nodes":
            return cell.decided("idle nodes that are switched off, over the hours of the period")
        case "spare_nodes":
            return cell.number(
                about="the fewest that cover the nodes under repair with the confidence that is asked "
                "for (reliability.spare_confidence), for so many nodes in use; 0 where nothing is held",
                inputs={"used_nodes": _of(cell, "used_nodes")},
            )
        case "retired_nodes":
            return cell.decided("standing nodes, at the end of their life at the latest")
    return None


def _of(cell: Cell, key: str) -> Number:
    """Another cell of the row, opened."""
    found = fleet(cell.other(key))
    assert found is not None, key
    return found


def _in_service(cell: Cell) -> Number:
    """Those before, and what came and went."""
    row, document = cell.row, cell.document
    now = document["horizon"]["periods"].index(row["period"])
    begins = period_starts(document)[now].isoformat()
    orders = rows_of(document, "purchases", site=row["site"], sku=row["sku"], arrives=begins)
    into = rows_of(document, "moves", sku=row["sku"], to=row["site"], in_service=row["period"])
    away = rows_of(document, "moves", sku=row["sku"], period=row["period"], **{"from": row["site"]})
    changes: Below = {
        "arrived_nodes": _nodes("arrived_nodes", {f"order of {one['period']}": one for one in orders}),
        "moved_in_nodes": _nodes("moved_in_nodes", {f"from {one['from']}": one for one in into}),
        "moved_out_nodes": _nodes("moved_out_nodes", {f"to {one['to']}": one for one in away}),
        "retired_nodes": _of(cell, "retired_nodes"),
    }
    arrived, moved_in, moved_out, retired = map(value_of, changes.values())
    before = _before(cell, now, cell.value - arrived - moved_in + moved_out + retired)
    return cell.number(
        "before_nodes + arrived_nodes + moved_in_nodes - moved_out_nodes - retired_nodes",
        inputs={"before_nodes": before} | changes,
    )


def _nodes(name: str, rows: dict[str, Record]) -> Number:
    """Nodes that orders or moves bring or take."""
    return total(
        name,
        {place: Number("nodes", one["nodes"], kind=CHOSEN, about=DECIDED) for place, one in rows.items()},
    )


def _before(cell: Cell, now: int, nodes: float) -> Number:
    """Nodes in service in the period before, or those that stood when the horizon began."""
    if not now:
        return cell.part(
            "before_nodes",
            nodes,
            kind="yours",
            source=f"{cell.document['scenario']}; fleet",
            about="standing when the horizon begins",
        )
    label = cell.document["horizon"]["periods"][now - 1]
    return Number(
        "in_service_nodes",
        nodes,
        place=f" ({label}, {cell.row['site']}, {cell.row['sku']})",
        about="the row of the period before",
    )


def _used(cell: Cell) -> Number:
    """Mean nodes at work: node-hours of all that runs there, over the hours of the period."""
    document, row = cell.document, cell.row
    here = {"period": row["period"], "site": row["site"], "sku": row["sku"]}
    hours = hours_of(document, row["period"])
    parts: Below = {}
    for one in rows_of(document, "pools", **here):
        node_h = Cell(document, "pools", one, "node_h").decided("hours that do the work of the pool")
        period = Number("period_h", hours, "h", about="hours of the period")
        parts[f"pool {one['pool']}"] = Number(
            "pool_nodes",
            one["node_h"] / hours,
            equation="pool_nodes = node_h / period_h",
            inputs={"node_h": node_h, "period_h": period},
        )
    for one in rows_of(document, "pausable", **here):
        parts[f"job {one['job']}"] = Cell(document, "pausable", one, "mean_nodes").number(
            about="its node-hours over the hours of the period"
        )
    rest = cell.value - sum(part.value for part in parts.values() if isinstance(part, Number))
    parts["runs and replicas"] = _runs_and_replicas(cell, rest, here)
    return cell.number(f"sum of the {len(parts)} numbers below", inputs=parts)


def _runs_and_replicas(cell: Cell, nodes: float, here: Record) -> Number:
    """What training runs and replicas hold, over the hours of the period, with the rows that say which."""
    document = cell.document
    inputs: Below = {
        f"replicas of {one['service']}": Number(
            "replicas", one["replicas"], kind=CHOSEN, about=f"on {one['tensor_parallel']} accelerators each"
        )
        for one in rows_of(document, "services", **here)
    }
    inputs |= {
        f"nodes of {one['job']}": Number(
            "nodes", one["nodes"], kind=CHOSEN, about=f"from {one['start']} to {one['finish_p50']}, expected"
        )
        for one in rows_of(document, "jobs", site=here["site"], sku=here["sku"])
    }
    return cell.part(
        "run_and_replica_nodes",
        nodes,
        inputs=inputs,
        about="nodes of a run for the hours that it should need, and the share of a node of a replica",
    )
