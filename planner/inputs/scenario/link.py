"""A scenario within a link: packed into the address itself, so that no server has to keep it."""

from __future__ import annotations

import base64
import binascii
import json
import zlib

from planner.trace.errors import InputError

LONGEST_LINK = 8_000  # characters: what browsers, proxies and mail leave whole
LARGEST_TEXT = 200_000  # characters of a scenario that is unpacked
_REFUSED = (
    "this link holds no scenario: it was cut short, or was not made by everfleet. Ask for the link again, or "
    "for the scenario as a file"
)


def packed_link(name: str, text: str) -> str:
    """The end of an address that holds a scenario and the name of its file.

    Raises:
        InputError: the scenario is too long for an address.
    """
    packed = zlib.compress(json.dumps([name, text], ensure_ascii=False).encode(), level=9)
    link = base64.urlsafe_b64encode(packed).decode().rstrip("=")
    if len(link) > LONGEST_LINK:
        raise InputError(
            f"{name}: its link would have {len(link)} characters, and an address holds {LONGEST_LINK}: "
            "share the file, or the address of the saved plan"
        )
    return link


def unpacked_link(link: str) -> tuple[str, str]:
    """Name and text of the scenario that a link holds; never more of it than a scenario may have.

    Raises:
        InputError: it holds none.
    """
    if len(link) > LONGEST_LINK:
        raise InputError(_REFUSED)
    try:
        packed = base64.b64decode(link + "=" * (-len(link) % 4), altchars=b"-_", validate=True)
        opening = zlib.decompressobj()
        content = opening.decompress(packed, 4 * LARGEST_TEXT)  # UTF-8 takes up to four bytes a character
        if not opening.eof:
            raise InputError(_REFUSED)
        held = json.loads(content)
    except (binascii.Error, zlib.error, ValueError, RecursionError):
        raise InputError(_REFUSED) from None
    if not (isinstance(held, list) and len(held) == 2 and all(isinstance(one, str) for one in held)):
        raise InputError(_REFUSED)
    name, text = held
    if len(text) > LARGEST_TEXT:
        raise InputError(_REFUSED)
    return name, text
