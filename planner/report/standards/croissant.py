"""Facts as a Croissant data set: one table, its columns with types, and its file with size and digest.

Source: MLCommons, Croissant format specification 1.0.
"""

from __future__ import annotations

import hashlib

from planner.report.plain import to_json
from planner.report.spreadsheets import csv_of
from planner.report.standards.formats import Files
from planner.trace.records import Record

FILE = "facts.csv"
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
COLUMNS = {
    "key": ("sc:Text", "name of the fact: its family, what it is of, and the property"),
    "value": ("sc:Float", "the number, in `unit`"),
    "unit": ("sc:Text", "unit of value, low and high; 1 for a number without"),
    "kind": ("sc:Text", "measured, published, declared, estimated, assumed or yours"),
    "low": ("sc:Float", "least value that is likely; empty where none is stated"),
    "high": ("sc:Float", "greatest value that is likely"),
    "boundary": ("sc:Text", "what the number counts, and must not be mixed with"),
    "source": ("sc:Text", "who says so"),
    "locator": ("sc:Text", "where in the source"),
    "note": ("sc:Text", "what else is to be known"),
}


def write(document: Record) -> Files:
    """`croissant.json`, and `facts.csv` that it describes."""
    rows = [{name: _cell(row[name]) for name in COLUMNS} for row in document["tables"]["facts"]]
    table = csv_of(rows, COLUMNS, line_end="\n")
    content = table.encode()
    found = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "everfleet-facts",
        "description": document["title"],
        "version": f"{document['everfleet']}",
        "license": "https://www.apache.org/licenses/LICENSE-2.0",
        "citeAs": f"everfleet {document['everfleet']}, facts {document['catalogue'][:12]}",
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": FILE,
                "name": FILE,
                "contentUrl": FILE,
                "contentSize": f"{len(content)} B",
                "encodingFormat": "text/csv",
                "sha256": hashlib.sha256(content).hexdigest(),
            }
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "facts",
                "name": "facts",
                "key": {"@id": "facts/key"},
                "field": [
                    {
                        "@type": "cr:Field",
                        "@id": f"facts/{name}",
                        "name": name,
                        "description": said,
                        "dataType": kind,
                        "source": {"fileObject": {"@id": FILE}, "extract": {"column": name}},
                    }
                    for name, (kind, said) in COLUMNS.items()
                ],
            }
        ],
    }
    return {"croissant.json": to_json(found, sort_keys=False), FILE: table}


def _cell(value: object) -> object:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {tag}" for name, tag in value.items())
    return value
