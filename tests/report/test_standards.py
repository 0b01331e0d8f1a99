"""Published formats: fields, units and sums as specified, and the public reader where there is one."""

from __future__ import annotations

import copy
import csv
import gzip
import io
import json
import math
import re
from collections.abc import Iterator
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from sizes import few_ranges

from planner.answers.facts import facts_document, facts_holding
from planner.answers.job import job_document, open_job
from planner.report.shape import written
from planner.report.standards import FORMATS, StandardError, save_files, write_as

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", autouse=True)
def ranges_of_few_draws() -> Iterator[None]:
    with few_ranges(plans=4, jobs=4):
        yield


@cache
def shipped() -> dict[str, Any]:
    with gzip.open(ROOT / "data" / "solved" / "next-quarter.json.gz") as file:
        found: dict[str, Any] = json.load(file)
    return found


@pytest.fixture
def plan() -> dict[str, Any]:
    """The shipped plan, each service with its model, as plans name it."""
    document = copy.deepcopy(written(shipped()))
    for row in document["tables"]["services"]:
        row["model"] = "llama-3.1-70b"
    return document


@cache
def job(name: str) -> dict[str, Any]:
    return job_document(open_job(name, {}))


def focus_rows(plan: dict[str, Any]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(write_as(plan, "focus")["focus.csv"])))


