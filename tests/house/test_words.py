"""One word for one thing: the glossary is whole, and what people read keeps to it."""

from __future__ import annotations

import ast
import csv
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
PACKAGES = ("planner", "carbon", "reliability", "solver", "benchmarks")
# The history of changes quotes what once was; three pages are written by programs whose text is held here.
UNHELD = {
    "CHANGELOG.md",
    "docs/glossary.md",
    "docs/benchmarks.md",
    "docs/what-the-join-saves.md",
    "docs/worth.md",
}


PUBLISHED = "a word of published tables, which rows of users hold too"
IN_DOCUMENTS = "a table or a part of saved documents"
PEERS = "equations of other tools, in their words"
# Where a word stays in names, and why.
STAYS = {
    ("beside", "benchmarks/studies/examples_front.py"): IN_DOCUMENTS,
    ("beside", "planner/answers/failures/document.py"): IN_DOCUMENTS,
    ("beside", "planner/notebook/kinds.py"): IN_DOCUMENTS,
    ("beside", "planner/ui/failures.py"): IN_DOCUMENTS,
    ("beside", "planner/ui/tradeoffs.py"): IN_DOCUMENTS,
    ("beside", "planner/ui/workers/tradeoffs.py"): IN_DOCUMENTS,
    ("asked", "planner/answers/job/equations.py"): "the name of an equation in saved documents",
    ("asked", "planner/answers/job/inference.py"): "the name of an equation in saved documents",
    ("gpus", "benchmarks/studies/fit.py"): "a key of published runs",
    ("gpus", "benchmarks/studies/rankings.py"): "a key of published runs",
    ("gpus", "benchmarks/studies/peers.py"): PEERS,
    ("gpus", "carbon/peers.py"): PEERS,
    ("gpus", "data/facts/validation.csv"): "keys of facts: a change would make every saved plan look old",
    ("gpus", "planner/inputs/metering/slurm.py"): "a resource of Slurm",
    ("gpus", "planner/validation/carbon.py"): PUBLISHED,
    ("gpus", "planner/validation/embodied.py"): PUBLISHED,
    ("gpus", "planner/validation/forms.py"): PUBLISHED,
    ("gpus", "planner/validation/memory.py"): PUBLISHED,
    ("gpus", "planner/validation/peers.py"): PEERS,
    ("gpus", "planner/validation/anchored.py"): "the key of a fact",
    ("gpus", "planner/validation/performance.py"): "the key of a fact",
    ("gpus", "planner/validation/reliability.py"): PUBLISHED,
    ("gpus", "planner/validation/serving.py"): PUBLISHED,
    ("mtbf", "planner/validation/checkpoints.py"): PUBLISHED,
    ("mtbf", "planner/validation/forms.py"): PUBLISHED,
    ("mtbf", "planner/validation/histories.py"): PUBLISHED,
    ("mtbf", "planner/validation/leaves.py"): "a name that the function had before, in rows of users",
    ("mtbf", "planner/validation/reliability.py"): PUBLISHED + "; and a count over the calendar",
    ("elastic", "planner/report/cells.py"): "a name in plans that were saved earlier",
}


