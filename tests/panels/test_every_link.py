"""Every number of the panel that leads to labels: the view has as many as the number says.

On random datasets of all label types. Which labels fulfil an option is tested where views are made, in ``dataset_io``.
"""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest

from tests.chance import seeds
from tests.datasets import with_regions
from tests.panels.conftest import shown_of
from tools.stress.options import TYPES

from annotator_agreement.agreement.settings import value_name
from annotator_agreement.dataset_io import compute_agreement
from annotator_agreement.dataset_io.record import open_run_labels
from annotator_agreement.panels import panel_state_of, samples_behind, view_model

pytestmark = pytest.mark.long

#: columns of tables whose numbers count units, or pairs of labels; those of all others count labels, or images
_UNITS = {"votes", "by_class", "classes", "left_out", "Missed"}
_PAIRS = {"confusion", "Confused with"}


class Labels:
    """The labels of a run and their units, by the ids of labels, or of samples where these were labelled as a whole."""

    def __init__(self, dataset, report):
        self.of_run = open_run_labels(dataset, "agreement")
        self.whole = self.of_run.kinds[0].list_name is None
        self.rows = {}
        for row in report.labels().to_dict("records"):
            if isinstance(row["unit"], str):  # not crowd, and no tag that somebody gave again
                key = _document(row) if self.whole else (*_document(row), row["field"], row["label_id"])
                self.rows.setdefault(key, []).append(row)

    def in_view(self, view):
        """What a view shows: the ids of labels, or samples; of videos on their frames.

        From the documents as they are stored: samples of FiftyOne take ten times as long.
        """
        found, on_frames, list_name = set(), self.of_run.on_frames, self.of_run.kinds[0].list_name
        fields = [name for name in self.of_run.config.fields if view.has_field(name)]
        for sample in view._aggregate(attach_frames=on_frames):
            documents = sample["frames"] if on_frames else [sample]
            for document in documents:
                key = (str(sample["_id"]), document["frame_number"] if on_frames else None)
                if self.whole:
                    found.add(key)
                    continue
                for field in fields:
                    held = document.get(field.removeprefix("frames.")) or {}
                    found |= {(*key, field, str(label["_id"])) for label in held.get(list_name) or ()}
        return found

    def n(self, found, what, options):
        """How many labels, units, pairs of labels or samples are found."""
        if what not in _PAIRS and (self.whole or (self.of_run.family.name == "tags" and what == "classes")):
            return len({key[:2] for key in found})
        units = {}
        for row in (row for key in found for row in self.rows[key]):
            units.setdefault((_document(row), row["unit"]), []).append(_text(row["label"]))
        if what in _PAIRS:
            a, b = options["confusion"]
            return sum(said.count(a) * said.count(b) for said in units.values())
        return len(units) if what in _UNITS | {"card"} else sum(map(len, units.values()))


def _text(value):
    return value if value is None else value_name(value)


def _document(row):
    return (row["sample_id"], row.get("frame_number"))


def _links(model):
    """Every link of a tab: what it counts, its number or None, and its options."""
    for item in model["items"]:
        if item["kind"] == "table":
            for row, links in zip(item["rows"], item["links"], strict=True):
                for (column, title), leads in zip(item["columns"], links, strict=True):
                    if leads is not None and not {"seek", "against"} & leads.keys():
                        if item["name"] == "pairs" and title in leads["options"].get("annotators", ()):
                            assert set(leads["options"]["annotators"]) == {title, row[item["columns"][0][0]]}
                        what = title.strip(" ▾▴") if title.strip(" ▾▴") in _UNITS | _PAIRS else item["name"]
                        yield what, row[column], leads["options"]
        for points, trace in [(item["points"], item["data"][0])] if item.get("points") else []:
            yield from ((item["name"], str(n), leads["options"]) for n, leads in zip(trace["y"], points, strict=True))
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
    """Compare the number of every link of the panel (every so many-th of those alike) with what it shows."""
    shown, state = shown_of(dataset), panel_state_of(dataset, None)
    labels, n_links = Labels(dataset, report), Counter()
    for tab in view_model.view_model(shown, state)["tabs"]:
        for what, text, options in _links(view_model.view_model(shown, state, tab)):
            n_links[what] += 1
            if n_links[what] % every:
                continue
            view = samples_behind(dataset, state, {"options": options})
            if not set(options) - {"n_annotators", "min_score", "max_score"}:  # samples, with all their labels
                disputed = "max_score" in options and what == "card"
                n = shown.n_disputed if disputed else len(view)
                assert labels.of_run.on_frames or n == _number(what, text), (what, text, options)
                continue
            found = labels.in_view(view)
            if what in _NO_COUNT or not text or labels.of_run.family.name == "pixels":
                continue
            is_crowd = labels.of_run.family.has_objects and options.get("verdict") == "crowd"
            n = len(found) if is_crowd else labels.n(found, what, options)
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
