"""Edits of a scenario's text, its inputs as records, and files of one's own, told before they are used."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from own_fits import fit_of

from planner.answers.check import check, scenario_found
from planner.answers.failures.upload import log_found
from planner.inputs import editing
from planner.inputs.editing.edits import OddText, blocks
from planner.inputs.editing.fields import MOST_SIMPLE, input_at
from planner.inputs.loading import load_catalogue
from planner.inputs.reference import key_rows
from planner.inputs.scenario import Scenario, ScenarioError, parse_scenario
from planner.trace.errors import InputError

DATA = Path(__file__).resolve().parents[2] / "data"
TEXT = (DATA / "scenarios" / "next-quarter.toml").read_text(encoding="utf-8")
SHIPPED = sorted((DATA / "scenarios").glob("*.toml"))


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    """The shipped quarter."""
    return check(TEXT, "next-quarter.toml")


# The text


def test_only_the_line_of_a_changed_value_changes() -> None:
    """A file under version control then shows the edit and nothing else; comments stay behind values."""
    edited = editing.with_values(TEXT, "x", {"policy.budget": "30 MUSD", "solve.gap": None})

    gone = set(TEXT.splitlines()) - set(edited.text.splitlines())
    new = set(edited.text.splitlines()) - set(TEXT.splitlines())
    assert edited.comments_kept
    assert gone == {'budget = "25 MUSD"               # purchases, each period', 'gap = "0.5 %"'}
    assert new == {'budget = "30 MUSD"               # purchases, each period'}


def test_a_new_key_stands_in_its_table_and_a_new_table_at_the_end() -> None:
    """Before the comment that is about the next table; a table that the file left out is begun."""
    edited = editing.with_values(
        TEXT, "x", {"sites.dallas.electricity_price": "60 USD/MWh", "performance.calibration": "own.json"}
    )

    lines = edited.text.splitlines()
    assert (
        lines[lines.index('electricity_price = "60 USD/MWh"') - 1]
        == 'space_price = "196 USD/kW/month"  # by the rated power of its nodes, energy apart'
    )
    assert lines[-2:] == ["[performance]", 'calibration = "own.json"']
    assert edited.comments_kept


def test_values_of_several_lines_are_replaced_whole() -> None:
    """A list written over lines, with comments and signs of TOML inside texts, is one value."""
    text = 'a = [\n  "x # no comment",  # one\n  "[b]",\n] # behind\n[b]\nc = """\n[d]\n"""\ne = 1 # "kept"\n'
    edited = editing.with_values(text, "x", {"b.e": 2, "b.c": "short", "a": 3})

    assert edited == editing.Edited('a = 3\n[b]\nc = "short"\ne = 2 # "kept"\n', True)


def test_comments_before_a_table_within_an_entry_stay() -> None:
    """Rows of the section are added behind it, and one that is taken away takes it along."""
    one = '[[services]]\nname = "a" # first\n\n# of its region\n[[services.regions]]\nshare = "1"\n'
    other = '\n# second\n[[services]]\nname = "b"\n'
    text = f"{one}{other}"
    renamed = editing.with_values(text, "x", {"services.a.model": "m"})
    added = editing.with_rows(one, "x", "services", edited={}, added=[{"name": "b"}])
    taken = editing.with_rows(text, "x", "services", edited={}, removed=[0])

    assert renamed == editing.Edited(text.replace("# first\n", '# first\nmodel = "m"\n'), True)
    assert added == editing.Edited(f'{one}\n[[services]]\nname = "b"\n', True)
    assert taken == editing.Edited(other.removeprefix("\n"), True)


@pytest.mark.parametrize(
    "text",
    ["a = 1\nb.c = 2 # note\n", 'a = 1 # note\n["b"]\nc = 2\n', "a = 1 # note\nb = { c = 2 }\n"],
)
def test_a_text_that_is_written_oddly_is_written_anew(text: str) -> None:
    """Dotted keys, quoted headers and inline tables are right TOML: values count, comments are lost."""
    edited = editing.with_values(text, "x", {"b.c": 3})

    assert tomllib.loads(edited.text) == {"a": 1, "b": {"c": 3}}
    assert not edited.comments_kept


def test_line_ends_of_windows_are_no_change_of_meaning() -> None:
    """Notepad writes them; the text that comes out has one kind."""
    edited = editing.with_values(TEXT.replace("\n", "\r\n"), "x", {"title": "Ours"})

    assert "\r" not in edited.text
    assert tomllib.loads(edited.text) == {**tomllib.loads(TEXT), "title": "Ours"}


def test_a_path_that_leads_nowhere_is_told() -> None:
    """The message is that of `--set`, with the file's name."""
    with pytest.raises(ScenarioError, match=r"^own\.toml: sites\.dalas\.pue: leads nowhere"):
        editing.with_values(TEXT, "own.toml", {"sites.dalas.pue": 1.2})


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_rows_are_changed_added_and_removed_in_place(path: Path) -> None:
    """What `tomllib` reads of the result is what the same edits of the tables give, comments and all."""
    text = path.read_text(encoding="utf-8")
    wanted = tomllib.loads(text)
    market = wanted["market"]
    market[-1] |= {"lead_time": "1 d"}
    market.append({"sku": "l4-8", "lead_time": "2 d"})
    del market[0]

    edited = editing.with_rows(
        text,
        "x",
        "market",
        edited={len(market) - 1: {"lead_time": "1 d"}},
        added=[{"sku": "l4-8", "lead_time": "2 d", "price": None}],
        removed=[0],
    )

    assert tomllib.loads(edited.text) == wanted
    assert edited.comments_kept
    assert edited.text.count("#") == text.count("#")


