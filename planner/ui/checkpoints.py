"""Checkpoints: which interval and policy lose the least time, money and carbon, at every size of job."""

from __future__ import annotations

from typing import Any

import streamlit as st

from planner.charts import MEASURES, Document, checkpoint_curve, interval_map, policy_curves, size_curves
from planner.errors import InputError
from planner.report import to_json
from planner.report.checkpoints import csv_files
from planner.report.tables import table_of, why_text
from planner.ui import logs, shared
from planner.ui.drawn import draw_beside, draw_kept

MOST_NODES = 100_000


def render() -> None:
    """Draw the page."""
    st.title("Checkpoint intervals")
    st.markdown("Too often, and writing stalls the job; too rarely, and each failure repeats more work.")
    own_log()
    try:
        document = loaded(chosen_inputs(shared.load_checkpoints()))
    except InputError as error:
        st.error("These inputs have no answer.")
        st.code(str(error), language=None, wrap_lines=True)
        return
    results(document)
    downloads(document)


def loaded(inputs: dict[str, Any]) -> Document:
    """The document of these inputs, with sizes around the one asked for."""
    from planner.checkpoints import sizes_around

    return shared.load_checkpoints(**inputs, across=list(sizes_around(inputs["nodes"])))


def own_log() -> None:
    """Failures of the user's own fleet: from the page of failures, or from a log that is brought here."""
    with st.expander("Failures from a log of your own", icon=":material/upload_file:"):
        document = logs.own_fit("checkpoints")
        if document is not None:
            rate = document["rate"]
            st.markdown(shared.plain(
                f"{document['title']}: {rate['value']:.3g} in 1000 node-days, {rate['low']:.3g} to "
                f"{rate['high']:.3g}."
            ))  # fmt: skip
            logs.few_failures(document)
            if st.button("Use it for the intervals below", key="use-own"):
                st.session_state["failures"] = _label(logs.use(document))


def chosen_inputs(first: Document) -> dict[str, Any]:
    """What the reader sets; the defaults and the choices are the document's own."""
    defaults, choices = first["inputs"], first["choices"]
    left, middle, right = st.columns(3)

    def one_of(key: str, label: str, options: list[str]) -> str:
        chosen: str = st.selectbox(label, options, _index(options, defaults[key]), key=key)
        return chosen

    inputs: dict[str, Any] = {}
    with left:
        inputs["failures"] = chosen_failures(choices["failures"], defaults["failures"])
        inputs["nodes"] = int(
            st.number_input("Nodes of the job", 1, MOST_NODES, int(defaults["nodes"]), key="nodes")
        )
    with middle:
        inputs["sku"] = one_of("sku", "Kind of node (SKU)", choices["skus"])
        inputs["model"] = one_of("model", "Model whose state is written", choices["models"])
    with right:
        inputs["storage"] = one_of("storage", "Checkpoint storage", choices["storages"])
        inputs["grid"] = one_of("grid", "Grid region", choices["grids"])
    restart = left.number_input(
        "Restart after a failure (min)", 0.1, 1440.0, float(defaults["restart_min"]), key="restart"
    )
    background = middle.toggle("Write in the background", bool(defaults["asynchronous"]), key="asynchronous")
    return inputs | {"restart_min": float(restart), "asynchronous": background}


def chosen_failures(fleets: list[str], default: str) -> str | dict[str, Any]:
    """A published fleet, or the fit in use, which then comes first."""
    used = logs.used_fit()
    options = fleets if used is None else [_label(used), *fleets]
    chosen: str = st.selectbox(
        "Failures as in", options, _index(options, default) if used is None else 0, key="failures"
    )
    return used.failures() if used is not None and chosen == _label(used) else chosen


def results(document: Document) -> None:
    """The curve with its optima, the policies, and the sizes."""
    measure = st.segmented_control(
        "Measure", list(MEASURES), format_func=MEASURES.__getitem__, default="ettr_fraction", key="measure"
    )
    measure = measure or "ettr_fraction"
    digest = f"{logs.digest_of(document['inputs'])} {measure}"
    st.markdown(_answer(document))
    draw_kept(f"{digest} curve", lambda: checkpoint_curve(document, measure))
    intervals(document)
    if "curves" in document:
        policies(document, measure, digest)
        sizes(document, measure, digest)