def manifests(plan: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [one for text in write_as(plan, name).values() for one in yaml.safe_load_all(text)]


def test_every_format_is_on_the_page_with_its_version() -> None:
    page = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")

    for name, form in FORMATS.items():
        assert f"| `{name}` | {form.of} | {form.version} |" in page


def test_a_format_of_another_kind_of_answer_is_refused(plan: dict[str, Any]) -> None:
    with pytest.raises(
        StandardError, match="sci is written of a job, and this is a plan: choose dynamo, focus"
    ):
        write_as(plan, "sci")
    with pytest.raises(StandardError, match="'mof' is no format: choose one of croissant"):
        write_as(plan, "mof")


# FOCUS 1.4, content constraints of each column: those that must be there, and must not be null.
FOCUS_NOT_NULL = (
    *("BilledCost", "BillingAccountId", "BillingAccountType", "BillingCurrency", "BillingPeriodEnd"),
    *("BillingPeriodStart", "ChargeCategory", "ChargeFrequency", "ChargePeriodEnd", "ChargePeriodStart"),
    *("ContractedCost", "EffectiveCost", "HostProviderName", "InvoiceIssuerName", "ListCost"),
    *("ServiceCategory", "ServiceName", "ServiceProviderName", "ServiceSubcategory"),
)
FOCUS_PRESENT = ["BillingAccountName", "ChargeClass", "ChargeDescription", "PricingQuantity", "PricingUnit"]
FOCUS_REMOVED = {"ProviderName", "PublisherName"}
FOCUS_ALLOWED = {
    "ChargeCategory": {"Usage", "Purchase", "Tax", "Credit", "Adjustment"},
    "ChargeFrequency": {"One-Time", "Recurring", "Usage-Based"},
    "CommitmentDiscountCategory": {"", "Spend", "Usage"},
    "PricingCategory": {"", "Standard", "Dynamic", "Committed", "Other"},
    "ServiceCategory": {"Compute", "AI and Machine Learning"},
}
UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def held_to_focus(rows: list[dict[str, str]]) -> None:
    for row in rows:
        assert [name for name in FOCUS_NOT_NULL if not row[name]] == []
        assert set(FOCUS_PRESENT) <= row.keys()
        assert not FOCUS_REMOVED & row.keys()
        for name, allowed in FOCUS_ALLOWED.items():
            assert row[name] in allowed
        for name in ("BillingPeriodStart", "BillingPeriodEnd", "ChargePeriodStart", "ChargePeriodEnd"):
            assert UTC.fullmatch(row[name])
        assert row["ChargePeriodStart"] < row["ChargePeriodEnd"]
        assert row["ChargeCategory"] != "Purchase" or row["ChargeFrequency"] != "Usage-Based"
        assert row["ChargeCategory"] != "Purchase" or float(row["EffectiveCost"]) == 0.0
        assert bool(row["ConsumedQuantity"]) == bool(row["ConsumedUnit"])


def test_focus_rows_add_up_to_cost_and_cash(plan: dict[str, Any]) -> None:
    """EffectiveCost is the plan's economic cost, BilledCost its cash: two totals of the same document."""
    rows = focus_rows(plan)
    cost = next(row["value"] for row in plan["totals"] if row["name"] == "cost")
    cash = sum(row["cash_usd"] for row in plan["tables"]["cash"])

    held_to_focus(rows)
    assert sum(float(row["EffectiveCost"]) for row in rows) == pytest.approx(cost, rel=1e-9)
    assert sum(float(row["BilledCost"]) for row in rows) == pytest.approx(cash, rel=1e-9)


def test_focus_rent_and_reserved_terms_are_not_billed_twice(plan: dict[str, Any]) -> None:
    """With 12,000 USD of rent and 30,000 USD of a term among its bills, cash stays what it is."""
    price = {"sku": "h100-8", "location": "cloud", "rent_usd_per_node_h": 20.0}
    plan["tables"]["rental"] = [{**price, "period": "2027 Q2", "nodes": 2, "node_h": 600.0, "rent_usd": 12e3}]
    plan["tables"]["commitments"] = [
        {
            **price,
            "period": "2027 Q3",
            "commitment": "1 year",
            "signed": False,
            "nodes": 1,
            "ends": "2028-07-01",
            "rent_usd": 30e3,
            "due_usd": 4e3,
        }
    ]
    rows = focus_rows(plan)
    terms = [row for row in rows if row["CommitmentDiscountId"]]
    rent = [float(row["BilledCost"]) for row in rows if row["PricingCategory"] == "Standard"]

    held_to_focus(rows)
    assert sum(float(row["BilledCost"]) for row in rows) == pytest.approx(
        sum(row["cash_usd"] for row in plan["tables"]["cash"]), rel=1e-9
    )
    assert {(row["ChargeCategory"], row["ChargeFrequency"]) for row in terms} == {("Purchase", "Recurring")}
    assert sum(float(row["CommitmentDiscountQuantity"]) for row in terms) == pytest.approx(
        1500.0
    )  # 30,000 USD at 20 USD an hour
    assert len(terms) == 6
    assert terms[-1]["ChargePeriodEnd"] == "2028-01-01T00:00:00Z"  # the horizon's, before the term's
    assert rent == pytest.approx([12e3 * days / 91 for days in (30, 31, 30)])
    billed: dict[str, float] = {}
    for row in rows:
        month = row["ChargePeriodStart"][:7]
        billed[month] = billed.get(month, 0.0) + float(row["BilledCost"])
    for row in plan["tables"]["cash"]:
        assert billed[row["month"]] == pytest.approx(row["cash_usd"], rel=1e-9)


def test_focus_is_in_the_currency_of_the_plan(plan: dict[str, Any]) -> None:
    dollars = sum(float(row["BilledCost"]) for row in focus_rows(plan))
    plan["currency"] = {"code": "EUR", "usd": 1.25, "date": "2026-01-02", "source": "test"}
    rows = focus_rows(plan)

    assert {row["BillingCurrency"] for row in rows} == {"EUR"}
    assert sum(float(row["BilledCost"]) for row in rows) == pytest.approx(dollars / 1.25, rel=1e-9)


# Excerpts of the schemas that FOCUS 1.4 publishes for two columns of JSON.
APPLIED = {
    "type": "object",
    "required": ["Elements"],
    "additionalProperties": False,
    "properties": {
        "Elements": {
            "minItems": 1,
            "items": {
                "required": ["ContractId", "ContractCommitmentId", "ContractCommitmentAppliedUnit"],
                "properties": {"ContractCommitmentAppliedQuantity": {"type": "number"}},
            },
        }
    },
}
APPLICABLE = {
    "type": "object",
    "required": ["InclusionOperator", "Inclusions"],
    "additionalProperties": False,
    "properties": {
        "InclusionOperator": {"enum": ["And", "Or"]},
        "Inclusions": {
            "minItems": 1,
            "items": {
                "required": ["Dimension", "Operator", "Values"],
                "properties": {"Operator": {"enum": ["In", "NotIn", "StartsWith", "Contains"]}},
            },
        },
    },
}
COMMITMENT_ALLOWED = {
    "ContractCommitmentBenefitCategory": {"Discount", "Monetary Pool", "Availability", "Other"},
    "ContractCommitmentCategory": {"Spend", "Usage"},
    "ContractCommitmentFulfillmentInterval": {"Hourly", "Daily", "Weekly", "Monthly", "Annual"},
    "ContractCommitmentLifecycleStatus": {"Proposed", "Pending", "Active", "Exhausted", "Expired"},
    "ContractCommitmentModel": {"Continuous", "Discontinuous"},
    "ContractCommitmentOfferCategory": {"Public", "Negotiated"},
    "ContractCommitmentPaymentInterval": {"One-Time", "Monthly", "Quarterly", "Annual", "Custom"},
    "ContractCommitmentPaymentModel": {"No Upfront", "Partial Upfront", "All Upfront"},
}


@pytest.mark.parametrize(
    ("ends", "length", "signed", "state"),
    [("2028-07-01", "1 Year", True, "Pending"), ("2027-10-01", "3 Months", False, "Proposed")],
)
def test_focus_terms_are_contract_commitments_that_charges_name(
    plan: dict[str, Any], ends: str, length: str, signed: bool, state: str
) -> None:
    """Two nodes for every hour of the term; what its charges draw of it is what is paid in the horizon."""
    hours = 24.0 * (date.fromisoformat(ends) - date(2027, 7, 1)).days
    within = min(hours, 24.0 * 184)
    plan["currency"] = {"code": "EUR", "usd": 1.25, "date": "2026-01-02", "source": "test"}
    plan["tables"]["rental"] = []
    plan["tables"]["commitments"] = [
        {
            "sku": "h100-8",
            "location": "cloud",
            "period": "2027 Q3",
            "commitment": "1 year",
            "signed": signed,
            "nodes": 2,
            "ends": ends,
            "rent_usd_per_node_h": 20.0,
            "rent_usd": 40.0 * within,
            "due_usd": 40.0 * (hours - within),
        }
    ]
    files = write_as(plan, "focus")
    charges = [row for row in csv.DictReader(io.StringIO(files["focus.csv"])) if row["ContractApplied"]]
    (term,) = csv.DictReader(io.StringIO(files["focus_contract_commitments.csv"]))
    applied = [json.loads(row["ContractApplied"]) for row in charges]

    held_to_focus(charges)
    for name, allowed in COMMITMENT_ALLOWED.items():
        assert term[name] in allowed
    jsonschema.validate(json.loads(term["ContractCommitmentApplicability"]), APPLICABLE)
    for row, one in zip(charges, applied, strict=True):
        jsonschema.validate(one, APPLIED)
        assert one["Elements"][0]["ContractCommitmentId"] == term["ContractCommitmentId"] == row["ResourceId"]
    drawn = sum(one["Elements"][0]["ContractCommitmentAppliedQuantity"] for one in applied)
    assert drawn == pytest.approx(2 * within)
    assert float(term["ContractCommitmentQuantity"]) == 2 * hours
    assert float(term["ContractCommitmentCost"]) == pytest.approx(40.0 * hours / 1.25)
    assert (term["ContractCommitmentPeriodStart"], term["ContractCommitmentPeriodEnd"]) == (
        "2027-07-01T00:00:00Z",
        f"{ends}T00:00:00Z",
    )
    assert term["ContractCommitmentDurationType"] == length
    assert term["ContractCommitmentLifecycleStatus"] == state
    assert term["ContractCommitmentDiscountPercentage"] == ""  # null where the benefit is availability


def test_focus_without_a_term_has_one_file(plan: dict[str, Any]) -> None:
    plan["tables"]["commitments"] = []

    assert set(write_as(plan, "focus")) == {"focus.csv"}


# Excerpts of the published schemas: config/components/crd/bases of Kueue, config/crd/full of KServe, and
# deploy/operator/config/crd/bases of Dynamo.
NAMED = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}},
}