def test_the_last_row_takes_its_section_with_it() -> None:
    """An empty list of tables cannot be written in TOML."""
    edited = editing.with_rows(TEXT, "x", "pools", edited={}, removed=[0])

    assert "pools" not in tomllib.loads(edited.text)


def test_the_first_row_of_a_section_stands_at_the_end() -> None:
    """There is no table of its kind to stand behind."""
    edited = editing.with_rows(TEXT, "x", "rental", edited={}, added=[{"name": "cloud", "sku": "h100-8"}])

    assert edited.text.endswith('\n[[rental]]\nname = "cloud"\nsku = "h100-8"\n')


def test_no_value_of_many_lines_is_parsed_over_and_over() -> None:
    """Each line more parses all before it again: 200 are a list that somebody wrote, more is not."""
    with pytest.raises(OddText):
        blocks(["a = [", *["1,"] * 300, "]"])


def test_changes_are_told_with_what_stands() -> None:
    """What would stay as it is is no change."""
    rows = editing.change_rows(
        TEXT, "x", {"policy.budget": None, "horizon.periods": 4, "solve.engine": "cbc"}
    )

    assert rows == [
        {"key": "policy.budget", "now": "25 MUSD", "then": ""},
        {"key": "solve.engine", "now": "", "then": "cbc"},
    ]


# Renames

NAMED = """# our sites
title = "x"
[[sites]]
name = "dallas" # in Texas
[[sites]]
name = "oregon"
[[fleet]]
site = "dallas"
sku = "h100-8"
[[market]]
sku = "h200-8"
sites = ["oregon", "dallas"]
[[moves]]
from = "oregon"
to = "dallas"
[[rental]]
name = "cloud"
[[services]]
name = "chat"
sites = ["dallas", "cloud"]
[[futures]]
name = "boom"
set = { "sites.dallas.pue" = 1.2, "services.chat.peak_rate" = "9 /s", "services.chat.sites" = ["dallas"] }
"""


