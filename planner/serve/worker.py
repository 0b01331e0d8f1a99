"""One question in a process of its own, in an empty folder.

What it sends is one JSON object: the answer, or the problems of the question, or a fault.
"""

from __future__ import annotations

import json
import os
import tempfile
import tomllib
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from planner.inputs.scenario import ScenarioError
from planner.serve.questions import Question, function_of, outside, parameters_of, question_of
from planner.trace.errors import InputError


def work(channel: Connection, question: str, body: Any) -> None:
    """Send the answer to a question into a channel."""
    os.dup2(2, 1)  # what a library prints is no part of what an assistant reads
    with channel, tempfile.TemporaryDirectory(prefix="everfleet-") as folder:
        os.chdir(folder)
        channel.send_bytes(json.dumps(answered(question, body), allow_nan=False).encode())


def answered(question: str, body: Any) -> dict[str, Any]:
    """The answer to a question, or why there is none; its files are written where this process stands."""
    try:
        return {"answer": _answer(question_of(question, body))}
    except InputError as error:
        return {"problems": _problems(error)}
    except Exception as error:  # a fault of ours: its story is for the log, not for whoever asked
        traceback.print_exc()
        return {"fault": f"{type(error).__name__}: {error}"}


def _answer(meant: Question) -> dict[str, Any]:
    for name, text in meant.files.items():
        _see_that_nothing_leaves(name, text)
        Path(name).write_text(text, encoding="utf-8", newline="")
    words = next(
        (name for name, one in parameters_of(meant.question).items() if one.kind is one.VAR_POSITIONAL), ""
    )
    arguments = dict(meant.arguments)
    answer = function_of(meant.question)(*arguments.pop(words, ()), **arguments)
    return {
        "kind": answer.kind,
        "title": answer.title,
        "said": list(answer.said),
        "text": answer.to_text(),
        "explained": {name: str(answer.explain(name)) for name in meant.explain},
        "document": answer.to_dict(),
    }


def _see_that_nothing_leaves(name: str, text: str) -> None:
    """A scenario may name files next to it: those that were sent, and no others of this machine.

    Raises:
        InputError: it names another place.
    """
    if not name.endswith(".toml"):
        return
    try:
        places = [each for each in _texts(tomllib.loads(text)) if outside(each)]
    except tomllib.TOMLDecodeError:
        return  # whoever reads it says where
    if places:
        raise InputError(f"files.{name}: '{places[0][:60]}' lies outside of `files`")


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in _texts(one)]
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    return [value] if isinstance(value, str) else []


def _problems(error: InputError) -> list[dict[str, str]]:
    """What is wrong, each with its place."""
    if isinstance(error, ScenarioError):
        return [{"where": one.path or error.name, "message": one.message} for one in error.problems]
    lines = [line.partition(": ") for line in str(error).splitlines()]
    return [
        {"where": where, "message": said}
        if said and " " not in where
        else {"where": "", "message": where + colon + said}
        for where, colon, said in lines
    ]
