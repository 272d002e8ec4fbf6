"""Any sequence of what people do: deciding, applying and taking back."""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tests.dataset_io.quick_runs import ANNOTATORS
from tests.dataset_io.said import said_dataset
from tests.datasets import random_annotators, user_values

from annotator_agreement import compute

pytestmark = pytest.mark.long

_few = settings(max_examples=2, stateful_step_count=10, deadline=None, derandomize=True, phases=[Phase.generate])


class Adjudication(RuleBasedStateMachine):
    """What was done last is taken back exactly, however it came about; nothing else touches a label.

    ``history`` has what is to be taken back: a kind of step, and the state before it.
    """

    def __init__(self, make_dataset, kind):
        super().__init__()
        self._make, self.kind, self.history = make_dataset, kind, []

    @initialize()
    def begin(self):
        is_boxes = self.kind == "boxes"
        self.dataset = self._make(random_annotators(4, seed=4)) if is_boxes else said_dataset(self._make, self.kind, 4)
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


def _right(label):
    """The labels that are right on a sample; a label that comes back may stand elsewhere in the list."""
    labels = [] if label is None else getattr(label, getattr(label, "_LABEL_LIST_FIELD", ""), [label])
    return sorted(str(each.to_dict()) for each in labels)


@pytest.mark.parametrize("kind", ["boxes", "labels", "tags"])
def test_decisions_are_taken_back_exactly_after_any_sequence(make_dataset, kind):
    run_state_machine_as_test(lambda: Adjudication(make_dataset, kind), settings=_few)
