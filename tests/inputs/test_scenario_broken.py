"""Every way to write a scenario wrong that we could think of, and exactly what is said about it."""

from __future__ import annotations

import os
import re
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.inputs.scenario import Known, ScenarioError, check_against, load_scenario, parse_scenario

ROOT = Path(__file__).resolve().parents[2]
BROKEN = sorted((ROOT / "tests/broken").glob("*.toml"))
A_PLACE = (
    "begin each building of your own with [[sites]]; who only rents writes [[rental]] with "
    'region = "aws/us-east-1" or grid, and no site'
)
SHIPPED = sorted((ROOT / "data/scenarios").glob("*.toml"))

GOOD = """
title = "One training job"
horizon = { start = 2027-01-01, periods = 2, period = "quarter" }
reliability = { failures = "meta-rsc-1", restart = "10 min", repair = "5.5 d", spare_confidence = 0.95 }
policy = { objective = "money", discount_rate = "8 %", node_life = "5 y" }

[[sites]]
name = "stockholm"
grid = "se"
pue = 1.15
power_cap = "300 kW"
racks = 12

[[market]]
sku = "h100-8"
lead_time = "0 d"

[[training]]
name = "train-8b"
model = "llama-3-8b"
tokens = 300e9
sequence_tokens = 8192
batch_tokens = 4e6
precision = "bf16"
deadline = 2027-06-30
nodes = [2, 4, 8, 16]
checkpoint_storage = "nvme-local"
"""

KNOWN = Known(
    skus=frozenset({"a100-80-8", "h100-8"}),
    models=frozenset({"llama-3-8b", "llama-3.1-70b"}),
    grids=frozenset({"se", "us-camx"}),
    traffics=frozenset({"azure-2023-conv"}),
    storages=frozenset({"nvme-local", "parallel-fs"}),
    fleets=frozenset({"meta-rsc-1", "meta-rsc-2"}),
    fact_units={"accelerator.h100-sxm-80gb.tdp": "kW", "grid.decline": "1"},
)


def said_about(text: str) -> list[str]:
    with pytest.raises(ScenarioError) as error:
        parse_scenario(text, "s.toml")
    return [line.removeprefix("s.toml: ") for line in str(error.value).splitlines()]


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
@pytest.mark.timeout(20)  # a bomb would hang, not fail
def test_each_broken_file_is_told_exactly_what_is_wrong(path: Path) -> None:
    """A file's first lines, `#: path: message`, are the whole answer: each problem, its place, a remedy."""
    text = path.read_text(encoding="utf-8")
    expected = [f"{path.name}: {line}" for line in re.findall(r"^#: (.*)$", text, flags=re.MULTILINE)]

    with pytest.raises(ScenarioError) as error:
        load_scenario(path)

    assert expected
    assert str(error.value).splitlines() == expected


def test_there_are_enough_broken_files() -> None:
    assert len(BROKEN) >= 70


def test_no_message_is_left_in_a_librarys_words() -> None:
    words = " ".join(path.read_text(encoding="utf-8").partition("\ntitle")[0] for path in BROKEN)

    assert not re.search(r"Input should|Extra inputs|Field required|valid string|pydantic|Error", words)


def test_all_problems_are_told_at_once() -> None:
    """Fields and what lies between fields: eight mistakes, eight lines, none hidden or told twice."""
    with pytest.raises(ScenarioError) as error:
        load_scenario(ROOT / "tests/broken/many-problems.toml")

    assert [problem.path for problem in error.value.problems] == [
        "horizon.periods",
        "sites.dallas.pue",
        "sites.dallas.power_cap",
        "training.train-8b.precision",
        "policy.discount_rate",
        "services.chat.avilability",
        "reliability",
        "fleet[0].site",
    ]


# Files that are none


def test_a_missing_file_is_named_with_its_neighbour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("quarter.toml").write_text(GOOD, encoding="utf-8")

    with pytest.raises(ScenarioError, match=r"^quarte\.toml: no such file; did you mean 'quarter\.toml'\?$"):
        load_scenario("quarte.toml")
    with pytest.raises(ScenarioError, match=r"^no/such/folder\.toml: no such file$"):
        load_scenario("no/such/folder.toml")