def kind_schema(api: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "properties": {
            "apiVersion": {"const": api},
            "kind": {"const": kind},
            "metadata": NAMED,
            "spec": {"type": "object", "additionalProperties": False, **spec},
        },
    }


LABELS = {"type": "object", "maxProperties": 8, "additionalProperties": {"type": "string", "maxLength": 63}}
COUNTS = {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}
SCHEMAS = {
    "ResourceFlavor": kind_schema(
        "kueue.x-k8s.io/v1beta2", "ResourceFlavor", {"properties": {"nodeLabels": LABELS}}
    ),
    "ClusterQueue": kind_schema(
        "kueue.x-k8s.io/v1beta2",
        "ClusterQueue",
        {
            "properties": {
                "cohortName": {"type": "string", "maxLength": 253},
                "namespaceSelector": {"type": "object"},
                "resourceGroups": {
                    "type": "array",
                    "maxItems": 16,
                    "items": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["coveredResources", "flavors"],
                        "properties": {
                            "coveredResources": {"type": "array", "minItems": 1, "maxItems": 64},
                            "flavors": {
                                "type": "array",
                                "minItems": 1,
                                "maxItems": 64,
                                "items": {
                                    "type": "object",
                                    "additionalProperties": False,
                                    "required": ["name", "resources"],
                                    "properties": {
                                        "name": {"type": "string"},
                                        "resources": {
                                            "items": {
                                                "required": ["name", "nominalQuota"],
                                                "properties": {"nominalQuota": {"type": "integer"}},
                                            }
                                        },
                                    },
                                },
                            },
                        },
                    },
                },
            }
        },
    ),
    "InferenceService": kind_schema(
        "serving.kserve.io/v1beta1",
        "InferenceService",
        {
            "required": ["predictor"],
            "properties": {
                "predictor": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "minReplicas": {"type": "integer"},
                        "maxReplicas": {"type": "integer"},
                        "nodeSelector": {"type": "object", "additionalProperties": {"type": "string"}},
                        "workerSpec": {
                            "properties": {
                                "pipelineParallelSize": {"type": "integer"},
                                "tensorParallelSize": {"type": "integer"},
                            },
                            "additionalProperties": False,
                        },
                        "model": {
                            "required": ["modelFormat"],
                            "additionalProperties": False,
                            "properties": {
                                "modelFormat": {"required": ["name"]},
                                "args": {"type": "array", "items": {"type": "string"}},
                                "resources": {
                                    "properties": {"limits": COUNTS, "requests": COUNTS},
                                    "additionalProperties": False,
                                },
                            },
                        },
                    },
                }
            },
        },
    ),
}


