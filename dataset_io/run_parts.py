"""Parts of a run with methods of their own: ``run.objects`` and ``run.decisions``."""

from __future__ import annotations

import os
from pathlib import Path

from fiftyone.core.view import DatasetView

from .. import names
from ..agreement.settings.arguments import takes_arrays
from .decide.against import decided_against, report_decisions
from .decide.apply import apply_decisions, undo_applied
from .decide.decide import decide
from .decide.gold import delete_decisions, list_decisions, undo_decisions
from .decide.next_object import record_own_labels
from .results.decided_labels import export_decided, export_decided_against
from .results.load import report_decisions_with
from .run_methods import DatasetMethod, Method, RunPart, part_of_runs
from .units.units_field import add_units, agreement_patches, resolve_units

report_decisions_with(report_decisions)


@part_of_runs
class RunObjects(RunPart):
    """The objects that the labels of a run show: fields with one label each, patches."""

    _said = "run.objects"

    write = Method(add_units, whole=True)
    consensus = Method(resolve_units, whole=True)
    patches = Method(agreement_patches)


@part_of_runs
class RunDecisions(RunPart):
    """Decisions on the objects of a run: which version is right. They outlive the run, as they hang on the labels."""

    _said = "run.decisions"

    decide = Method(decide)
    list = DatasetMethod(list_decisions)
    undo = DatasetMethod(undo_decisions, whole=True)
    delete = DatasetMethod(delete_decisions, whole=True)
    apply = Method(apply_decisions)
    undo_applied = DatasetMethod(undo_applied, whole=True)
    record_own = Method(record_own_labels)
    report = Method(report_decisions)
    export = DatasetMethod(export_decided)

    @takes_arrays
    def against(self, annotator: str, *, gold: str = names.DEFAULT_GOLD_FIELD) -> DatasetView:
        """A view of what somebody, not a rule, decided against an annotator, beside what is right."""
        samples, key = self._given(False, "against")
        return decided_against(samples, annotator, key, gold=gold)

    @takes_arrays
    def export_against(
        self,
        annotator: str,
        path: str | os.PathLike[str] = "decided_against.html",
        *,
        gold: str = names.DEFAULT_GOLD_FIELD,
        reference: bool = False,
        overwrite: bool = False,
    ) -> Path:
        """Write what was decided against an annotator, or what the reference says against them, as a page (``.html``)
        or a table (``.csv``)."""
        samples, key = self._given(False, "export_against")
        return export_decided_against(
            samples, annotator, key, path, gold=gold, reference=reference, overwrite=overwrite
        )
