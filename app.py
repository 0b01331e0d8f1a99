"""Routes to the pages; nothing else."""

from pathlib import Path

import streamlit as st

import planner.ui
from planner.ui.frame import SIDEBAR_PX, navigation
from planner.ui.memory import let_modules_rest
from planner.ui.progress import know_visitors

PAGES = Path(planner.ui.__file__).parent
# A file draws a page and is its address.
GROUPS = {
    "": {"start": ("Start", "home")},
    "Plan": {
        "begin": ("Start from nothing", "add_circle"),
        "scenario": ("Scenario", "tune"),
        "plan": ("Plan", "calendar_month"),
        "tradeoffs": ("Trade-offs", "balance"),
        "futures": ("Futures", "call_split"),
        "compare": ("Compare", "compare_arrows"),
    },
    "Jobs": {"job": ("Job carbon", "eco"), "throughput": ("Throughput", "speed")},
    "Reliability": {"checkpoints": ("Checkpoints", "save"), "failures": ("Failures", "monitor_heart")},
    "Evidence": {"sources": ("Sources", "menu_book"), "accuracy": ("Accuracy", "fact_check")},
}

know_visitors()
st.set_page_config(page_title="everfleet", layout="wide", initial_sidebar_state=SIDEBAR_PX)
navigation(
    {
        group: [
            # An icon of the page itself would be the browser's, and be fetched from outside.
            (st.Page(PAGES / f"{name}.py", title=title, default=name == "start"), icon)
            for name, (title, icon) in pages.items()
        ]
        for group, pages in GROUPS.items()
    }
).run()
let_modules_rest()
