"""Tab of the panel for adjudication: decide on disputed objects, tags or samples, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import fiftyone as fo

from .. import names
from ..agreement.disputes.judged import AnnotatorDecided, DecisionReport
from ..agreement.families.family import FAMILIES
from ..agreement.statistics.values import read
from ..charts.reports.decided import DECIDED, decision_columns, decisions_section
from ..charts.text.sections import Column
from ..charts.text.words import VERDICTS, counted, file_name, shown_number
from ..dataset_io.app.settings import annotator_colors
from ..dataset_io.decide.decision_log import is_opened
from ..dataset_io.decide.decision_units import CHANGED, ObjectsToDecide, objects_to_decide
from ..dataset_io.decide.next_object import (
    MEANT,
    ShownObject,
    Sought,
    can_edit,
    files_of,
    next_object,
    shown_object,
)
from ..dataset_io.record.run_labels import RunLabels, open_run_labels
from ..dataset_io.results.picture import picture_of
from .items import Button, Choices, Item, Link, button_item, form_button, link, named, table_item, text_item

if TYPE_CHECKING:
    from .panel_state import PanelState, ShownReport

#: value of a dropdown that does not filter
ALL = "all"
#: versions that a key can choose, at most
_MOST_KEYS = 9


def decide_items(shown: ShownReport, state: PanelState, choices: Choices, dataset: fo.Dataset | None) -> Iterator[Item]:
    """The next object with the versions of all annotators, the progress, and buttons."""
    if dataset is None:
        return
    chosen = choices.decide
    if not chosen.get("by"):
        yield _who(chosen)
        return
    labels = open_run_labels(dataset, state.run_key or "")
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


def beside_items(
    shown: ShownReport, state: PanelState, chosen: Mapping[str, Any], dataset: fo.Dataset
) -> Iterator[Item]:
    """The next object of the open sample, with a button to the next sample."""
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


def next_sample(shown: ShownReport, labels: RunLabels, sample_id: str | None) -> str | None:
    """Id of another sample, with the most costly object that is still to be decided; None if there is none."""
    objects, ids = shown.costly(Sought()), shown.index.ids()
    others = objects.select([ids[row] != sample_id for row in objects.row.tolist()])
    found = next_object(labels, names.DEFAULT_GOLD_FIELD, shown.index, others, Sought())
    if found is None:
        return None
    about = shown_object(labels, names.DEFAULT_GOLD_FIELD, *found)
    return None if about is None else about.sample_id


def _numbers(chosen: Mapping[str, Any], choices: Choices) -> Iterator[Item]:
    """Table of the accuracy of all annotators, on request, because it takes too long after every click."""
    then: Mapping[str, Any] = chosen.get("counted") or {}
    is_counted = "n_decided" in then  # an earlier version left other values
    label = "Count again" if is_counted else "How right everybody was"
    buttons: list[Button] = [
        (label, "fact_check", "count_decisions", {}),
        form_button("Decide many by a rule", "gavel", names.DECIDE, by=chosen["by"]),
        form_button("Export what was decided", "file_download", names.EXPORT_DECIDED),
    ]
    yield button_item("count", "", buttons)
    if not is_counted:
        return
    report: DecisionReport = read(DecisionReport, then)
    if not report.n_decided:
        yield text_item("counted", _NOTHING)
        yield table_item("right", [], [], choices, title=DECIDED)
        return

    def against(entry: AnnotatorDecided) -> Link | None:
        if report.field.startswith(names.FRAMES_PREFIX) or entry is report.by_rule:
            return None
        return {**link(f"Decided against {entry.name}"), "against": entry.name}

    *told, _, note = decisions_section(report).parts
    yield text_item("counted", " ".join(map(str, told)))
    who, *others = decision_columns(report)
    columns = [named(who.title, who.cell)]
    columns += [Column(each.title, each.cell, link=against if each.title in _AGAINST else None) for each in others]
    yield table_item("right", columns, report.rows, choices, title=DECIDED, note=str(note))
    if report.rows:
        buttons = [
            form_button("List to send", "outgoing_mail", names.EXPORT_DECIDED_AGAINST),
            form_button("Apply to labels", "published_with_changes", names.APPLY_DECISIONS),
            form_button("Take back from labels", "settings_backup_restore", names.UNDO_APPLIED),
        ]
        yield button_item("after", "", buttons)


#: columns that lead to what was decided against an annotator
_AGAINST = ("wrong", "missed", "too many")


_NOTHING = "Nothing is decided yet."
_DONE = "Everything that you look for is decided or skipped."
_NONE_FITS = "No disputed object fits these filters: choose others."
_NONE_DISPUTED = "Nothing is disputed, so there is nothing to decide."

#: label of the button to decide that no version is right, by what is decided on
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


def _item(shown: ShownReport, labels: RunLabels, sought: Sought, chosen: Mapping[str, Any]) -> Item:
    """The object, the progress, and the state of the buttons; beside an open sample without a picture."""
    opened = objects_to_decide(labels, names.DEFAULT_GOLD_FIELD, ())
    objects = shown.costly(sought)
    n_decided, n_skipped = opened.gold.counts(MEANT[sought.verdict], sought.annotator, sought.label, sought.votes)
    at = tuple(chosen["at"]) if chosen.get("at") else None
    found = None if at is None else shown_object(labels, names.DEFAULT_GOLD_FIELD, *at)
    if found is None:  # no object was chosen, or it is gone
        at = next_object(labels, names.DEFAULT_GOLD_FIELD, shown.index, objects, sought)
        found = None if at is None else shown_object(labels, names.DEFAULT_GOLD_FIELD, *at)
    colours = annotator_colors(labels, chosen.get("colours"))
    beside = sought.sample_id is not None
    # what the user decided last, which Undo takes back: in short, with the file, and its step
    undoes, step = None, opened.gold.latest_step(chosen["by"])
    if step is not None:
        undoes = ("decided by a rule", "Takes back all that was decided at once, by a rule", step)
        if last := opened.gold.only_decision(step):
            said, ((_, frame, path),) = _choice_said(last[1], _NONE[opened.unit]), files_of(opened, [last[0]]).values()
            of_frame = "" if frame is None else f", frame {frame}"
            undoes = (said, f"Takes back: {said}, {file_name(path)}{of_frame}", step)
    return {
        "name": "decide",
        "kind": "decide",
        "by": chosen["by"],
        "progress": f"{n_decided:,} of {int(objects.n.sum()):,} decided"
        + (f", {n_skipped:,} skipped" if n_skipped else ""),
        "n_skipped": n_skipped,
        "n": int(objects.n.sum()),
        "is_filtered": sought != Sought(skipped=sought.skipped),
        "filters": [] if beside else _filters(shown, opened, sought),
        "filtering": bool(chosen.get("filtering")),
        "can_go_back": bool(chosen.get("past")),
        "beside": beside,
        "undoes": undoes,
        "object": None if found is None else _described(found, labels, opened, colours, with_picture=not beside),
        "can_edit": can_edit(opened) and not beside,
        "is_edited": bool(chosen.get("editing")),
    }


def _filters(shown: ShownReport, opened: ObjectsToDecide, sought: Sought) -> list[dict[str, Any]]:
    """The dropdowns that filter objects: name, chosen value, and the titles of all values."""
    of_family = FAMILIES[shown.report.family].verdicts
    verdicts = {name: VERDICTS[name] for name in MEANT if name is not None and name in of_family}
    annotators = {name: name for name in shown.annotator_codes}
    filters = [("verdict", sought.verdict, {ALL: "all disputed", **verdicts})] if len(verdicts) > 1 else []
    filters.append(("annotator", sought.annotator, {ALL: "everybody", **annotators}))
    if opened.has_classes:
        filters.append(("label", sought.label, {ALL: "all classes", **{name: name for name in shown.class_names}}))
    if opened.has_votes:
        votes = {str(n): f"drawn by {n}" for n in range(1, len(annotators) + 1)}
        chosen = None if sought.votes is None else str(sought.votes)
        filters.append(("votes", chosen, {ALL: "any votes", **votes}))
    return [{"name": name, "value": chosen or ALL, "titles": titles} for name, chosen, titles in filters]


def _described(
    found: ShownObject, labels: RunLabels, opened: ObjectsToDecide, colours: Mapping[str, str], *, with_picture: bool
) -> dict[str, Any]:
    """Content of an object in the tab, and the parameters of its buttons."""
    decision = None if found.decision is None else found.decision["id"]
    place, none_label = {"document": found.document_id, "unit": found.unit, "decision": decision}, _NONE[opened.unit]
    none = {**place, "choice": "none"}
    drew, measure = {version.annotator: version for version in found.versions}, labels.kinds[0].measure
    versions: list[dict[str, Any]] = [
        {
            "label": f"{name}: {drew[name].label}",
            "hint": "" if drew[name].iou is None else f"{measure} {shown_number(drew[name].iou, 2)} with the others",
            "colour": colours[name],
            "params": {**place, "choice": "version", "annotator": name},
        }
        if name in drew
        else {"label": f"{name}: nothing", "hint": none_label, "colour": colours[name], "params": none}
        for name in sorted({*drew, *found.missing})
    ]
    for k, version in enumerate(versions):
        version |= {"key": str(k + 1) if k < _MOST_KEYS else None, "disabled": False}
    if opened.has_consensus:
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
        "title": f"{(VERDICTS | {'class_conflict': opened.conflict}).get(str(found.verdict), '')} · "
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
