"""Facts of one's own: next to ours, told with file and line, written only where they hold."""

from __future__ import annotations

import io
import json
import re
import shlex
import zipfile
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import everfleet as ef
from planner.answers.lists import LISTS, listed
from planner.cli import ANSWER, WRONG_INPUT, main
from planner.inputs.loading import load_catalogue, own_data
from planner.inputs.own.classes import class_of
from planner.inputs.own.facts import OwnDataError
from planner.inputs.own.uploads import laid_out
from planner.inputs.resolved import Inputs
from planner.inputs.scenario import load_scenario, with_changes
from planner.inputs.scenario.bundle import keep, restored
from planner.physics.hour_series import grid_hours
from planner.program.plan import plan_fleet

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "your-own-facts.md").read_text(encoding="utf-8")
GPU = shlex.split(
    "add gpu own-8 --bf16 '1.2 PFLOP/s' --memory '192 GB' --memory-bandwidth '6 TB/s' --accelerators 8 "
    "--link-bandwidth '500 GB/s' --tdp '900 W' --price '350000 USD' --like h200-8"
)


def facts_in(folder: Path, rows: str, header: str = "key,value,unit") -> Path:
    """A folder of one's own with these rows."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rows.csv").write_text(f"{header}\n{rows}\n", encoding="utf-8")
    return folder


def hours(path: Path) -> Path:
    """A leap year of hours, 100 g in the first half of each day and 150 g after."""
    start = datetime(2024, 1, 1)
    lines = [
        f"{start + timedelta(hours=i):%Y-%m-%dT%H:%MZ},{100 + 50 * (i % 24 > 12)}" for i in range(366 * 24)
    ]
    path.write_text("\n".join(["time,gCO2e/kWh", *lines]) + "\n", encoding="utf-8")
    return path


def test_rows_replace_ours_and_name_their_file_and_line(tmp_path: Path) -> None:
    shipped = load_catalogue()
    with own_data(
        facts_in(tmp_path / "mine", "finance.maintenance,0.04,\nelectricity.plant.price,62,USD/MWh")
    ):
        own = load_catalogue()

    assert (own.fact("finance.maintenance").value, shipped.fact("finance.maintenance").value) == (0.04, 0.05)
    assert own.fact("finance.maintenance").locator == "mine/rows.csv:2"
    assert own.fact("finance.maintenance").kind == "yours"
    assert own.fact("electricity.plant.price").value == pytest.approx(0.062)
    assert own.own is not None
    assert own.own.said == "mine: 2 facts of your own, 1 replaces ours"
    assert load_catalogue() is shipped
    assert "electricity.plant.price" not in shipped.facts


def test_every_problem_is_told_at_once_with_its_place(tmp_path: Path) -> None:
    """What, where, which value, and what would do."""
    folder = facts_in(
        tmp_path / "mine",
        "finance.maintenance,-1,\nfinance.maintainance,0.1,\npue.default,abc,1\npue.default,1.2,K\n"
        "grid.plant.intensity,35,g/kWh\npue.default,1.2,1,x\nfinance.decline,,",
    )
    (folder / "skus.toml").write_text('[own]\ntitle = "x"\nserver = "hgx-h100"\nacc = 3\n', encoding="utf-8")
    (folder / "odd.json").write_text("{}", encoding="utf-8")
    with own_data(folder), pytest.raises(OwnDataError) as caught:
        load_catalogue()

    said = str(caught.value).splitlines()
    for place, words in {
        "skus.toml:1": "acc is not known",
        "odd.json": "is not read",
        "rows.csv:2": "-1",
        "rows.csv:3": "near: finance.maintenance",
        "rows.csv:4": "'abc' is no number",
        "rows.csv:5": "K",
        "rows.csv:6": "year",
        "rows.csv:7": "4 cells",
    }.items():
        assert any(line.startswith(f"{place}:") and words in line for line in said), (place, said)


def test_what_stands_alone_is_told_next_to_other_problems(tmp_path: Path) -> None:
    """A region of no grid is told though a row is wrong; one whose own row is wrong is not told twice."""
    path = tmp_path / "own.toml"
    path.write_text(
        '[facts]\n"pue.default" = "0.3"\n"grid.here.intensity" = "3 g/kWh"\n[regions.there]\ngrid = "zz"\n'
        '[regions.here]\ngrid = "here"\n'
    )
    with own_data(path), pytest.raises(OwnDataError) as caught:
        load_catalogue()

    said = str(caught.value).splitlines()
    assert len(said) == 3
    assert said[0].startswith("own.toml:2: pue.default: 0.3")
    assert "year" in said[1]
    assert said[2].startswith("own.toml:4: there: there is no fact 'grid.zz.intensity'")


@pytest.mark.parametrize("name", ["/etc", "../mine", "mine/../../mine"])
def test_a_file_does_not_choose_what_is_read_elsewhere(name: str, tmp_path: Path) -> None:
    """It may have come from anybody; the option of the person at the machine may."""
    facts_in(tmp_path / "mine", "finance.maintenance,0.04,")
    (tmp_path / "here").mkdir()
    path = tmp_path / "here" / "own.toml"
    shipped = (ROOT / "data" / "scenarios" / "one-training-job.toml").read_text(encoding="utf-8")
    path.write_text(f'data = "{name}"\n{shipped}', encoding="utf-8")

    with pytest.raises(ef.InputError, match=r"data: .* leads out of the folder of this file"):
        load_scenario(path)


def test_a_sku_without_its_facts_is_refused(tmp_path: Path) -> None:
    folder = facts_in(
        tmp_path / "mine", "accelerator.own.memory,80,GB\naccelerator.own.bf16_peak,500,TFLOP/s"
    )
    sku = '[own-8]\ntitle = "8 x own"\nserver = "hgx-h100"\naccelerator = "own"\nlink = "nvlink"\n'
    (folder / "skus.toml").write_text(sku, encoding="utf-8")
    with (
        own_data(folder),
        pytest.raises(OwnDataError, match=r"skus.toml:1: own-8: accelerator.own lacks .*tdp"),
    ):
        load_catalogue()


def test_a_changed_file_is_read_again_and_visitors_do_not_mix(tmp_path: Path) -> None:
    """Thirty at once, each with own values, and one whose file changes."""

    def seen(number: int) -> float:
        with own_data(tmp_path / f"v{number}"):
            return float(load_catalogue().fact("finance.maintenance").value)

    for i in range(30):
        facts_in(tmp_path / f"v{i}", f"finance.maintenance,{0.02 + i / 1000},")
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(seen, range(30))) == pytest.approx([0.02 + i / 1000 for i in range(30)])
    facts_in(tmp_path / "v3", "finance.maintenance,0.0999,")
    assert seen(3) == pytest.approx(0.0999)


def test_a_gpu_takes_the_rest_from_its_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """Six numbers and a price are yours; all else is assumed, in proportion, within its range."""
    monkeypatch.chdir(tmp_path)
    assert main([*GPU, "--json"]) == ANSWER
    added = json.loads(capsys.readouterr().out)
    shipped = load_catalogue()
    with own_data("my-facts"):
        own = load_catalogue()

    rows = {row["key"]: row for row in added["rows"]}
    assert [row["kind"] for row in added["rows"]].count("yours") == 7
    assert {row["kind"] for row in added["rows"]} == {"yours", "assumed"}
    assert rows["accelerator.own-8.bf16_peak"]["value"] == 1200
    of_class, ours = "accelerator.h200-sxm-141gb", "accelerator.own-8"
    share = shipped.fact(f"{of_class}.fp8_peak").value / shipped.fact(f"{of_class}.bf16_peak").value
    assert own.fact(f"{ours}.fp8_peak").value == pytest.approx(1200 * share, rel=1e-5)
    idle = shipped.fact(f"{of_class}.idle_power").value / shipped.fact(f"{of_class}.tdp").value
    assert own.fact(f"{ours}.idle_power").value == pytest.approx(0.9 * idle, rel=1e-5)
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows.values() if row["kind"] == "assumed")


def test_the_class_of_a_gpu_is_that_of_a_gpu() -> None:
    """Nearest in numbers is a TPU v5p, whose links join 8,960 chips and whose host counts as 0 kg."""
    stated = {
        "bf16_peak": 500.0,
        "memory": 96.0,
        "memory_bandwidth": 3000.0,
        "link_bandwidth": 200.0,
        "tdp": 0.45,
    }

    assert class_of(None, stated, load_catalogue()).name == "h100-nvl-8"
    assert class_of("tpu-v5p-64", stated, load_catalogue()).name == "tpu-v5p-64"


def test_links_that_end_at_the_node_end_at_a_smaller_one_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*GPU, "--like", "h100-8", "--accelerators", "4"]) == ANSWER

    with own_data("my-facts"):
        assert load_catalogue().fact("accelerator.own-8.link_domain").value == 4.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("--tdp", "900"), "--tdp: '900' has no unit"),
        (("--memory", "-5 GB"), "--memory:"),
        (("--memory-bandwidth", "6 GB/s"), "--memory-bandwidth: 6 GB/s is far from the"),
        (("--tdp", "90 kW"), "check the unit"),
        (("--like", "h1000"), "there is no SKU 'h1000'"),
        (("own-8", "h100-8"), "the catalogue has a SKU 'h100-8'"),
        (("own-8", "Own GPU"), "'Own GPU' is no name"),
    ],
)
def test_nothing_is_written_where_something_is_wrong(
    change: tuple[str, str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = list(GPU)
    at = arguments.index(change[0])
    arguments[at if change[0] == "own-8" else at + 1] = change[1]
    arguments = (
        [f"--memory={change[1]}" if one == "--memory" else one for one in arguments]
        if change[0] == "--memory"
        else arguments
    )
    if change[0] == "--memory":
        arguments.remove(change[1])

    assert main(arguments) == WRONG_INPUT
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.solve
@pytest.mark.nightly
def test_the_page_of_own_facts_runs_and_leads_to_the_own_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    """Own GPU, own region, own hours: planned and explained by command and Python to the own file."""
    monkeypatch.chdir(tmp_path)
    hours(tmp_path / "hours.csv")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    scenario, one_file = (text for kind, text in blocks if kind == "toml")
    Path("own.toml").write_text(scenario, encoding="utf-8")
    Path("one.toml").write_text(one_file, encoding="utf-8")
    printed = []
    for kind, text in blocks:
        if kind == "sh":
            assert main(shlex.split(text)[1:]) == ANSWER, text
            printed.append(capsys.readouterr().out)
        elif kind == "text":
            assert set(text.splitlines()) <= {*printed[-1].splitlines(), ""}
    plan, opened, carbon = (printed[i] for i in (3, 4, 5))

    assert "facts of your own" in plan
    assert "my-facts/facts/region-my-dc.csv:2" in opened
    assert "mean of 8784 hours in series/my-dc.csv" in opened
    assert "my-facts/facts/gpu-own-8.csv:" in opened
    assert "paused half the day" in carbon  # it knows the hours
    assert "facts of your own" in carbon
    fleet = ef.plan("own.toml", baselines=False)
    assert fleet["purchases"][0]["sku"] == "own-8"
    assert any("facts of your own" in line for line in fleet.to_dict()["why"])
    sources = fleet.explain("carbon").facts()["source"]
    assert any("my-facts/facts/region-my-dc.csv:2" in source for source in sources), sources
    assert ef.regions("plant", data="one.toml")["regions"][0]["grid"] == "plant"
    assert ef.skus("own-8", data="my-facts")["skus"][0]["whose"] == "yours"


def test_a_scenario_with_own_facts_is_kept_whole(tmp_path: Path) -> None:
    """The store and the workers of the app have its files, and the digest follows what they say."""
    scenario = next(text for text in re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
    rows = "pue.own-home,1.12,1\nfinance.maintenance,0.04,"
    facts_in(tmp_path / "my-facts", rows)
    (tmp_path / "my-facts" / "regions.toml").write_text('[my-dc]\ngrid = "de"\npue = "own-home"\n')
    path = tmp_path / "own.toml"
    path.write_text(scenario.replace("own-8", "h100-8"), encoding="utf-8")
    held = load_scenario(path)
    kept = keep(held)

    assert sorted(kept.files) == ["my-facts/regions.toml", "my-facts/rows.csv"]
    assert (held.sites[0].grid, held.sites[0].pue) == ("de", 1.12)
    with restored(kept) as again:
        assert keep(again).digest == kept.digest
        inputs = plan_fleet(again.but(solve=again.solve), baselines=False).inputs
        assert inputs.pue[0].key == "pue.own-home"
        assert inputs.facts_used["finance.maintenance"].value == 0.04
    facts_in(tmp_path / "my-facts", rows.replace("0.04", "0.06"))
    assert keep(load_scenario(path)).digest != kept.digest


def test_a_region_of_a_cloud_gives_grid_and_pue_and_moves_with_its_name() -> None:
    shipped = load_scenario(ROOT / "data" / "scenarios" / "one-training-job.toml")
    other = {"sites.stockholm.grid": None, "sites.stockholm.pue": None}
    here = with_changes(shipped, {**other, "sites.stockholm.region": "aws/eu-central-1"})
    there = with_changes(here, {"sites.stockholm.region": "azure/swedencentral"})

    assert (here.sites[0].grid, here.sites[0].pue) == ("de", 1.15)
    assert (there.sites[0].grid, there.sites[0].pue) == ("se", 1.17)
    with pytest.raises(ef.InputError, match=r"no region 'aws/eu-west-9'; near: aws/eu-west-"):
        with_changes(here, {"sites.stockholm.region": "aws/eu-west-9"})


@pytest.mark.slow
def test_a_model_and_prices_are_added_and_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    """A configuration by its new name; a node, an hour of one's own GPU, and electricity of a region."""
    monkeypatch.chdir(tmp_path)
    config = {
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_attention_heads": 32,
        "num_hidden_layers": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "tie_word_embeddings": False,
    }
    Path("config.json").write_text(json.dumps(config))
    for command in (
        GPU,
        ["add", "model", "ours-8b", "config.json"],
        ["add", "price", "rent own-8", "2.9 USD/h"],
        ["add", "price", "h100-8", "250000 USD"],
        ["add", "price", "h100-8", "240000 USD"],
        ["add", "price", "aws/eu-central-1", "110 USD/MWh"],
    ):
        assert main(command) == ANSWER, command
    capsys.readouterr()
    with own_data("my-facts"):
        own = load_catalogue()
    rows = Path("my-facts/facts/prices.csv").read_text(encoding="utf-8").splitlines()

    assert own.fact("model.ours-8b.parameters").value == pytest.approx(8.03e9, rel=1e-3)
    assert own.fact("model.ours-8b.layers").locator == "my-facts/models/ours-8b.json"
    assert own.fact("rental.own-8.price").value == 2.9
    assert own.fact("server.hgx-h100.price").value == 240_000
    assert own.fact("electricity.de.price").value == pytest.approx(0.11)
    assert len(rows) == 4  # with the header: a price that is stated again replaces the one before
    assert main(["throughput", "ours-8b", "--sku", "own-8", "--nodes", "1", "--data", "my-facts"]) == ANSWER
    assert "facts of your own" in capsys.readouterr().out
    assert main(["add", "model", "ours-8b", "config.json"]) == WRONG_INPUT
    assert "ours-8b.json holds your model 'ours-8b': change it there" in capsys.readouterr().err
    assert main(["add", "price", "h1-8", "1 USD"]) == WRONG_INPUT
    assert "is no SKU, region, grid or fact" in capsys.readouterr().err