def words_of(value: Any) -> list[str]:
    """Every word that stands anywhere in tables, keys too."""
    if isinstance(value, dict):
        return [word for key, held in value.items() for word in [*key.split("."), *words_of(held)]]
    if isinstance(value, list):
        return [word for held in value for word in words_of(held)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize(
    ("section", "number", "old", "count"),
    [
        ("sites", 0, "dallas", 7),
        ("sites", 1, "oregon", 3),
        ("rental", 0, "cloud", 2),
        ("services", 0, "chat", 3),
    ],
)
def test_a_rename_takes_every_reference_along(section: str, number: int, old: str, count: int) -> None:
    """By field and by table: fleet, market, moves, work, and the paths and values of futures."""
    before = words_of(tomllib.loads(NAMED))
    by_path = editing.with_values(NAMED, "x", {f"{section}.{old}.name": "frankfurt"})
    by_row = editing.with_rows(NAMED, "x", section, edited={number: {"name": "frankfurt"}})

    assert before.count(old) == count
    assert by_path == by_row
    assert words_of(tomllib.loads(by_path.text)) == ["frankfurt" if word == old else word for word in before]
    assert by_path.comments_kept
    assert by_path.text.count("#") == NAMED.count("#")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_each_site_of_a_shipped_scenario_can_be_renamed(path: Path) -> None:
    """The whole still checks: no reference was forgotten, whatever section it stands in."""
    text = path.read_text(encoding="utf-8")
    for site in tomllib.loads(text)["sites"]:
        text = editing.with_values(
            text, path.name, {f"sites.{site['name']}.name": f"new-{site['name']}"}
        ).text

    check(text, path.name)


def test_a_rename_and_a_removed_row_are_one_edit() -> None:
    """Rows are counted as they began; what is removed is followed by nothing."""
    edited = editing.with_rows(NAMED, "x", "sites", edited={1: {"name": "frankfurt"}}, removed=[0])

    assert tomllib.loads(edited.text)["sites"] == [{"name": "frankfurt"}]
    assert tomllib.loads(edited.text)["moves"] == [{"from": "frankfurt", "to": "dallas"}]


# Inputs


@pytest.mark.parametrize(
    ("section", "key", "text", "value"),
    [
        ("policy", "budget", "25 MUSD", "25 MUSD"),
        ("policy", "budget", " ", None),
        ("policy", "budget", "25 MUSD, 20 MUSD", ["25 MUSD", "20 MUSD"]),
        ("policy", "budget", "1,5 MUSD", "1,5 MUSD"),  # a decimal comma is refused, never two values
        ("policy", "budget", '["25 MUSD", "20 MUSD"]', ["25 MUSD", "20 MUSD"]),
        ("policy", "discount_rate", "8 %", "8 %"),
        ("policy", "discount_rate", "0.08", 0.08),
        ("policy", "park_idle", "true", True),
        ("training", "nodes", "16,24, 32", [16, 24, 32]),
        ("training", "sites", "dallas, oregon", ["dallas", "oregon"]),
        ("training", "tokens", "2e12", 2e12),
        ("training", "tokens", "many", "many"),
        ("training", "power_caps", "0.8, 90 %", [0.8, "90 %"]),
        ("market", "supply_nodes", "64, 32", [64, 32]),
        ("", "title", "true", "true"),
    ],
)
def test_typed_text_is_read_by_the_rule_of_its_key(section: str, key: str, text: str, value: Any) -> None:
    """Whoever types needs no quotes and no brackets; what fits nothing stays text, to be quoted."""
    assert editing.value_of(section, key, text) == value


def test_a_typed_day_is_a_day() -> None:
    """TOML has days; a text in their place is refused by the file."""
    assert str(editing.value_of("horizon", "start", "2027-04-01")) == "2027-04-01"
    assert editing.value_of("horizon", "start", "soon") == "soon"


def test_cells_of_whole_numbers_are_whole() -> None:
    """The grid of a browser has one kind of number, and the file refuses 64.0 nodes."""
    assert editing.cell_of("fleet", "nodes", 64.0) == 64
    assert isinstance(editing.cell_of("fleet", "nodes", 64.0), int)
    assert editing.cell_of("fleet", "nodes", 64.5) == 64.5
    assert editing.cell_of("sites", "pue", "1.2") == 1.2
    assert editing.cell_of("fleet", "life", None) is None


@pytest.mark.slow
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_what_is_shown_types_back_to_what_stands(path: Path) -> None:
    """A reset types the shown text: for every key of every shipped scenario the same scenario comes out."""
    text = path.read_text(encoding="utf-8")
    document = tomllib.loads(text)
    changes = {
        one.path: editing.value_of(one.section, one.key, one.value)
        for section in editing.sections()
        for number in (range(len(document.get(section, ()))) if editing.is_table_list(section) else (None,))
        for one in editing.inputs_of(document, document, section, number)
        if one.value
    }

    assert len(changes) > 30
    assert parse_scenario(editing.with_values(text, "x", changes).text) == parse_scenario(text)


def test_every_key_of_the_file_can_be_looked_up() -> None:
    rows = list(key_rows("scenario"))

    found = {(row["section"], row["key"]) for row in rows}
    assert {("policy", "budget"), ("(top)", "title"), ("uncertainty", "seed"), ("moves", "from")} <= found
    assert {("market.tiers", "rebate"), ("(top)", "facts"), ("futures", "set")} <= found
    assert len(found) == len(rows)
    assert all(row["allowed"] and row["description"] and row["example"] for row in rows)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_at_most_eight_inputs_matter_most(path: Path) -> None:
    """The simple depth of the page; all of them are there to be changed in this scenario."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    inputs = editing.simple_inputs(document, document)

    assert 6 <= len(inputs) <= MOST_SIMPLE
    assert inputs[0].path == "policy.objective"
    assert ("policy.carbon_price" in [one.path for one in inputs]) == (inputs[0].value == "weighted")


def test_an_input_says_unit_range_default_and_source() -> None:
    """The price of electricity is the catalogue's for the site's region, named with its source."""
    document = tomllib.loads(TEXT)
    one = input_at(document, document, "sites", 0, "electricity_price")
    fact = load_catalogue().fact("electricity.gcp-us-south1.price")

    assert one is not None
    assert (one.path, one.entry, one.unit) == ("sites.dallas.electricity_price", "dallas", "USD/kWh")
    assert (one.low, one.high) == (0, 5)
    assert one.allowed.startswith("from 0 to 5 USD/kWh")
    assert one.default == fact.stated
    assert fact.key in one.default_source
    assert fact.source.title in one.default_source


@pytest.mark.parametrize(
    ("section", "key", "default", "source"),
    [
        ("market", "price", "310000 USD", "server.hgx-h100.price"),
        (
            "policy",
            "discount_rate",
            "",
            "every scenario states it; the catalogue has 0.08, finance.discount_rate",
        ),
        ("policy", "budget", "no limit", "a convention of everfleet"),
        ("solve", "gap", "0.005", "a convention of everfleet"),
        ("solve", "engine", "highs", "a convention of everfleet"),
        ("training", "earliest", "the start of the horizon", "a convention of everfleet"),
    ],
)
def test_a_default_says_where_it_comes_from(section: str, key: str, default: str, source: str) -> None:
    """A fact of the catalogue by its key, else the schema; what has to be stated has none."""
    document = tomllib.loads(TEXT)
    one = input_at(document, document, section, 0 if editing.is_table_list(section) else None, key)

    assert one is not None
    assert one.default == default
    assert one.default_source.startswith(source)


def test_an_entry_is_compared_with_the_one_of_its_name() -> None:
    """A row removed above it does not make every other row look changed; a new one began as nothing."""
    origin = tomllib.loads(TEXT)
    text = editing.with_rows(
        TEXT,
        "x",
        "market",
        edited={1: {"lead_time": "90 d"}},
        added=[{"sku": "l4-8", "lead_time": "1 d"}],
        removed=[0],
    ).text
    document = tomllib.loads(text)
    leads = [input_at(document, origin, "market", number, "lead_time") for number in range(4)]

    assert [(one.value, one.origin, one.changed) for one in leads if one] == [
        ("90 d", "60 d", True),
        ("100 d", "100 d", False),
        ("30 d", "30 d", False),
        ("1 d", None, True),
    ]


# Files


def test_a_series_is_the_mean_of_each_periods_months(scenario: Scenario) -> None:
    """Two hours in each month of 2021, 100 g in its first half-year and 300 g in its second."""
    rows = "".join(
        f"2021-{month:02}-{day:02}T{hour:02}Z,{100 if month <= 6 else 300}\n"
        for month in range(1, 13)
        for day in range(1, 29)
        for hour in range(24)
    )
    found = editing.series_found("own.csv", f"time,gco2e_per_kwh\n{rows}".encode(), scenario, "oregon")

    assert found.changes["sites.oregon.grid_intensity"] == [
        "100 g/kWh",
        "100 g/kWh",
        "300 g/kWh",
        "300 g/kWh",
    ]
    assert found.changes["sites.oregon.grid"] is None
    facts = dict(found.facts)
    assert facts["time"] == "2021-01-01T00 to 2021-12-29T00, UTC"
    assert facts["columns"] == "time, gco2e_per_kwh"
    assert facts["hours without a value, left out"] == f"{(362 - 12 * 28) * 24:,}"


def test_a_price_that_hung_on_the_region_stays(scenario: Scenario) -> None:
    """Taking the region away would fall back to the catalogue's general price, a change nobody asked for."""
    content = b"time,gco2e_per_kwh\n2021-01-01T00Z,100\n2021-01-01T01Z,200\n"
    oregon = editing.series_found("own.csv", content, scenario, "oregon")
    hamina = editing.series_found("own.csv", content, scenario, "hamina")

    price = load_catalogue().fact("electricity.gcp-us-west1.price").stated
    assert oregon.changes["sites.oregon.electricity_price"] == price
    assert "sites.hamina.electricity_price" not in hamina.changes  # the scenario states it
    assert any("2027 Q2, 2027 Q3, 2027 Q4" in note for note in oregon.notes)
    used = editing.with_values(TEXT, "x", oregon.changes)
    assert check(used.text, "x").sites[1].grid_kgco2e_per_kwh == pytest.approx((0.15,) * 4)


def test_a_series_of_another_signal_is_refused_or_said(scenario: Scenario) -> None:
    """Britain's operator publishes what is consumed; the shipped regions are what is produced."""
    content = b"datetime,carbon_intensity\n2021-01-01T00:00Z,100\n2021-01-01T01:00Z,200\n"
    own = editing.signal_of(scenario, "dallas")

    with pytest.raises(InputError, match="must not be mixed"):
        editing.series_found("neso.csv", content, scenario, "dallas", signal=editing.SIGNALS[0])
    found = editing.series_found("neso.csv", content, scenario, "dallas", signal=editing.SIGNALS[2])
    assert any("unlike" in note for note in found.notes) == (own != editing.SIGNALS[2])


def test_repeated_rows_of_a_series_are_counted(scenario: Scenario) -> None:
    """Nothing is dropped unsaid: two values of one hour are 150 in the mean."""
    content = b"time,gco2e_per_kwh\n2021-01-01T00Z,100\n2021-01-01T00Z,200\n2021-01-01T01Z,150\n"
    found = editing.series_found("own.csv", content, scenario, "dallas")

    assert found.changes["sites.dallas.grid_intensity"] == "150 g/kWh"
    assert "Rows that repeat a time: 1; their mean was taken." in found.notes


def test_no_site_of_that_name(scenario: Scenario) -> None:
    """The message names those there are."""
    with pytest.raises(InputError, match="no site 'paris'; there is dallas, oregon, hamina"):
        editing.series_found("own.csv", b"", scenario, "paris")


@pytest.mark.slow
def test_a_trace_gives_tokens_and_rates(scenario: Scenario) -> None:
    """36 hours of 360 requests and one of 1,440: 0.4 a second at the peak; 14,400 requests in 37 h."""
    rows = [
        f"2026-01-{1 + hour // 24:02}T{hour % 24:02}:{minute:02}:00Z,{100 if minute else 400},20"
        for hour in range(37)
        for minute in (0, 30)
        for _ in range(720 if hour == 5 else 180)
    ]
    content = "\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *rows]).encode()
    found = editing.traffic_found("own.csv", content, scenario, "chat")

    assert dict(found.changes) == {
        "services.chat.tokens_in": 250.0,
        "services.chat.tokens_out": 20.0,
        "services.chat.traffic": None,
        "services.chat.peak_rate": "0.4 /s",
        "services.chat.mean_to_peak": pytest.approx(14_400 / (37 * 3600) / 0.4, rel=1e-3),
        "services.chat.busiest_time": "5.5 h",
        "services.chat.traffic_shape": None,  # a busiest hour replaces it
    }
    assert check(editing.with_values(TEXT, "x", found.changes).text, "x").services[0].tokens_in == 250.0
    only = editing.traffic_found("own.csv", content, scenario, "chat", with_rates=False)
    assert "services.chat.peak_rate" not in only.changes


def test_rows_of_a_trace_that_are_no_use_are_named(scenario: Scenario) -> None:
    """With the line of the file and the reason; the rest is used."""
    content = (
        b"timestamp,input_tokens,output_tokens\n2026-01-01T00:00Z,10,5\nsoon,10,5\n2026-01-01T01:00Z,-1,5\n"
    )
    found = editing.traffic_found("own.csv", content, scenario, "chat")

    assert found.dropped == ((3, "'soon' is no time"), (4, "'-1' is no count"))
    assert found.dropped_count == 2
    assert found.dropped_rows()[0] == {"line": 3, "reason": "'soon' is no time"}
    assert dict(found.facts)["rows used"] == "1"
    assert any("the rates of the service stay" in note for note in found.notes)


def test_a_histogram_of_tokens_needs_no_times(scenario: Scenario) -> None:
    """The shipped sample of the code trace gives the means that the catalogue has of the trace itself."""
    content = (DATA / "samples" / "azure-2023-code.csv").read_bytes()
    found = editing.traffic_found("code.csv", content, scenario, "code")

    for key, fact in (("tokens_in", "mean_context"), ("tokens_out", "mean_generated")):
        mean = load_catalogue().fact(f"traffic.azure-2023-code.{fact}").value
        assert found.changes[f"services.code.{key}"] == pytest.approx(mean, rel=1e-4)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"a,b\n1,2\n", "neither times nor tokens among a, b"),
        (b"timestamp\nsoon\n", "no row can be used; the first: line 2, 'soon' is no time"),
    ],
)
def test_a_file_that_is_no_trace_is_refused(scenario: Scenario, content: bytes, message: str) -> None:
    """Saying what is missing."""
    with pytest.raises(InputError, match=message):
        editing.traffic_found("own.csv", content, scenario, "chat")


