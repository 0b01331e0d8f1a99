"""Spreadsheets and lists of nodes as scenarios: what is understood, what is assumed, what is refused."""

from __future__ import annotations

import io
import json
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from planner import cli
from planner.answers.start import start_from, template_files, uploads_found
from planner.inputs.loading import load_catalogue
from planner.inputs.scenario import ScenarioError
from planner.inputs.sheets import read_sheets, scenario_from
from planner.inputs.sheets.cells import value_in
from planner.inputs.sheets.reading import vocabulary
from planner.trace.errors import InputError

TODAY = date(2026, 11, 24)
SITES = "Site;Region;Power (MW);Racks\nfrankfurt;aws/eu-central-1;0.8;40\n"
FLEET = "GPU type,Location,Qty,Purchase date,Owner\nNVIDIA H100-SXM-80GB,frankfurt,40,2024-03,me\n"
DEMAND = (
    "Service,Model,Month,Requests per day,Tokens in,Tokens out,TTFT (ms)\n"
    'chat,meta-llama/Llama-3.1-70B-Instruct,2027-01,"1,728,000",1200,250,900\n'
    "chat,,2027-02,2592000,,,\n"
)


def started(**files: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    named = {f"{name}.csv": text.encode() for name, text in files.items()}
    text, found = uploads_found(named, title="mine", today=TODAY)
    return tomllib.loads(text), found.notes


def refused(**files: str) -> str:
    with pytest.raises(InputError) as caught:
        started(**files)
    return str(caught.value)


def test_the_templates_are_a_scenario_that_is_right(tmp_path: Path) -> None:
    for name, text in template_files().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    made = start_from(sorted(tmp_path.iterdir()), today=TODAY)

    assert made.scenario.horizon.periods == 2
    assert [one.nodes for one in made.scenario.fleet] == [14]
    assert made.scenario.services[0].peak_requests_per_s == pytest.approx(
        (1.5e6 / 86400 / 0.5, 2e6 / 86400 / 0.5), rel=1e-5
    )
    assert made.scenario.pools[0].reference == "h100-8"


def test_names_units_and_months_as_people_write_them() -> None:
    """0.8 MW; 20 requests/s in the mean are 40 at the peak, of which it is half; names of Hugging Face."""
    tables, notes = started(sites=SITES, fleet=FLEET, demand=DEMAND)
    service = tables["services"][0]

    assert tables["horizon"] == {"start": date(2027, 1, 1), "periods": 2, "period": "month"}
    assert tables["sites"][0]["power_cap"] == "0.8 MW"
    assert "pue" not in tables["sites"][0]  # the region has its own
    assert tables["fleet"] == [
        {"sku": "h100-8", "site": "frankfurt", "nodes": 40, "in_service": date(2024, 3, 1)}
    ]
    assert service["model"] == "llama-3.1-70b"
    assert service["peak_rate"] == ["40 /s", "60 /s"]
    assert service["first_token"] == "900 ms"
    assert tables["market"][0]["sku"] == "h100-8"
    said = "\n".join(notes)
    for part in (
        "fleet.csv: not used: Owner",
        "is taken for h100-8",
        "nothing is said of offers: h100-8 may be bought",
        "assumed for chat: services.*.mean_to_peak = 0.5",
        "assumed for reliability: failures",
    ):
        assert part in said


def test_a_workbook_is_read_sheet_by_sheet() -> None:
    """Dates and whole numbers come as a person sees them."""
    book = Workbook()
    sites = book.active
    assert sites is not None
    for row in (["Site", "Region", "Power cap (kW)", "Racks"], ["frankfurt", "aws/eu-central-1", 800.0, 40]):
        sites.append(row)
    fleet = book.create_sheet("Inventory")
    for row in (["SKU", "Site", "Nodes", "In service"], ["h100-8", "frankfurt", 40, date(2024, 3, 1)]):
        fleet.append(row)
    pool = book.create_sheet("Teams")
    for row in (["Team", "Model", "GPU", "GPU hours"], ["tuning", "llama-3-8b", "h100-8", 60000]):
        pool.append(row)
    held = io.BytesIO()
    book.save(held)
    text, found = uploads_found({"all.xlsx": held.getvalue()}, title="mine", today=TODAY)
    tables = tomllib.loads(text)

    assert tables["sites"][0]["power_cap"] == "800 kW"
    assert tables["fleet"][0]["in_service"] == date(2024, 3, 1)
    assert tables["pools"][0]["gpu_time"] == "60000 h"
    assert tables["horizon"]["start"] == date(2027, 1, 1)
    assert [name for name, _ in found.facts] == ["all.xlsx, Sheet", "all.xlsx, Inventory", "all.xlsx, Teams"]


def test_nodes_of_a_cluster_are_counted_by_kind_and_place() -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "topology.kubernetes.io/zone": "eu-1a"}
    node = {"metadata": {"labels": labels}, "status": {"capacity": {"nvidia.com/gpu": "8"}}}
    kubernetes = json.dumps({"items": [node, node, {"metadata": {}}]}).encode()
    slurm = json.dumps(
        {"nodes": [{"gres": "gpu:h100:8(S:0-1)"}, {"gres": "gpu:a100:8"}, {"gres": ""}]}
    ).encode()
    (first,), (second,) = read_sheets("k.json", kubernetes), read_sheets("s.json", slurm)

    assert [row for _, row in first.rows] == [
        {"sku": "8 x NVIDIA-H100-80GB-HBM3", "nodes": "2", "site": "eu-1a"}
    ]
    assert first.left_out == ("1 nodes without accelerators",)
    assert [row for _, row in second.rows] == [
        {"sku": "8 x a100", "nodes": "1"},
        {"sku": "8 x h100", "nodes": "1"},
    ]
    sites = read_sheets("sites.csv", SITES.replace("frankfurt", "eu-1a").encode())
    pools = read_sheets("pools.csv", b"Team,Model,GPU,GPU hours\ntuning,llama-3-8b,h100-8,60000\n")
    made = scenario_from(
        [first, *sites, *pools], load_catalogue(), title="x", today=TODAY, in_service=date(2024, 1, 1)
    )
    assert made.tables["fleet"][0] == {
        "sku": "h100-8",
        "nodes": 2,
        "site": "eu-1a",
        "in_service": date(2024, 1, 1),
    }
    with pytest.raises(ScenarioError, match="give --in-service DAY"):
        scenario_from([first, *sites, *pools], load_catalogue(), title="x", today=TODAY)


