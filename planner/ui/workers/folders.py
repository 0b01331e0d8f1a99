"""Where workers keep what they need for a while, and how what a killed server left behind is cleared.

Each folder holds a file that its server keeps locked. The system lets go of the lock when the server ends,
however that ended: a folder that can be locked belongs to nobody, whichever server shares the disk.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

if sys.platform != "win32":
    import fcntl

PREFIX = "everfleet-worker-"
LOCK = "in-use"
YOUNG_S = 60.0  # between making a folder and locking it


class WorkerFolder:
    """A temporary folder of a worker, held until it is cleaned up or this process ends."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
        self.name = self._folder.name
        self._lock = (Path(self.name) / LOCK).open("wb")
        _locked(self._lock)

    def cleanup(self) -> None:
        """Remove it with all that is in it."""
        self._lock.close()
        self._folder.cleanup()


def clear_left() -> list[Path]:
    """Remove folders of this user whose server is gone; gives those that were removed."""
    if sys.platform == "win32":  # no such locks
        return []
    found = [path for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*") if _is_left(path)]
    for path in found:
        shutil.rmtree(path, ignore_errors=True)
    return found


def _is_left(folder: Path) -> bool:
    """Whether nobody holds it; a folder that was just made may be about to be held."""
    try:
        about = folder.lstat()
        young = time.time() - about.st_mtime < YOUNG_S
        if young or folder.is_symlink() or about.st_uid != os.getuid():
            return False
        with (folder / LOCK).open("rb+") as lock:
            return _locked(lock)
    except FileNotFoundError:  # killed before it held its folder
        return True
    except OSError:
        return False


def _locked(file: IO[bytes]) -> bool:
    """Lock a file until it is closed, unless another holds it."""
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
