"""`everfleet place`: tables on devices, against hand counts, greedy rules and every door."""

from __future__ import annotations

import json
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from shape_check import shape_problems, unopened

import everfleet as ef
from planner.answers.placement import facts_toml, placement_document
from planner.cli import ANSWER, NO_PLAN, WRONG_INPUT, main
from planner.inputs.embedding_tables import read_reuse, read_tables, with_reuse
from planner.inputs.loading import load_catalogue
from planner.inputs.placement_question import NODES, PlacementQuestion
from planner.report.shape import answer_json, read_back, written
from planner.trace.errors import InputError

CRITEO, MODEL = Path("criteo_tables.csv"), "mlperf_dlrm_dcnv2_multihot"
REUSE, DATASET = Path("dlrm_datasets_reuse.csv"), "fbgemm_t856_bs65536.pt"
HEAD = "table,rows,dim,pooling,bytes_per_param\n"


@cache
def criteo(nodes: int = 1) -> dict[str, Any]:
    """The public tables with the public histogram on nodes of 8 x 80 GB."""
    question = PlacementQuestion(
        model=MODEL, reuse=REUSE, dataset=DATASET, nodes=(nodes,), time_limit_s=1.0, train=True
    )
    return placement_document(CRITEO, question)


def small(folder: Path, text: str, **other: Any) -> dict[str, Any]:
    """Tables of a text, whole and on H100, unless something else is asked."""
    path = folder / "tables.csv"
    path.write_text(HEAD + text, encoding="utf-8")
    asked = {"nodes": (1,), "ways": ("whole",), "batch": 1000, "time_limit_s": 1.0} | other
    return placement_document(path, PlacementQuestion(**asked))


def test_one_table_by_hand(tmp_path: Path) -> None:
    """1000 samples x 10 rows x 512 B at 3350 GB/s x 0.836, and 1000 vectors of 128 x 2 B to seven others."""
    document = small(tmp_path, "a,1000000,128,10,4\n")
    size, device = document["sizes"][0], max(document["devices"], key=lambda row: row["device_s"])

    assert device["lookup_s"] == pytest.approx(1000 * 10 * 512 / (3350e9 * 0.836))
    sent = 1000 * 128 * 2 / 1e9 * 7 / 8 / (450 * 0.667)
    fact = load_catalogue().fact
    started_s = fact("performance.training.collective_latency").value
    partner_s = fact("performance.recommendation.partner_latency").value
    assert device["exchange_s"] == pytest.approx(sent + started_s + 7 * partner_s)
    assert size["step_s"] == device["device_s"] == pytest.approx(size["bound_s"])
    assert size["proven"]


def test_a_slow_tier_holds_what_is_read_least(tmp_path: Path) -> None:
    """Of a terabyte, rows that are read alike spill to drives; rows that are read often stay in HBM."""
    reuse = tmp_path / "reuse.csv"
    reuse.write_text("reuse_gt,share_of_rows,share_of_accesses\n0,0.99,0.1\n8,0.01,0.9\n", encoding="utf-8")
    hot = small(tmp_path, "a,100000000,128,10,4\n", reuse=reuse, tiers=("hbm", "host", "ssd"))
    even = small(tmp_path, "a,2000000000,128,10,4\n", tiers=("hbm", "host", "ssd"))

    assert hot["tiers"][0]["moved_fraction"] == pytest.approx(1.0)
    assert even["tiers"][1]["held_gb"] > 0
    assert even["tiers"][2]["held_gb"] > 0
    assert even["tiers"][2]["moved_fraction"] > even["tiers"][2]["held_gb"] / 1024  # blocks of 4096 B


def test_the_public_tables_are_placed_far_better_than_by_rule() -> None:
    """3.2 times and more, at most 2 % above the bound; the devices of the step stand in its table."""
    document = criteo()

    assert document["sizes"][0]["gap_fraction"] < 0.02
    assert all(row["over_ours_ratio"] > 3 for row in document["rules"] if row["fits"])
    assert max(row["device_s"] for row in document["devices"]) == document["sizes"][0]["step_s"]
    held = sum(row["hbm_gb"] for row in document["devices"])
    assert held == pytest.approx(sum(row["hbm_gb"] for row in document["placed"]))
    assert {row["way"] for row in document["placed"]} >= {"copies", "columns"}


def test_copies_take_most_of_what_is_sent(tmp_path: Path) -> None:
    """FlexShard tells of 85 % less on rows that are sent as they are; one hot row in ten does that here."""
    reuse = tmp_path / "reuse.csv"
    reuse.write_text("reuse_gt,share_of_rows,share_of_accesses\n0,0.9,0.15\n8,0.1,0.85\n", encoding="utf-8")
    path = tmp_path / "tables.csv"
    path.write_text("table,rows,dim,pooling,summed\n" + "a,20000000,128,20,no\n", encoding="utf-8")
    found = placement_document(
        path, PlacementQuestion(nodes=(1,), reuse=reuse, ways=("copies",), time_limit_s=1.0)
    )

    assert any("save 85.0 % of the vectors that are sent" in said for said in found["headline"])


def test_fewest_nodes_are_enough_and_one_less_is_not() -> None:
    """104.5 GB of whole tables, five of 20.48 GB: two of 8 x 24 GB where only chips hold tables."""
    asked = {"model": MODEL, "sku": "l4-8", "tiers": ("hbm",), "ways": ("whole",), "time_limit_s": 1.0}
    least = placement_document(CRITEO, PlacementQuestion(aim=NODES, nodes=(1, 2), **asked))
    quick = placement_document(CRITEO, PlacementQuestion(aim=NODES, nodes=(1,), within_s=1e-6, **asked))

    assert [row["nodes"] for row in least["sizes"]] == [1]
    assert "placed" not in quick
    assert "No placement within" in quick["headline"][1]