def pod(namespace: str, count: str, owner: str = "Job", phase: str = "Running", product: str = "") -> Any:
    box = {"resources": {"limits": {"nvidia.com/gpu": count, "cpu": "8"}}}
    return {
        "kind": "Pod",
        "metadata": {"namespace": namespace, "ownerReferences": [{"kind": owner}]},
        "spec": {
            "containers": [box],
            "nodeSelector": {"nvidia.com/gpu.product": product} if product else {},
        },
        "status": {"phase": phase},
    }


def test_pods_of_jobs_are_pools_by_namespace() -> None:
    """8 + 4 of one team; those that wait, and those of services, are none of a pool's."""
    product = "NVIDIA-H100-80GB-HBM3"
    pods = [pod("tuning", "8"), pod("tuning", "4", "PyTorchJob"), pod("tuning", "8", phase="Pending")]
    pods += [pod("chat", "2", "ReplicaSet"), pod("lab", "16", product=product)]
    (sheet,) = read_sheets("pods.json", json.dumps({"kind": "List", "items": pods}).encode())

    assert (sheet.table, [row for _, row in sheet.rows]) == (
        "pools",
        [
            {"name": "lab", "accelerators": "16", "reference": product},
            {"name": "tuning", "accelerators": "12"},
        ],
    )
    assert sheet.left_out == (
        "2 accelerators of services: state their requests",
        "1 pods without accelerators, or that do not run",
    )


def test_a_list_of_pods_becomes_work_that_always_holds_its_accelerators() -> None:
    """12 accelerators through a quarter of 91.3125 days are 26,298 hours; its model is a stated guess."""
    (sheet,) = read_sheets("pods.json", json.dumps({"items": [pod("tuning", "12")]}).encode())
    (sites,) = read_sheets("sites.csv", SITES.encode())
    (fleet,) = read_sheets("fleet.csv", FLEET.encode())
    made = scenario_from([sheet, sites, fleet], load_catalogue(), title="x", today=TODAY)

    (pool,) = made.tables["pools"]
    assert pool["gpu_time"] == "26298 h"
    assert any("pools.*.model" in note for note in made.notes)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"fleet": FLEET, "demand": DEMAND}, "sites.frankfurt: holds nodes and is in no table of sites"),
        ({"x": "colour,size\nred,3\n"}, "columns colour, size are of no table that is known"),
        ({"x": "\n"}, "holds no rows"),
        (
            {"sites": SITES, "fleet": FLEET.replace("H100-SXM-80GB", "Z99")},
            "line 2: sku: 'NVIDIA Z99' is no node",
        ),
        ({"sites": SITES, "fleet": FLEET.replace("2024-03", "soon")}, "in_service: 'soon' is no day"),
        ({"sites": SITES, "fleet": FLEET.replace("40", "many")}, "nodes: 'many' is no number"),
        ({"sites": SITES, "demand": DEMAND.replace("2027-02", "May")}, "period: 'May' is no month"),
        ({"sites": SITES, "demand": DEMAND.replace("2027-02", "2027 Q2")}, "months and quarters are mixed"),
        (
            {"sites": SITES, "demand": DEMAND.replace("2027-02", "2027-01")},
            "chat is stated twice for 2027-01",
        ),
        ({"sites": SITES, "demand": DEMAND.replace("2027-02", "2027-03")}, "says nothing of 2027-02"),
        ({"sites": SITES, "demand": DEMAND.replace("2027-02", "2031-02")}, "40 at most"),
        ({"sites": SITES, "demand": DEMAND.replace("2592000", "x")}, "requests_per_day: 'x' is no number"),
        (
            {"sites": SITES, "demand": DEMAND.replace("chat,,2027-02", "chat,llama-3-8b,2027-02")},
            "in the rows before",
        ),
        ({"sites": SITES.replace("0.8", "a lot"), "demand": DEMAND}, "power_cap"),
        ({"sites": SITES}, "there is no work to plan"),
    ],
)
def test_what_cannot_be_understood_is_told_with_its_place(files: dict[str, str], said: str) -> None:
    assert said in refused(**files)