CONTAINER = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "command"],
    "properties": {
        "name": {"const": "main"},
        "command": {"type": "array", "items": {"type": "string"}},
        "args": {"type": "array", "items": {"type": "string"}},
        "resources": {"properties": {"limits": COUNTS, "requests": COUNTS}, "additionalProperties": False},
    },
}
SCHEMAS["DynamoGraphDeployment"] = kind_schema(
    "nvidia.com/v1beta1",
    "DynamoGraphDeployment",
    {
        "properties": {
            "backendFramework": {"enum": ["sglang", "vllm", "trtllm"]},
            "components": {
                "type": "array",
                "maxItems": 25,
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["name"],
                    "properties": {
                        "name": {"pattern": "^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$", "maxLength": 63},
                        "type": {"enum": ["frontend", "worker", "prefill", "decode", "planner", "epp"]},
                        "replicas": {"type": "integer", "minimum": 0},
                        "multinode": {
                            "required": ["nodeCount"],
                            "additionalProperties": False,
                            "properties": {"nodeCount": {"type": "integer", "minimum": 2}},
                        },
                        "podTemplate": {
                            "additionalProperties": False,
                            "properties": {
                                "spec": {
                                    "required": ["containers"],
                                    "additionalProperties": False,
                                    "properties": {
                                        "nodeSelector": LABELS,
                                        "containers": {"type": "array", "minItems": 1, "items": CONTAINER},
                                    },
                                }
                            },
                        },
                    },
                },
            },
        }
    },
)
# The same of values.schema.json of the chart of llm-d, whose outermost table and containers are open.
PODS = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "create": {"type": "boolean"},
        "replicas": {"type": "integer"},
        "nodeSelector": {"type": "object"},
        "parallelism": {
            "additionalProperties": False,
            "properties": {name: {"type": "integer"} for name in ("tensor", "data", "dataLocal", "workers")},
        },
        "containers": {"type": "array", "items": {"type": "object"}},
    },
}
VALUES = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "fullnameOverride": {"type": "string"},
        "multinode": {"type": "boolean"},
        "modelArtifacts": {"properties": {"name": {"type": "string"}, "labels": {"type": "object"}}},
        "accelerator": {
            "additionalProperties": False,
            "properties": {"type": {"enum": ["nvidia", "amd", "google", "intel-gaudi"]}},
        },
        "prefill": PODS,
        "decode": PODS,
    },
}


