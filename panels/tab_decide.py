"""Tab of the panel for adjudication: decide on disputed objects, tags or samples, one after the other."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import fiftyone as fo

from .. import names
from ..agreement.families.family import FAMILIES
from ..agreement.settings.errors import AgreementInputError
from ..charts.reports.decided import DECIDED, decisions_section
from ..charts.text.sections import Cell, Column
from ..charts.text.words import VERDICTS, counted, file_name, shown_number
from ..dataset_io import decide, record_own_labels, report_decisions
from ..dataset_io.app.settings import annotator_colors
from ..dataset_io.database.fiftyone_private import reload_samples
from ..dataset_io.decide.decidable import CHANGED, OPEN, SKIPPED
from ..dataset_io.decide.decide import Decided, ObjectsToDecide, open_to_decide
from ..dataset_io.decide.decision_log import is_opened
from ..dataset_io.decide.decision_units import DecisionUnits
from ..dataset_io.decide.gold import Gold
from ..dataset_io.decide.next_object import (
    MEANT,
    LabelToEdit,
    ShownObject,
    Sought,
    can_edit,
    close_unedited,
    edit_object,
    file_of,
    next_object,
    shown_object,
)
from ..dataset_io.record.run_labels import RunLabels, open_run_labels
from ..dataset_io.record.sample_index import stamps_of
from ..dataset_io.results.load import MOST_DECIDED
from ..dataset_io.results.picture import picture_of
from .items import Button, Choices, Item, button_item, form_button, link, table_item, text_item

if TYPE_CHECKING:
    from .panel_state import PanelState, Shown

#: what the dropdowns call all objects
ALL = "all"
#: what the buttons of an object carry: that somebody went back to it, and the way back
WAY = "way"
#: versions with a key
_MOST_KEYS = 9
#: objects that one can go back to, and samples whose edits are looked for
_MOST_BACK, _MOST_WATCHED = 50, 10
#: the App has stored an edit after this time, in seconds
_SAVED_SECONDS = 5.0


def decide_items(shown: Shown, state: PanelState, choices: Choices, dataset: fo.Dataset | None) -> Iterator[Item]:
    """The next object with everybody's version, how far it is, and what can be done."""
    if dataset is None:
        return
    chosen = choices.decide
    if not chosen.get("by"):
        yield _who(chosen)
        return
    labels = open_run_labels(dataset, state.run_key or "")
    open_to_decide(labels, names.DEFAULT_GOLD_FIELD, among=())
    item = _item(shown, labels, _sought(chosen), chosen)
    yield item
    if item["object"] is None:
        yield text_item("done", _DONE if item["n"] else _NONE_FITS if item["is_filtered"] else _NONE_DISPUTED)
        if item["n_skipped"] and not chosen.get("skipped"):
            label = f"Go through {counted(item['n_skipped'], 'skipped object')}"
            yield button_item("skipped", "", [(label, "replay", "seek_skipped", {})])
    yield from _numbers(chosen, choices)


def _who(chosen: Mapping[str, Any]) -> Item:
    """The question who decides, once the browser has said that it does not know."""
    if chosen.get("colours") is None:
        asks: Button = ("Type a name", "person", "ask_name", {})
        return button_item("asked", "Asking this browser for your name …", [asks])
    return {"name": "who", "kind": "name", "text": "It is stored with every decision, and kept in this browser."}


def beside_items(shown: Shown, state: PanelState, chosen: Mapping[str, Any], dataset: fo.Dataset) -> Iterator[Item]:
    """The next object of the sample that somebody looks at, and the way to the next sample."""
    if not chosen.get("by"):
        yield _who(chosen)
        return
    if not chosen.get("sample"):
        yield text_item("closed", "Open an image to decide on its objects.")
        return
    labels = open_run_labels(dataset, state.run_key or "")
    item = _item(shown, labels, _sought(chosen), chosen)
    yield item
    if item["object"] is None:
        yield text_item("done", "Everything in this image is decided or skipped, or nothing was disputed.")


def next_sample(shown: Shown, labels: RunLabels, sample_id: str | None) -> str | None:
    """Id of another sample, with the most costly object that is still to be decided; None if none is."""
    objects, ids = shown.costly(Sought()), shown.index.ids()
    others = objects.select([ids[row] != sample_id for row in objects.row.tolist()])
    found = next_object(labels, names.DEFAULT_GOLD_FIELD, shown.index, others, Sought())
    if found is None:
        return None
    about = shown_object(labels, names.DEFAULT_GOLD_FIELD, *found)
    return None if about is None else about.sample_id


