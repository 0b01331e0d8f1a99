"""Tables that a run or a service names, in a plan: as `everfleet place` places them, and what changes."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from planner.answers.placement import placement_document
from planner.answers.throughput import Question, throughput_document
from planner.inputs.consistency import check_scenario
from planner.inputs.loading import load_catalogue
from planner.inputs.placement_question import PlacementQuestion
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import ScenarioError, TrainingJob, canonical_text, load_scenario, parse_scenario
from planner.inputs.scenario.bundle import named_files
from planner.inputs.scenario.writing import part_schema
from planner.physics.batch_serving import why_not
from planner.physics.training_options import training_candidates
from planner.program import placed_works
from planner.program.assembly import Assembled, assemble
from planner.program.placed_works import place_tables
from planner.trace.origins import facts_of

CATALOGUE = load_catalogue()
FILE, SET = "criteo_tables.csv", "mlperf_dlrm_dcnv2_multihot"
WHOLE = f'{{ file = "{FILE}", set = "{SET}", ways = ["whole"], tiers = ["hbm"] }}'
RUN = """
[[training]]
name = "retrain"
model = "dlrm-dcnv2"
precision = "bf16"
samples = 1e12
batch_samples = 65536
deadline = 2027-07-01
nodes = [1]
checkpoint_storage = "parallel-fs"
"""
RANK = """
[[services]]
name = "rank"
model = "dlrm-dcnv2"
precision = "bf16"
candidates = 500
response_time = "60 ms"
peak_rate = "500 /s"
mean_to_peak = 0.5
availability = 0.99
"""


def text(work: str, sku: str = "h100-8") -> str:
    return f"""