@pytest.mark.parametrize("name", ["kueue", "kserve", "dynamo"])
def test_manifests_have_the_fields_of_their_kind(plan: dict[str, Any], name: str) -> None:
    found = manifests(plan, name)

    assert found
    for one in found:
        jsonschema.validate(one, SCHEMAS[one["kind"]])


def test_replicas_and_accelerators_of_services_are_those_of_the_plan(plan: dict[str, Any]) -> None:
    """Each row of the plan is one InferenceService, with as many replicas of as many accelerators."""
    rows = plan["tables"]["services"]
    found = [one["spec"]["predictor"] for one in manifests(plan, "kserve")]

    assert sorted(one["minReplicas"] for one in found) == sorted(row["replicas"] for row in rows)
    assert sum(
        one["minReplicas"] * sum(one["model"]["resources"]["limits"].values()) for one in found
    ) == sum(row["replicas"] * row["tensor_parallel"] for row in rows)


def test_workers_of_dynamo_and_pods_of_llm_d_are_the_replicas_of_the_plan(plan: dict[str, Any]) -> None:
    """Replicas and those that stand by are ready; each takes the accelerators of its sizes."""
    rows = plan["tables"]["services"]
    wanted = sorted((row["replicas"] + math.ceil(row["standby"]), row["tensor_parallel"]) for row in rows)
    workers = [one["spec"]["components"][1] for one in manifests(plan, "dynamo")]
    values = manifests(plan, "llm-d")

    for one in values:
        jsonschema.validate(one, VALUES)
    for found in (
        [(one["replicas"], one["podTemplate"]["spec"]["containers"][0]) for one in workers],
        [(one["decode"]["replicas"], one["decode"]["containers"][0]) for one in values],
    ):
        assert sorted((many, *box["resources"]["limits"].values()) for many, box in found) == wanted
    assert len(write_as(plan, "llm-d")) == len(rows)  # a deployment has a file of its own in each period


# Two units of one replica that reads on two accelerators and three that write on eight, in two groups.
APART = {
    "replicas": 2,
    "standby": 0.5,
    "prefill_replicas": 2,
    "prefill_accelerators": 2,
    "decode_replicas": 6,
    "decode_accelerators": 8,
    "decode_groups": 2,
}


@pytest.fixture
def apart(plan: dict[str, Any]) -> dict[str, Any]:
    """The plan with one service, which reads its prompts apart."""
    row = {key: value for key, value in plan["tables"]["services"][0].items() if key != "tensor_parallel"}
    plan["tables"]["services"] = [row | APART]
    return plan


@pytest.mark.parametrize(
    ("engine", "phase"),
    [
        ("vLLM 0.24", '--kv-transfer-config {"kv_connector":"NixlConnector","kv_role":"kv_both"}'),
        ("SGLang 0.5", "--disaggregation-transfer-backend nixl"),
    ],
)
def test_graphs_of_dynamo_read_apart(apart: dict[str, Any], engine: str, phase: str) -> None:
    """Workers that write and that read, each with a unit that stands by: 3 (2 + 1) and 2 + 1 replicas."""
    apart["tables"]["services"][0]["engine"] = engine
    (graph,) = manifests(apart, "dynamo")
    jsonschema.validate(graph, SCHEMAS["DynamoGraphDeployment"])
    _, *workers = graph["spec"]["components"]
    boxes = [one["podTemplate"]["spec"]["containers"][0] for one in workers]

    assert [(one["type"], one["replicas"]) for one in workers] == [("decode", 9), ("prefill", 3)]
    assert [sum(box["resources"]["limits"].values()) for box in boxes] == [8, 2]
    assert [" ".join(box["args"]).partition("--disaggregation-mode ")[2] for box in boxes] == [
        f"{role} {phase}" for role in ("decode", "prefill")
    ]


