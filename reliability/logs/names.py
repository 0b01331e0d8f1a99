"""What people call the columns of a log, and the words for a unit that went down or came back.

All are in lower case without signs, as `plain` makes them. Of several names in one log the first is taken.
"""

from __future__ import annotations

import re

_FAILURES = ("failure", "failed", "fail", "fault")
_OUTAGES = (*_FAILURES, "down", "downtime", "outage", "incident", "interruption")
_REPAIRS = ("repaired", "repair", "recovered", "recovery", "restored", "fixed", "resolved", "resolution")
_DAYS = ("time", "at", "date", "timestamp")

UNITS = (
    *(f"{thing}{word}" for thing in ("node", "host", "server", "machine") for word in ("", "id", "name")),
    *(
        "failednode",
        "failedhost",
        "unit",
        "unitid",
        "device",
        "deviceid",
        "instance",
        "instanceid",
        "gpu",
        "gpuid",
        "gpuuuid",
    ),
)
FAILED_AT = (*(name + word for name in _FAILURES for word in _DAYS), "dateoffailure", "timeoffailure")
STARTS = (
    *FAILED_AT,
    *(name + word for name in _OUTAGES for word in ("start", "starttime", "started", "begin", "began")),
    *(
        "start",
        "starttime",
        "startedat",
        "startsat",
        "startdate",
        "started",
        "begin",
        "down",
        "downat",
        "downsince",
    ),
    *("opened", "openedat", "eventtime", "occurred", "occurredat", "detectedat", "lasttransitiontime"),
    *("timestamp", "datetime", "time", "date"),
)
REPAIRED_AT = (
    *(name + word for name in _REPAIRS for word in _DAYS),
    *("dateofrepair", "timeofrepair", "dateofrecovery", "timeofrecovery"),
    *(name + word for name in _OUTAGES for word in ("end", "endtime", "ended")),
    *("up", "upat", "closed", "closedat", "fixed", "repaired", "resolved", "recovered", "restored", "backat"),
)
ENDS = (*REPAIRED_AT, "end", "endtime", "endedat", "endsat", "ended", "enddate")
ENTRIES = ("entry", "installed", "installdate", "installedat", "inservice", "commissioned")
EXITS = ("exit", "removed", "decommissioned", "retired", "lastseen")
CAUSES = (
    *("cause", "rootcause", "failurecause", "failurereason", "reason", "failure", "failuretype", "faulttype"),
    *("errortype", "failuremode", "type", "eventtype", "component", "error", "event"),
)
_SPELLINGS = {
    "s": ("s", "sec", "seconds"),
    "min": ("min", "mins", "minutes"),
    "h": ("h", "hr", "hrs", "hours"),
    "d": ("d", "days"),
    "y": ("y", "years"),
}


# What a message names, of them all.
EXAMPLES = {"unit": "node, host, server, gpu_id", "start": "start, start_time, failure_time, timestamp"}


def plain(text: str) -> str:
    """A name or a word in lower case, without signs."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def lasting(*names: str) -> dict[str, tuple[str, ...]]:
    """For each role of a duration, the columns that are named by one of `names` and a unit of time."""
    return {
        f"duration_{unit}": tuple(name + spelling for name in names for spelling in spellings)
        for unit, spellings in _SPELLINGS.items()
    }


REPAIR_LENGTHS = (
    "downtime",
    "outage",
    "timetorepair",
    "timetorecover",
    "repairtime",
    "repair",
    "recoverytime",
    "mttr",
)
LIFE_LENGTHS = ("lifetime", "duration", "timetofailure", "ttf", "inservice")

# Columns in which a row may say that an outage begins or that it ends, and the words that say so.
MOVES = (
    "transition",
    "eventtype",
    "event",
    "newstate",
    "state",
    "status",
    "condition",
    "action",
    "type",
    "reason",
)
_LEADS = ("", "node", "host", "fault", "failure", "outage")
DOWN_WORDS = frozenset(
    lead + word
    for lead in _LEADS
    for word in ("down", "failed", "fail", "offline", "notready", "unhealthy", "start", "started", "begin")
) | {"failure", "fault", "outage", "unreachable", "dead", "broken"}
UP_WORDS = frozenset(
    lead + word
    for lead in _LEADS
    for word in (
        "up",
        "recovered",
        "recovery",
        "repaired",
        "restored",
        "online",
        "ready",
        "healthy",
        "end",
        "ended",
    )
) | {"repair", "closed", "resolved", "cleared", "fixed", "ok", "available", "alive"}
