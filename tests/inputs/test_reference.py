"""The schemas of both files and the page of keys say what the program reads."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from planner.cli.commands import main
from planner.inputs.loading import data_folder, load_catalogue
from planner.inputs.reference import FILES, json_schema, key_rows, keys_page, meaning_of

ROOT = Path(__file__).resolve().parents[2]
JOBS = sorted((data_folder() / "jobs").glob("*.toml"))


def test_the_page_of_keys_is_up_to_date() -> None:
    """Where this fails: `everfleet schema --markdown > docs/keys.md`."""
    assert (ROOT / "docs/keys.md").read_text(encoding="utf-8").rstrip() == keys_page().rstrip()


@pytest.mark.parametrize("kind", FILES)
def test_every_key_says_what_it_is(kind: str) -> None:
    """Type, default, range, example and meaning; and a fact that is a default is one of the catalogue."""
    rows = list(key_rows(kind))

    assert len(rows) > 60
    for row in rows:
        said = [row[name] for name in ("key", "type", "default", "allowed", "example", "description")]
        assert all(said), row
        assert bool(row["unit"]) == row["type"].startswith("quantity"), row
        fact = row["default"].removeprefix("the fact ")
        assert fact == row["default"] or load_catalogue().has(fact), row


def test_the_schema_of_a_job_takes_the_shipped_jobs_and_no_other_key() -> None:
    schema = json_schema("job")
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)

    for path in JOBS:
        document = json.loads(json.dumps(tomllib.loads(path.read_text(encoding="utf-8")), default=str))
        assert list(validator.iter_errors(document)) == []
        assert list(validator.iter_errors({**document, "sites": []}))


def test_the_command_prints_either_schema(capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for words in (["schema"], ["schema", "scenario"], ["schema", "job"]):
        assert main(words) == 0
        found.append(json.loads(capsys.readouterr().out))

    assert found == [json_schema("scenario"), json_schema("scenario"), json_schema("job")]


def test_a_meaning_is_that_of_the_page() -> None:
    assert meaning_of("job", "site.pue") in json.dumps(json_schema("job"))
    assert "default: the fact pue.default" in meaning_of("job", "site.pue")
