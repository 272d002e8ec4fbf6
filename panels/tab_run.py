"""Tabs of the panel on a whole run: overview and next steps, work list of images, parts of the data, methods."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import fiftyone as fo

from .. import names
from ..agreement.parts.result import DataPart
from ..agreement.settings.errors import AgreementInputError
from ..agreement.statistics.main_numbers import MainNumber
from ..charts.figures import plot_parts, plot_scores, plot_thresholds
from ..charts.reports.document import computation_markdown, overview_markdown, sensitivity_sections
from ..charts.reports.families import family_of
from ..charts.reports.other_results import MARKS, acceptance_sentence, arrow_of, finding_sentences, shown_value
from ..charts.text.headline import CARD_FORMS
from ..charts.text.sections import Cell, Column, as_markdown, plain_markdown
from ..charts.text.words import NOT_COMPARED, capitalised, counted, ends_of, file_name, shown_number, shown_share
from ..dataset_io.results.check import last_check
from .items import Button, Choices, Item, Link, button_item, chart_item, form_button, link, named, table_item, text_item

if TYPE_CHECKING:
    from ..agreement.acceptance.evaluate import Checked
    from ..dataset_io.run.work_list import WorkList
    from .panel_state import PanelState, ShownReport


#: other runs that are offered for a comparison
_MOST_RUNS = 8


def overview_items(
    shown: ShownReport, dataset: fo.Dataset | None, state: PanelState, choices: Choices
) -> Iterator[Item]:
    """Overview: the samples to look at first, the next steps, and the answers to the three questions."""
    if len(shown.work):
        yield work_item(shown, dataset, 0, FIRST, title="Where to look first")
        label = f"All {len(shown.work):,}, the most costly first"
        yield button_item("all_work", "", [(label, "list", "go_to_tab", {"tab": "images"})])
    text = "\n\n".join([*map(plain_markdown, shown.findings[1]), overview_markdown(shown.report)])
    if text.strip():
        yield text_item("overview", text)
    yield from acceptance_items(state, choices)
    has_objects = shown.report.has_objects
    buttons: list[Button] = []
    if has_objects:
        buttons.append(("Show disputed objects", "crop", "show_disputed", {}))
    buttons += [
        form_button("Save these as views", "bookmark_add", names.SAVE_AGREEMENT_VIEWS),
        *([form_button("Make a consensus", "how_to_vote", names.RESOLVE_UNITS)] if has_objects else []),
        form_button("Check requirements", "fact_check", names.CHECK_AGREEMENT),
        form_button("Export the report", "file_download", names.EXPORT_AGREEMENT),
        form_button("Delete this run", "delete", names.DELETE_AGREEMENT),
    ]
    if state.config.get("previous"):
        keys = {"run_key": str(state.run_key), "other_run_key": names.RUN_NOW}
        buttons.append(form_button("Before and after the update", "compare_arrows", names.COMPARE_AGREEMENT, **keys))
    buttons += [compare_button(key, state) for key in state.comparable[:1]]
    yield button_item("next_steps", "Next steps", buttons)


def acceptance_items(state: PanelState, choices: Choices) -> Iterator[Item]:
    """The last check against requirements; outcomes link to the labels behind them."""
    check = last_check(state.config)
    if check is None:
        return
    columns = (
        Column("requirement", "title", is_number=False),
        Column("outcome", lambda each: MARKS[each.outcome], link=_behind, is_number=False),
        Column("must be", "condition", is_number=False),
        Column("value", lambda each: Cell(each.value, shown_value(each))),
        Column("why", "reason", is_number=False),
    )
    note = acceptance_sentence(check)
    yield table_item("acceptance", columns, check.results, choices, title="Acceptance", note=note, per_page=PER_PAGE)


def _behind(result: Checked) -> Link | None:
    """Link to the labels behind a requirement that did not pass; None if there is none."""
    if not result.view:
        return None
    title = f"{result.title}: {MARKS[result.outcome]}"
    if result.part:
        return {"title": title, "part": [result.by, result.part]}
    return link(title, **result.view)


#: name of an item: page 1 has other thresholds and rules, page 0 a button that turns to it
_SENSITIVITY = "sensitivity"
_SENSITIVITY_HINT = (
    "Other thresholds and rules are computed when you ask for them. 100,000 labels take a few seconds; shapes and "
    "points, which are read again, take longer."
)


def rule_items(shown: ShownReport, state: PanelState, choices: Choices, dataset: fo.Dataset | None) -> Iterator[Item]:
    """The rules, the notes, other thresholds and rules, and the other runs."""
    yield text_item("computation", computation_markdown(shown.report, shown.notes))
    if shown.report.has_objects and dataset is not None:
        if shown.is_quick or choices.page.get(_SENSITIVITY):
            try:
                found = shown.sensitivity(dataset, str(state.run_key))
            except AgreementInputError as error:
                yield text_item("sensitivity_note", plain_markdown(str(error)))
            else:
                yield text_item("sensitivity_note", as_markdown(sensitivity_sections(shown.report, found)))
                yield from chart_item("thresholds", lambda: plot_thresholds(shown.report, found))
        else:
            yield text_item("sensitivity_hint", plain_markdown(_SENSITIVITY_HINT))
            button = ("Other thresholds and rules", "tune", "turn_page", {"item": _SENSITIVITY, "page": 1})
            yield button_item(_SENSITIVITY, "", [button])
    others = [compare_button(key, state) for key in state.comparable[:_MOST_RUNS]]
    if others:
        yield button_item("other_runs", "Other runs", others)
    buttons = [
        form_button("Rename", "drive_file_rename_outline", names.RENAME_AGREEMENT),
        form_button("Export the report", "file_download", names.EXPORT_AGREEMENT),
        form_button("Delete", "delete", names.DELETE_AGREEMENT),
    ]
    yield button_item("run_steps", f"This run: {state.run_key}", buttons)


def compare_button(other: str, state: PanelState) -> Button:
    """A button that compares the older of two runs with the newer one, whichever is shown."""
    before, after = sorted((other, state.run_key or ""), key=state.keys.index, reverse=True)
    keys = {"run_key": before, "other_run_key": after}
    return form_button(f"Compare with {other}", "compare_arrows", names.COMPARE_AGREEMENT, **keys)


#: entries on a page, and in the overview
PER_PAGE = 8
FIRST = 3
_SCORES_HINT = "Click a bar: these images, the worst first."


def image_items(shown: ShownReport, dataset: fo.Dataset | None, choices: Choices) -> Iterator[Item]:
    """The work list, and the scores of all samples."""
    yield work_item(shown, dataset, choices.page.get("work", 0), PER_PAGE)
    if shown.frames is not None:
        page, title = choices.page.get("frames", 0), "Frames, the most costly first"
        yield work_item(shown, dataset, page, PER_PAGE, of_frames=shown.frames, title=title)
    # the chart is about frames, but only samples can be opened
    hint = _SCORES_HINT if shown.frames is None else ""
    yield from chart_item(
        "scores", functools.partial(plot_scores, shown.report, scores=shown.scores), hint, scores_link
    )


def work_item(
    shown: ShownReport,
    dataset: fo.Dataset | None,
    page: int,
    per_page: int,
    *,
    of_frames: WorkList | None = None,
    title: str = "",
) -> Item:
    """A page of the work list; the samples in the order in which fixing them would change most."""
    work = shown.work if of_frames is None else of_frames
    pages = -(-len(work) // per_page)
    page = min(page, max(pages - 1, 0))
    first, end = page * per_page, min((page + 1) * per_page, len(work))
    described = shown.described(dataset, work, first, end) if len(work) else []
    what = "images" if shown.frames is None else "videos" if of_frames is None else "frames"
    # the App's server shows the file of an image, as in the grid; of other media there is none
    has_images = dataset is not None and dataset.media_type in ("image", "group")
    rows = []
    for k, entry in zip(range(first, end), described, strict=True):
        path = entry.get("filepath")
        is_shown = has_images and path is not None and "://" not in path
        image = f"/media?filepath={quote(str(path))}" if is_shown else None
        frame = f", frame {entry['frame_number']}" if "frame_number" in entry else ""
        n, of, score = int(work.n_disputed[k]), int(work.n_units[k]), float(work.score[k])
        disputed = f"{n:,} of {of:,} disputed · " if of > 1 else ""
        rows.append(
            {
                "id": entry.get("id"),
                "title": f"{k + 1}. {file_name(path)}{frame}",
                "reason": entry["reason"],
                "numbers": f"{disputed}score {shown_number(None if score != score else score, 2)}",
                "image": image,
            }
        )
    share = float(work.share[first:end].sum())
    note = f"{counted(len(work), what[:-1])} with differences."
    if not len(work):
        agree = shown.report.score.mean is not None
        note = f"All agree: there is no {what[:-1]} to fix." if agree else NOT_COMPARED
    elif share == share:
        these, hold = (f"These {end - first}", "hold") if end - first > 1 else ("This one", "holds")
        lost = f"{shown_share(share)} of {family_of(shown.report).lost}"
        note = f"{these} of {len(work):,} {what} with differences {hold} {lost}."
    return {
        "name": "work" if of_frames is None else "frames",
        "kind": "work",
        "title": title,
        "hint": "Open this image" if shown.frames is None else "Open this video",
        "note": note,
        "rows": rows,
        "page": page,
        "pages": pages,
        "turns": per_page > FIRST,
    }


def scores_link(key: list[Any]) -> dict[str, Any]:
    """Link to the samples in a bar of the chart of scores."""
    low, high, *_ = key
    # rounding error of scores on the edge of two bins
    limits = {"min_score": max(0.0, low - 5e-10), "max_score": 1.0 if high >= 1.0 else high - 1.001 * 5e-10}
    return {"title": f"Samples that score {low:.2f} – {high:.2f}", "options": limits}


# ---- by parts of the data ----

#: rows on a page
_PARTS_PER_PAGE = 12
_NOTHING = "There is nothing to divide the images by: no field with texts, numbers, dates or tags, and no saved view."


def part_items(shown: ShownReport, dataset: fo.Dataset | None, choices: Choices) -> Iterator[Item]:
    """The choice of what divides the images, sentences on the parts that stand out, a table and a chart."""
    offered = {} if dataset is None else shown.divided(dataset).offered()
    if not offered:
        yield text_item("no_parts", plain_markdown(_NOTHING))
        return
    by = choices.by
    if by is None or by not in offered:
        by = shown.divided(dataset).first_offered or next(iter(offered))
    yield {"name": "by", "kind": "choice", "titles": offered, "value": by, "handler": "choose_by", "label": "By"}
    try:
        parts = shown.parts_by(dataset, by)
    except AgreementInputError as error:
        yield text_item("no_parts", plain_markdown(str(error)))
        return
    said = " ".join(finding_sentences(parts))
    if said:
        yield text_item("parts_found", plain_markdown(said))
    note = "↓ ↑: differs from all other images by test. […] are 95 % intervals. A click shows the images."

    def behind(name: str) -> Link:
        return {"title": f"Images of the part {name}", "part": [by, name]}

    columns = [
        named(parts.by, "name", link=lambda part: behind(part.name)),
        Column(parts.what.capitalize(), "n_rated", link=lambda part: behind(part.name)),
        *(_number_column(number, parts.measure) for number in parts.shown),
    ]
    yield table_item("parts", columns, parts.rated, choices, note=note, per_page=_PARTS_PER_PAGE)
    hint = "Click a point: these images."
    yield from chart_item("parts_chart", functools.partial(plot_parts, parts), hint, behind)


def _number_column(number: MainNumber, measure: str) -> Column:
    show = CARD_FORMS[number.form]

    def cell(part: DataPart) -> Cell:
        found = part.numbers.get(number.key)
        if found is None:
            return Cell(None, "–")
        return Cell(found.value, f"{show(found.value)}{arrow_of(found)}", ends_of(found.interval, show))

    return Column(capitalised(number.name(measure)), cell, bar=lambda part: cell(part).value)
