"""Answers of searches as files next to the store: what was asked before need not be searched again.

A file that cannot be read or written is none, without an error: all that is lost is the time of a search.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from planner.store.addresses import default_address, parsed, read_only, user_data_folder
from planner.store.errors import StoreError

VARIABLE = "EVERFLEET_SEARCHES"
FOLDER = "searches"
ENDING = ".search"
MOST_FILES, MOST_BYTES = 200, 100_000_000  # of all files; the ones that were used longest ago go first


class KeptSearches:
    """A folder of answers by the digest of their question; with `anew` none is found, and all are kept."""

    def __init__(self, folder: Path, *, anew: bool = False) -> None:
        self.folder, self.anew = folder, anew

    def get(self, key: str) -> bytes | None:
        """What was kept under a key, if it can be read; it counts as used now."""
        if self.anew:
            return None
        path = self._path(key)
        try:
            if path.stat().st_size > MOST_BYTES:
                return None
            content = path.read_bytes()
        except OSError:
            return None
        with suppress(OSError):
            os.utime(path)
        return content

    def put(self, key: str, content: bytes) -> None:
        """Keep it whole, for this user alone, or not at all."""
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with NamedTemporaryFile(dir=self.folder, suffix=ENDING, delete=False) as file:
                try:
                    file.write(content)
                    file.close()
                    os.replace(file.name, self._path(key))
                except OSError:
                    Path(file.name).unlink(missing_ok=True)
                    raise
            for path in self._too_many():
                path.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{ENDING}"

    def _too_many(self) -> Iterator[Path]:
        """The files beyond what a folder may hold, the last used first."""
        held = []
        for path in self.folder.glob(f"*{ENDING}"):
            with suppress(OSError):  # another process may have taken it away
                found = path.stat()
                held.append((found.st_mtime_ns, found.st_size, path))
        taken = 0
        for count, (_, size, path) in enumerate(sorted(held, reverse=True), start=1):
            taken += size
            if count > MOST_FILES or taken > MOST_BYTES:
                yield path


def kept_searches(*, anew: bool = False) -> KeptSearches | None:
    """Where searches of this user are kept: the folder that EVERFLEET_SEARCHES names, else next to the store.

    Next to a database that is no file it is the user's data folder. None where the variable is empty, where
    nothing is kept of what visitors do, and where EVERFLEET_STORE is no address.
    """
    named = os.environ.get(VARIABLE)
    if read_only() or named == "":
        return None
    if named is not None:
        return KeptSearches(Path(named).expanduser(), anew=anew)
    try:
        url = parsed(default_address())
    except StoreError:
        return None  # told where a plan is saved
    folder = user_data_folder()
    if url.get_backend_name() == "sqlite":
        folder = Path(str(url.database)).parent
    return KeptSearches(folder / FOLDER, anew=anew)
