"""Malformed calls of every public function and operator: each works, or is refused with one sentence."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import os
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from random import Random
from typing import Any

import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.operators.executor import ExecutionContext, Executor

from tests.datasets import boxes_dataset, random_annotators
from tools.dev.private_fiftyone import ROOT

from .campaign import Campaign, Outcome
from .labelled import collections
from .values import any_value, json_values
from .workers import Answer, Command, Worker, workers
from annotator_agreement import dataset_io
from annotator_agreement.names import DEFAULT_GOLD_FIELD, GOLD_MARK

PLUGIN = "@annotator/agreement"
FIELDS = ["alice", "bob", "carol"]
BASE, SECOND = "base_run", "second_run"
QUICKLY: dict[str, Any] = {"resamples": 0}
#: a message may have so many bytes
MOST_BYTES = 2_000
#: what a call that is refused may have changed all the same is noticed after so many rounds
_MENDED_EVERY = 50


@dataclass(frozen=True, slots=True)
class Call:
    """Something that is called with named arguments, some of which are replaced by others."""

    name: str
    function: Callable[..., Any]
    valid: Mapping[str, Any]
    value: Callable[[Random], Any] = any_value  #: a value that an argument does not expect
    offset: int = 0  #: the first round …
    step: int = 1  #: … and the distance to the next
    mend: Callable[[], None] | None = None  #: brings back what it changes; by default that is done for the runs


def broken_promise(function: Callable[[], Any]) -> str | None:
    """How a call ends otherwise than with a result or one sentence; None if it does not."""
    try:
        function()
    except Exception as error:
        message = str(error)
        if type(error).__name__ != "AgreementInputError":  # FiftyOne has a copy of its own of the plugin's classes
            place = traceback.extract_tb(error.__traceback__)[-1]
            return f"{type(error).__name__}: {message[:150]} ({Path(place.filename).name}:{place.lineno})"
        if len(message.encode()) > MOST_BYTES or "\n" in message or not message:
            return f"a message of {len(message.encode())} bytes in {message.count(chr(10)) + 1} lines"
    return None


def malformed_calls(call: Call, seed: int, numbers: Iterable[int], mended: Callable[[], None]) -> Iterator[str]:
    """Call something with malformed arguments; yields what is wrong.

    Args:
        call: what is called
        seed: of the arguments
        numbers: of the rounds
        mended: is called after every call that was not refused, to bring the dataset back to what it was
    """
    for number in numbers:
        returned: list[Any] = []
        random = Random(f"{seed} {call.name} {number}")
        chosen = random.sample(list(call.valid), min(len(call.valid), random.choice((1, 1, 1, 2))))
        given = {**call.valid, **{name: call.value(random) for name in chosen}}
        wrong = broken_promise(functools.partial(_call_into, returned, call.function, given))
        if wrong is not None:
            shown = {name: repr(given[name])[:80] for name in chosen}
            yield f"{call.name} round {number} {shown}: {wrong}"
        if returned or wrong is not None or number % _MENDED_EVERY == 0:
            (call.mend or mended)()


def _call_into(returned: list[Any], function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    returned.append(function(**given))


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    """A folder that relative paths, and those of the home folder, lead into."""
    before, home = Path.cwd(), os.environ.get("HOME")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "1" / "2" / "3" / "4"
        folder.mkdir(parents=True)
        os.chdir(folder)
        os.environ["HOME"] = str(folder)
        try:
            yield folder
        finally:
            os.chdir(before)
            os.environ["HOME"] = home or "/"


class Runs:
    """A dataset with two runs, that calls may change."""

    def __init__(self, dataset: fo.Dataset) -> None:
        self.dataset = dataset
        self.mend()
        dataset_io.add_units(dataset, BASE, overwrite=True)

    def mend(self) -> None:
        """The two runs and no others."""
        found = set(dataset_io.list_agreements(self.dataset))
        if BASE not in found and len(found - {SECOND}) == 1:
            dataset_io.rename_agreement(self.dataset, *(found - {SECOND}), BASE)
        for key in sorted(found - {BASE, SECOND}):
            if key in dataset_io.list_agreements(self.dataset):
                dataset_io.delete_agreement(self.dataset, key)
        for key, iou in ((BASE, 0.5), (SECOND, 0.7)):
            if key not in dataset_io.list_agreements(self.dataset):
                dataset_io.compute_agreement(self.dataset, FIELDS, run_key=key, iou=iou, **QUICKLY)
        for name, field in self.dataset.get_field_schema().items():
            if GOLD_MARK in (field.info or {}) and field.info[GOLD_MARK] == name != DEFAULT_GOLD_FIELD:
                dataset_io.delete_decisions(self.dataset, gold=name)
        dataset_io.decide(self.dataset, BASE, "none", verdict="missed")


class Labels:
    """A dataset without runs, into which labels are imported, and a file of its labels."""

    def __init__(self, dataset: fo.Dataset) -> None:
        dataset.set_values("metadata", [fo.ImageMetadata(width=200, height=100) for _ in range(len(dataset))])
        dataset_io.export_annotations(dataset, FIELDS, "labels.json", overwrite=True)
        self.dataset = dataset
        self._collection = collections(dataset)[0]
        self._documents = list(self._collection.find())
        self._fields = set(dataset.get_field_schema())

    def mend(self) -> None:
        """The samples and fields as they were."""
        added = sorted(set(self.dataset.get_field_schema()) - self._fields)
        if added:
            self.dataset.delete_sample_fields(added)
        if list(self._collection.find()) != self._documents:
            self._collection.delete_many({})
            self._collection.insert_many(self._documents)


def _functions(dataset: fo.Dataset, labels: Labels) -> Iterator[Call]:
    """The public functions, and the methods of what they return that take arguments."""
    engine = {"workers": 1, "executor": None}
    compute = {
        "samples": dataset,
        "fields": FIELDS,
        "run_key": "other",
        "overwrite": True,
        "annotators": None,
        "annotator_attribute": None,
        "assigned_field": None,
        "reference": None,
        "models": (),
        "confidence_threshold": None,
        "iou": 0.5,
        "geometry": "auto",
        "classes": "prefer",
        "missing": "category",
        "attributes": (),
        "aliases": None,
        "empty": "skip",
        "undefined": "none",
        "method": "optimal",
        "similarity": "iou",
        "crowd_attribute": "iscrowd",
        "invalid": "error",
        "no_labels": "not_assigned",
        "resamples": 0,
        "seed": 51,
        **engine,
        "resume": False,
        "progress": None,
        "level": "auto",
        "categories": (),
        "tolerance": 0.0,
        "set_distance": "masi",
        "background": "auto",
        "ignore_values": (),
        "boundaries": False,
        "boundary_tolerance": 2.0,
        "boundary_width": None,
        "disagreement_map": False,
        "map_folder": None,
        "rasterize": None,
        "line_tolerance": None,
        "sigmas": None,
        "point_radius": None,
    }
    run = {"run_key": BASE}
    yield Call("compute_agreement", dataset_io.compute_agreement, compute)
    yield Call("load_agreement", dataset_io.load_agreement, {"dataset": dataset, **run})
    yield Call("list_agreements", dataset_io.list_agreements, {"dataset": dataset})
    yield Call("delete_agreement", dataset_io.delete_agreement, {"dataset": dataset, **run})
    exported = {"path": "x.json", "format": "json", "overwrite": True}
    exported |= {"by": (), "requirements": None}
    yield Call("export_agreement", dataset_io.export_agreement, {"dataset": dataset, **run, **exported})
    wanted = {"requirements": {"requirements": {"all": {"number": "existence.f1", "at_least": 0.5}}}}
    yield Call("check_agreement", dataset_io.check_agreement, {"dataset": dataset, **run, **wanted})
    yield Call("agreement_on", dataset_io.agreement_on, {"view": dataset, **run, "resamples": 0})
    yield Call("agreement_samples", dataset_io.agreement_samples, {"dataset": dataset, **run})
    keys = {"key_a": BASE, "key_b": SECOND, "resamples": 0, "seed": 51}
    yield Call("compare_agreement", dataset_io.compare_agreement, {"dataset": dataset, **keys})
    yield Call("rename_agreement", dataset_io.rename_agreement, {"dataset": dataset, **run, "new_run_key": "renamed"})
    shown = dict.fromkeys(
        (
            "verdict",
            "annotators",
            "missed_by",
            "classes",
            "confusion",
            "votes",
            "min_score",
            "max_score",
            "reference",
            "model",
        )
    )
    yield Call("view_agreement", dataset_io.view_agreement, {"samples": dataset, **run, **shown})
    yield Call("save_agreement_views", dataset_io.save_agreement_views, {"dataset": dataset, **run})
    settings = {"sidebar": False, "indexes": False, "color_by": None}
    yield Call("configure_agreement_app", dataset_io.configure_agreement_app, {"dataset": dataset, **run, **settings})
    derived = {"shapes": "medoid", "overwrite": False, "progress": None}
    yield Call("add_units", dataset_io.add_units, {"dataset": dataset, **run, **derived})
    yield Call(
        "resolve_units",
        dataset_io.resolve_units,
        {"dataset": dataset, **run, "quorum": 0.5, "ties": "leave_out", **derived, "overwrite": True},
    )
    patches = {"verdict": None, "max_units": None}
    yield Call("agreement_patches", dataset_io.agreement_patches, {"samples": dataset, **run, **patches})
    rule = dict.fromkeys(
        ("annotator", "label", "objects", "verdict", "classes", "annotators", "min_iou", "by", "remark", "progress")
    )
    rule |= {"choice": "none", "min_votes": 1, "one_class": False, "all": True, "overwrite": False, "preview": False}
    gold = {"gold": "agreement_gold"}
    yield Call("decide", dataset_io.decide, {"samples": dataset, **run, **rule, **gold})
    yield Call("list_decisions", dataset_io.list_decisions, {"dataset": dataset, **gold})
    yield Call("undo_decisions", dataset_io.undo_decisions, {"dataset": dataset, **gold, "step": None, "by": None})
    yield Call("delete_decisions", dataset_io.delete_decisions, {"dataset": dataset, **gold})
    applied = {"annotators": None, "changes": None, "by": None, "preview": False, "progress": None}
    yield Call("apply_decisions", dataset_io.apply_decisions, {"samples": dataset, **run, **gold, **applied})
    yield Call("undo_applied", dataset_io.undo_applied, {"dataset": dataset, **gold, "step": None})
    yield Call("record_own_labels", dataset_io.record_own_labels, {"samples": dataset, **run, **gold, "by": None})
    yield Call("report_decisions", dataset_io.report_decisions, {"samples": dataset, **run, **gold, "resamples": 0})
    against = {"samples": dataset, "annotator": FIELDS[0], **run, **gold}
    yield Call("decided_against", dataset_io.decided_against, against)
    listed = {**against, "path": "x.csv", "overwrite": True, "reference": False}
    yield Call("export_decided_against", dataset_io.export_decided_against, listed)
    exported = {"samples": dataset, **gold, "path": "x.json", "overwrite": True, "progress": None}
    yield Call("export_decided", dataset_io.export_decided, exported)
    yield Call("changed_since", dataset_io.changed_since, {"dataset": dataset, **run})
    yield Call("update_agreement", dataset_io.update_agreement, {"dataset": dataset, **run, "progress": False})
    for name, valid in _of_labels(labels).items():
        yield Call(name, getattr(dataset_io, name), valid, mend=labels.mend)
    report = dataset_io.load_agreement(dataset, BASE)
    yield Call("to_dataframe", report.to_dataframe, {"table": "pairs"})
    yield Call("plot_pairs", report.plot_pairs, {"value": "alpha"})
    yield Call("plot_confusion", report.plot_confusion, {"pair": None, "top": 20})
    yield Call("plot_classes", report.plot_classes, {"top": 30})
    yield Call("plot_scores", report.plot_scores, {"samples": dataset_io.agreement_samples(dataset, BASE)})
    comparison = dataset_io.compare_agreement(dataset, BASE, SECOND, resamples=0)
    yield Call("comparison.to_dataframe", comparison.to_dataframe, {"table": "numbers"})


def _of_labels(labels: Labels) -> dict[str, dict[str, Any]]:
    """Calls that import or export labels."""
    written = {"overwrite": False, "progress": None}
    of_file = {
        "remove_others": False,
        "aliases": None,
        "no_labels": "not_assigned",
        "format": "auto",
        "label_types": None,
        "columns": None,
        "clip": False,
        "media_dir": None,
        "preview": False,
    }
    of_fields = {"into": "fields", "prefix": "of_", "field": "annotations", "match": "filename", "annotators": None}
    who = {"annotator_attribute": None, "assigned_field": None, "no_labels": "not_assigned", "annotators": None}
    exported = {"path": "exported.json", "format": "coco", "overwrite": True, "progress": None}
    dataset = {"dataset": labels.dataset}
    return {
        "import_annotations": {
            **dataset,
            "source": "labels.json",
            **of_file,
            **of_fields,
            **written,
            "remove_others": False,
        },
        "export_annotations": {"samples": labels.dataset, "labels": FIELDS, **who, **exported},
    }


def _operators(dataset: fo.Dataset, labels: Labels) -> Iterator[Call]:
    """The forms and the executions of the operators."""
    run = {"run_key": BASE}
    parameters: dict[str, dict[str, Any]] = {
        "compute_agreement": {
            "fields": FIELDS,
            "run_key": "other",
            "overwrite": True,
            "resamples": 0,
            "iou": 0.5,
            "iou_from_data": False,
            "classes": "prefer",
            "aliases": [],
            "attributes": [],
            "annotators": None,
            "annotator_attribute": "",
            "assigned_field": "",
            "invalid": "error",
            "seed": 51,
            "method": "optimal",
            "similarity": "iou",
            "crowd_attribute": "iscrowd",
            "categories": [],
            "map_folder": "",
            "background": "auto",
            "ignore_values": [],
            "line_tolerance": None,
            "sigmas": None,
            "point_radius": None,
            "view_target": "DATASET",
        },
        "show_agreement": {**run, "samples": "run"},
        "open_agreement_panel": run,
        "view_agreement": {
            **run,
            "verdict": "any",
            "annotators": [],
            "missed_by": "any",
            "classes": [],
            "confusion": [],
            "least_votes": None,
            "most_votes": None,
            "min_score": None,
            "max_score": None,
            "within_view": False,
        },
        "save_agreement_views": run,
        "add_agreement_units": {**run, "shapes": "medoid", "overwrite": False},
        "agreement_patches": {**run, "verdict": [], "max_units": None, "within_view": False, "make_units": True},
        "resolve_units": {**run, "shapes": "medoid", "overwrite": True, "quorum": 0.5},
        "decide": {
            **run,
            "choice": "version",
            "annotator": FIELDS[0],
            "verdict": [],
            "min_votes": 1,
            "min_iou": None,
            "one_class": False,
            "all": True,
            "by": "mia",
            "overwrite": True,
            "within_view": False,
            "count": False,
        },
        "undo_decisions": {"gold": "agreement_gold", "by": None, "step": None},
        "apply_decisions": {
            **run,
            "gold": "agreement_gold",
            "annotators": [],
            "class": True,
            "delete": False,
            "add": True,
            "by": "mia",
            "within_view": False,
            "count": False,
            "sure": True,
        },
        "undo_applied": {"gold": "agreement_gold", "step": None},
        "export_decided_against": {
            **run,
            "annotator": FIELDS[0],
            "format": "csv",
            "folder": ".",
            "download": False,
            "overwrite": True,
        },
        "export_decided": {
            "gold": "agreement_gold",
            "path": "x.json",
            "within_view": False,
            "count": False,
            "download": False,
            "overwrite": True,
        },
        "configure_agreement_app": {
            **run,
            "sidebar": False,
            "indexes": False,
            "color_by": None,
        },
        "check_agreement": {**run, "requirements": "requirements.yaml"},
        "label_convergence": run,
        "compare_agreement": {**run, "other_run_key": SECOND},
        "export_agreement": {**run, "format": "json", "path": "x.json", "overwrite": True},
        "update_agreement": run,
        "delete_agreement": run,
        "rename_agreement": {**run, "new_run_key": "renamed"},
        "import_annotations": {
            "given": "file",
            "file": {"absolute_path": "labels.json"},
            "folder": None,
            "annotator_1": "alice",
            "path_1": {"absolute_path": "labels.json"},
            "format": "auto",
            "into": "fields",
            "prefix": "of_",
            "field": "annotations",
            "match": "filename",
            "label_types": None,
            "media_dir": None,
            "clip": False,
            "existing": "add",
        },
        "export_annotations": {
            "given": "fields",
            "fields": FIELDS,
            **run,
            "annotator_attribute": "",
            "assigned_field": "",
            "no_labels": "not_assigned",
            "format": "coco",
            "path": "exported.json",
            "overwrite": True,
        },
    }
    for name, valid in parameters.items():
        operator = foo.get_operator(f"{PLUGIN}/{name}")
        of_labels = name in _of_labels(labels)
        of, mend = (labels.dataset, labels.mend) if of_labels else (dataset, None)
        is_metric = isinstance(operator, getattr(foo, "EvaluationMetric", ()))  # which FiftyOne's evaluation computes
        for offset, part in enumerate(("form",) if is_metric else ("form", "execution")):
            after = _nothing if part == "form" else mend
            yield Call(f"{name} ({part})", _called(operator, of, part), valid, json_values, offset, 2, after)
    unknown = set(manifest_operators()) - set(parameters)
    if unknown:
        raise ValueError(f"All operators must be tried, got none for {sorted(unknown)}")


def _nothing() -> None:
    """To mend after a form, which changes nothing."""


def manifest_operators() -> list[str]:
    """The operators that ``fiftyone.yml`` names."""
    lines = (ROOT / "fiftyone.yml").read_text(encoding="utf-8").partition("operators:")[2].splitlines()[1:]
    return [line.strip(" -") for line in itertools.takewhile(lambda line: line.startswith("  - "), lines)]


def _require_all(calls: Sequence[Call]) -> None:
    """Refuse to leave out a public function, or an argument of one."""
    tried = {call.name: call for call in calls}
    missing = []
    for name in set(dataset_io.__all__) - {"compute", "list_runs", "load", "run_agreement", "trend"}:
        function = getattr(dataset_io, name)
        if inspect.isfunction(function):
            valid = tried[name].valid if name in tried else {}
            arguments = inspect.signature(function).parameters.values()
            missing += [
                f"{name}({one.name})" for one in arguments if one.name not in valid and one.kind != one.VAR_KEYWORD
            ]
    if missing:
        raise ValueError(f"All arguments of public functions must be tried, got none for {sorted(missing)}")


def _called(operator: Any, dataset: fo.Dataset, part: str) -> Callable[..., Any]:
    """Show the form of an operator, or execute it, with some parameters."""

    def call(**parameters: Any) -> Any:
        request = {"dataset_name": dataset.name, "params": parameters}
        context = ExecutionContext(request, executor=Executor(), operator_uri=operator.uri)
        context._dataset = dataset  # FiftyOne would load it again for every context
        if part == "execution":
            return operator.execute(context)
        context._prompt_id = "form"
        return operator.resolve_type(context, "inputs").to_json()

    return call


#: rounds that a process plays before it reports; fewer than this are played in this process
_CHUNK = 25
#: seconds that they may take: a minute, but on a busy machine
_PATIENCE = 1_200
_PROCESSES = 2


def parameters(seed: int, rounds: int) -> Outcome:
    """Call every public function, and every operator (its form, or its execution), so many times."""
    if rounds < _CHUNK:
        return Outcome(*play(seed, 0, rounds))
    with workers(_PROCESSES) as team, ThreadPoolExecutor(_PROCESSES) as threads:
        free: SimpleQueue[Worker] = SimpleQueue()
        for worker in team:
            free.put(worker)

        def chunk(start: int) -> Answer:
            worker = free.get()
            try:
                return worker.do(Command(f"{__name__}:play", [seed, start, min(rounds, start + _CHUNK)]), _PATIENCE)
            finally:
                free.put(worker)

        answers = list(threads.map(chunk, range(0, rounds, _CHUNK)))
    tried, n_failed, examples = 0, 0, []
    for answer in answers:
        of_chunk = answer.value or (0, 1, [f"{answer.error}: {answer.message}"])
        tried, n_failed, examples = tried + of_chunk[0], n_failed + of_chunk[1], [*examples, *of_chunk[2]]
    return Outcome(tried, n_failed, examples)


def play(seed: int, first: int, end: int) -> tuple[int, int, list[str]]:
    """Some rounds of all calls; how many were tried and failed, and examples."""
    tried, examples = 0, []
    dataset, spare = (
        boxes_dataset(f"stress-{name}-{os.getpid()}-{first}", random_annotators(4, seed=seed))
        for name in ("parameters", "labels")
    )
    try:
        with own_folder():
            runs = Runs(dataset)
            labels = Labels(spare)
            functions = list(_functions(dataset, labels))
            _require_all(functions)
            for call in [*functions, *_operators(dataset, labels)]:
                numbers = range(first + call.offset, end, call.step)
                tried += len(numbers)
                examples += malformed_calls(call, seed, numbers, runs.mend)
    finally:
        dataset.delete()
        spare.delete()
    return tried, len(examples), examples


CAMPAIGNS = (Campaign("parameters", "malformed calls of every public function and operator", parameters, 2_000),)
