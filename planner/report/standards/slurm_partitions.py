"""The fleet of a plan as lines of slurm.conf: nodes of each group, and a partition for each work.

Processors and memory of a node are its own to say (`slurmd -C` prints the line to merge). A partition's
`MaxNodes` bounds one job; quotas over all jobs are those of accounting (`sacctmgr`), which no file states.

Source: SchedMD, slurm.conf and gres.conf, manual pages.
"""

from __future__ import annotations

import math

from planner.report.standards.fleet_names import accelerators_per_node, cluster_name, sku_of
from planner.report.standards.formats import Files, StandardError
from planner.report.standards.kueue import quotas_of
from planner.report.standards.periods import Period, periods_of
from planner.trace.records import Record


def write(document: Record) -> Files:
    """`slurm-PERIOD.conf`: nodes and partitions of each period."""
    found = {
        f"slurm-{period.name}.conf": text
        for period in periods_of(document)
        if (text := _conf(document, period))
    }
    if not found:
        raise StandardError("slurm: the plan has no node in service")
    return found


def _conf(document: Record, period: Period) -> str:
    fleet = [
        row
        for row in document["tables"]["fleet"]
        if row["period"] == period.label and row["in_service_nodes"] >= 1
    ]
    if not fleet:
        return ""
    lines = [f"# {document['title']}", f"# {period.label}: {period.first} to {period.after}", "GresTypes=gpu"]
    for row in fleet:
        name = cluster_name(row["site"], row["sku"])
        lines.append(
            f"NodeName={_hosts(row)} Gres=gpu:{sku_of(row['sku']).accelerator}:"
            f"{accelerators_per_node(row['sku'])} Feature={cluster_name(row['site'])},"
            f"{cluster_name(row['sku'])} State=UNKNOWN"
        )
        lines.append(f"PartitionName={name} Nodes={_hosts(row)} MaxTime=UNLIMITED State=UP")
    hosts = {(row["site"], row["sku"]): _hosts(row) for row in fleet}
    for work, rows in quotas_of(document, period).items():
        here = [row for row in rows if (row["site"], row["sku"]) in hosts]
        if here:
            nodes = ",".join(hosts[row["site"], row["sku"]] for row in here)
            most = max(1, sum(row["nodes"] for row in here))
            lines.append(
                f"PartitionName={cluster_name(work)} Nodes={nodes} MaxNodes={most} MaxTime=UNLIMITED State=UP"
            )
    return "\n".join(lines) + "\n"


def _hosts(row: Record) -> str:
    """The nodes of a group as a host list."""
    name, count = cluster_name(row["site"], row["sku"]), math.floor(row["in_service_nodes"])
    digits = max(3, len(str(count)))
    return f"{name}-[{1:0{digits}d}-{count:0{digits}d}]"
