"""From a click on a chart or table to the samples and labels behind it.

A click has a position: a point of a chart, a row of a table. Its meaning comes from the data of the view model
(``customdata`` of a trace, ``keys`` of a table), never from displayed text.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from fiftyone.core.collections import SampleCollection
from fiftyone.core.view import DatasetView

from ..agreement.errors import AgreementInputError
from ..charts.figures.people import MISSED
from ..charts.words import VERDICTS
from ..dataset_io import view_agreement
from .view_model import Item, ViewModel

#: rounding error of scores on the edge of two bins
_ROUNDING = 5e-10
#: the report leaves out samples with fewer annotators
_RATED = {"$gte": 2}

Click = dict[str, Any]
#: a title, and the options of ``view_agreement``
DrillDown = tuple[str, dict[str, Any]]


def item_name(path: str) -> str:
    """Name of the item at a path of the panel: the last part without the version."""
    return path.rsplit(".", 1)[-1].rsplit("_", 1)[0]


def samples_behind(
    samples: SampleCollection, run_key: str, field_key: str, model: ViewModel, click: Click
) -> tuple[str, DatasetView]:
    """The title and the view for a click.

    Args:
        samples: the samples that the numbers describe
        run_key: key of the run
        field_key: prefix of its fields
        model: the view model of the panel
        click: the parameters of the event

    Raises:
        AgreementInputError: if there is no view for it, or the fields of the run are gone
    """
    title, options = drill_down_of(model, click)
    assigned = options.pop("n_annotators", None)
    view = view_agreement(samples, run_key, **options)
    if assigned is not None:
        view = view.match({f"{field_key}_n_annotators": assigned})
    return title, view


def drill_down_of(model: ViewModel, click: Click) -> DrillDown:
    """The title, and the options of ``view_agreement``, for a click.

    Raises:
        AgreementInputError: if there is no view for it
    """
    name = item_name(str(click.get("path", "")))
    if name not in _DRILL_DOWNS:
        raise AgreementInputError("There are no samples behind this")
    return _DRILL_DOWNS[name](_key(model, name, click))


def sample_behind(model: ViewModel, click: Click) -> str:
    """Id of the sample in a row of the table of samples."""
    return str(_key(model, "worst", click))


def _key(model: ViewModel, name: str, click: Click) -> Any:
    """The data at the clicked position."""
    item = next((item for item in model["items"] if item["name"] == name), None)
    key = None
    if item is not None:
        key = _key_of_row(item, click) if item["kind"] == "table" else _key_of_point(item, click)
    if key is None:
        raise AgreementInputError("This no longer exists; refresh the panel")
    return key


def _key_of_row(item: Item, click: Click) -> Any:
    row, keys = click.get("row"), item["keys"]
    return keys[row] if isinstance(row, int) and 0 <= row < len(keys) else None


def _key_of_point(item: Item, click: Click) -> Any:
    """The data of a point, looked up by coordinates because the App may still show an earlier chart."""
    traces = item["data"]
    if len(traces) > 1:
        traces = [trace for trace in traces if trace.get("name") == click.get("trace")]
    for trace in traces:
        if trace["type"] == "heatmap":
            row, column = _place(trace["y"], click.get("y")), _place(trace["x"], click.get("x"))
            if row is not None and row == column:
                raise AgreementInputError("Click a cell of two different names")
            return None if row is None or column is None else trace["customdata"][row][column]
        # horizontal bars and points have names on the y axis
        axis = "x" if trace["type"] == "bar" and trace.get("orientation") != "h" else "y"
        place = _place(trace[axis], click.get(axis))
        return None if place is None else trace["customdata"][place]
    return None


def _place(values: list[Any], value: Any) -> int | None:
    """The position of a coordinate among the drawn ones."""
    if isinstance(value, float):
        return next((k for k, drawn in enumerate(values) if math.isclose(drawn, value, abs_tol=1e-6)), None)
    return values.index(value) if value in values else None


def _pairs(key: list[str]) -> DrillDown:
    return f"What {key[0]} and {key[1]} disagree on", {"annotators": sorted(key)}


def _confusion(key: list[str]) -> DrillDown:
    return f"Labels on which {key[0]!r} met {key[1]!r}", {"confusion": sorted(key)}


def _annotators(key: list[Any]) -> DrillDown:
    name, verdict, *_ = key
    if verdict == MISSED:
        return f"What {name} missed: the labels of the others", {"missed_by": name}
    return f"Labels of {name}: {VERDICTS[verdict]}", {"annotators": name, "verdict": verdict}


def _verdicts(key: str) -> DrillDown:
    return f"Labels with the verdict {key}", {"verdict": key}


def _votes(key: list[int]) -> DrillDown:
    votes, assigned = key
    return f"Objects drawn by {votes} of {assigned}", {"votes": votes, "n_annotators": assigned}


def _classes(key: str) -> DrillDown:
    return f"Objects that somebody called {key!r}", {"classes": key, "n_annotators": _RATED}


def _scores(key: list[float]) -> DrillDown:
    low, high, *_ = key
    limits = {"min_score": max(0.0, low - _ROUNDING), "max_score": 1.0 if high >= 1.0 else high - 1.001 * _ROUNDING}
    return f"Samples that score {low:.2f} – {high:.2f}", limits


_DRILL_DOWNS: dict[str, Callable[[Any], DrillDown]] = {
    "pairs": _pairs,
    "annotators": _annotators,
    "confusion": _confusion,
    "verdicts": _verdicts,
    "votes": _votes,
    "classes": _classes,
    "class_table": _classes,
    "scores": _scores,
}