title = "Placed"
[horizon]
start = 2027-01-01
periods = 2
period = "quarter"
[[sites]]
name = "here"
grid = "se"
pue = 1.1
power_cap = "900 kW"
racks = 40
[[fleet]]
sku = "{sku}"
site = "here"
nodes = 4
in_service = 2026-01-01
{work}
[reliability]
failures = "meta-rsc-1"
restart = "10 min"
repair = "5.5 d"
spare_confidence = 0.9
[policy]
objective = "money"
discount_rate = 0.08
node_life = "5 y"
"""


@cache
def assembled(work: str) -> tuple[Inputs, Assembled]:
    inputs = Inputs(parse_scenario(text(work), "placed"), CATALOGUE)
    return inputs, assemble(inputs)


def test_a_run_takes_the_imbalance_that_place_answers_and_no_other_number() -> None:
    """One road: the placement of the command, its imbalance on the same look-ups, its file in the trace."""
    question = PlacementQuestion(model=SET, nodes=(1,), train=True, ways=("whole",), tiers=("hbm",))
    document = placement_document(Path(FILE), question, CATALOGUE)
    answered = next(one["value"] for one in document["totals"] if one["name"] == "imbalance")
    inputs, of_tables = assembled(RUN + f"tables = {WHOLE}\n")
    _, even = assembled(RUN)
    placed = inputs.placements["training.retrain", "h100-8", 8]

    assert placed is not None
    assert float(placed.value) == pytest.approx(answered, rel=1e-6)
    assert answered > 1.5
    assert of_tables.runs is not None
    assert even.runs is not None
    slow, fast = (float(np.min(one.step_s.value)) for one in (of_tables.runs, even.runs))
    assert slow > 1.2 * fast
    placed_facts, even_facts = ({*facts_of(one.step_s)} for one in (of_tables.runs, even.runs))
    assert even_facts - placed_facts == {"performance.recommendation.imbalance"}


def test_throughput_places_tables_as_a_plan_does() -> None:
    """The step of one node with whole tables is that of the run of a plan; sizes have to be named."""
    _, of_tables = assembled(RUN + f"tables = {WHOLE}\n")
    asked = Question(
        "dlrm-dcnv2", skus=("h100-8",), nodes=(1,), tables=Path(FILE), table_set=SET, table_ways=("whole",)
    )
    (row,) = throughput_document(asked, CATALOGUE)["rows"]

    assert of_tables.runs is not None
    planned = float(np.min(of_tables.runs.step_s.value))
    assert row["step_s"] == pytest.approx(planned, rel=1e-6)
    with pytest.raises(ScenarioError, match="name --sku and --nodes"):
        throughput_document(Question("dlrm-dcnv2", tables=Path(FILE)), CATALOGUE)


def test_a_replica_needs_as_many_accelerators_as_hold_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """26 GB of tables in 8 bits: one L4 of 24 GB has no room for them, two have."""
    monkeypatch.setattr(placed_works, "unit_sizes", lambda *_: (1, 2))
    monkeypatch.setattr(placed_works, "SEARCH_S", 0.1)
    scenario = parse_scenario(text(RANK + f"tables = {WHOLE}\n", "l4-8"), "placed")
    inputs = Inputs(scenario, CATALOGUE)
    place_tables(inputs)
    fits = {n: found is not None for (_, _, n), found in inputs.placements.items()}

    assert fits == {1: False, 2: True}
    assert "do not fit on 1 of its accelerators" in why_not(inputs, scenario.services[0], 0, 1)
    assert why_not(inputs, scenario.services[0], 0, 2) == ""


def test_a_run_without_room_is_dropped_with_its_file() -> None:
    inputs = Inputs(parse_scenario(text(RUN + f"tables = {WHOLE}\n"), "placed"), CATALOGUE)
    inputs.placements["training.retrain", "h100-8", 8] = None
    candidates, dropped = training_candidates(inputs)

    assert len(candidates) == 0
    assert dropped[0].reason == f"the tables of {FILE} do not fit on 8 of its accelerators"


def test_a_file_name_alone_is_enough_and_what_is_written_is_read_again(tmp_path: Path) -> None:
    own = tmp_path / "tables.csv"
    own.write_text("table,rows,dim,pooling\na,102092294,128,107\nb,102092294,128,107\n")
    path = tmp_path / "placed.toml"
    path.write_text(text(RUN + 'tables = "tables.csv"\n'))
    scenario = load_scenario(path)
    check_scenario(scenario, CATALOGUE)
    path.write_text(canonical_text(scenario))

    assert load_scenario(path) == scenario
    assert named_files(scenario) == ("tables.csv",)
    schema = part_schema(TrainingJob)["properties"]["tables"]["anyOf"]
    assert [one["type"] for one in schema] == ["string", "object"]
    assert scenario.training[0].tables is not None
    assert [one.name for one in scenario.tables_of(scenario.training[0].tables)] == ["a", "b"]


@pytest.mark.parametrize(
    ("work", "wanted"),
    [
        (RUN + 'tables = "mine.csv"\n', "training.retrain.tables: 'mine.csv' is looked for in the folder"),
        (RUN + 'tables = "../mine.csv"\n', "training.retrain.tables: '../mine.csv' leads out of the folder"),
        (
            RUN + f'tables = "{FILE}"\n',
            "training.retrain.tables: criteo_tables.csv: has several: name one with set",
        ),
        (
            RUN + f'tables = {{ file = "{FILE}", set = "dlrm_criteo_1tb_onehot" }}\n',
            "training.retrain.tables: 26 rows are read for a sample by criteo_tables.csv, and 214 by the f",
        ),
        (
            RANK.replace("dlrm-dcnv2", "sdxl").replace("candidates = 500", "images = 1")
            + f"tables = {WHOLE}\n",
            "services.rank.tables: are those of a recommendation model, and 'sdxl' is none",
        ),
    ],
)
def test_wrong_tables_are_told_with_what_to_do(work: str, wanted: str) -> None:
    with pytest.raises(ScenarioError) as error:
        check_scenario(parse_scenario(text(work), "placed"), CATALOGUE)
    found = [f"{one.path}: {one.message}" for one in error.value.problems]
    assert any(one.startswith(wanted) for one in found), found
    assert len(found) == 1, found
