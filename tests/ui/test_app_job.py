"""The page on a job's carbon, run without a browser: it shows the document, and every message."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from explained import explained
from streamlit.testing.v1 import AppTest

from planner.answers.job.model_card import assumed_said, said, to_card
from planner.answers.job.upload import uploaded_document
from planner.cli import main
from planner.inputs.job.reading import PLACES, WITHOUT_INPUTS
from planner.inputs.job_question import JobQuestion
from planner.inputs.question_fields import fields_of
from planner.inputs.reference import meaning_of, rule_at
from planner.inputs.scenario.fields import Count
from planner.inputs.scenario.files import write_toml
from planner.report.shape import read_back
from planner.trace.numbers import SPOKEN, percent_text
from planner.ui import job_inputs, progress, shared, workers
from planner.ui.workers.jobs import estimate

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "planner" / "ui" / "job.py"
METERED = ROOT / "tests" / "metered"
HOURS = (
    'title = "mine"\n[site]\ngrid = "fr"\n[hardware]\nsku = "h100-8"\n'
    "[training]\naccelerator_hours = 8000\npower = '700 W'\n"
)

CARDS = ("carbon", "operational", "embodied", "energy", "water", "market")

Open = Callable[[], AppTest]


@pytest.fixture(scope="module", autouse=True)
def _fresh() -> Iterator[None]:
    """What other modules kept is no part of what these see."""
    st.cache_data.clear()
    yield
    st.cache_data.clear()


@pytest.fixture
def page() -> AppTest:
    return AppTest.from_file(str(PAGE), default_timeout=120).run()


def shown(page: AppTest) -> str:
    parts = [*page.markdown, *page.subheader, *page.error, *page.warning, *page.code]
    return "\n".join(part.value for part in parts)


@cache
def the_first() -> dict[str, Any]:
    """The document of the job that the page opens on."""
    return uploaded_document(job_inputs.job_text("train-8b"), "train-8b.toml", {})


def look_at(page: AppTest, part: str) -> AppTest:
    """Open one part of the page; the others are not drawn then."""
    page.session_state["job-tabs"] = part
    return page.run()


def field(kind: Any, name: str) -> Any:
    """An input by name: where another job was begun its key is another one."""
    return next(one for one in kind if re.fullmatch(rf"job\.input\.{name}(\.\d+)?", one.key))


def bring(page: AppTest, *files: tuple[str, bytes]) -> AppTest:
    page.file_uploader("job.files").set_value([(name, content, "text/plain") for name, content in files])
    return page.run()


def type_in(page: AppTest, text: str) -> AppTest:
    """Write a whole job file by hand and use it."""
    page.text_area[0].set_value(text).run()
    return page.button("job.use_text").click().run()


def test_help_says_what_the_page_of_keys_says(page: AppTest) -> None:
    """One description for the file, the page of keys and the field."""
    fields = {one.key.rpartition(".")[2]: one.help for one in [*page.selectbox, *page.number_input]}

    for name in ("grid", "pue", "lifetime_y", "sku"):
        assert fields[name] == f"{meaning_of('job', PLACES[name])}."


def test_an_estimate_stands_at_once(page: AppTest) -> None:
    """The page opens on a shipped job, with the totals of the document that the command prints."""
    document = the_first()

    assert not page.exception
    assert not page.error
    assert [metric.value for metric in page.metric][:3] == ["14.6 tCO2e", "13.5 tCO2e", "1.15 tCO2e"]
    assert shared.plain(document["model_card"]) in shown(page)
    assert len(page.get("vega_lite_chart")) == 2
    assert len(page.title) == 1
    assert len([one for one in [*page.selectbox, *page.number_input] if "meter" not in one.key]) <= 8


@pytest.mark.parametrize(
    ("part", "charts"),
    [("What it is made of", 2), ("Where and when", 3), ("What would change it", 3), ("For a model card", 1)],
)
def test_each_part_is_drawn_when_it_is_looked_at(page: AppTest, part: str, charts: int) -> None:
    """Beside the range of the totals: the split, two maps, changes and tornado; the card is text."""
    look_at(page, part)
    document = the_first()

    assert not page.exception
    assert len(page.get("vega_lite_chart")) == charts
    assert (to_card(document) in [code.value for code in page.code]) == (part == "For a model card")


def test_every_total_phase_and_score_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each number that is shown asks for its explanation by a name that the document holds."""
    noted: dict[str, float] = {}

    def why(document: dict[str, object], name: str, place: str, label: str = "why?") -> None:
        noted[name] = explained(document, name).steps[0].value

    monkeypatch.setattr(shared, "why", why)
    page = AppTest.from_file(str(PAGE), default_timeout=120).run()
    document = the_first()
    totals = {one["name"]: one["value"] for one in [*document["totals"][:5], *document["scores"]]}
    phases = {f"phase.{row['phase']}": row["kgco2e"] for row in document["phases"]}

    assert not page.exception
    for name, value in (totals | phases).items():
        assert noted[name] == pytest.approx(value), name


