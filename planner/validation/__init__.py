"""Our values next to published ones: `everfleet validate`.

`tolerance` reads what a row allows, `forms` and `registry` find the model that answers it, `carbon`,
`peers`, `reliability`, `performance`, `serving`, `demand`, `techniques`, `timing` and others hold the
adapters, `datasets` finds the files that rows are about, `leaves` opens every function of the leaves by its
name, `rows` judges, `generations` tells the chips, `accuracy` counts, `report` prints.
"""

from planner.validation.report import quantities_text, report_text, write_readme_table
from planner.validation.rows import validate

__all__ = ["quantities_text", "report_text", "validate", "write_readme_table"]
