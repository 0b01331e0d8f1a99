"""The page on a job's carbon, run without a browser: it shows the document, and every message."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from planner import workers
from planner.jobs.card import to_card
from planner.jobs.handed import handed_document
from planner.ui import job_inputs, shared, waiting
from planner.workers.jobs import estimate

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "planner" / "ui" / "job.py"
METERED = ROOT / "tests" / "metered"
HOURS = (
    'title = "mine"\n[site]\ngrid = "fr"\n[hardware]\nsku = "h100-8"\n'
    "[training]\naccelerator_hours = 8000\npower = '700 W'\n"
)

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


def look_at(page: AppTest, part: str) -> AppTest:
    """Open one part of the page; the others are not drawn then."""
    page.session_state["job-tabs"] = part
    return page.run()


def bring(page: AppTest, *files: tuple[str, bytes]) -> AppTest:
    page.file_uploader("job.files").set_value([(name, content, "text/plain") for name, content in files])
    return page.run()


def type_in(page: AppTest, text: str) -> AppTest:
    """Write a whole job file by hand and use it."""
    page.text_area[0].set_value(text).run()
    return page.button("job.use_text").click().run()


def test_an_estimate_stands_at_once(page: AppTest) -> None:
    """The page opens on a shipped job, with the totals of the document that the command prints."""
    document = handed_document(job_inputs.job_text("train-8b"), "train-8b.toml", {})

    assert not page.exception
    assert not page.error
    assert [metric.value for metric in page.metric][:3] == ["14.22 t CO2e", "13.01 t CO2e", "1.208 t CO2e"]
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
    document = handed_document(job_inputs.job_text("train-8b"), "train-8b.toml", {})

    assert not page.exception
    assert len(page.get("vega_lite_chart")) == charts
    assert (to_card(document) in [code.value for code in page.code]) == (part == "For a model card")


def test_every_total_phase_and_score_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each number that is shown asks for its explanation by a name that the document holds."""
    asked: dict[str, float] = {}

    def why(document: dict[str, object], name: str, place: str, label: str = "why?") -> None:
        asked[name] = document["explanations"][name][0]["value"]  # type: ignore[index]

    monkeypatch.setattr(shared, "why", why)
    page = AppTest.from_file(str(PAGE), default_timeout=120).run()
    document = handed_document(job_inputs.job_text("train-8b"), "train-8b.toml", {})
    totals = {one["name"]: one["value"] for one in [*document["totals"][:5], *document["scores"]]}
    phases = {f"phase.{row['phase']}": row["kgco2e"] for row in document["phases"]}

    assert not page.exception
    for name, value in (totals | phases).items():
        assert asked[name] == pytest.approx(value), name


def test_inputs_change_the_estimate_and_the_file(page: AppTest) -> None:
    """Twice the nodes, a clean region and a PUE of the catalogue: the page's answer is the library's."""
    page.number_input("job.input.nodes").set_value(32)
    page.selectbox("job.input.grid").set_value("fr").run()
    text = page.text_area[0].value
    document = handed_document(text, "train-8b.toml", {})

    assert tomllib.loads(text)["site"]["grid"] == "fr"
    assert tomllib.loads(text)["training"]["nodes"] == 32
    assert tomllib.loads(text)["storage"]["amount"] == "40 TB", "what was not asked for stays"
    assert shared.plain(document["model_card"]) in shown(page)
    assert "With the inputs above; the title is that of the job file." in [one.value for one in page.caption]


def test_another_example_brings_its_own_inputs(page: AppTest) -> None:
    """BLOOM was measured: its hours are asked for, not a model; its authors printed 24.7 t and 11.2 t."""
    page.number_input("job.input.nodes").set_value(32).run()
    page.selectbox("job.example").set_value("bloom").run()

    assert [metric.value for metric in page.metric][1:3] == ["24.69 t CO2e", "11.2 t CO2e"]
    assert page.number_input("job.input.accelerator_hours").value == 1_082_990
    assert page.selectbox("job.input.grid").value == job_inputs.OWN
    look_at(page, "Where and when")
    assert not page.exception