def _numbers(chosen: Mapping[str, Any], choices: Choices) -> Iterator[Item]:
    """Table of everybody's accuracy, once somebody asked for it: it takes too long after every click."""
    counted_then: Mapping[str, Any] | None = chosen.get("counted")
    label = "How right everybody was" if counted_then is None else "Count again"
    buttons: list[Button] = [
        (label, "fact_check", "count_decisions", {}),
        form_button("Decide many by a rule", "gavel", names.DECIDE, by=chosen["by"]),
        form_button("Export what was decided", "file_download", names.EXPORT_DECIDED),
    ]
    yield button_item("count", "", buttons)
    if counted_then is None:
        return
    yield text_item("counted", " ".join(counted_then["texts"]))
    columns = [
        Column(
            title,
            lambda row, k=k: Cell(row["values"][k], row["texts"][k]),  # type: ignore[misc]
            link=(lambda row: row["link"]) if title in _AGAINST else None,
            is_number=k > 0,
            first_down=k > 0,
        )
        for k, title in enumerate(counted_then["header"])
    ]
    yield table_item("right", columns, counted_then["rows"], choices, title=DECIDED, note=counted_then["note"])
    if counted_then["rows"]:
        buttons = [
            form_button("List to send", "outgoing_mail", names.EXPORT_DECIDED_AGAINST),
            form_button("Apply to labels", "published_with_changes", names.APPLY_DECISIONS),
            form_button("Take back from labels", "settings_backup_restore", names.UNDO_APPLIED),
        ]
        yield button_item("after", "", buttons)


#: columns that lead to what was decided against an annotator
_AGAINST = ("wrong", "missed", "too many")


def counted_decisions(dataset: fo.Dataset, run_key: str) -> dict[str, Any]:
    """Accuracy of everybody against the decisions, as JSON values; without intervals where they take long."""
    many = Gold.open(dataset, names.DEFAULT_GOLD_FIELD).has_more_than(MOST_DECIDED)
    report = report_decisions(dataset, run_key, resamples=0 if many else None)
    on_frames = report.field.startswith(names.FRAMES_PREFIX)
    *texts, shown, note = [*decisions_section(report).parts] if report.n_decided else [_NOTHING, None, ""]
    rows = [] if shown is None else shown.rows  # type: ignore[union-attr]
    return {
        "texts": [str(text) for text in texts],
        "note": str(note),
        "header": [] if shown is None else list(shown.header),  # type: ignore[union-attr]
        "rows": [
            {
                "texts": [cell.text for cell in row],
                "values": [cell.value for cell in row],
                "link": None
                if on_frames or entry is report.by_rule
                else {**link(f"Decided against {entry.name}"), "against": entry.name},
            }
            for entry, row in zip(report.rows, rows, strict=bool(rows))
        ],
    }


_NOTHING = "Nothing is decided yet."
_DONE = "Everything that you look for is decided or skipped."
_NONE_FITS = "No disputed object fits these filters: choose others."
_NONE_DISPUTED = "Nothing is disputed, so there is nothing to decide."

#: what the button says that decides that no version is right, by what is decided on
_NONE = {"object": "No object", "tag": "Not this tag", "image": "None is right"}


def _sought(chosen: Mapping[str, Any]) -> Sought:
    return Sought(
        chosen.get("verdict"),
        chosen.get("annotator"),
        chosen.get("label"),
        chosen.get("votes"),
        bool(chosen.get("skipped")),
        chosen.get("sample"),
    )


