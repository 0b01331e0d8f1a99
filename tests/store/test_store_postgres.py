"""The store on PostgreSQL: the same answers as on SQLite, from a server that the test starts for itself."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text, update

from planner.answers.plan.document import plan_document
from planner.answers.saved.recompute import recompute
from planner.answers.sweeps import run_sweep, sweep_records, varied
from planner.inputs.loading import data_folder
from planner.inputs.scenario import Scenario, load_scenario
from planner.inputs.scenario.bundle import KeptScenario
from planner.program.plan import plan_fleet
from planner.store import StoreError, open_store, schema
from planner.store import store as plans
from planner.store.packing import packed

USER = "postgres"


@dataclass(frozen=True, slots=True)
class Server:
    """A cluster of our own, in a folder that goes with it."""

    programs: Path
    folder: Path
    port: int

    @property
    def address(self) -> str:
        return f"postgresql://{USER}@127.0.0.1:{self.port}/postgres"

    def run(self, program: str, *arguments: str) -> None:
        """Run a program of PostgreSQL, which refuses to be run by root."""
        command = [str(self.programs / program), "-D", str(self.folder / "data"), *arguments]
        if os.geteuid() == 0:
            command = ["runuser", "-u", USER, "--", *command]
        done = subprocess.run(
            command,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        settings = f"-p {self.port} -h 127.0.0.1 -k {self.folder} -F"
        self.run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", settings, "start")

    def stop(self) -> None:
        self.run("pg_ctl", "-w", "-m", "immediate", "stop")


def _programs() -> Path:
    """The newest PostgreSQL that is installed; where there is none the tests are skipped, but not in CI."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if not found and (on_path := shutil.which("initdb")):
        found = [Path(on_path)]
    if not found:
        if os.environ.get("CI"):
            pytest.fail("no PostgreSQL is installed: apt install postgresql")
        pytest.skip("no PostgreSQL is installed (apt install postgresql)")
    return found[-1].parent


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    programs = _programs()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="everfleet-") as folder:  # pytest's own is closed to other users
        if os.geteuid() == 0:
            os.chown(folder, pwd.getpwnam(USER).pw_uid, -1)
        server = Server(programs, Path(folder), port)
        server.run("initdb", "-A", "trust", "-U", USER, "--no-sync")
        server.start()
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture
def address(server: Server) -> str:
    """An empty database."""
    engine = create_engine(server.address.replace("://", "+pg8000://"))
    with engine.begin() as connection:
        for statement in ("DROP SCHEMA public CASCADE", "CREATE SCHEMA public"):
            connection.execute(text(statement))
    engine.dispose()
    return server.address


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return load_scenario(data_folder() / "scenarios" / "one-training-job.toml")


@pytest.fixture(scope="module")
def document(scenario: Scenario) -> dict[str, Any]:
    return plan_document(plan_fleet(scenario, baselines=False))


def test_postgresql_says_what_sqlite_says(
    address: str, tmp_path: Path, scenario: Scenario, document: dict[str, Any]
) -> None:
    """Agreement: digests, totals, documents and scenarios are the same, and so is the plan made again."""
    stores = [open_store(address), open_store(str(tmp_path / "own.sqlite"))]
    digests = {store.save_plan(scenario, document, baselines=False) for store in (*stores, *stores)}
    digest = digests.pop()
    shared, own = (replace(store.plan(digest[:8]), saved="") for store in stores)

    assert digests == set()
    assert shared == own
    assert stores[0].document(digest) == stores[1].document(digest)
    assert stores[0].scenario(shared.scenario) == stores[1].scenario(own.scenario)
    assert recompute(stores[0], digest).same
    assert len(stores[0].plans(title="TRAINING")) == len(stores[1].plans(title="TRAINING")) == 1
    for store in stores:
        store.close()


