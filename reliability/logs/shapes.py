"""Shapes of logs that are known: the columns that give each away, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping as Table
from dataclasses import dataclass, field
from typing import Any

from reliability.logs.names import (
    CAUSES,
    ENDS,
    ENTRIES,
    EXITS,
    FAILED_AT,
    LIFE_LENGTHS,
    REPAIR_LENGTHS,
    REPAIRED_AT,
    STARTS,
    UNITS,
    lasting,
)
from reliability.logs.roles import Columns

# What an Xid most often speaks of, by NVIDIA's catalogue; a site may well see it otherwise. 63 and 92 only
# keep a record. Of one fault the severity named first stays.
XIDS = {
    "xid48": "hardware",
    "xid61": "hardware",
    "xid62": "hardware",
    "xid64": "hardware",
    "xid74": "hardware",
    "xid79": "hardware",
    "xid94": "hardware",
    "xid95": "hardware",
    "xid119": "driver",
    "xid120": "driver",
    "xid13": "application",
    "xid31": "application",
    "xid43": "application",
    "xid45": "application",
    "xid63": "ignore",
    "xid92": "ignore",
}


@dataclass(frozen=True, slots=True)
class Shape:
    """`signs` must all be columns, and none of `never`; these and the names of `roles` are `plain`."""

    about: str
    kind: str
    roles: Table[str, tuple[str, ...]]
    signs: tuple[str, ...] = ()
    columns: Columns = field(default_factory=dict)
    settings: Table[str, Any] = field(default_factory=dict)
    covariates: bool = False
    never: frozenset[str] = frozenset()


SACCT = Shape(
    "a job log of `sacct --parsable2`",
    "jobs",
    signs=("state", "start", "end"),
    roles={
        "job": ("jobid", "jobidraw"),
        "state": ("state",),
        "start": ("start",),
        "end": ("end",),
        "nodes": ("nnodes", "allocnodes"),
        "submit": ("submit",),
        "eligible": ("eligible",),
        "node_list": ("nodelist",),
        "failed_node": ("failednode",),
    },
    settings={
        "missing": ("Unknown", "None", "None assigned", "N/A"),
        "severity": {"NODE_FAIL": "hardware", "BOOT_FAIL": "hardware"},
    },
)
TITAN_STAYS = Shape(
    "stays and events of Titan's GPUs (gc_full.csv)",
    "events",
    signs=("sn", "location", "insert", "remove", "event"),
    roles={},
    columns={"unit": "SN", "start": "remove", "cause": "event", "entry": "insert", "exit": "remove"},
    settings={
        "timezone": "America/New_York",
        "needs_cause": True,
        "every_row_counts": True,
        "severity": {"DBE": "hardware", "OTB": "hardware"},
    },
)
TITAN_LIVES = Shape(
    "lifetimes of Titan's GPUs (gc_summary_loc.csv)",
    "lives",
    signs=("sn", "nlife", "maxlocevents", "days", "dead"),
    roles={},
    columns={"unit": "SN", "duration_d": "days", "died": "dead"},
    settings={"covariates": ("col", "row", "cage", "slot", "node", "batch")},
)
LANL = Shape(
    "failure records of Los Alamos (LA-UR-05-7318)",
    "events",
    signs=("system", "nodenumz", "probstarted", "probfixed"),
    roles={},
    columns={
        "unit": ("System", "nodenumz"),
        "start": "Prob Started",
        "end": "Prob Fixed",
        "cause": ("Facilities", "Hardware", "Human Error", "Network", "Undetermined", "Software"),
        "entry": "node prod",
        "exit": "node decom",
        "group": "System",
        "group_size": "nodes",
    },
    settings={
        "timezone": "America/Denver",
        "missing": ("before tracking", "current"),
        "every_row_counts": True,
        "time_format": ("%m/%d/%Y %H:%M", "%b-%y", "%-y-%b"),
        "covariates": ("System", "purpose"),
        "severity": {"Hardware": "hardware", "Software": "software", "Network": "network"},
    },
)
INFINITEHBD = Shape(
    "fault trace of InfiniteHBD",
    "events",
    signs=("nodeid", "eventtime", "eventtype", "faulttypelevel"),
    roles={},
    columns={
        "unit": "node_id",
        "start": "event_time",
        "transition": "event_type",
        "severity": "fault_type.Level",
        "cause": "fault_type.Class",
    },
    settings={
        "time_format": ("since_start_d",),
        "transitions": {"start": "fault_start", "end": "fault_end"},
        "every_row_counts": True,
        "severity": {
            "Hardware Failure": "hardware",
            "Software Failure": "software",
            "Other Failure": "other",
        },
    },
)
XID_TABLE = Shape(
    "a table of Xid events",
    "events",
    signs=("xid",),
    roles={"unit": UNITS, "start": STARTS, "xid": ("xid",)},
    # What one fault sets off is logged within seconds: 5 s as in the Delta study (arXiv 2503.11901).
    settings={"coalesce_s": 5, "severity": XIDS},
)
LIFE_TABLE = Shape(
    "a table of lives",
    "lives",
    roles={
        "unit": (*UNITS, "serial", "serialnumber", "sn", "component", "componentid", "id"),
        **{
            role: (*names, names[-1].removeprefix(LIFE_LENGTHS[-1]))
            for role, names in lasting(*LIFE_LENGTHS).items()
        },
        "entry_age_h": ("entryageh",),
        "entry_age_d": ("entryaged",),
        "entry_age_y": ("entryagey",),
        "entry": (*ENTRIES, "start"),
        "exit": (*EXITS, "end"),
        "death": ("death", "deathdate", "diedat", *FAILED_AT),
        "died": ("died", "dead", "isdead", "observed", "failed", "hasfailed"),
        "censored": ("censored", "iscensored"),
    },
    covariates=True,
    # What is repaired has not died.
    never=frozenset((*REPAIRED_AT, *(name for names in lasting(*REPAIR_LENGTHS).values() for name in names))),
)
# Only what says that a node went down or came back; pods have events of the same reason.
KUBERNETES = Shape(
    "events of nodes by `kubectl get events -o json`",
    "events",
    signs=("involvedobjectkind", "involvedobjectname", "reason", "lasttimestamp"),
    roles={},
    columns={"unit": "involvedObject.name", "start": "lastTimestamp", "transition": "reason"},
    settings={
        "transitions": {"start": "NodeNotReady", "end": "NodeReady"},
        "states": True,
        "only": {"involvedObject.kind": ("Node",), "reason": ("NodeNotReady", "NodeReady")},
    },
)
EVENT_TABLE = Shape(
    "a table of events",
    "events",
    roles={
        "unit": UNITS,
        "start": STARTS,
        "end": ENDS,
        **lasting(*REPAIR_LENGTHS, "duration"),
        "cause": CAUSES,
        "severity": ("severity", "level", "class"),
        "planned": ("planned", "isplanned", "scheduled"),
        "entry": ENTRIES,
        "exit": EXITS,
    },
)
NAMELESS = "a table of events that names no node"
SHAPES = (SACCT, TITAN_STAYS, TITAN_LIVES, LANL, INFINITEHBD, KUBERNETES, XID_TABLE, LIFE_TABLE, EVENT_TABLE)