def test_inputs_change_the_estimate_and_the_file(page: AppTest) -> None:
    """Twice the nodes, a clean region and a PUE of the catalogue: the page's answer is the library's."""
    nodes, rule = field(page.number_input, "nodes"), rule_at("job", "training.nodes")
    asked = fields_of(JobQuestion)["nodes"]
    assert isinstance(rule, Count)
    assert (nodes.label, nodes.min, nodes.max) == (asked.heading, rule.range.least, rule.range.most)
    nodes.set_value(32)
    field(page.selectbox, "grid").set_value("fr").run()
    text = page.text_area[0].value
    document = uploaded_document(text, "train-8b.toml", {})

    assert tomllib.loads(text)["site"]["grid"] == "fr"
    assert tomllib.loads(text)["training"]["nodes"] == 32
    assert tomllib.loads(text)["storage"]["amount"] == "40 TB", "what was not asked for stays"
    assert shared.plain(document["model_card"]) in shown(page)
    assert page.subheader[0].value == shared.plain("llama-3.1-8b on 1 trillion tokens"), "not the example's"


@pytest.mark.nightly
def test_another_example_brings_its_own_inputs(page: AppTest) -> None:
    """BLOOM was measured: its hours are asked for, not a model; its authors printed 24.7 t and 11.2 t."""
    field(page.number_input, "nodes").set_value(32).run()
    page.selectbox("job.example").set_value("bloom").run()

    assert [metric.value for metric in page.metric][1:3] == ["24.7 tCO2e", "11.2 tCO2e"]
    assert field(page.number_input, "accelerator_hours").value == 1_082_990
    assert field(page.selectbox, "grid").value == job_inputs.OWN
    look_at(page, "Where and when")
    assert not page.exception


