"""The page ``docs/method/numbers.md`` has every number of the reports, with formula, undefined case and interval."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from pathlib import Path

from annotator_agreement.agreement.statistics import estimates, main_numbers

PAGE = (Path(__file__).parents[2] / "docs" / "method" / "numbers.md").read_text(encoding="utf-8")
#: numbers in the first column of a table, or in a sentence of the page
NAMED = {name for code in re.findall(r"`([\w.]+)`", PAGE) for name in (code, code.rpartition(".")[2])}
#: fields of reports that are no numbers on labels
NO_NUMBERS = {"seconds", "margin", "error", "pooled", "area_from", "area_to"}
MODULES = ("statistics.report", "objects.report", "pixels.report", "tags.report", "ratings.report", "disputes.judged",
           "evidence.hypotheses", "settings.no_labels")  # fmt: skip


def fields() -> set[str]:
    """Names of all fields of reports that hold numbers that are not whole."""
    found = set()
    for module in MODULES:
        loaded = importlib.import_module(f"annotator_agreement.agreement.{module}")
        for part in vars(loaded).values():
            if inspect.isclass(part) and dataclasses.is_dataclass(part) and part.__module__ == loaded.__name__:
                found |= {field.name for field in dataclasses.fields(part) if "float" in str(field.type)}
    return found - NO_NUMBERS


def known(name: str) -> bool:
    """Whether the page has a number; those of sessions and with background are there by their ends."""
    return name in NAMED or name.startswith(("intra_", "inter_")) or name.endswith("_with_background")


def test_every_number_of_a_report_is_on_the_page_with_a_formula_and_an_undefined_case() -> None:
    assert {name for name in (*fields(), *estimates._SHARES) if not known(name)} == set()
    listed = (getattr(main_numbers, name) for name in dir(main_numbers) if name.endswith("_NUMBERS"))
    assert {each.key for entries in listed for each in entries if not known(each.key.rpartition(".")[2])} == set()
    for line in (line for line in PAGE.splitlines() if line.startswith("| `")):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert len(cells) >= 3, line
        assert all(cells), line
