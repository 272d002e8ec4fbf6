"""Every number of the panel that leads to labels: the labels of the view are those that the report counts.

On random datasets of all label types. What is expected comes from the tables of the run, ``report.labels()`` and
``report.units()``, one label after the other.
"""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import numpy as np
import pytest

from tests.chance import seeds
from tests.datasets import with_regions
from tests.panels.conftest import shown_of
from tools.stress.options import TYPES

from annotator_agreement.agreement.ratings import agreeing
from annotator_agreement.agreement.settings import value_name
from annotator_agreement.dataset_io import compute_agreement
from annotator_agreement.dataset_io.record import open_run_labels
from annotator_agreement.panels import panel_state_of, samples_behind, view_model

pytestmark = pytest.mark.long

#: columns of tables whose numbers count units, or pairs of labels; those of all others count labels, or images
_UNITS = {"votes", "by_class", "classes", "left_out", "Missed"}
_PAIRS = {"confusion", "Confused with"}


class Expected:
    """The labels of a run and their units, from its tables."""

    def __init__(self, dataset, report, labels):
        self.labels, self.rows, self.units = labels, [], {}
        self.scores = dict(zip(*dataset.values(["id", "agreement_score"]), strict=True))
        n_annotators = dict(zip(*dataset.values(["id", "agreement_n_annotators"]), strict=True))
        self.n_annotators = {key: n for key, n in n_annotators.items() if n is not None}
        for row in report.units().to_dict("records"):
            self.units[_document(row), row["unit"]] = {**row, "members": []}
        for row in report.labels().to_dict("records"):
            if isinstance(row["unit"], str):  # not crowd, and no tag that somebody gave again
                unit = self.units[_document(row), row["unit"]]
                unit["members"].append(row)
                self.rows.append((row, unit))

    def of(self, options):
        """The rows of the labels that fulfil the options of a link."""
        return [(row, unit) for row, unit in self.rows if self._fulfils(row, unit, **options)]

    def _fulfils(self, row, unit, verdict=(), annotators=(), missed_by=None, classes=(), confusion=(), votes=None,
                 assigned=(None, None), min_score=None, max_score=None, n_annotators=None):  # fmt: skip
        annotators, classes, verdict = (
            (given,) if isinstance(given, str) else tuple(given) for given in (annotators, classes, verdict)
        )
        said, score = (
            {member["annotator"]: member["label"] for member in unit["members"]},
            self.scores[row["sample_id"]],
        )
        own = (row if self.labels.family.has_objects or self.labels.family.name == "tags" else unit).get("verdict")
        whole = self.labels.kinds[0].list_name is None
        conditions = [
            not verdict or own in verdict,
            not annotators or (set(annotators) <= set(said) if whole else row["annotator"] in annotators),
            missed_by is None or (missed_by in unit["missed_by"] and unit["votes"] >= 2),
            not classes or bool(set(classes) & set(map(_text, said.values()))),
            votes is None or unit["votes"] == votes,
            assigned[0] is None or unit["assigned"] >= assigned[0],
            assigned[1] is None or unit["assigned"] <= assigned[1],
            min_score is None or (score is not None and score >= min_score),
            max_score is None or (score is not None and score <= max_score),
            n_annotators is None or self.n_annotators[row["sample_id"]] >= n_annotators["$gte"],
        ]
        if len(annotators) == 2 and self.labels.family.verdicts:
            conditions.append(self._differ(said, unit, *annotators))
        if confusion:
            conditions.append(self._confused(row, said, annotators, *confusion, whole=whole))
        return all(conditions)

    def _differ(self, said, unit, a, b):
        if a in said and b in said and not isinstance(said[a], str):
            tolerance = self.labels.config.tolerance
            return not agreeing(np.float64(said[a]), np.float64(said[b]), tolerance)
        return (
            (a in said or b in said) and said.get(a) != said.get(b) and not {a, b} - set(said) - set(unit["missed_by"])
        )

    @staticmethod
    def _confused(row, said, annotators, first, second, *, whole):
        of_first, of_second = (annotators[:1] or said), (annotators[1:] or said)
        met = any(_text(said.get(a)) == first for a in of_first) and any(
            _text(said.get(b)) == second for b in of_second
        )
        return met and (whole or _text(row["label"]) in (first, second))


def _text(value):
    return value if value is None else value_name(value)


def _document(row):
    return (row["sample_id"], row.get("frame_number"))


def _found(view, labels):
    """What a view shows: the ids of labels, or samples; of videos on their frames.

    From the documents as they are stored: samples of FiftyOne take ten times as long.
    """
    kind = labels.kinds[0]
    fields = [name for name in labels.config.fields if view.has_field(name)]
    found = set()
    for sample in view._aggregate(attach_frames=labels.on_frames):
        sample_id = str(sample["_id"])
        documents = [((sample_id, None), sample)]
        if labels.on_frames:
            documents = [((sample_id, frame["frame_number"]), frame) for frame in sample["frames"]]
        for key, document in documents:
            if kind.list_name is None:
                found.add(key)
                continue
            for field in fields:
                held = document.get(field.removeprefix("frames.")) or {}
                for label in held.get(kind.list_name) or ():
                    found.add((*key, field, str(label["_id"])))
    return found