def test_values_of_llm_d_read_apart(apart: dict[str, Any]) -> None:
    (values,) = manifests(apart, "llm-d")
    jsonschema.validate(values, VALUES)
    found = [(values[kind]["replicas"], values[kind]["parallelism"]) for kind in ("decode", "prefill")]

    assert found == [
        (9, {"tensor": 4, "data": 2, "dataLocal": 2, "workers": 1}),
        (3, {"tensor": 2, "data": 1, "dataLocal": 1, "workers": 1}),
    ]
    assert all(
        "--kv-transfer-config" in values[kind]["containers"][0]["args"] for kind in ("decode", "prefill")
    )
    with pytest.raises(StandardError, match="an InferenceService has one kind: write llm-d or dynamo"):
        write_as(apart, "kserve")


@pytest.mark.parametrize(
    ("engine", "sizes"),
    [
        ("vLLM 0.10 of 2025", "--tensor-parallel-size 4 --pipeline-parallel-size 2 --data-parallel-size 2"),
        ("SGLang 0.5", "--tp-size 8 --pp-size 2 --dp-size 2 --enable-dp-attention"),
    ],
)
def test_graphs_of_dynamo_state_sizes_as_their_engine_takes_them(
    plan: dict[str, Any], engine: str, sizes: str
) -> None:
    """Four tensors in two stages, twice, are 16 accelerators on two nodes; SGLang counts all tensor ranks."""
    parts = {"engine": engine, "tensor_parallel": 4, "stages": 2, "groups": 2}
    plan["tables"]["services"] = [plan["tables"]["services"][0] | parts]
    (graph,) = manifests(plan, "dynamo")
    worker = graph["spec"]["components"][1]

    jsonschema.validate(graph, SCHEMAS["DynamoGraphDeployment"])
    assert worker["multinode"] == {"nodeCount": 2}
    assert " ".join(worker["podTemplate"]["spec"]["containers"][0]["args"]).endswith(sizes)


@pytest.mark.parametrize(
    ("name", "parts", "said"),
    [
        ("llm-d", {"engine": "SGLang 0.5"}, "runs on SGLang 0.5, and its chart serves by vLLM"),
        ("llm-d", {"tensor_parallel": 8, "stages": 2}, "takes 2 nodes"),
        ("dynamo", {"engine": "TensorRT-LLM 1.3", "groups": 2}, "shares attention between 2 groups"),
        ("dynamo", {"engine": "engines of throughput benchmarks"}, "which Dynamo has no workers for"),
    ],
)
def test_what_a_format_cannot_say_of_a_replica_is_refused(
    plan: dict[str, Any], name: str, parts: dict[str, Any], said: str
) -> None:
    plan["tables"]["services"] = [plan["tables"]["services"][0] | parts]
    with pytest.raises(StandardError, match=said):
        write_as(plan, name)


def test_data_parallel_ranks_of_llm_d_lie_on_several_nodes(plan: dict[str, Any]) -> None:
    """Two ranks of eight accelerators on two nodes: one on each."""
    plan["tables"]["services"] = [plan["tables"]["services"][0] | {"tensor_parallel": 8, "groups": 2}]
    (values,) = manifests(plan, "llm-d")

    assert values["multinode"] is True
    assert values["decode"]["parallelism"] == {"tensor": 8, "data": 2, "dataLocal": 1, "workers": 2}


def test_a_replica_on_several_nodes_states_its_sizes_for_workers(plan: dict[str, Any]) -> None:
    """Eight accelerators a layer in two stages are two nodes of eight."""
    plan["tables"]["services"] = [plan["tables"]["services"][0] | {"tensor_parallel": 8, "stages": 2}]
    predictor = manifests(plan, "kserve")[0]["spec"]["predictor"]

    jsonschema.validate(manifests(plan, "kserve")[0], SCHEMAS["InferenceService"])
    assert predictor["workerSpec"] == {"pipelineParallelSize": 2, "tensorParallelSize": 8}
    assert predictor["model"]["resources"]["limits"] == {"nvidia.com/gpu": 8}


def test_services_without_a_model_are_refused(plan: dict[str, Any]) -> None:
    del plan["tables"]["services"][0]["model"]
    with pytest.raises(StandardError, match="plan again"):
        write_as(plan, "kserve")


def test_services_in_batches_are_named_and_not_written(plan: dict[str, Any]) -> None:
    rows = plan["tables"]["services"]
    for row in rows:
        if row["service"] == "code":
            del row["engine"]
    texts = write_as(plan, "kserve").values()

    assert len(texts) == len(plan["horizon"]["periods"])
    for text in texts:
        assert "# not here, since they answer in batches: code\n" in text
        assert "--model_name=code" not in text
    plan["tables"]["services"] = [row for row in rows if row["service"] == "code"]
    with pytest.raises(StandardError, match="its runtime writes tokens, and code answer in batches"):
        write_as(plan, "kserve")


