"""Charts of documents, and how their numbers are written: nothing is computed here but what is shown.

Each chart function takes a document and returns a `Picture`, or None where there is nothing to draw. No
chart tells anything by colour alone: bars carry their number or name, marks differ in shape, and the text
of a picture says in words what it shows. `to_svg` draws a picture without a browser or a network.
"""

from planner.report.charts.checkpoints import (
    CHECKPOINT_PICTURES,
    MEASURES,
    checkpoint_curve,
    interval_map,
    policy_curves,
    size_curves,
)
from planner.report.charts.drawing import INK, OUTLINE, PALETTE, Picture, to_svg
from planner.report.charts.failures import AHEAD_KEY, FIT_PICTURES, SURVIVAL_KEY
from planner.report.charts.futures import FUTURES_PICTURES
from planner.report.charts.jobs import JOB_PICTURES
from planner.report.charts.placement import PLACEMENT_PICTURES
from planner.report.charts.plans import PLAN_PICTURES, TIMELINE_KEY
from planner.report.charts.throughput import THROUGHPUT_MEASURES, side_by_side
from planner.report.charts.track import TRACK_PICTURES
from planner.trace.records import Document, Record, evenly_taken

__all__ = [
    "AHEAD_KEY",
    "CHECKPOINT_PICTURES",
    "FIT_PICTURES",
    "FUTURES_PICTURES",
    "INK",
    "JOB_PICTURES",
    "MEASURES",
    "OUTLINE",
    "PALETTE",
    "PLACEMENT_PICTURES",
    "PLAN_PICTURES",
    "SURVIVAL_KEY",
    "THROUGHPUT_MEASURES",
    "TIMELINE_KEY",
    "TRACK_PICTURES",
    "Document",
    "Picture",
    "Record",
    "checkpoint_curve",
    "evenly_taken",
    "interval_map",
    "policy_curves",
    "side_by_side",
    "size_curves",
    "to_svg",
]
