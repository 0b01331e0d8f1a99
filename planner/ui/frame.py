"""What stands around every page: the mark, the pages in groups, and less empty room than a bare page has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

PAGES = Path(__file__).parent
MARK = PAGES / "mark.svg"
SIDEBAR_PX = 224
START = "start"  # its address is the root
# A file draws a page and is its address.
GROUPS = {
    "": {START: ("Start", "home")},
    "Plan": {
        "begin": ("Start from nothing", "add_circle"),
        "scenario": ("Scenario", "tune"),
        "plan": ("Plan", "calendar_month"),
        "tradeoffs": ("Trade-offs", "balance"),
        "futures": ("Futures", "call_split"),
        "compare": ("Compare", "compare_arrows"),
        "track": ("Plan against actual", "timeline"),
    },
    "Jobs": {
        "job": ("Job carbon", "eco"),
        "throughput": ("Throughput", "speed"),
        "placement": ("Placement", "grid_view"),
    },
    "Reliability": {"checkpoints": ("Checkpoints", "save"), "failures": ("Failures", "monitor_heart")},
    "Evidence": {"sources": ("Sources", "menu_book"), "accuracy": ("Accuracy", "fact_check")},
}
# Page -> the end of its address.
ADDRESSES = {name: "" if name == START else name for pages in GROUPS.values() for name in pages}

# Streamlit leaves room for a header that holds nothing here, and for pages narrower than a table of a plan.
STYLE = """<style>
[data-testid=stMainBlockContainer] { padding: 1.25rem 2.5rem 4rem; max-width: 84rem; }
[data-testid=stHeader] { height: 2.25rem; background: transparent; }
[data-testid=stSidebarHeader] { padding-bottom: 0; margin-bottom: 0; height: 3.25rem; }
[data-testid=stSidebarUserContent] { padding-top: 0.25rem; }
[data-testid=stSidebarUserContent] h2 { font-size: 0.72rem; font-weight: 600; line-height: 1.2; margin: 0;
  text-transform: uppercase; letter-spacing: 0.06em; padding: 0.8rem 0 0.2rem 0.5rem; }
[data-testid=stSidebarUserContent] [data-testid=stVerticalBlock] { gap: 0.1rem; }
[data-testid=stMetricValue] { font-size: 1.6rem; font-weight: 600; line-height: 1.3; }
[data-testid=stMetricValue], [data-testid=stMetricValue] * { white-space: normal; overflow: visible;
  text-overflow: clip; overflow-wrap: anywhere; }
[data-testid=stMetric] { padding: 0; }
[data-testid=stPopover] button[kind=tertiary] { color: inherit !important; }
[data-testid=stAlertContainer] { padding: 0.4rem 0.9rem; min-height: 0; }
[data-testid=stSidebarUserContent] [data-testid=stSelectbox], [data-testid=stSidebarUserContent]
  [data-testid=stFileUploader] { margin: 0.25rem 0; }
[class*="st-key-totals-"] [data-testid=stVerticalBlock] { padding: 0.6rem 0.75rem; }
[class*="st-key-totals-"] > [data-testid=stLayoutWrapper] { flex-grow: 1; }
[class*="st-key-totals-"] [data-testid=stCaptionContainer] { line-height: 1.25; }
[class*="st-key-totals-"] [data-testid=stCaptionContainer] p { font-size: 0.8rem; }
[data-testid=stPopoverBody] table { font-size: 0.85rem; }
[data-tag] { background: transparent !important; border: 1px solid currentColor; }
[data-tag], [data-tag] * { color: inherit !important; }
.everfleet-coming { display: grid; grid-template-columns: repeat(4, 1fr); gap: 1rem; }
.everfleet-coming div { height: 6rem; border-radius: 0.5rem; background: #80808029;
  animation: everfleet-coming 1.6s ease-in-out infinite; }
.everfleet-coming div:last-child { grid-column: 1 / -1; height: 14rem; }
@keyframes everfleet-coming { 50% { opacity: 0.45; } }
@media (prefers-reduced-motion: reduce) { .everfleet-coming div { animation: none; } }
@media (max-width: 640px) {
  .everfleet-coming { grid-template-columns: repeat(2, 1fr); }
  [data-testid=stMainBlockContainer] { padding: 3rem 1rem 4rem; }
  [data-testid=stMetricValue] { font-size: 1.35rem; }
  [data-testid=stButtonGroup] > div { flex-wrap: wrap !important; overflow: visible !important; }
}
@media print { [data-testid=stSidebar], [data-testid=stHeader], button { display: none !important; } }
</style>"""


def navigation() -> Any:
    """The page of the address; all pages stand in the sidebar by group, each with its icon, below a heading.

    Headings and links are plain ones: sections of Streamlit's own menu are no headings to a screen reader.
    """
    groups = {
        group: [
            # An icon of the page itself would be the browser's, and be fetched from outside.
            (st.Page(PAGES / f"{name}.py", title=title, default=name == START), icon)
            for name, (title, icon) in pages.items()
        ]
        for group, pages in GROUPS.items()
    }
    found = st.navigation([page for group in groups.values() for page, _ in group], position="hidden")
    st.html(STYLE)
    st.logo(str(MARK), size="large", icon_image=str(MARK))
    with st.sidebar:
        for name, some in groups.items():
            if name:
                heading(name)
            for page, icon in some:
                st.page_link(page, icon=f":material/{icon}:")
    return found


def coming() -> None:
    """The place of figures and a chart while they are worked out; a screen reader has the status instead."""
    boxes = "<div></div>" * 5
    st.html(f'<div class="everfleet-coming" aria-hidden="true">{boxes}</div>')


def heading(name: str) -> None:
    """A heading of ours in the sidebar."""
    st.html(f"<h2>{name}</h2>")