def test_quotas_fit_into_the_fleet(plan: dict[str, Any]) -> None:
    """Queues of a period promise no more than stands there, also where a run ends within it."""
    fleet = {
        (row["period"], f"{row['site']}-{row['sku']}"): row["in_service_nodes"]
        for row in plan["tables"]["fleet"]
    }
    texts = write_as(plan, "kueue")

    for label in plan["horizon"]["periods"]:
        queues = [
            one
            for one in yaml.safe_load_all(texts[f"kueue-{label.lower().replace(' ', '-')}.yaml"])
            if one["kind"] == "ClusterQueue"
        ]
        promised: dict[str, int] = {}
        for queue in queues:
            for flavor in queue["spec"]["resourceGroups"][0]["flavors"]:
                quota = flavor["resources"][0]["nominalQuota"]
                promised[flavor["name"]] = promised.get(flavor["name"], 0) + quota // 8
        assert promised
        for name, nodes in promised.items():
            assert nodes <= fleet[label, name]


LINE = re.compile(r"(\w+=[^ =]+)( \w+=[^ =]+)*")
SLURM_KEYS = {
    "GresTypes",
    "NodeName",
    "Gres",
    "Feature",
    "State",
    "PartitionName",
    "Nodes",
    "MaxNodes",
    "MaxTime",
}


def test_slurm_lines_hold_the_fleet(plan: dict[str, Any]) -> None:
    """Keys of slurm.conf(5), and as many hosts as nodes are in service."""
    hosts = 0
    for text in write_as(plan, "slurm").values():
        for line in text.splitlines():
            if line.startswith("#"):
                continue
            assert LINE.fullmatch(line)
            assert {part.partition("=")[0] for part in line.split()} <= SLURM_KEYS
            if line.startswith("NodeName"):
                first, last = re.search(r"\[(\d+)-(\d+)\]", line).groups()  # type: ignore[union-attr]
                hosts += int(last) - int(first) + 1

    assert hosts == sum(row["in_service_nodes"] for row in plan["tables"]["fleet"])


def trained() -> dict[str, Any]:
    """BLOOM's job, its model and tokens stated: 176,247,271,424 parameters and 366e9 tokens, in 3.5 days."""
    document = copy.deepcopy(written(job("bloom")))
    document["inputs"]["training"] |= {"model": "bloom-176b", "tokens": 366e9}
    document["tables"]["predicted"] = [{"duration_h": 84.0}]
    return document


def test_scores_of_a_provider() -> None:
    """All of it is a provider's: its carbon over tokens, 6 N D operations and parameters."""
    found = json.loads(write_as(trained(), "sci")["sci.json"])
    (score,) = found["scores"]
    units = {one["unit"]: one["sci_gco2e_per_unit"] for one in score["functional_units"]}
    carbon_g = 35_895_951.195912905

    assert score["persona"] == "provider"
    assert score["carbon_kgco2e"] == pytest.approx(carbon_g / 1000, rel=1e-9)
    assert units["million training tokens"] == pytest.approx(carbon_g / 366e3, rel=1e-9)
    assert units["PFLOP"] == pytest.approx(carbon_g / (6 * 176247271424 * 366e9 / 1e15), rel=1e-9)
    assert units["billion parameters"] == pytest.approx(carbon_g / 176.247271424, rel=1e-9)


INFERENCE = {"phase": "inference", "kgco2e": 500.0, "electricity_kgco2e": 400.0, "hardware_kgco2e": 100.0}


def test_scores_of_a_consumer_count_its_requests() -> None:
    """500 kg at 2 g a request are 250,000 requests; 550 kg with the network over them are 2.2 g each."""
    document = copy.deepcopy(written(job("bloom")))
    network = INFERENCE | {
        "phase": "network",
        "kgco2e": 50.0,
        "electricity_kgco2e": 30.0,
        "hardware_kgco2e": 20.0,
    }
    document["tables"] |= {
        "phases": [INFERENCE, network],
        "scores": [{"name": "per_request", "value": 0.002, "unit": "kgCO2e"}],
    }
    (score,) = json.loads(write_as(document, "sci")["sci.json"])["scores"]
    (requests,) = score["functional_units"]

    assert (score["persona"], score["boundary"]) == ("consumer", ["inference", "network"])
    assert requests["amount"] == pytest.approx(250_000)
    assert requests["sci_gco2e_per_unit"] == pytest.approx(2.2)
    with pytest.raises(StandardError, match="trains nothing"):
        write_as(document, "eu-model-form")


