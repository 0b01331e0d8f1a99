"""Monitoring of real nodes as samples: `read_telemetry`."""

from planner.inputs.telemetry.counters import COUNTERS, QUANTITIES
from planner.inputs.telemetry.goodput import LostTime
from planner.inputs.telemetry.reading import Telemetry, read_telemetry
from planner.inputs.telemetry.samples import TIMED_FROM_S, seen_node_h
from planner.inputs.telemetry.slurm_json import SlurmJobs

__all__ = [
    "COUNTERS",
    "QUANTITIES",
    "TIMED_FROM_S",
    "LostTime",
    "SlurmJobs",
    "Telemetry",
    "read_telemetry",
    "seen_node_h",
]
