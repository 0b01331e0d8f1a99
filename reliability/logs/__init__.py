"""Logs in: from a file that a scheduler, a kernel or a person wrote to failures, lives and node-hours.

DuckDB reads the file out of core; only failures, lives and sums come to Python.
"""

from reliability.logs.log import FailureLog, Gaps, gaps_h, joined_outages
from reliability.logs.mapping import Mapping, mapping_text, parse_mapping, read_mapping
from reliability.logs.problems import BadRow, LogError
from reliability.logs.reading import propose_mapping, read_log

__all__ = [
    "BadRow",
    "FailureLog",
    "Gaps",
    "LogError",
    "Mapping",
    "gaps_h",
    "joined_outages",
    "mapping_text",
    "parse_mapping",
    "propose_mapping",
    "read_log",
    "read_mapping",
]