def test_no_service_of_that_name(scenario: Scenario) -> None:
    """A trace is the traffic of something."""
    with pytest.raises(InputError, match="no service 'voice'"):
        editing.traffic_found("own.csv", b"", scenario, "voice")


def test_a_scenario_file_is_counted(scenario: Scenario) -> None:
    """What a reader can compare with the file; a file that nothing names is left out, and said."""
    found = scenario_found("own.toml", TEXT.encode(), {"fit.json": b"{}"})

    assert dict(found.facts)["time"] == "2027 Q1 to 2027 Q4, 4 periods"
    assert dict(found.facts)["offers"] == "4"
    assert found.notes == ("fit.json is named nowhere: it is left out.",)
    assert found.files == ()
    assert found.fact_rows()[0] == {"recognised": "title", "value": scenario.title}


def test_a_scenario_file_that_is_no_text_is_refused() -> None:
    """With the byte that tells."""
    with pytest.raises(ScenarioError, match=r"not UTF-8 text \(byte 2 is 0xff\)"):
        scenario_found("own.toml", b"a\xff", {})


def test_a_fitted_log_lies_beside_the_scenario() -> None:
    """Used, the plan's rate is that of the log, 5 per 1000 node-days, and the published fleet's no longer."""
    found = log_found("my log.csv.gz", fit_of("my log.csv.gz", bad_rows=3))
    edited = editing.with_values(TEXT, "x", found.changes)
    used = check(edited.text, "own.toml", dict(found.files))

    assert used.fit is not None
    assert used.fit.failure_rate.value == pytest.approx(5 / 24_000)
    assert used.reliability.failures is None
    assert dict(found.facts) == {
        "failures": "9",
        "failure rate": "5 1/(1000 node d), 95 % interval 4 to 6",
    }
    assert found.dropped_count == 3
    assert found.notes == ("Read as a table.", "Counted: hardware.")


def test_without_its_file_a_scenario_that_names_one_does_not_check() -> None:
    """What is looked for lies beside it; the message says what it is."""
    text = editing.with_values(TEXT, "x", log_found("l.csv", fit_of("l.csv")).changes).text

    with pytest.raises(ScenarioError, match=r"own\.toml: reliability\.log: there is no file 'l-fit\.json'"):
        check(text, "own.toml")