def _item(shown: Shown, labels: RunLabels, sought: Sought, chosen: Mapping[str, Any]) -> Item:
    """The object, how far it is, and what can be done; beside the sample that somebody looks at without a picture."""
    objects = shown.costly(sought)
    opened = open_to_decide(labels, names.DEFAULT_GOLD_FIELD, among=())
    n_decided, n_skipped = opened.gold.counts(MEANT[sought.verdict], sought.annotator, sought.label, sought.votes)
    at = tuple(chosen["at"]) if chosen.get("at") else None
    found = None if at is None else shown_object(labels, names.DEFAULT_GOLD_FIELD, *at)
    if found is None:  # none is in hand, or it is gone
        at = next_object(labels, names.DEFAULT_GOLD_FIELD, shown.index, objects, sought)
        found = None if at is None else shown_object(labels, names.DEFAULT_GOLD_FIELD, *at)
    colours = annotator_colors(labels, chosen.get("colours"))
    beside = sought.sample_id is not None
    return {
        "name": "decide",
        "kind": "decide",
        "by": chosen["by"],
        "progress": f"{n_decided:,} of {int(objects.n.sum()):,} decided"
        + (f", {n_skipped:,} skipped" if n_skipped else ""),
        "n_skipped": n_skipped,
        "n": int(objects.n.sum()),
        "is_filtered": sought != Sought(skipped=sought.skipped),
        WAY: way_of(chosen),
        "filters": [] if beside else _filters(shown, opened.units, sought),
        "filtering": bool(chosen.get("filtering")),
        "can_go_back": bool(chosen.get("past")),
        "beside": beside,
        "undoes": _to_undo(opened, chosen["by"]),
        "object": None if found is None else _described(found, labels, opened.units, colours, with_picture=not beside),
        "can_edit": can_edit(opened) and not beside,
        "is_edited": bool(chosen.get("editing")),
    }


def _to_undo(opened: ObjectsToDecide, by: str) -> tuple[str, str] | None:
    """What the user decided last, which Undo takes back: in short, and with the file; None if nothing is left."""
    step = opened.gold.latest_step(by)
    if step is None:
        return None
    found = opened.gold.only_decision(step)
    if found is None:
        return "decided by a rule", "Takes back all that was decided at once, by a rule"
    said, (frame, path) = _choice_said(found[1], _NONE[opened.units.unit]), file_of(opened, found[0])
    return said, f"Takes back: {said}, {file_name(path)}" + ("" if frame is None else f", frame {frame}")


def _filters(shown: Shown, units: DecisionUnits, sought: Sought) -> list[dict[str, Any]]:
    """The dropdowns that choose what is sought: name, what is chosen, and the titles of all choices."""
    of_family = FAMILIES[shown.report.family].verdicts
    verdicts = {name: VERDICTS[name] for name in MEANT if name is not None and name in of_family}
    annotators = {name: name for name in shown.annotator_codes}
    filters = [("verdict", sought.verdict, {ALL: "all disputed", **verdicts})] if len(verdicts) > 1 else []
    filters.append(("annotator", sought.annotator, {ALL: "everybody", **annotators}))
    if units.has_classes:
        filters.append(("label", sought.label, {ALL: "all classes", **{name: name for name in shown.class_names}}))
    if units.has_votes:
        votes = {str(n): f"drawn by {n}" for n in range(1, len(annotators) + 1)}
        chosen = None if sought.votes is None else str(sought.votes)
        filters.append(("votes", chosen, {ALL: "any votes", **votes}))
    return [{"name": name, "value": chosen or ALL, "titles": titles} for name, chosen, titles in filters]