@pytest.mark.nightly
@pytest.mark.slow
def test_hours_say_themselves_what_they_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    """A column `signal` of the file; for `--hourly` of a job as for a region."""
    monkeypatch.chdir(tmp_path)
    rows = hours(tmp_path / "plain.csv").read_text(encoding="utf-8").splitlines()
    said = [f"{rows[0]},signal", *(f"{row},average/direct/production" for row in rows[1:])]
    Path("said.csv").write_text("\n".join(said) + "\n", encoding="utf-8")
    assert main(["add", "region", "dc", "--hourly", "said.csv"]) == ANSWER
    with own_data("my-facts"):
        assert load_catalogue().fact("grid.dc.intensity").boundary["grid"] == "average/direct/production"
    job = ["carbon", "--model", "llama-3.1-8b", "--tokens", "1e10"]
    assert main([*job, "--hourly", "said.csv"]) == ANSWER
    assert "average/direct/production" in capsys.readouterr().out
    assert main([*job, "--hourly", "plain.csv"]) == WRONG_INPUT
    assert "or in a column 'signal' of the file" in capsys.readouterr().err


def test_a_plan_of_two_signals_says_which_region_brought_the_other() -> None:
    with pytest.raises(ef.InputError, match=r"of region gcp/us-east1; grid next to it replaces it"):
        ef.scenario(
            "one-training-job",
            changes={
                "sites": [
                    {"name": "a", "region": "aws/eu-central-1", "power_cap": "300 kW", "racks": 12},
                    {"name": "b", "region": "gcp/us-east1", "power_cap": "300 kW", "racks": 12},
                ]
            },
        )


