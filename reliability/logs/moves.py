"""Rows that say that a unit went down, or that it came back: which column says so, and by which words."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from reliability.logs.names import DOWN_WORDS, MOVES, UP_WORDS, plain
from reliability.logs.problems import LogError


def moves_of(
    name: str, columns: Sequence[str], samples: dict[str, list[str]]
) -> tuple[str, dict[str, str]] | None:
    """The column that holds words for both, and the two words; None where there is none such.

    `samples` are what the first rows hold, by column; `name` begins messages.

    Raises:
        LogError: a column holds words for the end of an outage, and it is not clear which rows are failures.
    """
    known = {plain(column): column for column in reversed(columns)}
    for column in (known[word] for word in MOVES if word in known):
        words = list(dict.fromkeys(samples[column]))
        ups = [word for word in words if plain(word) in UP_WORDS]
        downs = [word for word in words if plain(word) in DOWN_WORDS]
        if not ups:
            continue
        if len(ups) == 1 and len(downs) == 1 and len(words) == 2:
            return column, {"start": downs[0], "end": ups[0]}
        shown = ", ".join(f"'{word[:40]}'" for word in itertools.islice(words, 8))
        raise LogError(
            [
                f"{name}: {column} holds {shown}, and '{ups[0]}' is no failure: say in a mapping which word "
                'begins an outage and which ends it, by columns.transition and [transitions] start = "...", '
                'end = "..."; or name unit and start alone in a mapping, if each row is a failure'
            ]
        )
    return None