def _described(
    found: ShownObject, labels: RunLabels, units: DecisionUnits, colours: Mapping[str, str], *, with_picture: bool
) -> dict[str, Any]:
    """Content of an object in the tab, and the parameters of its buttons."""
    place, none_label = {"document": found.document_id, "unit": found.unit}, _NONE[units.unit]
    none = {**place, "choice": "none"}
    drew = {version.annotator: version for version in found.versions}
    versions: list[dict[str, Any]] = [
        {
            "label": f"{name}: {drew[name].label}",
            "hint": "" if drew[name].iou is None else f"IoU {shown_number(drew[name].iou, 2)} with the others",
            "colour": colours[name],
            "params": {**place, "choice": "version", "annotator": name},
        }
        if name in drew
        else {"label": f"{name}: nothing", "hint": none_label, "colour": colours[name], "params": none}
        for name in sorted({*drew, *found.missing})
    ]
    for k, version in enumerate(versions):
        version |= {"key": str(k + 1) if k < _MOST_KEYS else None, "disabled": False}
    if units.has_consensus:
        n_drew = f" ({len(drew)} of {len(versions)})" if 2 * len(drew) <= len(versions) else ""
        versions.append(
            {
                "label": f"Consensus: {found.consensus}"
                if found.consensus is not None
                else f"Consensus: no majority{n_drew}",
                "hint": "What more than half drew: the median or the most typical shape, with the class of most",
                "colour": "var(--fo-palette-text-secondary)",
                "key": "C",
                "disabled": found.consensus is None,
                "params": {**place, "choice": "consensus"},
            }
        )
    frame = "" if found.frame_number is None else f", frame {found.frame_number}"
    note = ""
    if found.decision is not None:
        by, is_open = found.decision["decided_by"], is_opened(dict(found.decision))
        note = f"{by} decided: {_choice_said(found.decision, none_label)}"
        if found.decision["choice"] == "skip":
            note = f"{by} {'is editing' if is_open else 'skipped'} it"
        note += "; labels were changed since" if found.state == CHANGED else ""
    return {
        **place,
        "sample": found.sample_id,
        "title": f"{(VERDICTS | {'class_conflict': units.conflict}).get(str(found.verdict), '')} · "
        f"{file_name(found.filepath)}{frame}",
        "note": note,
        "versions": versions,
        "none_label": none_label,
        "none": none,
        "skip": {**place, "choice": "skip"},
        "picture": None
        if not with_picture or found.filepath is None or found.frame_number is not None
        else picture_of(found.filepath, {each.annotator: each.stored for each in found.versions}, colours),
        "labels": [
            {"label_id": str(version.stored["_id"]), "sample_id": found.sample_id,
             "field": labels.field_of(version.annotator)}
            for version in found.versions if "_id" in version.stored
        ],
    }  # fmt: skip


def _choice_said(decision: Mapping[str, Any], none_label: str) -> str:
    """What was decided, in a word or two."""
    none, choice = none_label[0].lower() + none_label[1:], decision["choice"]
    said = {"version": decision["annotator"], "own": "own label", "none": none, "skip": "skipped"}
    return str(said.get(choice, choice))


def decide_on(dataset: fo.Dataset, run_key: str, chosen: Mapping[str, Any], params: Mapping[str, Any]) -> str | None:
    """Decide as a button says; what to tell the user if somebody was faster, or the object is gone."""
    by = _name_of(chosen)
    document, unit = str(params.get("document")), str(params.get("unit"))
    labels = open_run_labels(dataset, run_key)
    sample = shown_object(labels, names.DEFAULT_GOLD_FIELD, document, unit)
    if sample is None:
        return "The labels of this object were deleted or added since the run"
    again = bool(chosen.get("at"))  # the user went back to it
    wanted = {"decided_by": by, "choice": params.get("choice"), "annotator": params.get("annotator")}
    if not again and sample.state != CHANGED and wanted.items() <= (sample.decision or {}).items():
        return None  # pressed twice
    done: Decided = decide(
        dataset.select(sample.sample_id),
        run_key,
        params.get("choice"),  # type: ignore[arg-type]
        annotator=params.get("annotator"),
        objects=unit,
        by=by,
        overwrite=again,
        progress=False,
    )
    if done.n_decided:
        return None
    return "Somebody decided on this object meanwhile" if done.n_before else "This version cannot be taken; it is gone"


def _name_of(chosen: Mapping[str, Any]) -> str:
    """Name of the person who decides."""
    if not chosen.get("by"):
        raise AgreementInputError("Say your name first: it is stored with every decision")
    return str(chosen["by"])


def _next(chosen: Mapping[str, Any]) -> int:
    """Number of the next step; the App is told only of changes."""
    return int(chosen.get("n") or 0) + 1