# A pool is work that can wait; others are words of other tools, or columns and keys of saved documents.
POOLS = {
    "work that can wait": {
        "pool": """
            planner/answers/plan/data_mix.py planner/inputs/scenario/data_mix.py
            planner/inputs/scenario/writing.py
            planner/answers/telemetry.py planner/report/standards/kueue.py
            benchmarks/studies/demand_ladder.py
            planner/answers/check.py planner/answers/plan/chance.py planner/answers/plan/limits.py
            planner/answers/plan/repairs.py planner/physics/chance.py
            planner/answers/plan/tables.py planner/answers/plan/work.py
            planner/inputs/consistency.py planner/inputs/resolved.py planner/inputs/scenario/__init__.py
            planner/inputs/scenario/bundle.py planner/inputs/scenario/schema.py planner/physics/experiments.py
            planner/inputs/scenario/schema_pools.py planner/physics/full_replicas.py
            planner/inputs/scenario/checks.py planner/inputs/scenario/reading.py planner/physics/needs.py
            planner/inputs/scenario/growth.py
            planner/physics/divisible_work.py planner/answers/plan/stress.py
            planner/answers/plan/unit_costs.py planner/program/assembly.py
            planner/program/future_scenarios.py planner/program/option_tables.py planner/report/cells.py
            planner/answers/plan/ranges.py planner/program/operation.py
            planner/answers/plan/decisions.py planner/physics/levers.py
            planner/program/slot_use.py planner/report/charts/hours.py
            planner/physics/pool_ways.py planner/physics/README.md planner/program/one_off_costs.py
            planner/answers/plan/chosen_ways.py planner/physics/egress.py planner/inputs/unstated.py
            planner/physics/curtailment.py planner/program/chosen_work.py planner/program/ledger.py
            planner/physics/training_options.py planner/answers/saved/compare.py
            """,
        "pools": """
            planner/answers/saved/compare.py
            planner/answers/plan/data_mix.py planner/inputs/scenario/data_mix.py
            planner/inputs/scenario/writing.py
            planner/report/standards/kueue.py
            planner/answers/plan/ranges.py planner/program/operation.py
            planner/inputs/sheets/making.py planner/inputs/sheets/reading.py
            planner/inputs/sheets/cells.py planner/inputs/sheets/defaults.py
            planner/inputs/sheets/kinds.py planner/inputs/sheets/periods.py
            planner/inputs/sheets/templates.py
            planner/inputs/sheets/guide.py planner/ui/begin_work.py planner/inputs/kind_checks.py
            benchmarks/scenarios.py benchmarks/sizes.py benchmarks/studies/demand_ladder.py
            planner/answers/check.py planner/answers/opening.py planner/answers/plan/decisions.py
            planner/answers/plan/chance.py planner/answers/plan/stress.py planner/answers/plan/unit_costs.py
            planner/answers/plan/names.py
            planner/answers/plan/view_lines.py planner/physics/chance.py
            planner/answers/plan/energy.py planner/answers/plan/money.py
            planner/answers/plan/repairs.py planner/answers/plan/tables.py planner/answers/plan/work.py
            planner/answers/sweeps/attribution.py planner/inputs/consistency.py
            planner/inputs/editing/fields.py planner/inputs/resolved.py planner/inputs/scenario/bundle.py
            planner/inputs/scenario/checks.py planner/inputs/scenario/reading.py
            planner/inputs/scenario/growth.py planner/inputs/scenario/schema.py
            planner/inputs/scenario/__init__.py planner/inputs/scenario/schema_services.py
            planner/physics/full_replicas.py planner/physics/needs.py planner/physics/divisible_work.py
            planner/physics/experiments.py
            planner/program/assembly.py planner/program/future_scenarios.py planner/program/ledger.py
            planner/ui/plan_parts.py planner/ui/scenario_tables.py
            planner/physics/levers.py planner/program/slot_ledger.py planner/program/slot_tables.py
            planner/program/slot_use.py benchmarks/studies/hours.py
            planner/physics/pool_ways.py planner/inputs/techniques.py planner/program/baselines.py
            planner/physics/egress.py planner/inputs/unstated.py planner/physics/curtailment.py
            planner/program/one_off_costs.py
            """,
    },
    "a column or a table of saved documents: spares by each rule, orders of a future, needs of a rate": {
        "pool": """
            planner/answers/failures/downtime.py planner/answers/futures/document.py
            planner/answers/throughput/text.py
            planner/answers/throughput/traffic.py planner/report/charts/failures.py planner/ui/failures.py
            benchmarks/site/meanings.py
            """,
        "pools": "planner/answers/failures/backtest.py",
    },
    "keys of facts: a change would make every saved plan look old": {
        "pool": "data/facts/planning.csv planner/inputs/editing/fields.py planner/physics/requests.py",
    },
    "what Python and SQLAlchemy call it": {
        "pool": """
            benchmarks/app.py planner/answers/sweeps/executors.py planner/program/plan.py
            planner/store/addresses.py
            """,
    },
    "names that functions and fields had before, in rows of users": {
        "pool": "planner/validation/histories.py planner/validation/leaves.py",
    },
}
STAYS |= {
    (word, file): why
    for why, words in POOLS.items()
    for word, listed in words.items()
    for file in listed.split()
}


