"""Inequalities as docstrings write them, as LaTeX: names with letters below them, sums, words between."""

from __future__ import annotations

import re

RELATIONS = {"<=": r"\le", ">=": r"\ge", "=": "="}
_SIGNS = {"*": r"\cdot", "+": "+", "-": "-", "/": "/", "(": "(", ")": ")", ">": ">", ",": ","}
_TOKEN = re.compile(
    r"\s*(?:(?P<sum>sum_|max_)(?P<over>\([^)]*\)|[a-z](?:,[a-z])*)"
    r"|(?P<word>[A-Za-z]\w+(?:-[A-Za-z]\w+)*'?|[A-Za-z]'?)"
    r"|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<index>\[)"
    r"|(?P<sign><=|>=|[=*+\-/()>,:]))"
)
_RUNNING = re.compile(r"sum over (?P<what>\S+) from (?P<first>.+?) to (?P<last>\S+) of ")


def is_statement(text: str) -> bool:
    """Whether a text says that something is, or is at most, something else."""
    return re.search(r"[\w\])'] (<=|>=|=) [\w(]", text) is not None


def latex(text: str) -> str:
    """One inequality, such as "sum_r nodes[r,t] * run[r] <= a[p,t], where rental has a term".

    A word between two signs is a quantity; words that follow each other are words.

    Raises:
        ValueError: a sign is not known.
    """
    running = _RUNNING.search(text)
    if running:
        sign = rf"\sum_{{{latex(running['what'])}={latex(running['first'])}}}^{{{latex(running['last'])}}}"
        before, after = latex(text[: running.start()]), latex(text[running.end() :])
        return f"{before} {sign} {after}".strip()
    parts: list[tuple[str, str]] = []  # what it is, and its LaTeX or its word
    place = 0
    while text[place:].strip():
        found = _TOKEN.match(text, place)
        if found is None:
            raise ValueError(f"'{text[place:].strip()[:20]}' in '{text}' is no part of an inequality")
        place = found.end()
        if found["sum"]:
            below = latex(found["over"].strip("()"))
            parts.append(("sum", rf"\{found['sum'][:-1]}_{{{below}}}"))
        elif found["index"]:
            place = _closing(text, place)
            kind, name = parts.pop()
            assert kind == "word", f"an index follows a name: {text}"
            parts.append(("quantity", f"{_name(name)}_{{{latex(text[found.end() : place - 1])}}}"))
        elif found["word"]:
            parts.append(("word", found["word"]))
        elif found["number"]:
            parts.append(("quantity", found["number"]))
        else:
            parts.append(("sign", found["sign"]))
    return _joined(parts)


def _closing(text: str, place: int) -> int:
    """Behind the bracket that closes the one before `place`."""
    depth = 1
    while depth:
        depth += {"[": 1, "]": -1}.get(text[place], 0)
        place += 1
    return place


def _joined(parts: list[tuple[str, str]]) -> str:
    """Parts in their order; words next to each other, or after a comma, are set as text."""
    said, words = [], []
    for number, (kind, what) in enumerate(parts):
        if kind == "word" and _is_text(parts, number):
            words.append(what)
            continue
        if words:
            said.append(rf"\text{{ {' '.join(words)} }}")
            words = []
        if kind == "word":
            said.append(_name(what))
        elif kind == "sign":
            said.append(RELATIONS.get(what) or _SIGNS.get(what, what))
        else:
            said.append(what)
    if words:
        said.append(rf"\text{{ {' '.join(words)} }}")
    return " ".join(said)


def _is_text(parts: list[tuple[str, str]], number: int) -> bool:
    """Whether a word is one of a sentence: another one is next to it, or a letter with an index is."""
    name = parts[number][1]
    if name in ("min", "max"):
        return False
    near = [parts[place][0] for place in (number - 1, number + 1) if 0 <= place < len(parts)]
    return "word" in near or "quantity" in near


def _name(name: str) -> str:
    if name in ("min", "max"):
        return rf"\{name}"
    escaped = name.rstrip("'").replace("_", r"\_").replace("-", r"\text{-}")
    letter = escaped if len(name.rstrip("'")) == 1 else rf"\mathrm{{{escaped}}}"
    return letter + "'" * name.count("'")