def test_a_folder_or_a_pipe_is_no_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a pipe that nobody writes to would wait for ever."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.toml")

    with pytest.raises(ScenarioError, match=r"^\.: is a folder: name a scenario file in it$"):
        load_scenario(".")
    with pytest.raises(ScenarioError, match=r"^pipe\.toml: is no regular file: write what it holds"):
        load_scenario("pipe.toml")


@pytest.mark.timeout(20)  # a bomb would hang, not fail
def test_ten_megabytes_are_refused_unread(tmp_path: Path) -> None:
    large = tmp_path / "large.toml"
    large.write_bytes(b"# comment\n" * 1_000_000)
    tracemalloc.start()

    with pytest.raises(ScenarioError) as error:
        load_scenario(large)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(error.value) == "large.toml: has 10.0 MB, and a scenario has at most 1 MB"
    assert peak < 5e6
    assert said_about("#" * 1_000_001) == ["has 1.0 MB, and a scenario has at most 1 MB"]


@pytest.mark.parametrize(
    ("encoding", "where"),
    [("latin-1", "byte 11 is 0xfc"), ("utf-16", "byte 1 is 0xff"), ("utf-32", "byte 1 is 0xff")],
)
def test_other_encodings_are_refused(tmp_path: Path, encoding: str, where: str) -> None:
    path = tmp_path / "s.toml"
    path.write_bytes('title = "Für Zürich"'.encode(encoding))

    with pytest.raises(ScenarioError) as error:
        load_scenario(path)

    assert str(error.value) == f"s.toml: is not UTF-8 text ({where}): save it as UTF-8"


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())

    assert load_scenario(path) == parse_scenario(GOOD)


def test_an_empty_file_is_told_what_a_scenario_needs() -> None:
    assert said_about("") == [
        'title: is missing: write for example title = "Next quarter"',
        "horizon: is missing: begin it with [horizon]",
        "reliability: is missing: begin it with [reliability]",
        "policy: is missing: begin it with [policy]",
        f"sites: there is none: {A_PLACE}",
        "there is no work to plan: add [[training]], [[pools]] or [[services]]",
        "there is nothing to run on: add [[fleet]] (owned), [[market]] (on offer) or [[rental]] (rented)",
    ]


def test_who_only_rents_names_no_site() -> None:
    head, market = GOOD.split("[[sites]]")[0], GOOD.index("[[market]]")
    rented = GOOD[market:].replace("[[market]]", '[[rental]]\nname = "cloud"\nregion = "aws/us-east-1"')
    alone = head + rented.replace('lead_time = "0 d"\n', "")
    assert parse_scenario(alone).sites == ()
    assert said_about(head + GOOD[market:]) == [f"sites: there is none for [[market]] to stand at: {A_PLACE}"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "count"),
    [("\n".join(f"k{i} = {i}" for i in range(60_000)), 60_007), (GOOD + "[[pools]]\n" * 201, 1)],
    ids=["keys", "tables"],
)
@pytest.mark.timeout(20)  # a bomb would hang, not fail
def test_a_flood_of_problems_is_cut_and_counted(text: str, count: int) -> None:
    said = said_about(text)

    if count == 1:
        assert said == ["pools: has 201 entries: write at most 200"]
    else:
        assert len("\n".join(said)) <= 5_000
        assert said[-1] == f"and {count - len(said) + 1:,} more problems"


# Names of the catalogue


