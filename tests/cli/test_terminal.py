"""On a terminal: its width is used, and colours; in a pipe there are neither."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from planner.answers.plan.document import STATUS_NAMES
from planner.cli import ANSWER, WRONG_INPUT, main
from planner.cli.console import _ENDS, in_colour, terminal_text

ROOT = Path(__file__).resolve().parents[2]
ESCAPE = re.compile(r"\x1b\[\d+m")
pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals")


def on_terminal(*words: str, columns: int, **environment: str) -> tuple[int, str]:
    """What a command writes to a terminal so many columns wide, and its exit code."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    known = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR", "TERM")}
    command = [sys.executable, "-m", "planner.cli", *words]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=theirs, stderr=theirs, env=known | {"TERM": "xterm"} | environment
    ) as process:
        os.close(theirs)
        read = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            read += part
    os.close(ours)
    return process.returncode, read.decode().replace("\r\n", "\n")


@pytest.mark.slow
@pytest.mark.nightly
def test_a_table_is_as_wide_as_the_terminal() -> None:
    """The same list: cut at 60 columns, wider than a file's 100 at 150; bold heading, dim rule."""
    code, narrow = on_terminal("skus", columns=60)
    _, wide = on_terminal("skus", columns=150)
    lines, wider = (max(map(len, ESCAPE.sub("", text).splitlines())) for text in (narrow, wide))

    assert code == ANSWER
    assert lines <= 60 < 100 < wider <= 150
    assert narrow.startswith("\x1b[1m")
    assert "\x1b[2m---" in narrow


def test_a_refusal_shows_its_place_in_red() -> None:
    assert on_terminal("plan", "no-such.toml", columns=80) == (
        WRONG_INPUT,
        "\x1b[31mno-such.toml:\x1b[0m no such file\n",
    )


@pytest.mark.parametrize(
    ("environment", "terminal", "coloured"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm"}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, False),
    ],
)
def test_who_wants_no_colours_gets_none(
    environment: dict[str, str], terminal: bool, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)

    assert in_colour(stream) is coloured


def test_a_pipe_has_a_hundred_columns_and_no_colours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the terminal behind it: a file reads the same everywhere."""
    monkeypatch.setenv("COLUMNS", "40")

    assert main(["skus"]) == ANSWER
    out = capsys.readouterr().out
    assert 90 < max(map(len, out.splitlines())) <= 100
    assert "\x1b" not in out


def test_every_end_of_a_search_has_a_colour() -> None:
    assert set(_ENDS) == {name.upper() for name in STATUS_NAMES.values()}
    assert terminal_text("A title\n\nINFEASIBLE: none.\nMTTF: 3 h") == (
        "\x1b[1mA title\x1b[0m\n\n\x1b[31mINFEASIBLE\x1b[0m: none.\nMTTF: 3 h"
    )
    assert terminal_text('{"a": 1}\n---') == '{"a": 1}\n---', "data is never coloured"
    assert terminal_text("## A card\n\nOPTIMAL: x") == "## A card\n\nOPTIMAL: x"


def test_what_a_library_prints_is_no_part_of_the_answer() -> None:
    """Past Python, as HiGHS does now and then: `--json` would be no JSON, and a terminal would show it."""
    code = (
        "import os; from planner.cli.console import keep_stdout\n"
        "keep_stdout(); os.write(1, b'noise'); print('{}')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert (done.stdout, done.stderr) == ("{}\n", "")
