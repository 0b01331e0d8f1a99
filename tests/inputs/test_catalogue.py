"""The catalogue refuses what does not hold together, all faults at once; the shipped one holds."""

import pytest

from planner.inputs.catalogue import UnknownFact
from planner.inputs.loading import CatalogueError, data_folder, load_catalogue
from planner.inputs.resolved import data_year

HEADER = "key,value,unit,source,locator,kind,low,high,boundary,note\n"
RANGES = """pattern,unit,low,high,use,note
server.*.accelerators,count,1,100,input,
accelerator.*.memory,GB,1,1000,input,
accelerator.*.tdp a.*.c,kW,0,100,input,
"""
GOOD = (
    "server.box.accelerators,8,count,paper,Table 1,published,,,,\n"
    "accelerator.chip.memory,80,GB,paper,Table 1,published,,,,\n"
)


def write(folder, rows, sources='[paper]\ntitle = "A paper"\nyear = 2026\n', skus="", engines=""):
    (folder / "facts").mkdir()
    (folder / "facts" / "all.csv").write_text(HEADER + rows, encoding="utf-8")
    (folder / "sources.toml").write_text(sources, encoding="utf-8")
    (folder / "skus.toml").write_text(skus, encoding="utf-8")
    (folder / "engines.toml").write_text(engines, encoding="utf-8")
    (folder / "ranges.csv").write_text(RANGES, encoding="utf-8")
    return folder


def test_a_small_catalogue_loads_in_canonical_units(tmp_path):
    rows = GOOD + "accelerator.chip.tdp,700,W,paper,p. 3,published,650,750,,\n"
    catalogue = load_catalogue(write(tmp_path, rows))
    tdp = catalogue.fact("accelerator.chip.tdp")
    assert (tdp.value, tdp.low, tdp.high) == pytest.approx((0.7, 0.65, 0.75))
    assert (tdp.unit, tdp.stated) == ("kW", "700 W")
    assert catalogue.names("accelerator") == ("chip",)
    assert [fact.key for fact in catalogue.search("chip tdp")] == ["accelerator.chip.tdp"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a.b.c,1,parsec,paper,,published,,,,", "all.csv:4: a.b.c: the unit 'parsec' is not known here"),
        ("a.b.c,1,kW,nobody,,published,,,,", "all.csv:4: a.b.c: source 'nobody' is not in sources.toml"),
        ("a.b.c,1,kW,paper,,guessed,,,,", "kind 'guessed' is none of measured, published, declared"),
        ("a.b.c,1,kW,paper,,yours,,,,", "kind 'yours' is none of"),
        ("a.b.c,1,kW,paper,,published,2,3,,", "the range 2.0 .. 3.0 does not hold the value 1.0"),
        ("a.b.c,1,kW,paper,,assumed,,,,", "kind assumed needs a range: give low and high"),
        ("a.b.c,nan,kW,paper,,published,,,,", "the value nan is not finite"),
        (
            "a.b.c,2,kW,paper,,published,1,200,,",
            "all.csv:4: a.b.c: 200 kW is out of range: allowed is from 0 to 100 kW",
        ),
        ("a.b.c,2,h,paper,,published,,,,", "a.b.c: its unit is h, and ranges.csv gives its family in kW"),
        ("x.y,1,kW,paper,,published,,,,", "all.csv:4: x.y: no pattern of ranges.csv matches it"),
        ("a.b.c,many,kW,paper,,published,,,,", "could not convert string to float: 'many'"),
        (
            "accelerator.chip.memory,81,GB,paper,,published,,,,",
            "all.csv:4: accelerator.chip.memory: the key occurs twice",
        ),
    ],
)
def test_each_fault_is_named(tmp_path, row, message):
    with pytest.raises(CatalogueError) as error:
        load_catalogue(write(tmp_path, GOOD + row + "\n"))
    assert message in str(error.value)


def test_all_faults_come_at_once(tmp_path):
    rows = GOOD + "x.y.z,1,kW,nobody,,published,,,,\nx.y.w,1,ells,paper,,published,,,,\n"
    skus = '[s]\ntitle = "S"\nserver = "none"\naccelerator = "chip"\n'
    with pytest.raises(CatalogueError) as error:
        load_catalogue(write(tmp_path, rows, '[paper]\ntitle = "A"\n[lost]\ntitle = "B"\n', skus))
    text = str(error.value)
    assert all(
        part in text for part in ("nobody", "ells", "no fact cites 'lost'", "server.none.accelerators")
    )
    assert len(text.splitlines()) == 4


def test_unknown_facts_name_the_nearest():
    with pytest.raises(UnknownFact, match=r"no fact 'accelerator.h100-sxm.tdp'; near: .*h100-sxm-80gb.tdp"):
        load_catalogue().fact("accelerator.h100-sxm.tdp")


def test_the_shipped_catalogue_has_the_breadth_that_planners_need():
    catalogue = load_catalogue()
    assert len(catalogue.names("accelerator", "memory")) >= 20
    assert len(catalogue.names("server", "accelerators")) >= 8
    assert len(catalogue.names("grid", "intensity")) >= 40
    assert len(catalogue.names("model", "layers")) >= 15
    assert len(catalogue.names("reliability", "failure_rate")) >= 10
    assert len(catalogue.names("checkpoint_storage")) >= 4
    assert len(catalogue.skus) >= 8
    for name in catalogue.names("accelerator", "memory"):
        for fact in ("memory_bandwidth", "tdp", "launch"):
            assert catalogue.has(f"accelerator.{name}.{fact}") or name.startswith(
                ("tpu", "inferentia", "trainium")
            ), (name, fact)


def test_every_embodied_and_grid_fact_is_typed_by_boundary():
    facts = load_catalogue().facts.values()
    assert all("embodied" in f.boundary for f in facts if f.key.split("@")[0].endswith(".embodied"))
    grids = [
        f
        for f in facts
        if f.key.startswith("grid.") and f.key.split("@")[0].endswith((".intensity", ".marginal"))
    ]
    assert all("grid" in f.boundary for f in grids)
    assert len(grids) >= 40


def test_h100_matches_the_figures_of_its_sources():
    """NVIDIA's HGX H100 PCF summary: 1,312 kg a baseboard of 8; data sheet: 989 TFLOP/s dense bf16, 700 W."""
    catalogue = load_catalogue()
    value = {
        p: catalogue.fact(f"accelerator.h100-sxm-80gb.{p}").value for p in ("embodied", "bf16_peak", "tdp")
    }
    assert value == pytest.approx({"embodied": 164, "bf16_peak": 989, "tdp": 0.7}, rel=2e-3)


def test_data_is_found_in_a_checkout():
    assert (data_folder() / "scenarios" / "next-quarter.toml").is_file()


def test_every_grid_region_says_which_year_it_describes():
    """Projections count the years from there."""
    catalogue = load_catalogue()
    years = {
        name: data_year(catalogue.fact(f"grid.{name}.intensity"))
        for name in catalogue.names("grid", "intensity")
    }
    assert len(years) >= 40
    assert all(2019 <= year <= 2026 for year in years.values())