def _with_masks(dataset, labels, annotators):
    """The samples, or frames, with a score to which all of some annotators gave a mask."""
    score = labels.path_of("_score")
    ids, scores, *masks = dataset.values(["id", score, *map(labels.field_of, annotators)])
    numbers = [[None]] * len(ids)
    if labels.on_frames:
        numbers = dataset.values("frames.frame_number")
    else:
        scores, *masks = ([[value] for value in values] for values in (scores, *masks))
    return {
        (ids[k], number)
        for k, of_sample in enumerate(numbers)
        for n, number in enumerate(of_sample)
        if scores[k][n] is not None and all(values[k][n] is not None for values in masks)
    }


def _keys(rows, labels):
    """The same of rows of the table of labels."""
    if labels.kinds[0].list_name is None:
        return {_document(row) for row, _ in rows}
    return {(*_document(row), row["field"], row["label_id"]) for row, _ in rows}


def _counted(rows, what, options):
    if what in _PAIRS:
        a, b = options["confusion"]
        units = {id(unit): Counter(_text(member["label"]) for member in unit["members"]) for _, unit in rows}
        return sum(unit[a] * unit[b] for unit in units.values())
    return len({id(unit) for _, unit in rows}) if what in _UNITS else len(rows)


def _links(model):
    """Every link of a tab: what it counts, its number or None, and its options."""
    for item in model["items"]:
        if item["kind"] == "table":
            for row, links in zip(item["rows"], item["links"], strict=True):
                for (column, title), leads in zip(item["columns"], links, strict=True):
                    if leads is not None and "seek" not in leads and "against" not in leads:
                        what = title.strip(" ▾▴") if title.strip(" ▾▴") in _UNITS | _PAIRS else item["name"]
                        yield what, row[column], leads["options"]
        for points, trace in [(item["points"], item["data"][0])] if item.get("points") else []:
            for n, leads in zip(trace["y"], points, strict=True):
                yield item["name"], str(n), leads["options"]
    for card in model["cards"]:
        if card["link"] is not None:
            yield "card", card["value"], card["link"]["options"]


#: where no number says what the view has: a score, or the other class
_NO_COUNT = {"pairs", "other_classes", "skill"}


def _number(what, text):
    if what == "Confused with":
        return int(re.search(r"\(([\d,]+)\)", text)[1].replace(",", ""))
    found = re.search(r"([\d,]+) in conflict", text) or re.match(r"[\d,]+", text)
    return int(found[1 if found.lastindex else 0].replace(",", ""))


def check_every_link(dataset, report, *, every=1):
    """Compare what every link of the panel (every so many-th of those alike) shows with the tables of the run."""
    shown, state = shown_of(dataset), panel_state_of(dataset, None)
    labels = open_run_labels(dataset, "agreement")
    expected, n_links = Expected(dataset, report, labels), Counter()
    whole = labels.kinds[0].list_name is None
    for tab in view_model.view_model(shown, state)["tabs"]:
        for what, text, options in _links(view_model.view_model(shown, state, tab)):
            n_links[what] += 1
            if n_links[what] % every:
                continue
            view = samples_behind(dataset, state, {"options": options})
            if not set(options) - {"n_annotators", "min_score", "max_score"}:  # samples, with all their labels
                if not labels.on_frames:
                    disputed = "max_score" in options and what == "card"
                    n = len(view) if not disputed else shown.n_disputed
                    assert n == _number(what, text), (what, text, options)
                continue
            if labels.family.has_objects and options.get("verdict") == "crowd":
                assert len(_found(view, labels)) == _number(what, text), (what, text, options)
                continue
            found = _found(view, labels)
            if labels.family.name == "pixels":  # a mask without any class is in no row of a table
                assert found == _with_masks(dataset, labels, options["annotators"]), (what, text, options)
                continue
            rows = expected.of(options)
            assert found == _keys(rows, labels), (what, text, options)
            if what not in _NO_COUNT and text:
                if (whole and what not in _PAIRS) or (labels.family.name == "tags" and what == "classes"):
                    n = len({_document(row) for row, _ in rows})
                elif what == "card":
                    n = len({id(unit) for _, unit in rows})
                else:
                    n = _counted(rows, what, options)
                assert n == _number(what, text), (what, text, options)
    return n_links


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("in_one_field", [False, True])
def test_with_crowd_regions(make_dataset, seed, in_one_field):
    dataset, fields, options = with_regions(make_dataset, seed, in_one_field=in_one_field)
    report = compute_agreement(dataset, fields, resamples=0, progress=False, **options)
    n_links = check_every_link(dataset, report)
    assert {"verdicts", "votes", "classes", "pairs", "Missed", "left_out", "confusion"} <= set(n_links)


@pytest.mark.parametrize(("n", "in_one_field"), [(70, True), (12, False)])
def test_of_crowds_labels_are_found_by_their_ids(make_dataset, n, in_one_field):
    """More annotators than labels name; more fields than an expression names."""
    names = [f"w{k:02d}" for k in range(n)]
    dataset, fields, options = with_regions(
        make_dataset, 3, in_one_field=in_one_field, names=names, n_samples=2 if in_one_field else 3
    )
    report = compute_agreement(dataset, fields, resamples=0, progress=False, **options)
    assert check_every_link(dataset, report, every=4)["pairs"] > 10


@pytest.mark.parametrize("labelled", TYPES, ids=lambda labelled: labelled.name)
def test_of_all_label_types(private_fiftyone, tmp_path, labelled):
    random = Random(f"0 {labelled.name}")
    dataset = labelled.dataset(0, tmp_path)
    try:
        arguments = {**labelled.arguments(random, tmp_path), "invalid": "skip", "resamples": 0}
        try:
            report = compute_agreement(dataset, arguments.pop("fields"), **arguments, progress=False)
        except ValueError:
            return
        check_every_link(dataset, report)
    finally:
        dataset.delete()