def rows(heading: str) -> list[tuple[str, str]]:
    """The pairs of the table that begins with this heading."""
    table = GLOSSARY.read_text(encoding="utf-8").partition(f"| {heading} |")[2].partition("\n\n")[0]
    lines = [line.strip("|").split("|") for line in table.splitlines()[2:]]
    return [(left.strip(), right.strip()) for left, right in lines]


@cache
def avoided() -> re.Pattern[str]:
    words = [word for left, _ in rows("instead of") for word in left.split(", ")]
    return re.compile(rf"(?<![\w`.\"'])({'|'.join(map(re.escape, words))})(?![\w`=(:\"'\]])", re.IGNORECASE)


@cache
def avoided_anywhere() -> re.Pattern[str]:
    """Any word to avoid, wherever it stands: most files hold none, and are taken apart no further."""
    words = [word for left, _ in rows("instead of") for word in left.split(", ")]
    return re.compile("|".join(map(re.escape, words)), re.IGNORECASE)


def said(path: Path) -> Iterator[tuple[int, str]]:
    """What a Python file says to people: its comments, docstrings and sentences, each with its line.

    A string without a space is a key or a name, not a sentence.
    """
    text = path.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.lineno, node.value


def broken(path: Path) -> Iterator[str]:
    name = path.relative_to(ROOT).as_posix()
    if not avoided_anywhere().search(" ".join(path.read_text(encoding="utf-8").split())):
        return
    lines = (
        said(path) if path.suffix == ".py" else enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    )
    for number, text in lines:
        for found in avoided().finditer(" ".join(text.split())):
            yield f"{name}:{number}: {found[0]!r}"


def names(path: Path) -> Iterator[tuple[int, str]]:
    """Names in a file with their lines: identifiers and keys of Python, keys of TOML, columns of CSV."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME:
                yield token.start[0], token.string
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from ((node.lineno, key) for key in re.findall(r"\A\S+\Z", node.value))
    elif path.suffix == ".csv":
        table = list(csv.reader(io.StringIO(text)))
        yield from ((1, column) for column in table[0])
        if path.parent.name == "facts":
            yield from ((number, line[0]) for number, line in enumerate(table, 1) if line)
    else:
        pattern = r"^[\w.-]+(?= *=)" if path.suffix == ".toml" else r"[A-Za-z]\w*_\w+"
        for number, line in enumerate(text.splitlines(), 1):
            yield from ((number, found) for found in re.findall(pattern, line))


@cache
def avoided_in_names() -> frozenset[str]:
    return frozenset(word for left, _ in rows("a name with") for word in left.split(", "))


def badly_named(path: Path) -> Iterator[tuple[str, str]]:
    """Words to avoid in the names of a file, each with where it is."""
    place = path.relative_to(ROOT).as_posix()
    text = path.read_text(encoding="utf-8").lower()
    if not any(word in text for word in avoided_in_names()):
        return
    for number, name in names(path):
        for word in avoided_words(name):
            yield word, f"{place}:{number}: {name}"


@cache
def avoided_words(name: str) -> frozenset[str]:
    """Words to avoid in a name, which is met hundreds of times."""
    return avoided_in_names().intersection(
        re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    )


def held_files() -> list[Path]:
    """Code, pages, and the columns and keys of what is shipped; published tables keep their own words."""
    code = [path for package in PACKAGES for path in (ROOT / package).rglob("*")]
    found = [path for path in code if path.suffix in (".py", ".md")]
    tables = ("data/*.csv", "data/facts/*.csv", "data/samples/*.csv", "data/*/*.toml")
    for kind in (*tables, "*.md", "docs/*.md"):
        found += ROOT.glob(kind)
    return [path for path in sorted(found) if path.relative_to(ROOT).as_posix() not in UNHELD]


def test_each_term_is_defined_once_and_in_order() -> None:
    """One or two sentences a term, in the order of the alphabet."""
    terms = [term.casefold() for term, _ in rows("term")]

    assert len(terms) > 30
    assert terms == sorted(set(terms))
    for term, meaning in rows("term"):
        sentences = re.findall(r"[.](?= [A-Z]|$)", meaning)
        assert 1 <= len(sentences) <= 2, (term, meaning)


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_code_says_what_the_glossary_says(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))

    assert files
    assert [each for path in files for each in broken(path)] == []


def test_pages_say_what_the_glossary_says() -> None:
    """Guides, READMEs and the templates of the reports."""
    folders = (ROOT / each for each in (*PACKAGES, "data"))
    files = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(path for folder in folders for path in folder.rglob("*.md")),
    ]
    files += (ROOT / "planner").rglob("*.html")
    held = [path for path in files if path.relative_to(ROOT).as_posix() not in UNHELD]

    assert len(held) > 20
    assert [each for path in held for each in broken(path)] == []


# Idioms that a reader at work would have to look up; code may still have them in its comments.
IDIOMS = re.compile(
    r"\b(is|are|was|were) told\b|\bstands? (in|beside)\b|\btakes? (it|the \w+) along\b"
    r"|\bmakes? least\b|\bwhoever asks\b|\bdear(er|est)\b|\bmends?\b|\bbegins? anew\b",
    re.IGNORECASE,
)


def test_pages_of_users_have_no_idioms() -> None:
    """The README, the guides, and what commands and servers say."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    held = [path for path in pages if path.relative_to(ROOT).as_posix() not in UNHELD]
    found = [
        f"{path.name}: {match[0]}"
        for path in held
        for match in IDIOMS.finditer(path.read_text(encoding="utf-8"))
    ]

    assert len(held) > 25
    assert found == []
    assert IDIOMS.search("The plan stands in for another one")


