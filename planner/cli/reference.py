"""What the program knows and how right it is, and those that it serves: a browser, programs, assistants."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.cli import arguments
from planner.cli.console import ANSWER, NO_PLAN, put_files, say, show, show_json


def add_commands(command: arguments.AddCommand) -> None:
    """What the program knows and how right it is."""
    facts = command("facts", run_facts, "every fact with value, range, kind and source")
    facts.add_argument("words", nargs="*", help="words that the key, note or source must hold")
    arguments.format_option(facts, "croissant")
    facts.add_argument("--out", metavar="FOLDER", help="write the files of that format there")

    validate = command("validate", run_validate, "our values next to published ones")
    validate.add_argument("files", nargs="*", metavar="FILE", help="CSV files; none: the shipped rows")
    validate.add_argument(
        "--data",
        action="append",
        default=[],
        metavar="FOLDER",
        help="where files lie that may not be shipped; rows about them are not run without",
    )
    validate.add_argument("--list", action="store_true", help="print every quantity with its inputs")
    validate.add_argument("--readme", metavar="FILE", help="write the accuracy table into this file")

    schema = command("schema", run_schema, "JSON Schema of a scenario or a job, for editors")
    schema.add_argument("file", nargs="?", choices=("scenario", "job"), default="scenario", help="scenario")
    schema.add_argument("--markdown", action="store_true", help="the keys of both as a page to read")
    server = command("serve", run_serve, "the questions of Python over HTTP, for other programs")
    server.add_argument("--host", default="127.0.0.1", help="127.0.0.1; other machines need EVERFLEET_TOKEN")
    server.add_argument("--port", type=arguments.port, default=8600, help="8600")
    server.add_argument("--at-once", type=arguments.count, default=2, help="questions worked on at once; 2")
    command("mcp", run_mcp, "the questions of Python for an assistant, by the Model Context Protocol")
    completion = command("completion", run_completion, "a script that completes commands in your shell")
    completion.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="which one")
    app = command("app", run_app, "plans, jobs and checkpoints in a browser, on this machine")
    app.add_argument("--host", default="127.0.0.1", help="127.0.0.1; others are for a container or a proxy")
    app.add_argument("--port", type=arguments.port, default=8501, help="8501")
    app.add_argument(
        "--read-only",
        action="store_true",
        help="visitors plan, nothing is saved; EVERFLEET_READ_ONLY",
    )


def run_validate(options: argparse.Namespace) -> int:
    """Set our values next to published ones."""
    from planner.validation import quantities_text, report_text, validate, write_readme_table

    if options.list:
        print(quantities_text())
        return ANSWER
    result = validate([Path(file) for file in options.files], [Path(folder) for folder in options.data])
    if options.readme is not None:
        write_readme_table(result, Path(options.readme))
    if options.json:
        show_json(result)
    else:
        show(report_text(result))
    summary = result["summary"]
    return ANSWER if summary["outside"] == summary["not understood"] == 0 else NO_PLAN


def run_facts(options: argparse.Namespace) -> int:
    """List facts whose key, note or source holds every word."""
    from planner.answers.facts import fact_line, fact_records, facts_document, facts_holding

    found = facts_holding(options.words)
    if options.written_as is not None:
        from planner.report.standards import write_as

        return put_files(write_as(facts_document(found), options.written_as), options)
    if options.json:
        show_json(fact_records(found))
        return ANSWER
    for fact in found:
        print(fact_line(fact))
    say(f"{len(found)} facts")
    return ANSWER if found else NO_PLAN


def run_schema(options: argparse.Namespace) -> int:
    """Print the JSON Schema of a file, or the keys of both files as a page."""
    from planner.inputs.reference import json_schema, keys_page

    if options.markdown:
        show(keys_page().rstrip())
    else:
        show_json(json_schema(options.file))
    return ANSWER


def run_app(options: argparse.Namespace) -> int:
    """Serve the app on this machine until interrupted."""
    from planner.ui.launch import serve

    return serve(host=options.host, port=options.port, read_only=options.read_only)


def run_serve(options: argparse.Namespace) -> int:
    """Answer other programs over HTTP until interrupted."""
    from planner.serve import serve

    return serve(host=options.host, port=options.port, at_once=options.at_once)


def run_mcp(options: argparse.Namespace) -> int:
    """Answer an assistant over standard input and output."""
    from planner.serve.assistants import serve_assistants

    return serve_assistants()


def run_completion(options: argparse.Namespace) -> int:
    """Print a script that completes commands, options and choices; its first lines say where to put it."""
    import shtab

    show(shtab.complete(options.whole, options.shell).rstrip())
    return ANSWER