def test_a_service_is_worked_out_beside_the_app(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its draws take seconds: the page asks a worker, which answers what the library does."""
    asked: list[dict[str, object]] = []
    answer = estimate({"text": HOURS, "name": "mine.toml", "files": {}}, lambda *_, **__: None, lambda: False)
    monkeypatch.setattr(workers, "start", lambda task, **said: asked.append({"task": task} | said) or "key")
    monkeypatch.setattr(waiting, "work_shown", lambda key: workers.Seen("done", result=answer))
    page.selectbox("job.example").set_value("chat-service").run()

    text = job_inputs.job_text("chat-service")
    assert asked[-1] == {"task": "job", "text": text, "name": "chat-service.toml", "files": {}}
    assert not page.exception
    assert answer == handed_document(HOURS, "mine.toml", {})
    assert shared.plain(answer["model_card"]) in shown(page)


def test_a_service_that_is_not_done_leaves_the_inputs(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a worker is at it there is nothing to show but how it stands."""
    monkeypatch.setattr(workers, "start", lambda task, **said: "key")
    monkeypatch.setattr(waiting, "work_shown", lambda key: workers.Seen("working"))
    page.selectbox("job.example").set_value("chat-service").run()

    assert not page.exception
    assert not page.metric
    assert page.number_input("job.input.requests_per_day").value == 2000


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
    assert app.metric[0].value == "14.22 t CO2e"


def test_a_job_file_is_told_before_it_is_used(page: AppTest) -> None:
    """What was recognised stands beside the old estimate until the button is pressed."""
    bring(page, ("mine.toml", HOURS.encode()))
    recognised = page.dataframe[0].value.to_dict("records")

    assert {"part": "training", "states": "accelerator hours, power kw"} in recognised
    assert page.metric[0].value == "14.22 t CO2e"
    page.button("job.use_file").click().run()
    document = handed_document(HOURS, "mine.toml", {})
    assert "mine" in [header.value for header in page.subheader]
    assert shared.plain(document["model_card"]) in shown(page)


def test_a_metered_file_becomes_the_training_run(page: AppTest) -> None:
    """CodeCarbon's file says who wrote it and what it saw; the rest of the job stays as it was."""
    name = "codecarbon-3.3.csv"
    bring(page, (name, (METERED / name).read_bytes()))
    recognised = {row["property"]: row["found"] for row in page.dataframe[0].value.to_dict("records")}

    assert recognised["written by"] == "codecarbon"
    page.button("job.use_meter").click().run()
    assert not page.exception
    assert not page.error
    assert "metered by codecarbon" in shown(page).replace("\\", "")
    assert tomllib.loads(page.text_area[0].value)["training"] == {"metered": name}


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
    assert page.metric[0].value == "14.22 t CO2e"


def test_a_wrong_text_is_refused_and_kept(page: AppTest) -> None:
    """The typed text stays where it can be mended; the estimate is that of the old one."""
    type_in(page, HOURS.replace('"fr"', '"nowhere"'))

    assert not page.exception
    assert "the catalogue has no grid region 'nowhere'" in shown(page)
    assert page.metric[0].value == "14.22 t CO2e"
    assert 'grid = "nowhere"' in page.text_area[0].value


def test_a_job_that_cannot_be_estimated_says_why(page: AppTest) -> None:
    """405 billion weights do not fit on one node: no layout, no estimate, and the inputs stay."""
    page.selectbox("job.input.model").set_value("llama-3.1-405b")
    page.number_input("job.input.nodes").set_value(1).run()

    assert not page.exception
    assert page.error[0].value == "This job cannot be estimated as it stands."
    assert "llama-3.1-405b" in shown(page)
    page.number_input("job.input.nodes").set_value(128).run()
    assert not page.error


def test_names_of_files_are_shown_as_text(page: AppTest) -> None:
    """Signs of Markdown in a title stay the letters that they are."""
    hostile = "**a** :red[b] $x$ [d](https://example.org)"
    type_in(page, HOURS.replace('"mine"', json.dumps(hostile)))

    assert shared.plain(hostile) in [header.value for header in page.subheader]
    assert hostile not in "\n".join(part.value for part in [*page.markdown, *page.subheader])


def test_downloads_are_offered_in_every_format(page: AppTest) -> None:
    assert [button.label for button in page.get("download_button")] == [
        "Page (HTML)", "Data (JSON)", "Tables (CSV)", "Model card (Markdown)", "Job file (TOML)"
    ]  # fmt: skip


def test_only_digests_are_cache_keys() -> None:
    """Text, name and every byte of every file are in the digest; nothing else is hashed by the cache."""
    kept = PAGE.read_text(encoding="utf-8")
    one, other = (
        job_inputs.Base("t", "n", (("f", content),)) for content in (b"0" * 10**6, b"0" * 10**6 + b"1")
    )

    assert kept.count("@st.cache_data") == 3
    for signature in re.findall(r"@st.cache_data.*?\ndef \w+\((.*?)\) ->", kept, flags=re.DOTALL):
        first, *others = re.findall(r"(\w+):", signature)
        assert first == "digest"
        assert all(name.startswith("_") for name in others), signature
    assert one.digest("t") != other.digest("t")
    assert one.digest("t") == job_inputs.Base("old", "n", one.files).digest("t")
    assert len(one.digest("t")) == hashlib.sha256().digest_size * 2