def test_a_service_is_worked_out_beside_the_app(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its draws take seconds: the page asks a worker, which answers what the library does."""
    noted: list[dict[str, object]] = []
    answer = estimate({"text": HOURS, "name": "mine.toml", "files": {}}, lambda *_, **__: None, lambda: False)
    monkeypatch.setattr(workers, "start", lambda task, **said: noted.append({"task": task} | said) or "key")
    monkeypatch.setattr(progress, "work_shown", lambda key: workers.Seen("done", result=answer))
    page.selectbox("job.example").set_value("chat-service").run()

    text = job_inputs.job_text("chat-service")
    assert noted[-1] == {"task": "job", "text": text, "name": "chat-service.toml", "files": {}}
    assert not page.exception
    assert answer == uploaded_document(HOURS, "mine.toml", {})
    assert shared.plain(answer["model_card"]) in shown(page)


def test_a_service_that_is_not_done_leaves_the_inputs(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a worker is at it there is nothing to show but how it stands."""
    monkeypatch.setattr(workers, "start", lambda task, **said: "key")
    monkeypatch.setattr(progress, "work_shown", lambda key: workers.Seen("working"))
    page.selectbox("job.example").set_value("chat-service").run()

    assert not page.exception
    assert not page.metric
    assert field(page.number_input, "requests_per_day").value == 2000


def test_devices_have_no_place_to_choose(page: AppTest) -> None:
    page.selectbox("job.example").set_value("federated-keyboard").run()
    look_at(page, "Where and when")

    assert not page.exception
    assert shared.plain("Devices draw their electricity where people are") in shown(page)


def test_a_name_in_the_address_is_one_of_the_list() -> None:
    """Anything else, a path for example, opens the first."""
    app = AppTest.from_file(str(PAGE), default_timeout=120)
    app.query_params["job.example"] = "../../pyproject"
    app.run()

    assert not app.exception
    assert app.metric[0].value == "14.6 tCO2e"


def test_a_job_file_is_told_before_it_is_used(page: AppTest) -> None:
    """What was recognised stands beside the old estimate until the button is pressed."""
    bring(page, ("mine.toml", HOURS.encode()))
    recognised = page.dataframe[0].value.to_dict("records")

    assert {"part": "training", "states": "accelerator hours, power kw"} in recognised
    assert page.metric[0].value == "14.6 tCO2e"
    page.button("job.use_file").click().run()
    document = uploaded_document(HOURS, "mine.toml", {})
    assert "mine" in [header.value for header in page.subheader]
    assert shared.plain(document["model_card"]) in shown(page)


@pytest.mark.nightly
def test_a_metered_file_becomes_the_training_run(page: AppTest) -> None:
    """CodeCarbon's file says who wrote it and what it saw; nothing of the example stays around it."""
    name = "codecarbon-3.3.csv"
    bring(page, (name, (METERED / name).read_bytes()))
    recognised = {row["property"]: row["found"] for row in page.dataframe[0].value.to_dict("records")}

    assert recognised["written by"] == "codecarbon"
    page.button("job.use_meter").click().run()
    assert not page.exception
    assert not page.error
    assert "metered by codecarbon" in shown(page).replace("\\", "")
    assert tomllib.loads(page.text_area[0].value) == {
        "title": f"Metered run of {name}",
        "training": {"metered": name},
        "hardware": {"sku": "h100-8"},
        "site": {"grid": "us"},
    }
    assert page.subheader[0].value == shared.plain(f"Metered run of {name}")
    assert page.selectbox("job.example").value == job_inputs.OWN_JOB


def test_the_inputs_of_another_job_are_other_fields(page: AppTest) -> None:
    """A browser keeps what stands in a field of the same key, and would show the example's tokens and PUE."""
    before = {one.key for one in [*page.number_input, *page.selectbox, *page.toggle] if "input" in one.key}
    field(page.selectbox, "model").set_value("llama-3.1-70b").run()
    after = {one.key for one in [*page.number_input, *page.selectbox, *page.toggle] if "input" in one.key}

    assert len(before) == 18
    assert not before & after


def says_what_the_command_does(page: AppTest, *flags: str) -> dict[str, Any]:
    """The page's title, totals, phases and assumptions are those that the command prints for these flags."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["carbon", *flags, "--json"]) == 0
    document: dict[str, Any] = read_back(json.loads(out.getvalue()))
    cards = [total for total in document["totals"] if total["name"] in CARDS]

    assert not page.exception
    assert not page.error
    assert page.subheader[0].value == shared.plain(document["title"])
    assert [one.value for one in page.metric][: len(cards)] == [
        shared.quantity_text(total["value"], total["unit"], SPOKEN) for total in cards
    ]
    assert shared.plain(document["model_card"]) in shown(page)
    assert assumed_said(document).startswith("Not stated, so assumed:")
    assert shared.plain(assumed_said(document)) in shown(page)
    return document


@pytest.mark.parametrize("name", ["codecarbon-3.3.csv", "dcgm.csv", "nvidia-smi.csv", "sacct.txt"])
def test_a_metered_file_gives_the_page_the_number_of_the_command(page: AppTest, name: str) -> None:
    """One function fills what nobody stated, for both; the example's storage and runs are in neither."""
    bring(page, (name, (METERED / name).read_bytes()))
    page.button("job.use_meter").click().run()
    document = says_what_the_command_does(page, "--metered", str(METERED / name))

    assert [row["phase"] for row in document["phases"]] == ["training"]
    assert [one.label for one in page.toggle if one.value] == ["Training"]


def test_adapters_give_the_page_the_number_of_the_command(page: AppTest) -> None:
    """Once a model is chosen: adapters fit on a node that does not hold all weights with their optimizer."""
    assert not [one for one in page.selectbox if "method" in one.key]
    field(page.selectbox, "model").set_value("llama-3.1-70b").run()
    field(page.number_input, "tokens").set_value(1.0)
    field(page.number_input, "nodes").set_value(1)
    field(page.selectbox, "method").set_value("lora").run()
    document = says_what_the_command_does(
        page, "--model", "llama-3.1-70b", "--tokens", "1e9", "--nodes", "1", "--method", "lora"
    )

    assert "rank-16 adapters of llama-3.1-70b" in document["phases"][0]["what"]


@pytest.mark.nightly
def test_another_model_gives_the_page_the_number_of_the_command(page: AppTest) -> None:
    """A model, tokens, nodes, region and PUE by field and by flag: 1,393 t, where the page once had another.

    The example's experiments, storage and network are gone; with PUE and region left open it is the
    command's answer too.
    """
    field(page.selectbox, "model").set_value("llama-3.1-70b").run()
    assert "Write the training tokens" in page.info[0].value
    assert not page.metric, "no number of an example's tokens"
    field(page.number_input, "tokens").set_value(15_000.0)
    field(page.number_input, "nodes").set_value(1024).run()
    flags = ("--model", "llama-3.1-70b", "--tokens", "15e12", "--nodes", "1024")
    says_what_the_command_does(page, *flags)

    field(page.selectbox, "grid").set_value("us-srvc")
    field(page.number_input, "pue").set_value(1.12).run()
    document = says_what_the_command_does(page, *flags, "--grid", "us-srvc", "--pue", "1.12")
    assert document["totals"][0]["value"] == pytest.approx(1.393e6, rel=0.01)


@pytest.mark.nightly
def test_what_was_typed_goes_along_to_another_model(page: AppTest) -> None:
    """The user stated tokens, nodes and PUE before the model: they stay, the example's region goes."""
    field(page.number_input, "tokens").set_value(2000.0)
    field(page.number_input, "nodes").set_value(64)
    field(page.number_input, "pue").set_value(1.2).run()
    field(page.selectbox, "model").set_value("llama-3.1-70b").run()

    says_what_the_command_does(
        page, "--model", "llama-3.1-70b", "--tokens", "2e12", "--nodes", "64", "--pue", "1.2"
    )


def test_a_job_begins_from_nothing(page: AppTest) -> None:
    """No number before something is stated; measured hours are then the command's."""
    page.selectbox("job.example").set_value(job_inputs.OWN_JOB).run()
    assert page.info[0].value.startswith("Nothing is stated yet")
    assert not page.metric
    assert field(page.selectbox, "sku").value == "not stated: h100-8"

    field(page.number_input, "accelerator_hours").set_value(8000.0)
    field(page.selectbox, "grid").set_value("de").run()
    says_what_the_command_does(page, "--accelerator-hours", "8000", "--grid", "de")


@pytest.mark.nightly
def test_the_job_file_of_an_own_job_gives_its_number(page: AppTest) -> None:
    """The defaults stand in the file that is taken along: it does not hang on those of another version."""
    field(page.selectbox, "model").set_value("qwen3-8b").run()
    field(page.number_input, "tokens").set_value(100.0).run()
    text = page.text_area[0].value

    assert tomllib.loads(text)["training"] == {"model": "qwen3-8b", "tokens": 1e11, "nodes": 8}
    document = uploaded_document(text, "job.toml", {})
    assert page.metric[0].value == shared.quantity_text(document["totals"][0]["value"], "kgCO2e", SPOKEN)


@pytest.mark.nightly
def test_phases_are_switches_with_their_carbon(page: AppTest) -> None:
    """Off, a phase is not counted; on again, it is what the job file says of it."""
    document = the_first()
    switches = {one.label: one for one in page.toggle}
    assert [label for label, one in switches.items() if one.value] == [
        "Experimentation",
        "Training",
        "Storage",
        "Network",
    ]
    for row in document["phases"]:
        assert f"{said(row['kgco2e'], 'kgCO2e')}, {percent_text(row['of_total_fraction'])}" in shown(page)
    assert [label for label, one in switches.items() if one.disabled] == [
        "Data",
        "Fine-tuning",
        "Federated",
        "Inference",
    ]

    field(page.toggle, "phase.storage").set_value(False)
    field(page.toggle, "phase.building").set_value(True).run()
    tables = tomllib.loads(page.text_area[0].value)
    assert "storage" not in tables
    assert tables["building"] == {}
    assert "building: 1,500 kg a kW" in shown(page).replace("\\", "")
    field(page.toggle, "phase.building").set_value(False)
    field(page.toggle, "phase.storage").set_value(True).run()
    assert page.metric[0].value == "14.6 tCO2e"


@pytest.mark.parametrize("phase", WITHOUT_INPUTS)
def test_a_switch_alone_turns_a_phase_on(phase: str) -> None:
    """It needs nothing stated: experiments, network, building and end of life are shares of the rest."""
    tables = tomllib.loads(HOURS) | {phase: {}}
    found = uploaded_document(write_toml(tables), "mine.toml", {})["phases"]

    assert {row["phase"] for row in found} == {"training", phase.replace("_", " ")}


def test_a_meter_that_does_not_count_is_asked(page: AppTest) -> None:
    """Slurm's energy does not say how many accelerators: nothing is used before it is written."""
    sacct = b"JobID|ElapsedRaw|ConsumedEnergyRaw\n1|3600|7200000\n"
    bring(page, ("sacct.txt", sacct))

    assert not page.exception
    assert "how many accelerators" in shown(page)
    page.number_input("job.meter.count").set_value(8).run()
    assert page.button("job.use_meter").label == "Use as the training run"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([("notes.csv", b"a,b\n1,2\n")], "is none of the metered files that can be read"),
        ([("bad.toml", b"title = ")], "bad.toml: end of document: this is not TOML"),
        (
            [("bad.toml", b'title = "x"\n[site]\ngrid = "nowhere"\n')],
            "the catalogue has no grid region 'nowhere'",
        ),
        (
            [("bad.toml", HOURS.replace('grid = "fr"', 'hourly = "mine.csv"').encode())],
            "which is not here: add it",
        ),
        ([("bad.toml", b"\xff\xfe\x00")], "bad.toml:"),
    ],
)
def test_a_wrong_file_is_refused_and_the_page_goes_on(
    page: AppTest, files: list[tuple[str, bytes]], said: str
) -> None:
    """The message is the library's; the estimate that stood there stands."""
    bring(page, *files)

    assert not page.exception
    assert page.error[0].value.endswith("nothing of it was taken.")
    assert any(said in code.value for code in page.code)
    assert page.metric[0].value == "14.6 tCO2e"