def zipped(files: dict[str, str]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return held.getvalue()


def test_a_zip_is_laid_out_as_its_folder_and_leads_nowhere_else() -> None:
    rows = "key,value\nfinance.maintenance,0.04\n"
    for name in ("mine/facts/a.csv", "facts/a.csv"):
        assert laid_out("mine.zip", zipped({name: rows, "__MACOSX/x": ""})) == (
            "my-facts",
            {"my-facts/facts/a.csv": rows.encode()},
        )
    with pytest.raises(ef.InputError, match=r"'\.\./a\.csv' leads out"):
        laid_out("mine.zip", zipped({"../a.csv": rows}))
    with pytest.raises(ef.InputError, match="cannot be read as a zip"):
        laid_out("mine.zip", b"no zip")
    with pytest.raises(ef.InputError, match="bring a TOML file"):
        laid_out("mine.xlsx", b"")


@pytest.mark.parametrize("what", sorted(LISTS))
def test_every_list_has_rows_with_their_names_first(what: str) -> None:
    rows = listed(what)

    names = [next(iter(row.values())) for row in rows]
    assert len(names) == len(set(names)) > 3
    assert len({tuple(row) for row in rows}) == 1


def test_lists_are_narrowed_by_word_country_and_cloud() -> None:
    assert [row["region"] for row in listed("regions", cloud="aws", country="de")] == ["aws/eu-central-1"]
    assert [row["region"] for row in listed("regions", ["frankfurt"], cloud="azure")] == [
        "azure/germanywestcentral"
    ]
    with pytest.raises(ef.InputError, match="skus are of no cloud"):
        listed("skus", cloud="aws")
    with pytest.raises(ef.InputError, match=r"'XX' has none of these grids"):
        listed("grids", country="XX")


def test_regions_name_facts_that_are_there() -> None:
    """Each with a grid, PUE, WUE and source; all three clouds."""
    catalogue = load_catalogue()
    clouds = {one.cloud for one in catalogue.regions.values()}

    assert clouds == {"aws", "azure", "gcp"}
    for one in catalogue.regions.values():
        assert catalogue.has(f"grid.{one.grid}.intensity")
        assert catalogue.has(one.pue_key)
        assert catalogue.has(one.wue_key)
        assert one.source in catalogue.sources


@pytest.mark.slow
def test_a_region_that_was_added_from_hours_has_them_in_plans(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a job there has: levers decide by its hours, where its grid was taken as flat."""
    monkeypatch.chdir(tmp_path)
    hours(tmp_path / "hours.csv")
    assert main(["add", "region", "my-dc", "--hourly", "hours.csv", "--pue", "1.12"]) == ANSWER
    capsys.readouterr()
    with own_data("my-facts"):
        shipped = load_scenario(ROOT / "data" / "scenarios" / "one-training-job.toml")
        scenario = with_changes(shipped, {"policy.levers": ["shift"], "sites.stockholm.grid": "my-dc"})
        (found,), notes = grid_hours(Inputs(scenario, load_catalogue()))
    assert found is not None
    assert notes == ["stockholm: hours as in my-dc of 2024, measured."]
    assert found.of_day[3, 1].tolist() == pytest.approx([0.1] * 13 + [0.15] * 11)
