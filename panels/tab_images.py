"""The tab with the work list: which images to look at first, and why."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import fiftyone as fo

from ..charts.figures import plot_scores
from ..charts.reports.families import family_of
from ..charts.text.words import counted, documents, file_name, shown_number, shown_share
from .items import Choices, Item, chart_item

if TYPE_CHECKING:
    from .model_cache import Shown

#: entries on a page, and in the overview
PER_PAGE = 8
FIRST = 3
_SCORES_HINT = "Click a bar: these images, the worst first."


def image_items(shown: Shown, dataset: fo.Dataset | None, choices: Choices) -> Iterator[Item]:
    """The work list, and the scores of all samples."""
    yield work_item(shown, dataset, choices.page.get("work", 0), PER_PAGE)
    # the chart is about frames, but only samples can be opened
    hint = "" if shown.report.run.n_videos is not None else _SCORES_HINT
    yield from chart_item(
        "scores", functools.partial(plot_scores, shown.report, scores=shown.scores), hint, scores_link
    )


def work_item(shown: Shown, dataset: fo.Dataset | None, page: int, per_page: int, *, title: str = "") -> Item:
    """A page of the work list; the samples in the order in which fixing them would change most."""
    work = shown.work
    pages = -(-len(work) // per_page)
    page = min(page, max(pages - 1, 0))
    first, end = page * per_page, min((page + 1) * per_page, len(work))
    described = shown.described(dataset, first, end) if len(work) else []
    rows = []
    for k, entry in zip(range(first, end), described, strict=True):
        frame = f", frame {entry['frame_number']}" if "frame_number" in entry else ""
        rows.append(
            {
                "id": entry.get("id"),
                "title": f"{k + 1}. {file_name(entry.get('filepath'))}{frame}",
                "reason": entry["reason"],
                "numbers": _numbers(shown, k),
                "image": thumbnail(dataset, entry.get("filepath")),
            }
        )
    return {
        "name": "work",
        "kind": "work",
        "title": title,
        "note": _share_sentence(shown, first, end),
        "rows": rows,
        "page": page,
        "pages": pages,
        "turns": not title,
    }


def _numbers(shown: Shown, k: int) -> str:
    work = shown.work
    n, of, score = int(work.n_disputed[k]), int(work.n_units[k]), float(work.score[k])
    disputed = f"{n:,} of {of:,} disputed · " if of > 1 else ""
    return f"{disputed}score {shown_number(None if score != score else score, 2)}"


def _share_sentence(shown: Shown, first: int, end: int) -> str:
    what = documents(shown.report).replace("samples", "images")
    if not len(shown.work):
        return f"Nothing is disputed: there is no {what[:-1]} to fix."
    share = float(shown.work.share[first:end].sum())
    if share != share:
        return f"{counted(len(shown.work), what[:-1])} with disputes."
    these = f"These {end - first}" if end - first > 1 else "This one"
    lost = family_of(shown.report).lost
    verb = "hold" if end - first > 1 else "holds"
    return f"{these} of {len(shown.work):,} disputed {what} {verb} {shown_share(share)} of {lost}."


def thumbnail(dataset: fo.Dataset | None, path: str | None) -> str | None:
    """Address of an image at the App's server, which shows the same file in the grid; None for other media."""
    if dataset is None or dataset.media_type not in ("image", "group") or path is None or "://" in path:
        return None
    return f"/media?filepath={quote(path)}"


def scores_link(key: list[Any]) -> dict[str, Any]:
    """The samples in a bar of the chart of scores."""
    low, high, *_ = key
    # rounding error of scores on the edge of two bins
    limits = {"min_score": max(0.0, low - 5e-10), "max_score": 1.0 if high >= 1.0 else high - 1.001 * 5e-10}
    return {"title": f"Samples that score {low:.2f} – {high:.2f}", "options": limits}
