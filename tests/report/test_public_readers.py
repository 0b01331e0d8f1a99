"""What the public readers of others make of our files, and of traces that we read.

They want other versions of libraries than ours: a Python of their own has them, named in EVERFLEET_READERS.
`docs/formats.md` says how to make one, and what they said last.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planner.answers.facts import facts_document, facts_holding
from planner.answers.throughput import Question, step_graph
from planner.answers.traces import traces_document
from planner.report.chakra import chakra_messages
from planner.report.shape import written
from planner.report.standards import save_files, write_as

ROOT = Path(__file__).parents[2]

FOCUS = """
import os, pathlib, sys
import focus_validator
os.chdir(pathlib.Path(focus_validator.__file__).parents[1])  # its rules are found from there
sys.argv[0] = "focus-validator"
from focus_validator.main import main
main()
"""
CHAKRA = """
import collections, json, sys
from chakra.schema.protobuf.et_def_pb2 import GlobalMetadata, Node, NodeType
from chakra.src.third_party.utils.protolib import decodeMessage, openFileRd
stream, node, nodes = openFileRd(sys.argv[1]), Node(), []
decodeMessage(stream, GlobalMetadata())
while decodeMessage(stream, node):
    nodes.append(Node.FromString(node.SerializeToString()))
micros, known, given = collections.Counter(), {one.id for one in nodes}, 0
for one in nodes:
    micros[NodeType.Name(one.type)] += one.duration_micros
    given += sum(getattr(a, a.WhichOneof("value")) for a in one.attr if a.name == "comm_size")
depends = [other for one in nodes for other in (*one.data_deps, *one.ctrl_deps)]
print(json.dumps({"nodes": len(nodes), "micros": micros, "bytes": given, "lost": sorted({*depends} - known)}))
"""
TRACE = """
import json, logging, sys, warnings
logging.disable(logging.CRITICAL); warnings.simplefilter("ignore")
from hta.trace_analysis import TraceAnalysis
trace = TraceAnalysis(trace_files={0: sys.argv[2]}, trace_dir=sys.argv[1])
times = trace.get_temporal_breakdown(visualize=False).iloc[0].to_dict()
overlap = trace.get_comm_comp_overlap(visualize=False)["comp_comm_overlap_pctg"][0]
print(json.dumps({name: float(value) for name, value in (*times.items(), ("overlap", overlap))}))
"""
CROISSANT = """
import sys, mlcroissant
print(len(list(mlcroissant.Dataset(jsonld=sys.argv[1]).records("facts"))))
"""


def python_with(module: str) -> str:
    """A Python that has a module; a test that finds none is skipped."""
    for python in filter(None, (os.environ.get("EVERFLEET_READERS"), sys.executable)):
        has = f"import importlib.util as u, sys; sys.exit(u.find_spec('{module}') is None)"
        if subprocess.run([python, "-c", has], check=False).returncode == 0:
            return python
    pytest.skip(f"{module} is not installed; EVERFLEET_READERS names a Python that has it")


def said_by(folder: Path, python: str, program: str, *arguments: str) -> str:
    """What a program prints, which may leave files in a folder."""
    run = [python, "-c", program, *arguments]
    done = subprocess.run(run, check=True, capture_output=True, text=True, timeout=120, cwd=folder)
    return done.stdout


def test_focus_validator_takes_our_rows(tmp_path: Path) -> None:
    """Its rules are of FOCUS 1.2: with two columns named as then, one fails, that each row has an invoice."""
    python = python_with("focus_validator")
    with gzip.open(ROOT / "data" / "solved" / "next-quarter.json.gz") as file:
        rows = write_as(written(json.load(file)), "focus")["focus.csv"]
    before = rows.replace("ServiceProviderName", "ProviderName").replace("HostProviderName", "PublisherName")
    save_files({"focus.csv": before}, tmp_path)
    options = ["--validate-version", "1.2", "--block-download", "--focus-dataset", "CostAndUsage"]
    said = said_by(tmp_path, python, FOCUS, "--data-file", str(tmp_path / "focus.csv"), *options)
    passed = re.search(r"Pass: (\d+)", said)

    assert re.findall(r"❌ (\S+): FAIL", said) == ["InvoiceId-C-005-C"]
    assert passed is not None
    assert int(passed[1]) > 100


def test_mlcroissant_takes_our_facts(tmp_path: Path) -> None:
    python = python_with("mlcroissant")
    files = write_as(facts_document(facts_holding(("pue",))), "croissant")
    save_files(files, tmp_path)

    rows = files["facts.csv"].count("\n") - 1
    assert int(said_by(tmp_path, python, CROISSANT, str(tmp_path / "croissant.json"))) == rows


def test_chakra_takes_our_graph(tmp_path: Path) -> None:
    """Its own reader of protobuf finds each node, time and byte that ours does, and what each waits for."""
    python, graph = python_with("chakra"), tmp_path / "step.et"
    graph.write_bytes(chakra_messages(step_graph(Question("llama-3-8b", skus=("h100-8",), nodes=(4,)))))
    ours = traces_document([graph])
    theirs: dict[str, Any] = json.loads(said_by(tmp_path, python, CHAKRA, str(graph)))
    times = {row["type"]: row["time_s"] for row in ours["node_times"]}

    assert theirs["nodes"] == ours["ranks"][0]["operators"]
    assert theirs["lost"] == []
    assert theirs["micros"]["COMP_NODE"] / 1e6 == pytest.approx(times["compute"])
    assert theirs["micros"]["COMM_COLL_NODE"] / 1e6 == pytest.approx(times["collective"])
    assert theirs["bytes"] == pytest.approx(1e9 * sum(row["given_gb"] for row in ours["collectives"]))


@pytest.mark.parametrize("name", ["param_dlrm_8xV100_kineto_rank0.json.gz", "param_resnet_kineto.json.gz"])
def test_holistic_trace_analysis_agrees(name: str, shared: Path, tmp_path: Path) -> None:
    """Idle time and span to the microsecond; copies are compute here, and apart from it there."""
    python = python_with("hta")
    shutil.copy(shared / "data" / "et_traces" / name, tmp_path)
    theirs: dict[str, float] = json.loads(said_by(tmp_path, python, TRACE, str(tmp_path), name))
    (ours,) = traces_document([tmp_path / name])["ranks"]
    busy = theirs["compute_time(us)"] + theirs["non_compute_time(us)"]

    assert ours["idle_s"] * 1e6 == pytest.approx(theirs["idle_time(us)"], abs=1)
    assert ours["span_s"] * 1e6 == pytest.approx(theirs["kernel_time(us)"], abs=1)
    assert (ours["compute_s"] + ours["exposed_communication_s"]) * 1e6 == pytest.approx(busy, abs=1)
    if ours["communication_s"]:
        hidden = 100 * ours["hidden_communication_s"] / ours["communication_s"]
        assert hidden == pytest.approx(theirs["overlap"], abs=0.01)