def test_throughput_takes_the_imbalance(tmp_path: Path) -> None:
    """Whole tables on 32 small chips keep one of them busy 18 times as long as even parts would."""
    asked = {"model": MODEL, "sku": "l4-8", "ways": ("whole",), "time_limit_s": 1.0, "nodes": (4,)}
    document = placement_document(CRITEO, PlacementQuestion(**asked))
    path = tmp_path / "imbalance.toml"
    path.write_text(facts_toml(document), encoding="utf-8")
    even = ef.throughput("dlrm-dcnv2", skus="l4-8", nodes=4)["rows"][0]
    own = ef.throughput("dlrm-dcnv2", skus="l4-8", nodes=4, data=path)["rows"][0]

    assert 17 < document["totals"][1]["value"] < 19
    # The busiest look-up, forward and four times that backward (Adagrad), comes to the step of both.
    longer = (document["totals"][1]["value"] - 1) * 5 * 65_536 * 214 * 512 / 32 / (300e9 * 0.836)
    assert float(own["step_s"]) - float(even["step_s"]) == pytest.approx(longer, rel=0.1)


def test_every_number_opens_and_the_document_comes_back() -> None:
    document = written(criteo())

    assert shape_problems(document) == []
    assert list(unopened(document)) == []
    assert read_back(json.loads(answer_json(criteo()))) == json.loads(json.dumps(criteo()))


@pytest.mark.slow
def test_command_and_python_say_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tables.csv"
    path.write_text(HEAD + "a,1000,64,3,4\nb,2000,64,5,2\n", encoding="utf-8")
    answer = ef.place(path, nodes=1, within_s="5 ms")

    assert main(shlex.split(f"place {path} --nodes 1..1 --within '5 ms' --json")) == ANSWER
    assert json.loads(capsys.readouterr().out) == answer.to_dict()
    assert set(answer.charts) == {"devices", "bytes"}
    assert main(["place", str(path), "--csv", "--nodes", "1"]) == ANSWER
    assert capsys.readouterr().out.splitlines()[0].startswith("table,way,pieces,devices")


def test_tables_that_fit_nowhere_are_no_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tables.csv"
    path.write_text(HEAD + "a,10000000000,128,3,4\n", encoding="utf-8")

    assert main(["place", str(path), "--nodes", "1", "--tiers", "hbm"]) == NO_PLAN
    assert "No placement" in capsys.readouterr().out


def test_what_a_question_states_in_vain_is_said(tmp_path: Path) -> None:
    """A limit that no size keeps, a model of a file without models, and more nodes than are looked at."""
    path = tmp_path / "tables.csv"
    path.write_text(HEAD + "a,1000000,64,10,4\n", encoding="utf-8")

    assert "That is longer than 1e-06 s" in ef.place(path, nodes=1, within_s="1 us").to_text()
    assert "That is longer" not in ef.place(path, nodes=1, within_s="5 s").to_text()
    with pytest.raises(InputError, match="has no column model, so that it has no 'dlrm'"):
        read_tables(path, "dlrm")
    with pytest.raises(InputError, match="h100-8: at most 128 nodes, 1024 devices"):
        ef.place(path, nodes=129)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("table,rows,dim\na,1,1\n", "has no column pooling"),
        (HEAD + "a,-1,x,1,4\n", r"rows is a number.*\n.*dim is a number"),
        (HEAD + "a,1,1,1,4\na,1,1,1,4\n", "two tables have one name"),
        (HEAD + "a,1,1\n", "has 3 cells"),
        (HEAD, "has no rows"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "tables.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        read_tables(path)


def test_a_missing_file_is_named_as_it_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["place", "nope.csv"]) == WRONG_INPUT
    assert capsys.readouterr().err.strip() == "nope.csv: No such file or directory"


def test_more_than_memory_holds_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="more than 40 million places"):
        small(tmp_path, "".join(f"{at},10,8,1,4\n" for at in range(14_000)), nodes=(128,))


def test_a_wrong_question_names_every_problem(capsys: pytest.CaptureFixture[str]) -> None:
    asked = "place criteo_tables.csv --sku h100 --nodes 0 --tiers tape --ways cut --aim money --dataset x"
    assert main(asked.split()) == WRONG_INPUT
    said = capsys.readouterr().err
    assert all(option in said for option in ("--sku", "--nodes", "--tiers", "--ways", "--aim", "--dataset"))
    assert main(["place", "criteo_tables.csv"]) == WRONG_INPUT
    assert "name one with --model" in capsys.readouterr().err


def test_rows_that_a_histogram_rounds_away_are_counted() -> None:
    """0.000 of the rows get 7.6 % of the reads: never more than the printed digit hides, never none."""
    reuse = read_reuse(REUSE, DATASET)[""]

    assert sum(one.rows_fraction for one in reuse) == pytest.approx(1)
    assert sum(one.reads_fraction for one in reuse) == pytest.approx(1)
    assert all(one.rows_fraction > 0 for one in reuse)
    assert reuse[0].rows_fraction < 1e-5  # read more than 32,768 times in one batch
    assert with_reuse(read_tables(CRITEO, MODEL), {"": reuse})[3].reuse == reuse


def test_sizes_that_go_down_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Taken as none, they would have been the sizes of the default."""
    with pytest.raises(SystemExit):
        main(shlex.split("place criteo_tables.csv --nodes 4..1"))
    assert "'4..1' are no node counts: write for example 8,16,32 or 1..4" in capsys.readouterr().err
