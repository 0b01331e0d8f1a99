"""The one kind of error that is the user's to mend; everything else is a fault of this program."""

from __future__ import annotations

# Of one problem: longer ones quote a value of a file, whose middle says nothing that its ends do not.
LONGEST_CHARACTERS = 1_500
_HEAD, _TAIL = 1_000, 400
MOST_PROBLEMS = 200  # lines of a message; more say the same of other rows


class InputError(ValueError):
    """The input is wrong: the message says what, where, which value and what to do instead."""

    def __str__(self) -> str:
        return shortened(super().__str__())


def shortened(message: str) -> str:
    """A message with a line for each problem, without the middle of very long ones, and not too many."""
    if len(message) <= LONGEST_CHARACTERS:
        return message
    lines = message.split("\n")
    more = [f"and {len(lines) - MOST_PROBLEMS:,} more problems"] if len(lines) > MOST_PROBLEMS else []
    cut = [
        line if len(line) <= LONGEST_CHARACTERS else f"{line[:_HEAD]} … {line[-_TAIL:]}"
        for line in lines[:MOST_PROBLEMS]
    ]
    return "\n".join(cut + more)
