"""Saved plans: the user's store, the list of what is in it, and a plan opened by its address."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from planner.inputs.scenario.bundle import KeptScenario
from planner.store import SavedPlan, Store, open_store
from planner.store.addresses import default_address, read_only
from planner.store.errors import StoreUnreachable
from planner.trace.errors import InputError
from planner.trace.numbers import quantity_text
from planner.trace.records import Document
from planner.ui import shared

PARAMETER = "plan"  # of the page's address
MOST_LISTED = 20
SHORT = 10
BUSY_S = 2.0  # a page does not wait longer for another writer; workers do
_DIGEST = re.compile(r"[0-9a-f]{6,64}")


@dataclass(frozen=True, slots=True)
class Opened:
    """A saved plan and the scenario that it was made from."""

    digest: str
    document: Document
    scenario: KeptScenario


def store() -> Store | None:
    """The user's store, or the reason on the page why it cannot be opened."""
    address = default_address()
    if read_only() and "://" not in address and not Path(address).expanduser().exists():
        return None  # opening it would make it
    try:
        return _store(address)
    except InputError as error:
        unreachable(error)
        return None


def digest_in_address() -> str | None:
    """The digest in the page's address; what is none is refused in words."""
    said = st.query_params.get(PARAMETER)
    if said is None:
        return None
    if _DIGEST.fullmatch(said):
        return said
    st.warning(
        "The address names no plan: a plan is named by the first letters of its digest, "
        f"such as ?{PARAMETER}=3f9a0c, at least 6 of 0 to 9 and a to f."
    )
    return None


def opened(digest: str) -> Opened | None:
    """A plan by the digest in its address; why it cannot be shown stands on the page otherwise."""
    held = store()
    if held is None:
        return None
    try:
        plan = held.plan(digest)
        return _opened(plan.digest, held.address, held)
    except StoreUnreachable as error:  # whether the plan is there nobody knows
        _store.clear()  # the next look opens it anew
        unreachable(error)
        return None
    except InputError as error:
        st.warning("This plan is not on this machine. Its scenario can be planned again from its file.")
        st.code(str(error), language=None, wrap_lines=True)
        return None


def listed() -> None:
    """The plans saved last, each a click away."""
    with st.expander("Saved plans", icon=":material/folder_open:", key="saved-plans"):
        held = store()
        plans = [] if held is None else plans_of(held)
        if not plans and held is not None:
            st.caption("Nothing is saved yet: each plan that is made here is saved by itself.")
        for plan in plans:
            st.page_link(
                Path(__file__).parent / "plan.py",
                label=label(plan),
                icon=":material/description:",
                query_params={PARAMETER: plan.digest},
            )


def unreachable(error: InputError) -> None:
    """Say which store cannot be used, and why; plans on screen stay there."""
    st.error("The store of saved plans cannot be used.", icon=":material/folder_off:")
    st.code(str(error), language=None, wrap_lines=True)


def plans_of(held: Store) -> list[SavedPlan]:
    """The plans saved last; why they cannot be read stands on the page."""
    try:
        return held.plans(most=MOST_LISTED)
    except InputError as error:
        _store.clear()  # the next look opens it anew
        unreachable(error)
        return []


def label(plan: SavedPlan) -> str:
    """What a list shows of a plan."""
    return shared.plain(label_text(plan))


def label_text(plan: SavedPlan) -> str:
    """A plan by its name or title, what it comes to, whose it is, and when it was saved."""
    totals = [
        quantity_text(value, unit)
        for value, unit in ((plan.cost_usd, "USD"), (plan.carbon_kgco2e, "kgCO2e"))
        if value is not None
    ]
    said = ", ".join([plan.status, *totals])
    when = plan.saved[:16].replace("T", " ")
    owner = f", {plan.owner}" if plan.owner else ""
    tags = f" [{', '.join(plan.tags)}]" if plan.tags else ""
    called = plan.name or plan.title
    return f"{called}{tags} ({said}){owner}, {when} UTC, {plan.digest[:SHORT]}"


# A connection is shared by all sessions: it holds no state of theirs.
@st.cache_resource(show_spinner=False, max_entries=4)
def _store(address: str) -> Store:
    return open_store(address, busy_s=BUSY_S)


# A digest names its content: what was read once need not be read again.
@st.cache_data(show_spinner=False, max_entries=16)
def _opened(digest: str, address: str, _held: Store) -> Opened:
    plan = _held.plan(digest)
    return Opened(digest, _held.document(digest), _held.scenario(plan.scenario))
