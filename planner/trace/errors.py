"""The one kind of error that is the user's to mend; everything else is a fault of this program."""

from __future__ import annotations

from planner.trace.numbers import count_text

# Of one problem: longer ones quote a value of a file, whose middle says nothing that its ends do not.
LONGEST_CHARACTERS = 1_500
_HEAD, _TAIL = 1_000, 400
MOST_PROBLEMS = 200  # lines of a message; more say the same of other rows
MOST_CHARACTERS = 5_000  # of a message: what is above nobody reads to its end
_ROOM = 50  # characters for the line that counts what was left out


class InputError(ValueError):
    """The input is wrong: the message says what, where, which value and what to do instead."""

    def __str__(self) -> str:
        return shortened(super().__str__())


def shortened(message: str, more: int = 0) -> str:
    """A message with a line for each problem, without the middle of very long ones, and not too many.

    `more` problems are counted already and have no line.
    """
    lines = message.split("\n")
    cut = [
        line if len(line) <= LONGEST_CHARACTERS else f"{line[:_HEAD]} … {line[-_TAIL:]}"
        for line in lines[:MOST_PROBLEMS]
    ]
    while sum(map(len, cut)) + len(cut) > MOST_CHARACTERS - _ROOM:
        cut.pop()
    more += len(lines) - len(cut)
    return "\n".join([*cut, f"and {count_text(more)} more problem{'s' * (more > 1)}"] if more else cut)
