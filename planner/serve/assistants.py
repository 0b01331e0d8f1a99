"""The same questions for an assistant, by the Model Context Protocol over standard input and output.

Source of the protocol: modelcontextprotocol.io, specification of 2025-06-18.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

from planner.serve.processes import be_ready, worked_on
from planner.serve.questions import MOST_BYTES, schema_of, summary_of
from planner.trace.errors import InputError

# The name of a tool, and the question that it asks.
TOOLS = {
    "plan": "plan",
    "check": "scenario",
    "job_carbon": "job_carbon",
    "checkpoint": "checkpoint",
    "fit": "fit",
    "throughput": "throughput",
    "facts": "facts",
}
MOST_CHARACTERS = 60_000  # of an answer: what an assistant reads at once
ABOUT = (
    "everfleet plans AI fleets: what to buy, keep, rent and place, a job's carbon, checkpoint intervals. "
    "Numbers carry units in text, as '300 USD/t'. Ask facts for names; explain opens a number to its source."
)


def serve_assistants() -> int:
    """Answer an assistant until it closes standard input.

    Returns:
        The exit code, 0.

    Raises:
        InputError: the library of the protocol is not installed.
    """
    import asyncio

    try:
        from mcp.server.stdio import stdio_server
    except ImportError:
        raise InputError("everfleet mcp needs one more library: pip install 'everfleet[mcp]'") from None

    async def answer() -> None:
        found = server()
        async with stdio_server() as (read, write):
            await found.run(read, write, found.create_initialization_options())

    be_ready()
    asyncio.run(answer())
    return 0


def server() -> Any:
    """The tools, each with the schema of its question, and what answers them."""
    from mcp import types
    from mcp.server.lowlevel import Server

    found: Any = Server("everfleet", version("everfleet"), ABOUT)

    async def listed() -> list[types.Tool]:
        return [
            types.Tool(name=name, description=summary_of(question), inputSchema=schema_of(question))
            for name, question in TOOLS.items()
        ]

    async def called(name: str, arguments: dict[str, Any]) -> list[types.TextContent]:
        if name not in TOOLS:
            raise InputError(f"there is no tool {name}: call one of {', '.join(TOOLS)}")
        if len(json.dumps(arguments)) > MOST_BYTES:
            raise InputError(f"the arguments are larger than {MOST_BYTES / 1e6:g} MB: send less of the files")
        return [types.TextContent(type="text", text=text_of(await worked_on(TOOLS[name], arguments)))]

    found.list_tools()(listed)
    found.call_tool(validate_input=False)(called)  # the question itself says what is wrong
    return found


def text_of(said: dict[str, Any]) -> str:
    """What an assistant reads of an answer: the text of the command, and what it wanted explained.

    Raises:
        InputError: there is no answer.
    """
    if "problems" in said:
        lines = (f"{one['where']}: {one['message']}".removeprefix(": ") for one in said["problems"])
        raise InputError("\n".join(lines))
    if "fault" in said:
        raise InputError(f"a fault of the program: {said['fault']}")
    answer = said["answer"]
    text = "\n\n".join([answer["text"], *answer["explained"].values()])
    if len(text) <= MOST_CHARACTERS:
        return text
    return text[:MOST_CHARACTERS] + f"\n... {len(text) - MOST_CHARACTERS} characters more: ask for less"