def test_names_that_the_catalogue_lacks_get_their_nearest() -> None:
    text = (
        GOOD.replace('"se"', '"us-cam"')
        .replace('"llama-3-8b"', '"lama-3-8b"')
        .replace('sku = "h100-8"', 'sku = "b200-8"')
        .replace('"nvme-local"', '"tape"')
        .replace('"meta-rsc-1"', '"meta-rsc1"')
        + '\n[facts]\n"accelerator.h100.tdp" = "650 W"\n"accelerator.h100-sxm-80gb.tdp" = "650 kg"\n'
    )
    with pytest.raises(ScenarioError) as error:
        check_against(parse_scenario(text), KNOWN)

    assert [line.removeprefix("scenario: ") for line in str(error.value).splitlines()] == [
        "sites.stockholm.grid: the catalogue has no grid region 'us-cam'; did you mean 'us-camx'? "
        "`everfleet add region` writes one of your own, or state grid_intensity in place of grid",
        "market.b200-8.sku: the catalogue has no SKU 'b200-8'; did you mean 'h100-8'? "
        "`everfleet add gpu` writes one of your own",
        "training.train-8b.model: the catalogue has no model 'lama-3-8b'; did you mean 'llama-3-8b' or "
        "'llama-3.1-70b'? `everfleet add model` writes one of your own",
        "training.train-8b.checkpoint_storage: the catalogue has no storage class 'tape'; there is "
        "nvme-local, parallel-fs",
        "reliability.failures: the catalogue has no fleet 'meta-rsc1'; did you mean 'meta-rsc-1' or "
        "'meta-rsc-2'?",
        "facts.accelerator.h100.tdp: the catalogue has no such fact; did you mean "
        "'accelerator.h100-sxm-80gb.tdp'?",
        "facts.accelerator.h100-sxm-80gb.tdp: '650 kg': 'kg' is a mass, here kW is wanted; write for "
        "example '2000 kW'",
    ]


def test_names_that_the_catalogue_has_pass() -> None:
    text = GOOD + '\n[facts]\n"accelerator.h100-sxm-80gb.tdp" = "650 W"\n"grid.decline" = 0.05\n'

    check_against(parse_scenario(text), KNOWN)


# Whatever comes


@given(st.text(max_size=300))
@pytest.mark.slow
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing but our own error leaves, whatever is written."""
    with pytest.raises(ScenarioError):
        parse_scenario(text)


VALUES = st.sampled_from(
    [
        "0",
        "-1",
        "1e308",
        "nan",
        "-inf",
        "true",
        '""',
        '"nan kW"',
        '"1e400 h"',
        '"1_000"',
        '"１２ kW"',
        '"-1 kW"',
        "[]",
        "[[]]",
        "{}",
        "{ a = 1 }",
        "1990-01-01",
        "2027-01-01T00:00:00Z",
        "00:30:00",
        "99999999999999999999",
        '"\\u0000"',
        '"x"',
        '["x", "x"]',
        '"0 h"',
        '"5 %"',
        '"9^9^9^9^9 kW"',
        '"1 kW^2"',
    ]
)


@pytest.mark.slow
@given(st.integers(0, 10_000), VALUES)
def test_a_field_holds_what_its_type_says_or_is_refused(which: int, value: str) -> None:
    """Any value in any field of the good files: a scenario whose numbers are finite, or our own error."""
    text = SHIPPED[which % len(SHIPPED)].read_text(encoding="utf-8")
    lines = text.splitlines()
    fields = [i for i, line in enumerate(lines) if re.match(r"\w+ = ", line)]
    at = fields[which // len(SHIPPED) % len(fields)]
    lines[at] = f"{lines[at].partition(' =')[0]} = {value}"
    try:
        scenario = parse_scenario("\n".join(lines))
    except ScenarioError:
        pass
    else:
        assert not re.search(r"[ (]-?(nan|inf)\b", str(scenario.model_dump()))


def test_a_misspelt_key_in_a_misspelt_list_is_told():
    """Both slips are told; of one input of the study that was a crash."""
    with pytest.raises(ScenarioError) as error:
        parse_scenario('title = "x"\n[[flet]]\nsku = "h100-8"\nnods = 3\n')
    said = {one.path: one.message for one in error.value.problems}

    assert said["flet"] == "is not known here; did you mean 'fleet'?"
    assert said["fleet[0].nods"] == "is not known here; did you mean 'nodes'?"