def test_a_wrong_text_is_refused_and_kept(page: AppTest) -> None:
    """The typed text stays where it can be mended; the estimate is that of the old one."""
    type_in(page, HOURS.replace('"fr"', '"nowhere"'))

    assert not page.exception
    assert "the catalogue has no grid region 'nowhere'" in shown(page)
    assert page.metric[0].value == "14.6 tCO2e"
    assert 'grid = "nowhere"' in page.text_area[0].value


def test_a_job_that_cannot_be_estimated_says_why(page: AppTest) -> None:
    """405 billion weights do not fit on one node: no layout, no estimate, and the inputs stay."""
    field(page.selectbox, "model").set_value("llama-3.1-405b").run()
    field(page.number_input, "tokens").set_value(1000.0)
    field(page.number_input, "nodes").set_value(1).run()

    assert not page.exception
    assert page.error[0].value == "This job cannot be estimated with these inputs."
    assert "llama-3.1-405b" in shown(page)
    field(page.number_input, "nodes").set_value(128).run()
    assert not page.error


def test_names_of_files_are_shown_as_text(page: AppTest) -> None:
    """Signs of Markdown in a title stay the letters that they are."""
    hostile = "**a** :red[b] $x$ [d](https://example.org)"
    type_in(page, HOURS.replace('"mine"', json.dumps(hostile)))

    assert shared.plain(hostile) in [header.value for header in page.subheader]
    assert hostile not in "\n".join(part.value for part in [*page.markdown, *page.subheader])


def test_downloads_are_offered_in_every_format(page: AppTest) -> None:
    assert [button.label for button in page.get("download_button")] == [
        "Page (HTML)",
        "Data (JSON)",
        "Tables (CSV)",
        "Model card (Markdown)",
        "Job file (TOML)",
    ]


def test_only_digests_are_cache_keys() -> None:
    """Text, name and every byte of every file are in the digest; nothing else is hashed by the cache."""
    kept = PAGE.read_text(encoding="utf-8")
    one, other = (
        job_inputs.Base("t", "n", (("f", content),)) for content in (b"0" * 10**6, b"0" * 10**6 + b"1")
    )

    assert kept.count("@st.cache_data") == 2
    for signature in re.findall(r"@st.cache_data.*?\ndef \w+\((.*?)\) ->", kept, flags=re.DOTALL):
        first, *others = re.findall(r"(\w+):", signature)
        assert first == "digest"
        assert all(name.startswith("_") for name in others), signature
    assert one.digest("t") != other.digest("t")
    assert one.digest("t") == job_inputs.Base("old", "n", one.files).digest("t")
    assert len(one.digest("t")) == hashlib.sha256().digest_size * 2