def intervals(document: Document) -> None:
    """What the curve says, its optima opened, and its data."""
    if "ettr_low_fraction" in document["rows"][0]:
        st.caption("Band: from the low to the high end of the failure rate's interval, the interval kept.")
    else:
        st.caption("No band: this failure rate was published without an interval.")
    shared.sheet(table_of("marks", document["marks"]), "Optima")
    with st.container(horizontal=True):
        for name in document["explanations"]:
            shared.why(document, name, "checkpoints", shared.plain(f"why this {_said(name)}?"))
    shared.data("checkpoints", document["rows"])


def policies(document: Document, measure: str, digest: str) -> None:
    """Blocking, asynchronous and two-level side by side."""
    st.subheader("Policies side by side")
    draw_kept(f"{digest} policies", lambda: policy_curves(document, measure))
    shared.lines([_best_words(one) for one in document["best"]])
    st.caption("Marks: the best of each. Two-level: the time between copies to the hosts' own memory.")
    shared.sheet(table_of("policies", document["policies"]), "Policies, each at its best")
    opened("policy_explanations", "Why the best of", document)
    shared.data("", document["curves"])


def sizes(document: Document, measure: str, digest: str) -> None:
    """The same job on fewer and on more nodes."""
    st.subheader("Sizes side by side")
    draw_kept(f"{digest} map", lambda: interval_map(document, measure))
    shared.sheet(table_of("by_nodes", document["sizes"]), "Sizes, each at its best interval")
    opened("size_explanations", "Why the best interval of", document)
    draw_beside(f"{digest} sizes", lambda: size_curves(document, measure))
    shared.data("", document["map"])


def opened(explanations: str, label: str, document: Document) -> None:
    """One of many numbers opened down to its sources."""
    name = st.selectbox(
        label, list(document[explanations]), None, key=f"why-{explanations}", placeholder="choose one",
        format_func=lambda name: name.replace(".", ", for "),
    )  # fmt: skip
    text = why_text({"explanations": document[explanations]}, name)
    if text is not None:
        shared.tree(text)


def downloads(document: Document) -> None:
    """Every table, and the whole document."""
    st.subheader("Take it along")
    with st.container(horizontal=True):
        st.download_button(
            "Tables (CSV)", lambda: shared.zipped(csv_files(document)), "checkpoints-csv.zip",
            "application/zip", key="csv", on_click="ignore",
        )  # fmt: skip
        st.download_button(
            "Data (JSON)", lambda: to_json({"everfleet_checkpoints": 1, **document}), "checkpoints.json",
            "application/json", key="json", on_click="ignore",
        )  # fmt: skip


def _answer(document: Document) -> str:
    """The best interval for time, and how wide the choice is."""
    best, flat = document["marks"][0], document["flat"]
    interval = shared.plain(f"{best['interval_min']:.3g} min")
    said = (
        f": {best['ettr_fraction']:.2%} of it goes into training. Anything from {flat['low_min']:.3g} to "
        f"{flat['high_min']:.3g} min loses at most {100 * flat['loss_fraction']:.2g}% against that."
    )
    return f"A checkpoint every **{interval}** loses the least time{shared.plain(said)}"


def _said(name: str) -> str:
    """A number's name as a word: of 'interval.Young' the Young interval."""
    word, _, mark = name.partition(".")
    return {"ettr": "ETTR"}.get(word, f"{mark} {word}".strip())


def _best_words(one: Document) -> str:
    behind = [
        f"{key.removesuffix('_more_fraction')} takes {value:.2%} more"
        for key, value in one.items()
        if key.endswith("_more_fraction") and not key.startswith(one["policy"])
    ]
    return f"Least {one['objective']}: {one['policy']}; {', '.join(behind)}."


def _label(used: logs.UsedFit) -> str:
    return f"{used.name} (your log)"


def _index(options: list[str], default: str) -> int:
    return options.index(default) if default in options else 0


render()