def test_an_objective_of_edition_3_gets_its_unit(address: str, document: dict[str, Any]) -> None:
    """The step that renames a column and reads the documents works on a server too."""
    stated = {"kind": "carbon", "text": "least carbon", "value": 500.2, "unit": "USD"}
    before = {"kind": "carbon", "text": "least carbon", "value_usd": 500.2}
    store = open_store(address)
    store.save_plan(KeptScenario("a" * 64, "t", "", "text"), document | {"objective": stated})
    with store.writing() as connection:
        connection.execute(update(schema.plans).values(document=packed(document | {"objective": before})))
        labels = (f"DROP COLUMN {name}" for name in ("name", "note", "tags", "owner"))
        for change in (
            "RENAME COLUMN objective_value TO objective_usd",
            "DROP COLUMN objective_unit",
            *labels,
        ):
            connection.execute(text(f"ALTER TABLE everfleet_plans {change}"))
        connection.execute(update(schema.edition).values(version=3))
    store.close()
    upgraded = open_store(address)
    (saved,) = upgraded.plans()

    assert (saved.objective_value, saved.objective_unit) == (500.2, "kgCO2e")
    assert upgraded.document(saved.digest)["objective"]["unit"] == "kgCO2e"
    upgraded.close()


@pytest.mark.nightly
def test_a_sweep_goes_into_postgresql(address: str, tmp_path: Path, scenario: Scenario) -> None:
    """Agreement with the same sweep into SQLite, with one point that is infeasible and one that is wrong."""
    grid = varied(["policy.carbon_cap=1 kg,9 t,9 kW"])
    shared, own = open_store(address), open_store(str(tmp_path / "own.sqlite"))
    results = [run_sweep(scenario, grid, store) for store in (shared, own)]

    assert sweep_records(results[0]) == sweep_records(results[1])
    assert [replace(s, saved="") for s in shared.sweeps.all()] == [
        replace(s, saved="") for s in own.sweeps.all()
    ]
    shared.close()


@pytest.mark.nightly
def test_a_team_at_once(address: str, document: dict[str, Any]) -> None:
    """6 open a new store at once and save 5 plans each, of one scenario and each plan thrice: 10 rows."""
    failures: list[Exception] = []

    def save(member: int) -> None:
        try:
            store = open_store(address)
            for number in range(5):
                kept = KeptScenario("a" * 64, "t", "", "text", {"config.json": b"{}"})
                store.save_plan(kept, {**document, "title": f"plan {number} of {member % 2}"})
            store.close()
        except Exception as error:
            failures.append(error)

    team = [threading.Thread(target=save, args=(member,)) for member in range(6)]
    for one in team:
        one.start()
    for one in team:
        one.join()
    store = open_store(address)

    assert failures == []
    assert (len(store.plans()), len(store.scenarios())) == (10, 1)
    assert store.scenario("aaaa").files == {"config.json": b"{}"}
    store.close()


def test_a_server_that_goes_away_loses_nothing(
    server: Server, address: str, scenario: Scenario, document: dict[str, Any]
) -> None:
    """One line while it is gone, and without opening anew all is there when it is back."""
    store = open_store(address)
    digest = store.save_plan(scenario, document)
    server.stop()
    with pytest.raises(StoreError, match="no server answers there") as caught:
        store.save_plan(scenario, {**document, "title": "another"})
    server.start()

    assert "\n" not in str(caught.value)
    assert [plan.digest for plan in store.plans()] == [digest]
    store.close()


def test_a_connection_that_is_lost_in_mid_save_is_told_in_one_line(
    server: Server,
    address: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    document: dict[str, Any],
) -> None:
    """The server ends between two statements: the error says so, and nothing else is said beside it."""
    store = open_store(address)
    add_once = plans.add_once

    def lost(*arguments: Any) -> None:
        server.stop()
        add_once(*arguments)

    monkeypatch.setattr(plans, "add_once", lost)
    with pytest.raises(StoreError, match="the connection to the server broke: try again") as caught:
        store.save_plan(KeptScenario("a" * 64, "t", "", "text", {}), document)
    server.start()

    assert "\n" not in str(caught.value)
    assert caplog.records == []
    assert store.plans() == []
    store.close()


def test_a_user_who_is_not_known_is_told(address: str) -> None:
    """What the server itself says, in one line."""
    with pytest.raises(StoreError, match='role "nobody-here" does not exist') as caught:
        open_store(address.replace(USER + "@", "nobody-here@"))
    assert "\n" not in str(caught.value)