def test_decimal_commas_are_read_as_such_and_told() -> None:
    """1,3 was read as 13, and 0,125 as 125."""
    sites = "Site;Country;Power (MW);PUE;Racks;Electricity price\nfrankfurt;Germany;0,6;1,3;40;0,125\n"
    tables, notes = started(sites=sites, fleet=FLEET, demand=DEMAND)

    (site,) = tables["sites"]
    assert site["pue"] == 1.3
    assert (site["power_cap"], site["electricity_price"]) == ("0.6 MW", "0.125 USD/kWh")
    assert site["grid"] == "de"
    assert "sites.csv: commas are decimal signs there: 0,6 is 0.6" in notes


def test_a_comma_that_may_be_either_is_told_with_all_others() -> None:
    """Next to a clear decimal comma 1,125 may be 1.125 or 1125; the other file is told at the same time."""
    sites = "Site;Region;Power (MW);PUE;Racks\na;aws/eu-central-1;0,6;1,125;40\n"
    said = refused(sites=sites, fleet="Kind,Location,Qty\nh100-8,a,4\n")

    assert "sites.csv, line 2: '1,125' may be 1125 or 1.125" in said
    assert "write 1125 or 1,1250" in said
    assert "fleet.csv: columns Kind, Location, Qty are of no table" in said


def test_without_a_table_a_comma_that_sets_no_thousands_apart_is_refused() -> None:
    """A quoted 1,3 of one column alone is a decimal comma; of the guide it is no number."""
    with pytest.raises(ValueError, match="'1,3' is no number"):
        value_in("sites", "pue", "1,3")
    assert value_in("services", "users", "1,728,000") == 1_728_000


def test_a_table_that_is_nearly_known_says_which_column_it_lacks() -> None:
    said = refused(sites=SITES, fleet=FLEET, demand=DEMAND.replace("Service", "Dienst"))

    assert "Nearest is services, which would read Model as model, Month as period" in said
    assert "lacks a column headed 'service' or 'application'" in said


def test_a_country_that_is_none_is_told() -> None:
    sites = SITES.replace("Region", "Country").replace("aws/eu-central-1", "Atlantis")
    assert "line 2: country: 'Atlantis' is none that is known" in refused(
        sites=sites, fleet=FLEET, demand=DEMAND
    )


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.pdf", b"%PDF", "is no table"),
        ("x.csv", b"\xff\xfe\x00", "no UTF-8"),
        ("x.xlsx", b"no zip", "is no workbook"),
        ("x.json", b"{", "is no JSON"),
        ("x.json", b"[]", "lists no nodes"),
        ("x.json", b'{"items": [{"metadata": 3}, 4]}', "none of its 2 nodes"),
        ("x.json", b'{"nodes": [3]}', "none of its 1 nodes"),
        (
            "x.json",
            b'{"items": [{"kind": "Pod", "spec": {"containers": [7]}}]}',
            "none of its 1 pods is of a job",
        ),
        ("x.csv", b"Site,Racks\n" + b"a,1\n" * 20_001, "more than 20,000 rows"),
    ],
)
def test_files_that_are_none_are_refused(name: str, content: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_sheets(name, content)


def test_every_heading_leads_to_one_key() -> None:
    """In small letters without signs, as headings are read; and each table can be told by what it has."""
    for table, columns in vocabulary().items():
        if table == "unit":
            continue
        for key, words in columns.items():
            if key == "tells":
                assert all(one in columns for line in words for one in line), table
            else:
                assert key.replace("_", " ") in words or key in ("gpu_time", "sku", "name"), (table, key)
                assert all(word == word.casefold() and word.replace(" ", "").isalnum() for word in words)


def test_the_command_writes_checks_and_refuses_to_write_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    templates, out = tmp_path / "tables", tmp_path / "mine.toml"
    assert cli.main(["start", "--templates", str(templates)]) == 0
    files = sorted(map(str, templates.iterdir()))
    assert cli.main(["start", *files, "--out", str(out), "--title", "Mine"]) == 0
    assert "everfleet plan" in capsys.readouterr().err
    assert cli.main(["check", str(out)]) == 0
    assert cli.main(["start", *files, "--out", str(out)]) == 2
    assert cli.main(["start", "--templates", str(templates)]) == 2
    assert cli.main(["start"]) == 2
    assert capsys.readouterr().err.count("is there already") == 2
    assert cli.main(["start", *files, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert tomllib.loads(record["text"])["title"] == "From spreadsheets"
    assert any(note.startswith("assumed for") for note in record["notes"])
