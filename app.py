"""Routes to the pages; nothing else."""

from pathlib import Path

import streamlit as st

import planner.ui

PAGES = Path(planner.ui.__file__).parent

st.set_page_config(page_title="everfleet", layout="wide")  # page icons would be fetched from outside
st.navigation(
    [
        st.Page(PAGES / "start.py", title="Start", default=True),
        st.Page(PAGES / "plan.py", title="Plan"),
        st.Page(PAGES / "checkpoints.py", title="Checkpoints"),
    ]
).run()
