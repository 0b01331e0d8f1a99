"""What a killed server left behind is cleared at the next start; what another server holds is not."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from planner.ui.workers.folders import LOCK, PREFIX, YOUNG_S, WorkerFolder, clear_left

SERVER = """
import sys
from planner.ui.workers.folders import WorkerFolder
folder = WorkerFolder()
print(folder.name, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def aged(folder: Path) -> Path:
    """The folder as it is after a while."""
    then = folder.stat().st_mtime - 2 * YOUNG_S
    os.utime(folder, (then, then))
    return folder


@pytest.mark.skipif(sys.platform == "win32", reason="kills by signal")
def test_only_folders_of_dead_servers_go(disk: Path) -> None:
    """Two servers on one disk: the folder of the killed one goes, with all in it, and no other."""
    environment = os.environ | {"TMPDIR": str(disk)}
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    assert server.stdout is not None
    left = aged(Path(server.stdout.readline().decode().strip()))
    own = WorkerFolder()
    aged(Path(own.name))
    (left / "scenario").mkdir()
    aged(left)
    assert clear_left() == [], "both servers live"

    server.kill()
    server.communicate()
    assert clear_left() == [left]
    assert not left.exists()
    assert Path(own.name).exists()
    own.cleanup()
    assert not Path(own.name).exists()


def test_what_is_about_to_be_held_or_is_none_of_ours_stays(disk: Path) -> None:
    """A folder that was just made; a link to elsewhere; a folder of another name. One without a lock goes."""
    young, elsewhere, other, torn = (
        disk / name for name in (f"{PREFIX}young", "elsewhere", "everfleet-x", f"{PREFIX}torn")
    )
    for folder in (young, elsewhere, other, torn):
        folder.mkdir()
    (elsewhere / LOCK).touch()
    link = disk / f"{PREFIX}link"
    link.symlink_to(elsewhere)
    then = link.lstat().st_mtime - 2 * YOUNG_S
    os.utime(link, (then, then), follow_symlinks=False)
    for folder in (other, torn):
        aged(folder)

    assert clear_left() == [torn]
    assert all(path.exists() for path in (young, elsewhere, other, link))
