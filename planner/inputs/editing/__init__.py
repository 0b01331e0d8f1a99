"""Scenarios changed by hand: their inputs as records, edits of the text, and files of your own.

An edit goes through the text: its comments stay wherever that can be done, and nothing is taken that does not
check. What a file holds is shown before it is used.
"""

from planner.inputs.editing.edits import Edited, change_rows, with_rows, with_values
from planner.inputs.editing.fields import (
    Input,
    cell_of,
    entry_name,
    input_at,
    inputs_of,
    is_table_list,
    rules_of,
    sections,
    simple_inputs,
    value_of,
)
from planner.inputs.editing.found import Found
from planner.inputs.editing.grid_series import SIGNALS, series_found, signal_of
from planner.inputs.editing.series import prices_found, traffic_found

__all__ = [
    "SIGNALS",
    "Edited",
    "Found",
    "Input",
    "cell_of",
    "change_rows",
    "entry_name",
    "input_at",
    "inputs_of",
    "is_table_list",
    "prices_found",
    "rules_of",
    "sections",
    "series_found",
    "signal_of",
    "simple_inputs",
    "traffic_found",
    "value_of",
    "with_rows",
    "with_values",
]
