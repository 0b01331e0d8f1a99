"""YAML as people write it: blocks for tables and lists, and every text in quotes.

JSON text is YAML text, so that quoted scalars need no rules of their own.
Source: YAML 1.2.2, section 1.3 (relation to JSON).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def yaml_of(value: Mapping[str, Any], comment: str = "") -> str:
    """One document; `comment` stands above it."""
    above = "".join(f"# {line}\n" for line in comment.splitlines())
    return above + "\n".join(_lines(value, 0)) + "\n"


def yaml_stream(documents: Sequence[Mapping[str, Any]], comment: str = "") -> str:
    """Several documents in one file."""
    above = "".join(f"# {line}\n" for line in comment.splitlines())
    return above + "---\n".join(yaml_of(one) for one in documents)


def _lines(value: Any, depth: int) -> list[str]:
    indent = "  " * depth
    if isinstance(value, Mapping) and value:
        found = []
        for key, held in value.items():
            name = f"{indent}{_key(key)}:"
            if isinstance(held, Mapping | list) and held:
                found += [name, *_lines(held, depth + 1)]
            else:
                found.append(f"{name} {_scalar(held)}")
        return found
    if isinstance(value, list) and value:
        found = []
        for held in value:
            first, *rest = _lines(held, depth + 1)
            found += [f"{indent}- {first.lstrip()}", *rest]
        return found
    return [f"{indent}{_scalar(value)}"]


def _key(key: str) -> str:
    plain = key.replace("_", "").replace("-", "").replace(".", "").replace("/", "")
    return key if plain.isalnum() and plain.isascii() and not plain.isdigit() else json.dumps(key)


def _scalar(value: Any) -> str:
    """A number, true, false, null, an empty table or list, or a text in quotes."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False)
