"""Routes to the pages; nothing else."""

import streamlit as st

from planner.ui.frame import SIDEBAR_PX, navigation
from planner.ui.memory import let_modules_rest
from planner.ui.progress import know_visitors

know_visitors()
st.set_page_config(page_title="everfleet", layout="wide", initial_sidebar_state=SIDEBAR_PX)
navigation().run()
let_modules_rest()
