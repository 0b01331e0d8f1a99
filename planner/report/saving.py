"""A report in a folder: all of its files, or none."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from planner.report.data import to_csv_files
from planner.report.page import to_html
from planner.report.shape import answer_json, is_written
from planner.report.text import to_markdown
from planner.report.workbook import to_workbook
from planner.trace.errors import InputError
from planner.trace.records import Document

PARTIAL = ".partial"  # the end of the name of a folder that is being written


class ReportError(InputError):
    """The report cannot be written where it was requested."""


@dataclass(frozen=True, slots=True)
class FolderKind:
    """A kind of folder that we write, known by a key of its document."""

    name: str
    document: str
    key: str
    files: tuple[str, ...]


PLAN = FolderKind(
    "a plan folder", "plan.json", "everfleet", ("plan.md", "plan.html", "plan.json", "plan.xlsx", "csv")
)


def save(document: Document, folder: Path) -> list[Path]:
    """Write plan.md, plan.html, plan.json, plan.xlsx and csv/ into `folder`, all of them or nothing."""
    folder = folder.absolute()
    _refuse_foreign(folder, PLAN)  # before the work of drawing
    contents: dict[str, str | bytes] = {
        "plan.md": to_markdown(document),
        "plan.html": to_html(document),
        "plan.json": answer_json(document),
        "plan.xlsx": to_workbook(document),
    }
    contents |= {f"csv/{name}": text for name, text in to_csv_files(document).items()}
    return write_folder(contents, folder, PLAN)


def write_folder(contents: Mapping[str, str | bytes], folder: Path, kind: FolderKind) -> list[Path]:
    """Write files, of which some may lie in csv/, into `folder`, all of them or nothing.

    The files are written next to `folder` and reach the disk before they take its place in one step, so that
    a kill or a power cut leaves the old folder or the new one whole; what then lies next to it is cleared by
    the next who writes there. A folder with anything else in it is not touched.
    """
    folder = folder.absolute()
    _refuse_foreign(folder, kind)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh, handle = _partial(folder)
    except OSError as error:
        raise ReportError(f"{folder}: cannot write there: {error.strerror}. Name another folder.") from error
    try:
        _clear_left(folder)
        _write_all(fresh, contents)
        _take_place(fresh, folder)
    except OSError as error:
        raise ReportError(f"{folder}: the report was not written: {error.strerror}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)  # what was there before, or what did not get ready
        if handle is not None:
            os.close(handle)
    return [folder / name for name in contents]


def _partial(folder: Path) -> tuple[Path, int | None]:
    """A folder of our own next to `folder`, and the lock on it, which goes with our process however it ends.

    Between its begin and its lock another writer may take it for left and remove it: then another is made.
    """
    while True:
        fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", suffix=PARTIAL, dir=folder.parent))
        if fcntl is None:
            return fresh, None
        handle = None
        try:
            handle = os.open(fresh, os.O_RDONLY)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.stat(fresh)
            return fresh, handle
        except (BlockingIOError, FileNotFoundError):
            if handle is not None:
                os.close(handle)
        except OSError:  # a disk without locks: nobody removes anything there
            return fresh, handle


def _clear_left(folder: Path) -> None:
    """Remove the partial folders of writers of `folder` that were killed: those that nobody has locked."""
    if fcntl is None:
        return
    name = re.compile(
        rf"\.{re.escape(folder.name)}-[a-z0-9_]{{8}}{re.escape(PARTIAL)}"
    )  # as mkdtemp writes it
    for left in folder.parent.iterdir():
        if not name.fullmatch(left.name):
            continue
        try:
            handle = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            continue  # gone meanwhile, or somebody else's
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
        except OSError:
            continue  # being written
        finally:
            os.close(handle)


def _refuse_foreign(folder: Path, kind: FolderKind) -> None:
    """Only a folder that we wrote, or an empty one, may be replaced."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise ReportError(f"{folder}: this is not a folder. Name a new folder, or {kind.name} of before.")
    if not folder.exists():
        return
    held = {path.name for path in folder.iterdir()}
    foreign = sorted(held - set(kind.files))
    if (folder / "csv").is_dir():
        foreign += [f"csv/{path.name}" for path in (folder / "csv").iterdir() if path.suffix != ".csv"]
    if held and (foreign or not _is_ours(folder / kind.document, kind.key)):
        holds = f"'{foreign[0]}'" if foreign else f"no {kind.document} of ours"
        raise ReportError(
            f"{folder}: this is not {kind.name} (it holds {holds}). Name a new or an empty folder."
        )


def _is_ours(file: Path, key: str) -> bool:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return key in found or is_written(found)
    except (OSError, ValueError, TypeError):
        return False


def _write_all(folder: Path, contents: Mapping[str, str | bytes]) -> None:
    (folder / "csv").mkdir()
    folder.chmod(0o777 & ~_umask())  # a temporary folder is private; a report need not be
    for name, content in contents.items():
        with (folder / name).open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
    for held in (folder / "csv", folder):
        _sync_folder(held)


def _take_place(fresh: Path, folder: Path) -> None:
    """Put `fresh` where `folder` is, in one step where the system has one; `fresh` is then the old one."""
    if folder.exists():
        if not _exchange(fresh, folder):
            old = fresh.with_suffix(".old")
            folder.rename(old)
            fresh.rename(folder)
            shutil.rmtree(old, ignore_errors=True)
    else:
        fresh.rename(folder)
    _sync_folder(folder.parent)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two folders atomically; False where the system or the disk cannot."""
    library = ctypes.CDLL(None, use_errno=True) if sys.platform in ("linux", "darwin") else None
    here, swap = (-100, 2) if sys.platform == "linux" else (-2, 2)  # AT_FDCWD; RENAME_EXCHANGE, RENAME_SWAP
    rename = getattr(library, "renameat2" if sys.platform == "linux" else "renameatx_np", None)
    if rename is None:
        return False
    if rename(here, os.fsencode(one), here, os.fsencode(other), swap) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number))


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows has no handle for this
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
