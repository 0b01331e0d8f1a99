"""No family of facts is without a reader: each `use` in `data/ranges.csv` agrees with what code asks for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from planner.answers.check import idle_facts
from planner.answers.job import read_job
from planner.answers.job.document import job_document
from planner.answers.plan.document import plan_document
from planner.inputs.consistency import check_scenario
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.overrides import override_of
from planner.inputs.ranges import COUNTED, USES
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import ScenarioError, load_scenario, with_changes
from planner.program.assembly import assemble
from planner.program.plan import plan_fleet
from planner.trace.errors import InputError

CATALOGUE = load_catalogue()
PLANNER = Path(__file__).resolve().parents[2] / "planner"
FACES = ("cli/", "ui/", "report/", "inputs/editing/")  # they show facts and count with none
TEXT = re.compile(r'"([^"\n]*)"')
PROSE = re.compile(r'""".*?"""|#[^\n"]*$', re.DOTALL | re.MULTILINE)
KEY = re.compile(r"[\w.@{}-]+")


@dataclass(frozen=True)
class Module:
    """What a module can ask for: areas that it names, last words of keys, and keys that it writes whole."""

    areas: frozenset[str]
    words: frozenset[str]
    half_words: tuple[re.Pattern[str], ...]
    keys: tuple[re.Pattern[str], ...]
    starts: tuple[str, ...]

    def names(self, key: str) -> bool:
        """Whether both ends of a key stand in the module: its area, and its last word in a text.

        A text such as "reliability.llama3-cause-" asks for all keys that start so.
        """
        area, last = key.partition(".")[0], key.rpartition(".")[2]
        return key.startswith(self.starts) or (
            area in self.areas
            and (last in self.words or any(word.fullmatch(last) for word in self.half_words))
        )


def pattern_of(text: str, hole: str) -> re.Pattern[str]:
    return re.compile(".+".join(re.escape(part) for part in text.split(hole)))


@cache
def modules() -> dict[str, Module]:
    with (data_folder() / "aliases.toml").open("rb") as file:
        aliases = tomllib.load(file)
    return {
        path.relative_to(PLANNER).as_posix(): module_of(path.read_text(encoding="utf-8"), aliases)
        for path in sorted(PLANNER.rglob("*.py"))
        if not path.relative_to(PLANNER).as_posix().startswith(FACES)
    }


def module_of(code: str, aliases: dict[str, dict[str, object]]) -> Module:
    code = PROSE.sub("", code)
    found = {re.sub(r"\{[^{}]*\}", "{}", text) for text in TEXT.findall(code)}
    found |= {str(to) for table in found & aliases.keys() for to in aliases[table].values()}
    for name in found & {
        path.name for path in data_folder().glob("*.toml")
    }:  # the code asks for what it says
        found |= set(TEXT.findall((data_folder() / name).read_text(encoding="utf-8")))
    if "regions.csv" in found:  # which names facts of PUE and WUE by their last words
        found |= set(re.split(r"[,\n]", (data_folder() / "regions.csv").read_text(encoding="utf-8")))
    texts = {text for text in found if KEY.fullmatch(text)}
    last = {text.rpartition(".")[2] for text in texts}
    return Module(
        areas=frozenset({text.partition(".")[0] for text in texts} | set(re.findall(r"\.(\w+)\(", code))),
        words=frozenset(word for word in last if "{}" not in word),
        half_words=tuple(
            re.compile(".*".join(re.escape(part) for part in word.split("{}")))  # a hole may be a place that
            # ends in a dot, as in `{place}memory_{kind}`
            for word in last
            if re.search(r"\{\}\w|\w\{\}", word)
        ),
        keys=tuple(
            pattern_of(text, "{}")
            for text in texts
            if "." in text and text[0] != "{" and "{" not in text.rpartition(".")[2]
        ),
        starts=tuple(text for text in texts if "." in text and text.endswith("-")),
    )


def families() -> Iterator[tuple[str, str, list[str]]]:
    """Each pattern with its use and the keys of its facts."""
    keys = sorted({key.partition("@")[0] for key in CATALOGUE.facts})
    for family in CATALOGUE.ranges.families:
        for pattern in family.patterns:
            mine = pattern_of(pattern, "*")
            yield pattern, family.use, [key for key in keys if mine.fullmatch(key)]


def readers(keys: list[str]) -> set[str]:
    return {name for name, module in modules().items() if any(module.names(key) for key in keys)}


@pytest.mark.slow
def test_answers_read_every_family_of_inputs():
    unread = [
        pattern
        for pattern, use, keys in families()
        if use in COUNTED and keys and all(name.startswith("validation/") for name in readers(keys))
    ]

    assert unread == [], "mark them as check or reference in ranges.csv, or take the facts away"


@pytest.mark.slow
def test_published_cases_read_every_family_of_theirs_and_nothing_else_does():
    found = {pattern: readers(keys) for pattern, use, keys in families() if use == "check"}

    assert [pattern for pattern, by in found.items() if not any("validation/" in name for name in by)] == []


@pytest.mark.slow
def test_nothing_asks_for_a_fact_that_is_said_to_be_idle():
    """A key that is written whole, such as `f"server.{name}.price"`, counts as asked for.

    What a scenario is refused by is no answer.
    """
    read_by = {
        pattern: sorted(
            name
            for name, module in modules().items()
            if use == "reference" or not name.startswith(("validation/", "inputs/consistency"))
            if any(text.fullmatch(key) for key in keys for text in module.keys)
        )
        for pattern, use, keys in families()
        if use not in COUNTED
    }

    assert {pattern: by for pattern, by in read_by.items() if by} == {}


def test_a_family_without_a_reader_would_be_found():
    """The search itself: a word in prose, or an area without the word, is no reader."""
    module = module_of('"""reads power.fans"""\nfact(f"power.{part}.idle")  # fans\n', {})

    assert not module.names("power.fans")
    assert module.names("power.node.idle")
    assert readers(["accelerator.h100-sxm-80gb.hue"]) == set()


IDLE = {
    "pue.meta": "reference",
    "accelerator.h100-sxm-80gb.int8_peak": "check",
}


@pytest.mark.parametrize(("key", "use"), IDLE.items())
def test_an_own_value_that_would_change_nothing_is_refused(key, use):
    text = f"{CATALOGUE.fact(key).value:g} {CATALOGUE.fact(key).unit.removeprefix('1')}".strip()
    shipped = load_scenario(data_folder() / "scenarios" / "one-training-job.toml")

    with pytest.raises(ScenarioError) as refused:
        check_scenario(with_changes(shipped, {f"facts.{key}": text}), CATALOGUE)
    assert f"facts.{key}: {USES[use]}; remove it" in str(refused.value)
    with pytest.raises(InputError, match="counts with it: it is"):
        override_of(key, text, CATALOGUE)


SPOKEN = "nothing in {} asks for it"
OTHER = "accelerator.gb200-nvl72.tdp"  # a node that nobody has or offers
SMALL = {"training.train-8b.nodes": [4], "market.h100-8.order_nodes": 4}


def test_a_plan_and_a_check_say_which_own_values_change_nothing():
    """A wattage of a node that the scenario does not name, and a price that its policy does not ask for."""
    mine = {**SMALL, f"facts.{OTHER}": "1 kW", "facts.server.hgx-h100.price": "300 kUSD"}
    scenario = with_changes(load_scenario(data_folder() / "scenarios" / "one-training-job.toml"), mine)

    assert idle_facts(scenario) == [f"[facts] {OTHER} changes nothing: {SPOKEN.format('this scenario')}"]
    inputs = Inputs(scenario, CATALOGUE)
    assemble(inputs)
    assert inputs.idle_facts == (OTHER,)


@pytest.mark.slow
def test_the_plan_itself_says_so(tmp_path):
    shipped = (data_folder() / "scenarios" / "one-training-job.toml").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(f'{shipped}\n[facts]\n"{OTHER}" = "1 kW"\n"embodied.building" = "400 kg/kW"\n')
    plan = plan_fleet(with_changes(load_scenario(path), SMALL), baselines=False)

    said = [line for line in plan_document(plan)["why"] if line.startswith("[facts]")]
    assert f"[facts] {OTHER} changes nothing: {SPOKEN.format('this plan')}." in said


def test_a_job_says_which_own_values_change_nothing():
    job = {
        "title": "mine",
        "site": {"grid": "se"},
        "hardware": {"sku": "a100-80-8"},
        "training": {"accelerator_hours": 100},
        "facts": {OTHER: "1 kW", "grid.se.intensity": "30 g/kWh"},
    }

    notes = job_document(read_job(job, "job.toml", CATALOGUE), CATALOGUE)["notes"]

    assert [n for n in notes if "[facts]" in n] == [
        f"[facts] {OTHER} changes nothing: {SPOKEN.format('this job')}"
    ]
