"""Routes to the pages; nothing else."""

from pathlib import Path

import streamlit as st

import planner.ui
from planner.ui.memory import let_modules_rest
from planner.ui.progress import know_visitors

PAGES = Path(planner.ui.__file__).parent
# A file draws a page and is its address. One list: sections would be lost on screen readers.
TITLES = {
    "start": "Start",
    "scenario": "Scenario",
    "plan": "Plan",
    "tradeoffs": "Trade-offs",
    "compare": "Compare",
    "job": "Job carbon",
    "checkpoints": "Checkpoints",
    "failures": "Failures",
    "sources": "Sources",
}

know_visitors()
st.set_page_config(page_title="everfleet", layout="wide")  # page icons would be fetched from outside
st.navigation(
    [st.Page(PAGES / f"{name}.py", title=title, default=name == "start") for name, title in TITLES.items()]
).run()
let_modules_rest()
