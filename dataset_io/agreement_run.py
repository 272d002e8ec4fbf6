"""``AgreementRun``, a run with its results and actions as methods; ``compute``, ``load``, ``trend``, ``files``."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

import fiftyone as fo
from fiftyone.core.collections import SampleCollection

from .. import names
from ..agreement.families.compare import AgreementComparison
from ..agreement.parts.result import AgreementParts, trend_of
from ..agreement.settings.arguments import Public, called_as, check_call, takes_arrays, texts_of
from ..agreement.settings.errors import AgreementInputError
from ..agreement.settings.options import OPTIONS, TOGETHER, flat_options
from ..agreement.statistics.report import AgreementReport
from .annotation_files.exporting import export_annotations
from .annotation_files.importing import import_annotations
from .app.settings import configure_agreement_app
from .jobs.compute import compute_agreement, update_agreement
from .jobs.deletion import delete_agreement
from .jobs.lifecycle import rename_agreement
from .record.run import Run, dataset_of, list_agreements
from .record.run_labels import changed_since
from .record.schema import fields_marked
from .results.check import check_agreement
from .results.compare import compare_agreement
from .results.export import export_agreement
from .results.load import agreement_on, agreement_samples, load_agreement
from .results.measure_convergence import agreement_convergence
from .results.parts import open_parts
from .results.thresholds import agreement_rules, agreement_threshold_from_data, agreement_thresholds
from .run.read import Progress
from .run_methods import RUN_PARTS, Method, Methods, documented
from .views.agreement_view import save_agreement_views, view_agreement

if TYPE_CHECKING:
    from pandas import DataFrame

    from .run_methods import RunDecisions, RunObjects

#: names of the report that Tab on a run lists, too, each with a sentence in ``help(run)``; ``run.report`` lists all
_OF_REPORT = {
    *("score", "alpha", "image_alpha", "existence", "annotators", "pairs", "findings"),
    *("to_dataframe", "to_dict", "to_json", "plot_annotators", "plot_bias", "plot_classes", "plot_confusion"),
    *("plot_iou", "plot_models", "plot_pairs", "plot_scores", "plot_thresholds", "plot_votes"),
}


class AgreementRun(Methods):
    """A run of annotator agreement: its results, and the actions on it.

    Names that the run lacks are looked up in its report, which ``help(run.report)`` describes.
    ``help(run.view)`` describes the arguments of a method.

    Attributes:
        dataset: the dataset
        key: key of the run, with which all its fields begin
        objects: the objects that the labels show: ``write``, ``consensus``, ``patches``
        decisions: decisions on these objects: ``decide``, ``list``, ``undo``, ``delete``, ``apply``, ``undo_applied``,
            ``record_own``, ``report``, ``against``, ``export_against``, ``export``
        score: how much the labels of two annotators on an image have in common: ``run.score.mean``
        alpha: agreement beyond chance, of all annotators together: ``run.alpha.pooled``
        image_alpha: agreement beyond chance on whole images: ``run.image_alpha.value``
        existence: whether annotators see the same objects: ``run.existence.f1``
        annotators: a summary for every annotator
        pairs: a summary for every two annotators
        findings: annotators, pairs and classes that stand out, confirmed by tests
        to_dataframe: a table of the report: ``run.to_dataframe("classes")``
        to_dict: the whole report as JSON values
        to_json: the whole report as text in JSON
        plot_annotators: figure of the objects that each annotator missed, and of the verdicts on the labels of each
        plot_bias: figure of the boxes of each annotator against the median box
        plot_classes: figure of the agreement on every class
        plot_confusion: figure of the classes that annotators confused
        plot_iou: figure of the similarity of two labels of one object
        plot_models: figure of models beside annotators, by size and class
        plot_pairs: figure of the agreement of every two annotators
        plot_scores: figure of the scores of samples: ``run.plot_scores(run.samples())``
        plot_thresholds: figure of the main numbers at other matching thresholds
        plot_votes: figure of how many annotators drew an object
    """

    _said = "run"

    def __init__(self, dataset: SampleCollection, key: str, report: AgreementReport | None = None) -> None:
        """Open a run by its key; users call ``compute()`` or ``load()`` instead."""
        run = Run(dataset, key)
        self.dataset, self.key = run.dataset, run.key
        self._view: SampleCollection | None = None
        self._resamples: int | None = None
        self._report = report
        self.objects: RunObjects = RUN_PARTS["objects"](self)
        self.decisions: RunDecisions = RUN_PARTS["decisions"](self)

    def _given(self, whole: bool, place: str) -> tuple[SampleCollection, str]:
        if whole and self._view is not None:
            raise AgreementInputError(f"{place}() must be called on the whole run, got a part of it; leave out on(…)")
        return (self.dataset if self._view is None else self._view), self.key

    def _refuse_other(self, option: str, what: str, dataset: fo.Dataset) -> None:
        if dataset.name != self.dataset.name:
            raise AgreementInputError(
                f"`{option}` must be {what} of {self.dataset.name!r}, got one of {dataset.name!r}"
            )

    # ---- what it found ----

    @property
    def report(self) -> AgreementReport:
        """The report; read when it is first asked for."""
        if self._report is None:
            samples, key = self._given(False, "report")
            whole = self._view is None
            self._report = (
                load_agreement(samples, key) if whole else agreement_on(samples, key, resamples=self._resamples)
            )
        return self._report

    def print_report(self, full: bool = False, file: TextIO | None = None) -> None:
        """Print the report as text: the most important sections, or all of them (``full``)."""
        self.report.print_report(full, file)

    def labels(self) -> DataFrame:
        """All labels that were read, a row each; ``help(run.report.labels)`` describes the columns."""
        return self.report.labels()

    def units(self) -> DataFrame:
        """All objects (tags, classes of masks, samples), a row each; ``help(run.report.units)`` says more."""
        return self.report.units()

    @takes_arrays
    def by(self, field: str | None = None, *, views: Sequence[str | SampleCollection] | None = None) -> AgreementParts:
        """The main numbers for each part of the samples, and which parts differ from the others by test.

        From the stored records: no label is compared again. A sample with several values (tags, labels) is in several
        parts. Numbers are divided into quartiles, unless there are at most 10 different ones; dates by month (UTC). Of
        many values the 50 most frequent are parts, and the others one together; samples without a value are the part
        ``(none)``.

        Args:
            field: a field of samples (texts, switches, numbers, dates, ``"tags"``, classes of the image), or an
                attribute of the labels of the run (``"occluded"``, ``"label"``, or the whole path of one field): the
                part of a value are then the images that have a label with it
            views: saved views by name, or views, as parts; instead of ``field``

        Raises:
            AgreementInputError: if there is no such field or view, or a run wrote the field: its numbers would choose
                the parts
        """
        return open_parts(*self._given(False, "run.by")).by(field, views=views)

    samples = Method(agreement_samples)
    thresholds = Method(agreement_thresholds)
    rules = Method(agreement_rules)
    threshold_from_data = Method(agreement_threshold_from_data)
    convergence = Method(agreement_convergence)
    view = Method(view_agreement)

    @takes_arrays
    def on(self, view: SampleCollection, *, resamples: int | None = None) -> AgreementRun:
        """The part of the run on the samples of a view: its report, tables, views, decisions.

        Labels that were edited since, or that the view hides, make no difference to the report: it comes from the
        stored records. It has all numbers of the report on the whole run, as a run on the view would compute them; only
        the duration and the numbers of samples left out (changed meanwhile, repeated) are those of the whole run.

        Args:
            view: a view of the dataset; samples that the run did not see are left out
            resamples: number of resamples for the intervals; None for the number in the run, 0 for no intervals
        """
        self._given(True, "run.on")
        self._refuse_other("view", "a view", dataset_of(view))
        part = AgreementRun(self.dataset, self.key)
        part._view, part._resamples = view, resamples
        return part

    @takes_arrays
    def compare(
        self, before: str | AgreementRun | None = None, *, resamples: int = 1000, seed: int = 51
    ) -> AgreementComparison:
        """Compare with another run, over the samples that both have: what changed from that run to this one.

        Args:
            before: the other run, or its key; None: this run as it was before its last update
            resamples: how often the samples are resampled for the intervals of the differences; 0 for none
            seed: seed of the random numbers
        """
        samples, key = self._given(False, "compare")
        other = before.key if isinstance(before, AgreementRun) else before
        if isinstance(before, AgreementRun):
            self._refuse_other("before", "a run", before.dataset)
            if before._view is not None:
                raise AgreementInputError(
                    "`before` must be a whole run, got a part of one; compare a part with run.on(…).compare()"
                )
        keys = (key, None) if other is None else (other, key)
        return compare_agreement(samples, *keys, resamples=resamples, seed=seed)

    changed = Method(changed_since, whole=True)
    check = Method(check_agreement)

    # ---- what can be done with it ----

    @takes_arrays
    def update(self, *, progress: Progress = None) -> AgreementRun:
        """Compute again where samples were edited, added or deleted since; ``compare()`` then shows the differences."""
        self._report = update_agreement(*self._given(True, "run.update"), progress=progress)
        return self

    @takes_arrays
    def rename(self, new_run_key: str) -> AgreementRun:
        """Rename the run and its fields."""
        rename_agreement(*self._given(True, "run.rename"), new_run_key)
        self.key, self._report = new_run_key, None
        return self

    def delete(self) -> None:
        """Delete the run and everything that it wrote, in any state of the run."""
        delete_agreement(*self._given(True, "run.delete"))
        self._report = None

    export = Method(export_agreement, whole=True)
    save_views = Method(save_agreement_views, whole=True)
    app = Method(configure_agreement_app, whole=True)

    # ---- its display in consoles and notebooks ----

    def __repr__(self) -> str:
        try:
            return repr(self.report).replace(type(self.report).__name__, "AgreementRun", 1)
        except ValueError as error:  # ours, or FiftyOne's error for a deleted dataset
            return f"<AgreementRun {self.key!r}: {error}>"

    def _repr_html_(self) -> str | None:
        try:
            return self.report._repr_html_()
        except ValueError:
            return None  # a notebook shows the ``repr`` then

    def __dir__(self) -> list[str]:
        try:
            of_report = dir(self.report)
        except ValueError:  # the run is not completed, or gone
            of_report = dir(AgreementReport)
        return sorted({*self._names(), "dataset", "decisions", "key", "objects", *_OF_REPORT.intersection(of_report)})

    if not TYPE_CHECKING:  # else a type checker would accept any name

        def __getattr__(self, name: str) -> Any:
            if not name.startswith("_") and not hasattr(type(self), name) and hasattr(self.report, name):
                return getattr(self.report, name)
            return super().__getattr__(name)


@takes_arrays
def trend(runs: Sequence[AgreementRun], names: Sequence[str] | None = None) -> AgreementParts:
    """The main numbers of several runs in their order, with intervals: rounds of a project, versions of a guideline.

    Args:
        runs: runs on labels of one kind, also of several datasets
        names: a name for each; None: the keys of the runs, with the names of the datasets if there are several

    Raises:
        AgreementInputError: if there are fewer than two runs, their labels differ in kind, or two have the same name
    """
    if not isinstance(runs, Sequence) or not all(isinstance(run, AgreementRun) for run in runs):
        raise AgreementInputError(
            f'`runs` must be a list of runs, such as [aa.load(dataset, "v1"), …], got {type(runs).__name__}'
        )
    several = len({run.dataset.name for run in runs}) > 1
    found = [f"{run.dataset.name}: {run.key}" if several else run.key for run in runs]
    if names is not None:
        found = texts_of("names", names)
        if len(found) != len(runs):
            raise AgreementInputError(f"`names` must be as many as `runs`, {len(runs)}, got {len(found)}")
    return trend_of(found, [run.report for run in runs])


@takes_arrays
def load(dataset: fo.Dataset | SampleCollection, run_key: str = names.DEFAULT_RUN_KEY) -> AgreementRun:
    """A run of a dataset, in any state; its results are read on demand.

    Args:
        dataset: the dataset, or a view of it
        run_key: key of the run

    Raises:
        AgreementInputError: if nothing of such a run exists
    """
    run = Run(dataset, run_key)
    if not fields_marked(run.dataset, run.key):  # else ``delete()`` removes what is left of it
        run.require()
    return AgreementRun(run.dataset, run.key)


def compute(samples: SampleCollection, fields: str | Sequence[str], *others: Any, **options: Any) -> AgreementRun:
    """Placeholder: :func:`_give_options_to_compute` sets signature and docstring."""
    check_call("compute", _EVERY_OPTION, (samples, fields, *others), options)
    report = compute_agreement(samples, fields, **flat_options(options))
    return AgreementRun(dataset_of(samples), report.run_key, report)


def _give_options_to_compute() -> inspect.Signature:
    """Set signature (with options grouped by kind of labels) and docstring of ``compute()``; return all parameters."""
    grouped = [name for together in TOGETHER.values() for name in together]
    signature = inspect.signature(compute_agreement)
    taken = dict(signature.parameters)
    kind, annotation = inspect.Parameter.KEYWORD_ONLY, "Mapping[str, Any] | None"
    taken |= {name: inspect.Parameter(name, kind, default=None, annotation=annotation) for name in TOGETHER}
    told = [each for name, each in taken.items() if name not in grouped]
    compute.__signature__ = signature.replace(parameters=told, return_annotation="AgreementRun")  # type: ignore[attr-defined]
    entries = ""
    for argument, together in TOGETHER.items():
        described = "; ".join(f"``{name}``: {OPTIONS[name].sentence}" for name in together)
        entry = (
            f"{argument}: a mapping with options of {argument} alone, such as ``dict({together[0]}=…)``. {described}"
        )
        entries += textwrap.indent(textwrap.fill(entry, 112, subsequent_indent="    "), "    ") + "\n"
    text = documented(compute_agreement, grouped)
    compute.__doc__ = text.replace("\nReturns:\n    the report", f"{entries}\nReturns:\n    the run")
    takes = signature.replace(parameters=list(taken.values()))
    compute.takes = takes  # type: ignore[attr-defined]
    return takes


class Files(Public):
    """Label files of annotators."""

    _said = "files"

    load = staticmethod(import_annotations)
    save = staticmethod(export_annotations)


files = Files()
list_runs = called_as("list_runs", list_agreements)


_EVERY_OPTION = _give_options_to_compute()
