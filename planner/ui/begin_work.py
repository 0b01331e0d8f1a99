"""The step Work of the guided start: a kind of work is chosen first, and only its fields appear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from planner.inputs.catalogue import Catalogue
from planner.inputs.model_kinds import (
    DIFFUSION,
    LANGUAGE,
    RECOMMENDATION,
    SPEECH,
    VISION,
    WORDS,
    kind_of_model,
    models_of,
)
from planner.inputs.sheets.defaults import READING, kind_of_work
from planner.inputs.sheets.guide import entry, places
from planner.inputs.sheets.kinds import (
    KINDS,
    PARENT,
    Detail,
    Kind,
    details_of,
    kind_called,
    kind_of,
    models_for,
    opened,
)
from planner.inputs.user_checks import MOST
from planner.ui import begin_answers
from planner.ui.begin_answers import ID, Row
from planner.ui.begin_fields import Form, Place, adder, label_of, remove_button

# What a kind of work is, and what its list of models adds.
KIND_SAID: Mapping[str, tuple[str, str]] = {
    "service": ("requests that users wait for", "Add a model that is served"),
    "team": ("people who tune and try", "Add a model that a team tunes or tries"),
    "training run": ("one, with a deadline", "Add a model that is trained"),
    "batch inference": ("nobody waits for it", "Add a model that answers them"),
    "evaluations": ("items, again and again", "Add a model that is evaluated"),
    "tuning jobs": ("many small runs a day", "Add a model that is tuned"),
    "reinforcement learning": ("rollouts", "Add a model that learns so"),
    "agents": ("campaigns of search", "Add a model that they train or ask"),
    "recordings": ("sound that is written down", "Add a model that hears"),
    "data for a run": ("text that a model writes for it", "Add a model that writes it"),
}
# What a request is and when it is answered, by kind of model; others are language models that write.
REQUESTS: Mapping[str, tuple[str, ...]] = {
    "": ("tokens_in", "tokens_out"),
    READING: ("tokens_in", "tokens_out", "response_time"),
    RECOMMENDATION: ("candidates", "response_time"),
    DIFFUSION: ("images", "response_time"),
    VISION: ("images", "response_time"),
    SPEECH: ("audio", "tokens_out"),
}
# Label and example of a field, by table and key or by key; without an example the default is shown.
FIELDS: Mapping[str, tuple[str, str]] = {
    "services.users": ("users", "for example 50k"),
    "requests_per_day": ("or requests a day", "for example 2M"),
    "services.audio_rate": ("or hours of sound a day", "for example 20k"),
    "audio_rate": ("hours of sound a day", "for example 20k"),
    "response_time": ("answer within", ""),
    "services.audio": ("sound of a request", ""),
    "audio": ("length of a recording", ""),
    "people": ("people", "for example 20"),
    "gpu_time": ("or accelerator-hours a period", "for example 60000"),
    "tokens": ("tokens", "for example 2T"),
    "training.samples": ("samples", "for example 2T"),
    "earliest": ("first day", "that of the plan"),
    "deadline": ("deadline", "for example 2027-09-30"),
    "nodes": ("nodes to try", ""),
    "items": ("items a day", "for example 5M"),
    "pools.passes": ("passes over each", "for example 24"),
    "jobs": ("jobs a day", "for example 40"),
    "job_tokens": ("tokens of a job", "for example 200M"),
    "job_p50": ("or half stay below (hours)", "for example 70"),
    "job_p99": ("99 of 100 stay below (hours)", "for example 3000"),
    "job_nodes": ("nodes of a job", ""),
    "prompts": ("prompts a day", "for example 200k"),
    "samples": ("rollouts of a prompt", ""),
    "wasted": ("share not trained on", ""),
    "step_prompts": ("prompts of a step", ""),
    "longest_tokens": ("longest rollout (tokens)", ""),
    "campaigns": ("campaigns a month", "for example 20"),
    "agents": ("agents at once", "for example 11"),
    "campaign_time": ("hours of a campaign", "for example 24"),
    "agent_accelerators": ("accelerators of an agent", ""),
    "success": ("share that succeeds", ""),
    "mode": ("a step", ""),
    "phases": ("apart", ""),
    "traffic": ("trace", ""),
    "feeds": ("run that it feeds", ""),
    "worker_sku": ("nodes of the workers", ""),
    "growth": ("growth in a year", "for example 30 %"),
    "first_token": ("time to the first token", ""),
    "per_token": ("time for each further one", ""),
    "mean_to_peak": ("mean over the peak", ""),
    "availability": ("share of time that it answers", ""),
    "cache_hits": ("share of prompt tokens found", "for example 40 %"),
    "cached_tokens": ("tokens kept", ""),
    "pipeline": ("name of the pipeline", "for example feed"),
    "mean_quality_budget": ("quality lost in the mean, at most", "for example 2 %"),
    "quality_budget": ("or by any answer, at most", "for example 5 %"),
    "workers_per_node": ("workers for a node of it", ""),
    "workers": ("most workers", ""),
    "data_price": ("price of data", "0.5 USD / 1e6 tokens"),
    "bought": ("share bought", ""),
    "generated": ("share that a model writes", "for example 30 %"),
    "training.passes": ("passes over its data", ""),
    "adapter_rank": ("rank of the adapters", ""),
    "reference_passes": ("passes of a reference", ""),
    "regions.share": ("share of requests", "what others leave"),
    "regions.users": ("where they are", ""),
    "regions.latency": ("measured latency", "by distance"),
    "busiest_time": ("busiest hour (UTC)", "all alike"),
    "classes.share": ("share of requests", "for example 0.4"),
    "classes.tokens_in": ("tokens in", "for example 3000"),
    "classes.tokens_out": ("tokens out", "for example 150"),
}
MODES = {"": "waits for the longest", "asynchronous": "goes on with older ones"}
PHASES = {"either": "if that is better", "apart": "always"}
_OF_STEPS = ("step_prompts", "longest_tokens")


def work(form: Form) -> None:
    """A list of kinds, one of its models, and a card for each entry."""
    kinds, models = st.columns([1, 2])
    chosen = kinds.selectbox(
        "Kind of work",
        [kind.name for kind in KINDS],
        key="begin.kind",
        format_func=lambda name: f"{label_of(name)}: {KIND_SAID[name][0]}",
    )
    kind = kind_called(str(chosen))
    adder(
        kind.name,
        KIND_SAID[kind.name][1],
        models_for(kind, form.catalogue),
        partial(_model_said, form.catalogue),
        partial(begin_answers.add_work, kind.name),
        models,
    )
    for table in dict.fromkeys(kind.table for kind in KINDS):
        for row in form.rows(table):
            its = kind_of(table, row)
            with form.card(table, row, f"{label_of(its.name)}, {_model_said(form.catalogue, row['model'])}"):
                _fields(form, table, row, ("name", *_keys(form, its, row)))
                _details(form, table, row)


def _keys(form: Form, kind: Kind, row: Row) -> tuple[str, ...]:
    """The keys of an entry that are shown at once."""
    ways = [key for keys in kind.needs for key in keys]
    if kind.table == "services":
        found = [key for key in ways if key != "audio_rate" or key in row]
        states = opened(kind.table, row, begin_answers.children(form.answers, row), form.catalogue)
        instead = {key for detail in states for key in detail.instead}
        requests = REQUESTS.get(kind_of_work(kind.table, row, form.catalogue), REQUESTS[""])
        return (*found, *(key for key in requests if key not in instead))
    if kind.table == "training":
        ways = [key for key in ways if key != ("tokens" if "samples" in row else "samples")]
    if row.get("mode") == "asynchronous":
        return (*ways, *(key for key in kind.may if key not in _OF_STEPS))
    return (*ways, *kind.may)


def _fields(form: Form, table: str, row: Row, keys: Sequence[str]) -> None:
    """Fields in rows of four or five."""
    wide = 5 if (len(keys) % 4 and len(keys) % 5 in (0, 4)) or len(keys) == 5 else 4
    for first in range(0, len(keys), wide):
        for place, key in zip(st.columns(wide), keys[first : first + wide], strict=False):
            _field(form, table, row, key, place)


def _field(form: Form, table: str, row: Row, key: str, place: Place) -> None:
    label, example = FIELDS.get(f"{table}.{key}") or FIELDS.get(key) or (key.replace("_", " "), "")
    if (options := _options(form, table, row, key)) is not None:
        form.choice(table, row, key, label, place, options)
    elif key == "models":
        kind = kind_of_model(form.catalogue, row["model"])
        others = {one: one for one in models_of(form.catalogue, (kind,)) if one != row["model"]}
        form.several(table, row, key, "may answer, too", place, others, "choose models")
    elif key == "sites":
        form.several(table, row, key, "answered at", place, form.named("sites"), "any site")
    else:
        shown = "" if key == "name" else example or form.default(table, key, row)
        form.text(table, row, key, label, place, shown)


def _options(form: Form, table: str, row: Row, key: str) -> Mapping[str, str] | None:
    """What may be chosen for a key; None of one that is typed."""
    if key == "mode":
        return MODES
    if key == "phases":
        return PHASES
    if (table, key) == ("regions", "users"):
        return {"": "choose a place", **places(form.catalogue)}
    if key == "feeds":
        return {"": "choose a run", **form.named("training")}
    if key == "traffic":
        return {"": "choose a trace"} | {
            name: name for name in form.catalogue.names("traffic", "mean_context") if name != "default"
        }
    if key == "worker_sku":
        usual = form.default(table, key, row)
        return {"": usual} | {sku: sku for sku in form.catalogue.skus if sku != usual}
    return None


# What an entry may state besides


def _details(form: Form, table: str, row: Row) -> None:
    known = details_of(table, row, form.catalogue)
    if not known:
        return
    states = opened(table, row, begin_answers.children(form.answers, row), form.catalogue)
    key = f"begin.{table}.{row[ID]}.details"
    st.session_state[key] = [detail.name for detail in states]  # also where the last of its rows was removed
    st.pills(
        "Also state",
        [detail.name for detail in known],
        selection_mode="multi",
        format_func=label_of,
        key=key,
        on_change=begin_answers.open_details,
        args=(table, row[ID], known, key),
    )
    for detail in states:
        _detail(form, table, row, detail)


def _detail(form: Form, table: str, row: Row, detail: Detail) -> None:
    st.markdown(f"**{label_of(detail.name)}**")
    if not detail.rows:
        _fields(form, table, row, [key for key in detail.keys if key not in ("ingestion", "method")])
        return
    children = begin_answers.children(form.answers, row)[detail.rows]
    keys = (
        ("users", "share", "sites", "latency", "busiest_time")
        if detail.rows == "regions"
        else ("share", "tokens_in", "tokens_out")
    )
    for child in children:
        *fields, last = st.columns([*([2] * len(keys)), 1], vertical_alignment="bottom")
        for place, key in zip(fields, keys, strict=True):
            _field(form, detail.rows, child, key, place)
        with last:
            remove_button(detail.rows, child, entry(detail.rows, begin_answers.by_name(child, form.answers)))
    st.button(
        "Add a region" if detail.rows == "regions" else "Add a kind of request",
        key=f"begin.more.{detail.rows}.{row[ID]}",
        icon=":material/add:",
        disabled=detail.rows == "regions" and len(children) >= MOST,
        on_click=begin_answers.add,
        args=(detail.rows, {PARENT: row[ID]}),
    )


def _model_said(catalogue: Catalogue, model: str) -> str:
    """A model, and of which kind it is where it is no language model."""
    kind = kind_of_model(catalogue, model)
    return model if kind in ("", LANGUAGE) else f"{model}: {WORDS[kind]}"
