"""Any sequence of what people do: deciding, applying and taking back; editing and updating."""

from __future__ import annotations

import functools

import fiftyone as fo
import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from tests.dataset_io.quick_runs import ANNOTATORS
from tests.dataset_io.said import said_dataset
from tests.dataset_io.test_update import KINDS, assert_like_a_new_run, random_edits, random_sample
from tests.datasets import detections, random_annotators, user_values

from annotator_agreement import compute

pytestmark = pytest.mark.long

_few = settings(max_examples=3, stateful_step_count=12, deadline=None, derandomize=True, phases=[Phase.generate])


class Adjudication(RuleBasedStateMachine):
    """What was done last is taken back exactly, however it came about; nothing else touches a label.

    ``history`` has what is to be taken back: a kind of step, and the state before it.
    """

    def __init__(self, make_dataset, kind):
        super().__init__()
        self._make, self.kind, self.history = functools.partial(_adjudicated, make_dataset, kind), kind, []

    @initialize()
    def begin(self):
        self.dataset = self._make()
        self.run = compute(self.dataset, ANNOTATORS, resamples=0, overwrite=True)
        self.labels = self._state()[0]

    def _state(self):
        """The annotators' labels; what is right; and the decisions, without those that were taken back."""
        self.dataset.reload()
        labels = user_values(self.dataset, ["agreement", "agreement_gold"])
        has_gold = self.dataset.has_field("agreement_gold")
        right = [_right(value) for value in self.dataset.values("agreement_gold")] if has_gold else []
        made = [(each.sample_id, each.unit, each.choice, each.annotator, each.decided_by, each.step, each.applied)
                for each in self.run.decisions.list()]  # fmt: skip
        return labels, [each for each in right if each], sorted(made, key=str)

    def _did(self, kind, before, step):
        """Remember a step; what did nothing left all as it was."""
        if step is None:
            assert self._state() == before
        else:
            self.history.append((kind, before))

    @rule(what=st.sampled_from(["decide"] * 3 + ["apply"] * 2 + ["take_back"] * 2 + ["recompute"]), data=st.data())
    def act(self, what, data):
        """One rule for all: hypothesis leaves out some rules of every machine, and few machines are run."""
        getattr(self, what)(data.draw)

    def decide(self, draw):
        choice = draw(st.sampled_from(["consensus", "none", "skip", *ANNOTATORS]))
        some = draw(st.sampled_from([{"all": True}, {"all": True}, {"min_votes": 2}, {"verdict": "agreed"}]))
        version = {"annotator": choice} if choice in ANNOTATORS else {}
        options = {"by": draw(st.sampled_from(["mia", "noa"])), "overwrite": draw(st.booleans()), **some, **version}
        before = self._state()
        self._did("decided", before, self.run.decisions.decide("version" if version else choice, **options).step)

    def apply(self, draw):
        if self.history:
            who, before = draw(st.sampled_from(ANNOTATORS)), self._state()
            changes = draw(st.sampled_from([None, ["class"], ["delete", "add"]])) if self.kind == "boxes" else None
            self._did("applied", before, self.run.decisions.apply(annotators=who, changes=changes, by="mia").step)

    def take_back(self, draw=None):
        if self.history:
            kind, before = self.history.pop()
            undo = self.run.decisions.undo_applied if kind == "applied" else self.run.decisions.undo
            undo()
            assert self._state() == before

    def recompute(self, draw):
        before = self._state()
        if draw(st.booleans()):
            self.run.update()
        else:
            self.run = compute(self.dataset, ANNOTATORS, resamples=0, overwrite=True)
        assert self._state() == before

    @invariant()
    def only_what_is_applied_changes_labels(self):
        if not any(kind == "applied" for kind, _ in self.history) and hasattr(self, "labels"):
            assert user_values(self.dataset, ["agreement", "agreement_gold"]) == self.labels

    def teardown(self):
        while self.history:
            self.take_back()


def _adjudicated(make_dataset, kind):
    if kind == "boxes":
        return make_dataset(random_annotators(6, seed=4))
    return said_dataset(make_dataset, kind, 6)


def _right(label):
    """The labels that are right on a sample; a label that comes back may stand elsewhere in the list."""
    labels = [] if label is None else getattr(label, getattr(label, "_LABEL_LIST_FIELD", ""), [label])
    return sorted(str(each.to_dict()) for each in labels)


@pytest.mark.parametrize("kind", ["boxes", "labels", "tags"])
def test_decisions_are_taken_back_exactly_after_any_sequence(make_dataset, kind):
    run_state_machine_as_test(lambda: Adjudication(make_dataset, kind), settings=_few)


class Editing(RuleBasedStateMachine):
    """However labels, lists and samples are edited, added and deleted: an updated run is what a new run would be."""

    def __init__(self, make_dataset, kind):
        super().__init__()
        self.make_dataset, (self.make_labels, options) = make_dataset, KINDS[kind]
        self.options = {**options, "resamples": 0}

    @initialize(seed=st.integers(0, 99))
    def begin(self, seed):
        self.rng, self.dataset = np.random.default_rng(seed), self.make_dataset({})
        self.dataset.add_samples([random_sample(self.rng, self.make_labels) for _ in range(8)], dynamic=True)
        self.run = compute(self.dataset, ANNOTATORS, **self.options)

    @rule(what=st.sampled_from(["edit", "empty", "draw", "add", "update"]), name=st.sampled_from(ANNOTATORS))
    def act(self, what, name):
        getattr(self, what)(name)

    def edit(self, name):
        if len(self.dataset) > 4:
            random_edits(self.rng, self.dataset, self.make_labels)

    def empty(self, name):
        sample = self.dataset.first()
        sample[name] = None
        sample.save()

    def draw(self, name):
        sample = self.dataset.last()
        if isinstance(sample[name], fo.Detections):
            sample[name].detections += detections([("owl", (0.1, 0.2, 0.3, 0.3))]).detections
            sample.save()

    def add(self, name):
        self.dataset.add_samples([random_sample(self.rng, self.make_labels)], dynamic=True)

    def update(self, name=None):
        self.run.update()
        assert not self.run.changed()
        assert_like_a_new_run(self.dataset, self.run.report, self.dataset, ANNOTATORS, **self.options)

    def teardown(self):
        self.update()


@pytest.mark.parametrize("kind", ["boxes", "tags"])
def test_a_run_follows_any_sequence_of_edits(make_dataset, kind):
    run_state_machine_as_test(lambda: Editing(make_dataset, kind), settings=_few)