def test_what_both_share_is_divided_and_adds_up() -> None:
    """The network of a job that trains and answers goes to both, in proportion; nothing is lost."""
    document = copy.deepcopy(written(job("bloom")))
    network = {"phase": "network", "kgco2e": 50.0, "electricity_kgco2e": 30.0, "hardware_kgco2e": 20.0}
    document["tables"]["phases"] += [INFERENCE, network]
    found = json.loads(write_as(document, "sci")["sci.json"])["scores"]

    assert [one["persona"] for one in found] == ["provider", "consumer"]
    assert sum(one["carbon_kgco2e"] for one in found) == pytest.approx(
        sum(row["kgco2e"] for row in document["tables"]["phases"]), rel=1e-9
    )


def test_the_hub_reads_grams() -> None:
    """`emissions` of the Hub is in grams: BLOOM's 35.9 t are 3.59e7."""
    text = write_as(job("bloom"), "hugging-face")["README.md"]
    metadata = yaml.safe_load(text.split("---")[1])["co2_eq_emissions"]

    assert metadata["emissions"] == pytest.approx(35_895_951, rel=1e-6)
    assert metadata["hardware_used"] == "a100-80-8"
    assert metadata["training_type"] == "pre-training"


def test_the_form_states_two_significant_figures() -> None:
    """3.9e23 operations, 433 MWh, 1,082,990 hours and 3.5 days: rounded as the form asks."""
    text = write_as(trained(), "eu-model-form")["model-documentation.md"]

    assert "| Number of parameters | 1.8*10^11 parameters |" in text
    assert "| Amount of computation used for training | 10^23 floating point operations |" in text
    assert "| Amount of energy used for training | 430 MWh | estimated" in text
    assert "| Training time, on the clock | 3.5 days |" in text
    assert "| Training time, of hardware | 45,000 accelerator-days |" in text


def test_a_data_package_describes_each_column(plan: dict[str, Any], tmp_path: Path) -> None:
    files = write_as(plan, "frictionless")
    package = json.loads(files["datapackage.json"])

    for resource in package["resources"]:
        header = next(csv.reader(io.StringIO(files[resource["path"]])))
        fields = resource["schema"]["fields"]
        assert [one["name"] for one in fields] == header
        assert {one["type"] for one in fields} <= {"string", "number", "integer", "boolean"}
    nodes = next(
        one
        for resource in package["resources"]
        if resource["name"] == "purchases"
        for one in resource["schema"]["fields"]
        if one["name"] == "capex_usd"
    )
    assert (nodes["type"], nodes["unit"]) == ("number", "USD")
    reader = pytest.importorskip("frictionless")
    save_files(files, tmp_path)
    assert reader.Package(str(tmp_path / "datapackage.json")).validate().valid


def test_facts_are_a_data_set() -> None:
    files = write_as(facts_document(facts_holding(("pue",))), "croissant")
    found = json.loads(files["croissant.json"])
    rows = list(csv.DictReader(io.StringIO(files["facts.csv"])))

    assert [one["name"] for one in found["recordSet"][0]["field"]] == list(rows[0])
    assert next(row["value"] for row in rows if row["key"] == "pue.default") == "1.3"
    assert found["distribution"][0]["contentSize"] == f"{len(files['facts.csv'].encode())} B"


def test_what_a_phase_comes_to_says_that_the_rest_is_not_in_it() -> None:
    """0.0042 g a request of inference alone, 0.0055 g in SCI: network, building and end of life between."""
    document = written(job("chat-service"))
    [score] = json.loads(write_as(document, "sci")["sci.json"])["scores"]
    [unit] = [one for one in score["functional_units"] if one["unit"] == "request"]
    [alone] = [row for row in document["tables"]["scores"] if row["name"] == "per_request"]

    assert alone["label"] == "inference alone, per request"
    assert unit["sci_gco2e_per_unit"] > 1.1 * 1000 * alone["value"]