def test_a_word_to_avoid_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In sentences and comments, not in keys: the check itself can fail."""
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    file = tmp_path / "one.py"
    file.write_text('x = "it lies beside it"  # that hangs on\nx = {"beside": 1}\n')

    assert sorted(broken(file)) == ["one.py:1: 'beside'", "one.py:1: 'hangs on'"]


@pytest.mark.slow
def test_names_say_what_the_glossary_says() -> None:
    """In identifiers, keys, columns and pages; each exception is still met somewhere."""
    files = held_files()
    found = {path: list(badly_named(path)) for path in files}
    met = {(word, path.relative_to(ROOT).as_posix()) for path, each in found.items() for word, _ in each}

    assert len(files) > 300
    assert [
        place
        for path, each in found.items()
        for word, place in each
        if (word, path.relative_to(ROOT).as_posix()) not in STAYS
    ] == []
    assert STAYS.keys() - met == set()


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("one.py", "def rate(node_mtbf_h): ...", ["node_mtbf_h"]),
        ("one.py", 'row = {"gpus": 8, "said": "8 gpus"}', ["gpus"]),
        ("one.py", "class ElasticOptions: ...", ["ElasticOptions"]),
        ("one.py", "pool_sku = pooled = 1", ["pool_sku"]),
        ("one.csv", "key,mtbf_days\nx,1\n", ["mtbf_days"]),
        ("one.toml", "gpus = 8\naccelerators = 8\n", ["gpus"]),
        ("one.md", "An argument `handed_h` of two GPUs, of no MTBF", ["handed_h"]),
        ("one.py", "gpu_kw = bending_h = retold = elasticity = 1", []),
    ],
)
def test_a_name_to_avoid_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, wanted: list[str]
) -> None:
    """Word by word, in names alone."""
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / name).write_text(text)

    assert [place.split(": ")[1] for _, place in badly_named(tmp_path / name)] == wanted


def test_readers_find_the_glossary() -> None:
    assert "docs/glossary.md" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "glossary.md" in (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
