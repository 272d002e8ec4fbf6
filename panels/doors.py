"""From a click on a chart or table to the samples and labels behind it."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

from fiftyone.core.collections import SampleCollection
from fiftyone.core.view import DatasetView

from ..agreement.errors import AgreementInputError
from ..dataset_io import view_agreement
from .board import Board

#: the verdicts behind the bars of annotators, by the name of their trace; ``missed`` is what others have
VERDICT_OF_TRACE = {
    "only theirs": "lone",
    "class conflict": "class_conflict",
    "attribute conflict": "attribute_conflict",
    "split": "split",
    "duplicate": "duplicate",
    "others missed it": "missed",
    "disputed": "class_conflict",
}
MISSED = "missed"
#: scores are counted in bins of this width, and on an edge of two bins rounding decides by this much
_BIN = 0.05
_ROUNDING = 5e-10
#: the report counts nothing of samples with fewer annotators
_RATED = {"$gte": 2}

Click = dict[str, Any]
Door = tuple[str, dict[str, Any]]


def section_of(path: str) -> str:
    """The section that a path in the panel stands for: its last part, without the version."""
    return path.rsplit(".", 1)[-1].rsplit("_", 1)[0]


def opened(
    samples: SampleCollection, run_key: str, field_key: str, board: Board, click: Click
) -> tuple[str, DatasetView]:
    """The view behind a click, and what it shows.

    Args:
        samples: what the numbers are of
        run_key: the run
        field_key: what its fields begin with
        board: what the panel shows
        click: the parameters of the event

    Raises:
        AgreementInputError: if nothing is behind it, or what the run wrote is gone
    """
    name = section_of(str(click.get("path", "")))
    if name not in _DOORS:
        raise AgreementInputError("There are no samples behind this")
    title, options = _DOORS[name](board, click)
    assigned = options.pop("n_annotators", None)
    view = view_agreement(samples, run_key, **options)
    if assigned is not None:
        view = view.match({f"{field_key}_n_annotators": assigned})
    return title, view


def sample_of(board: Board, click: Click) -> str:
    """Id of the sample in a row of the table of samples."""
    return str(_row(board, "worst", click)["id"])


def _name(value: Any) -> str:
    """A name as the report has it; charts show names without markup."""
    return html.unescape(str(value))


def _row(board: Board, name: str, click: Click) -> dict[str, Any]:
    rows = next((section["rows"] for section in board["sections"] if section["name"] == name), [])
    row = click.get("row")
    if not isinstance(row, int) or not 0 <= row < len(rows):
        raise AgreementInputError("This row is not there any more; refresh the panel")
    return rows[row]


def _two(click: Click, what: str) -> list[str]:
    """The names of a cell of a matrix: its row, then its column."""
    names = [_name(click.get("y")), _name(click.get("x"))]
    if names[0] == names[1]:
        raise AgreementInputError(f"Click a cell of two different {what}")
    return names


def _pairs(board: Board, click: Click) -> Door:
    names = _two(click, "annotators")
    return f"What {names[0]} and {names[1]} disagree on", {"annotators": sorted(names)}


def _confusion(board: Board, click: Click) -> Door:
    names = _two(click, "classes")
    return f"Labels on which {names[0]!r} met {names[1]!r}", {"confusion": sorted(names)}


def _annotators(board: Board, click: Click) -> Door:
    name, trace = _name(click.get("y")), click.get("trace")
    if trace == MISSED:
        return f"What {name} missed: the labels of the others", {"missed_by": name}
    if trace not in VERDICT_OF_TRACE:
        raise AgreementInputError("Click a bar of this chart")
    return f"Labels of {name}: {trace}", {"annotators": name, "verdict": VERDICT_OF_TRACE[trace]}


def _verdicts(board: Board, click: Click) -> Door:
    return f"Labels with the verdict {click.get('x')}", {"verdict": str(click.get("x"))}


def _votes(board: Board, click: Click) -> Door:
    votes, assigned = (int(number) for number in str(click.get("x")).split(" of "))
    return f"Objects drawn by {votes} of {assigned}", {"votes": votes, "n_annotators": assigned}


def _classes(board: Board, click: Click) -> Door:
    name = _name(click.get("y"))
    return f"Objects that somebody called {name!r}", {"classes": name, "n_annotators": _RATED}


def _class_row(board: Board, click: Click) -> Door:
    name = str(_row(board, "class_table", click)["name"])
    return f"Objects that somebody called {name!r}", {"classes": name, "n_annotators": _RATED}


def _scores(board: Board, click: Click) -> Door:
    low = round(round((float(click["x"]) - _BIN / 2) / _BIN) * _BIN, 9)
    high = round(low + _BIN, 9)
    limits = {"min_score": max(0.0, low - _ROUNDING), "max_score": 1.0 if high >= 1.0 else high - 1.001 * _ROUNDING}
    return f"Samples that score {low:.2f} – {high:.2f}", limits


_DOORS: dict[str, Callable[[Board, Click], Door]] = {
    "pairs": _pairs,
    "annotators": _annotators,
    "confusion": _confusion,
    "verdicts": _verdicts,
    "votes": _votes,
    "classes": _classes,
    "class_table": _class_row,
    "scores": _scores,
}