def way_of(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The object that somebody went back to, and the objects, beside an image those of it, that one can go back to."""
    return {name: chosen.get(name) for name in ("at", "past", "sample")}


def seen_again(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """State when others may have decided meanwhile: the same, to be shown anew."""
    return {**chosen, "n": _next(chosen)}


def after_decision(chosen: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """State after a decision: the next object, with a way back to this one."""
    here = [str(params.get("document")), str(params.get("unit"))]
    past = [*(each for each in chosen.get("past") or () if each != here), here]
    return {**chosen, "at": None, "past": past[-_MOST_BACK:], "n": _next(chosen)}


def one_back(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """State after going back to the object before."""
    past = list(chosen.get("past") or [])
    return {**chosen, "at": past.pop() if past else None, "past": past, "n": _next(chosen)}


def undo_last(dataset: fo.Dataset, run_key: str, chosen: Mapping[str, Any]) -> dict[str, Any] | None:
    """Take back what the user decided last; what is chosen then, with its object in hand. None if there was nothing."""
    if Gold.left_in(dataset, names.DEFAULT_GOLD_FIELD) is None:
        return None
    gold = Gold.open(dataset, names.DEFAULT_GOLD_FIELD)
    step = gold.latest_step(chosen.get("by"))
    found = None if step is None else gold.only_decision(step)
    if step is None or not gold.undo(step):
        return None
    reload_samples(dataset)
    past = chosen.get("past") or []
    at = None if found is None or found[1]["run_key"] != run_key else [found[0], found[1]["unit"]]
    if chosen.get("sample") and at not in past:  # beside a sample, objects of others are not shown
        at = None
    return {**chosen, "at": at, "past": [each for each in past if each != at], "n": _next(chosen)}


# ---- editing in the App ----


def edit_on(
    dataset: fo.Dataset, run_key: str, class_names: list[str], chosen: Mapping[str, Any], params: Mapping[str, Any]
) -> LabelToEdit | str:
    """The label of an object for the App's form; or what to tell the user if somebody was faster, or it is gone."""
    by = _name_of(chosen)
    labels = open_run_labels(dataset, run_key)
    place = str(params.get("document")), str(params.get("unit"))
    again = bool(chosen.get("at"))
    found = edit_object(labels, names.DEFAULT_GOLD_FIELD, *place, by=by, class_names=class_names, again=again)
    return "The object is gone, or somebody decided meanwhile that there is none" if found is None else found


def while_editing(
    dataset: fo.Dataset, chosen: Mapping[str, Any], params: Mapping[str, Any], found: LabelToEdit, active: list[str]
) -> dict[str, Any]:
    """State while a label is edited: its object stays, and its sample is watched for edits.

    Args:
        chosen: what was chosen before
        active: fields that the App shows, and shall show afterwards
    """
    watched = {**(chosen.get("watched") or {}), **stamps_of(dataset, [found.sample_id])}
    return {
        **chosen,
        "at": [str(params.get("document")), str(params.get("unit"))],
        "editing": {
            "shown": found.shown_id,
            "opens": "view",
            "fields": found.fields,
            "active": active,
            "step": found.step,
        },
        "watched": dict(list(watched.items())[-_MOST_WATCHED:]),
        "n": _next(chosen),
    }


def is_decided(dataset: fo.Dataset, run_key: str, params: Mapping[str, Any]) -> bool:
    """True if somebody decided on the object of a button."""
    labels = open_run_labels(dataset, run_key)
    found = shown_object(labels, names.DEFAULT_GOLD_FIELD, str(params.get("document")), str(params.get("unit")))
    return found is not None and found.state not in (OPEN, SKIPPED)


def after_editing(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """State after the user left the form: an edit may still be on its way to the database."""
    step = (chosen.get("editing") or {}).get("step")
    left = [] if step is None else [[step, time.time()]]
    return {**chosen, "editing": None, "left": [*(chosen.get("left") or []), *left]}


def after_edits(dataset: fo.Dataset, run_key: str, chosen: Mapping[str, Any]) -> dict[str, Any] | None:
    """Record what was edited in the samples that the user opened to edit, and close the forms; None if nothing was."""
    watched = chosen.get("watched") or {}
    if (watched or chosen.get("left")) and Gold.left_in(dataset, names.DEFAULT_GOLD_FIELD) is None:
        return {**chosen, "left": [], "watched": {}}  # everything was taken back, and the field is gone
    left = [each for each in chosen.get("left") or () if each[1] < time.time() - _SAVED_SECONDS]
    for step, _ in left:
        close_unedited(dataset, names.DEFAULT_GOLD_FIELD, step)
    if left:
        chosen = {**chosen, "left": [each for each in chosen["left"] if each not in left], "n": _next(chosen)}
    stamps = stamps_of(dataset, list(watched))
    changed = [each for each, stamp in stamps.items() if stamp != watched[each]]
    if not changed:
        return dict(chosen) if left else None
    record_own_labels(dataset.select(changed), run_key, by=_name_of(chosen))
    return {**chosen, "watched": {each: stamps.get(each, watched[each]) for each in watched}, "n": _next(chosen)}
