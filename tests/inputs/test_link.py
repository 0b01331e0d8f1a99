"""A scenario within a link: the same comes back, and what is none is refused in one message."""

from __future__ import annotations

import base64
import json
import random
import string
import zlib

import pytest

from planner.inputs.loading import data_folder
from planner.inputs.scenario.link import LARGEST_TEXT, LONGEST_LINK, packed_link, unpacked_link
from planner.trace.errors import InputError


def of(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


@pytest.mark.parametrize(
    "path", sorted((data_folder() / "scenarios").glob("*.toml")), ids=lambda path: path.stem
)
def test_every_shipped_scenario_comes_back_from_its_link(path) -> None:
    text = path.read_text(encoding="utf-8")
    link = packed_link(path.name, text)

    assert unpacked_link(link) == (path.name, text)
    assert len(link) < LONGEST_LINK / 3


@pytest.mark.parametrize(
    "link",
    [
        "",
        "not a link",
        "é",
        "A" * (LONGEST_LINK + 1),
        of(b"not packed"),
        packed_link("a.toml", "title = 'cut short'")[:-8],
        of(zlib.compress(b"not json")),
        of(zlib.compress(b"\xff")),
        of(zlib.compress(b"[" * 5000)),
        of(zlib.compress(b'["a.toml"]')),
        of(zlib.compress(b'["a.toml", 3]')),
        of(zlib.compress(json.dumps(["a.toml", "x" * (LARGEST_TEXT + 1)]).encode(), 9)),
        of(zlib.compress(b"0" * 5_000_000, 9)),
    ],
    ids=range(13),
)
def test_what_is_no_link_is_refused_in_words(link: str) -> None:
    """A bomb is opened only as far as a scenario may be long."""
    with pytest.raises(InputError, match=r"^this link holds no scenario: it was cut short"):
        unpacked_link(link)


def test_a_scenario_too_long_for_an_address_is_refused_with_its_length() -> None:
    text = "".join(random.Random(1).choices(string.ascii_letters, k=60_000))
    with pytest.raises(InputError, match=rf"and an address holds {LONGEST_LINK}: share the file"):
        packed_link("a.toml", text)
