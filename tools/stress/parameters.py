"""Malformed calls of every public function and operator: each works, or is refused with one sentence."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import fractions
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
import numpy as np
import pandas as pd
from bson import Int64, ObjectId
from fiftyone.core.odm import get_db_conn
from fiftyone.operators.executor import ExecutionContext, Executor

from tests.datasets import boxes_dataset, random_annotators
from tools.dev.private_fiftyone import ROOT

from .run import Campaign, Outcome
from .workers import Answer, Command, Worker, workers
from annotator_agreement import dataset_io
from annotator_agreement.names import DEFAULT_GOLD_FIELD, GOLD_MARK

_LONG = "a" * 300_000

#: texts that could be taken for something else, by the database, a shell, a browser, a spreadsheet or a file system
TEXTS = (
    *(
        "",
        " ",
        "\n",
        "\t",
        "\x00",
        "a\x00b",
        "\r\nx",
        "'; DROP TABLE",
        "<script>alert(1)</script>",
        "![x](http://h/x.png)",
    ),
    *("$where", "$$ROOT", "a.b", "..", "../../x", "/", "~nobody/x", "C:\\x", "%s", "{0}", "{x.__class__}", "__class__"),
    *("None", "nan", "auto", "alice", "agreement", "_id", "id", "tags", "frames.x", "=1+1", "+1", "-1", "@x", "[a](b)"),
    *("🙂", "é" * 500, "\u202eabc", "\ufeff", "a" * 300, _LONG, "١", "ſ"),
)
_NUMBERS = (0, 1, -1, 3, 2**31, 2**63, -(2**63), 10**30, 10**400, 0.5, -0.5, 1e-320, 1e308, 1.5, 51.0)


def json_values(random: Random) -> Any:
    """A value that a form, or a caller by JSON, can give."""
    simple: list[Any] = [None, True, False, *_NUMBERS[:-2], *TEXTS]
    kind = random.randrange(5)
    if kind == 0:
        return [random.choice(simple) for _ in range(random.randrange(4))]
    if kind == 1:
        return {random.choice(TEXTS): random.choice(simple) for _ in range(random.randrange(3))}
    if kind == 2:
        return [[random.choice(simple)], {"a": random.choice(simple)}]
    return random.choice(simple)


def _endless() -> list[Any]:
    """A list that contains itself."""
    values: list[Any] = []
    values.append(values)
    return values


def _numbers() -> Iterator[int]:
    """A generator."""
    yield from range(3)


#: what only Python can give; made anew every time
_OF_PYTHON: Sequence[Callable[[], Any]] = (
    *(lambda: float("nan"), lambda: float("inf"), lambda: -float("inf"), lambda: 1j, lambda: ..., lambda: b"bytes"),
    *(object, set, _endless, _numbers, lambda: {1, 2}, lambda: range(3), lambda: int, lambda: Exception),
    *(lambda: "\udcff", lambda: ["\udcff"], lambda: {"\udcff": "\udcff"}, lambda: {None: None, 1: 2, "a": ()}),
    *(
        lambda: np.array([]),
        lambda: np.arange(3),
        lambda: np.zeros((2, 2)),
        lambda: np.float64("nan"),
        lambda: slice(3),
    ),
    *(lambda: np.array("x"), lambda: np.array([object()]), lambda: np.array(["alice", "bob"]), lambda: np.bool_(True)),
    *(lambda: np.datetime64("2026-01-01"), lambda: np.longdouble(1), lambda: np.zeros(2, [("a", int), ("b", object)])),
    *(lambda: pd.Series([1, 2]), lambda: pd.DataFrame({"score": [1]}), lambda: pd.NA, lambda: pd.NaT),
    *(lambda: pd.Index(["a"]), lambda: np.int8(3), lambda: decimal.Decimal("0.5"), lambda: fractions.Fraction(1, 3)),
    *(ObjectId, lambda: Int64(2), lambda: Path("x\x00"), lambda: datetime.datetime(2026, 1, 1)),
    *(lambda: fo.ViewField("x") == "y", lambda: fo.Detection(label="x"), lambda: fo.Sample("x.jpg")),
    *(lambda: memoryview(b"x"), lambda: bytearray(b"x"), lambda: [b"x"], lambda: (None,), lambda: [[]], lambda: [{}]),
)


def any_value(random: Random) -> Any:
    """A value that a caller from Python can give."""
    return json_values(random) if random.random() < 0.5 else random.choice(_OF_PYTHON)()


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
    """Call something with malformed arguments; yields what is wrong."""
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


def collections(dataset: fo.Dataset) -> list[Any]:
    """The samples and the frames of a dataset in the database."""
    name = dataset._sample_collection_name
    return [get_db_conn()[name], get_db_conn()[f"frames.{name}"]]


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


#: valid values of arguments that have no default, or another one than here, by function
_OF_FUNCTIONS: dict[str, dict[str, Any]] = {
    "compute_agreement": {"fields": FIELDS, "run_key": "other", "overwrite": True, "workers": 1},
    "export_agreement": {"path": "x.json", "format": "json", "overwrite": True},
    "check_agreement": {"requirements": {"requirements": {"all": {"number": "existence.f1", "at_least": 0.5}}}},
    "compare_agreement": {"key_a": BASE, "key_b": SECOND},
    "rename_agreement": {"new_run_key": "renamed"},
    "resolve_units": {"overwrite": True},
    "decide": {"choice": "none", "all": True},
    "decided_against": {"annotator": FIELDS[0]},
    "export_decided_against": {"annotator": FIELDS[0], "path": "x.csv", "overwrite": True},
    "export_decided": {"path": "x.json", "overwrite": True},
    "update_agreement": {"progress": False},
    "import_annotations": {"source": "labels.json", "prefix": "of_"},
    "export_annotations": {"labels": FIELDS, "path": "exported.json", "format": "coco", "overwrite": True},
}
#: functions and operators that import or export labels, on a dataset of their own
_OF_LABELS = ("import_annotations", "export_annotations")


def _functions(dataset: fo.Dataset, labels: Labels) -> Iterator[Call]:
    """The public functions, and the methods of what they return that take arguments."""
    without = {"compute", "list_runs", "load", "run_agreement", "trend"}
    for name in sorted(set(dataset_io.__all__) - without):
        function = getattr(dataset_io, name)
        if not inspect.isfunction(function):
            continue
        of = labels.dataset if name in _OF_LABELS else dataset
        common = {**dict.fromkeys(("dataset", "samples", "view"), of), "run_key": BASE, "resamples": 0}
        taken = [each for each in inspect.signature(function).parameters.values() if each.kind != each.VAR_KEYWORD]
        given = common | _OF_FUNCTIONS.get(name, {})
        valid = {each.name: given.get(each.name, each.default) for each in taken}
        missing = [argument for argument, value in valid.items() if value is inspect.Parameter.empty]
        if missing:
            raise ValueError(f"All arguments of public functions must be tried, got none for {name}: {missing}")
        yield Call(name, function, valid, mend=labels.mend if name in _OF_LABELS else None)
    report = dataset_io.load_agreement(dataset, BASE)
    yield Call("to_dataframe", report.to_dataframe, {"table": "pairs"})
    yield Call("plot_pairs", report.plot_pairs, {"value": "alpha"})
    yield Call("plot_confusion", report.plot_confusion, {"pair": None, "top": 20})
    yield Call("plot_classes", report.plot_classes, {"top": 30})
    yield Call("plot_scores", report.plot_scores, {"samples": dataset_io.agreement_samples(dataset, BASE)})
    comparison = dataset_io.compare_agreement(dataset, BASE, SECOND, resamples=0)
    yield Call("comparison.to_dataframe", comparison.to_dataframe, {"table": "numbers"})


#: valid values of operators, besides those with which their forms open
_OF_OPERATORS: dict[str, dict[str, Any]] = {
    "compute_agreement": {"fields": FIELDS, "run_key": "other", "overwrite": True, "resamples": 0},
    "decide": {
        "choice": "version",
        "annotator": FIELDS[0],
        "min_votes": 1,
        "all": True,
        "by": "mia",
        "overwrite": True,
    },
    "undo_decisions": {"step": None},
    "apply_decisions": {"by": "mia", "sure": True},
    "undo_applied": {"gold": DEFAULT_GOLD_FIELD, "step": None},
    "resolve_units": {"overwrite": True, "quorum": 0.5},
    "export_decided_against": {"format": "csv", "folder": ".", "download": False, "overwrite": True},
    "export_decided": {"path": "x.json", "download": False, "overwrite": True},
    "check_agreement": {"requirements": "requirements.yaml"},
    "compare_agreement": {"other_run_key": SECOND},
    "export_agreement": {"format": "json", "path": "x.json", "download": False, "overwrite": True},
    "rename_agreement": {"new_run_key": "renamed"},
    "import_annotations": {
        "file": {"absolute_path": "labels.json"},
        "path_1": {"absolute_path": "labels.json"},
        "annotator_1": "alice",
        "folder": None,
        "prefix": "of_",
    },
    "export_annotations": {"given": "fields", "fields": FIELDS, "path": "exported.json", "overwrite": True},
}


def _operators(dataset: fo.Dataset, labels: Labels) -> Iterator[Call]:
    """The forms and the executions of the operators."""
    for name in manifest_operators():
        operator = foo.get_operator(f"{PLUGIN}/{name}")
        of, mend = (labels.dataset, labels.mend) if name in _OF_LABELS else (dataset, None)
        is_metric = isinstance(operator, getattr(foo, "EvaluationMetric", ()))  # which FiftyOne's evaluation computes
        valid = {"run_key": BASE, **_OF_OPERATORS.get(name, {})}
        if not is_metric:
            valid = {**_inputs(_called(operator, of, "form")(**valid)["type"]), **valid}
        for offset, part in enumerate(("form",) if is_metric else ("form", "execution")):
            after = _nothing if part == "form" else mend
            yield Call(f"{name} ({part})", _called(operator, of, part), valid, json_values, offset, 2, after)


def _inputs(form: dict[str, Any]) -> dict[str, Any]:
    """The inputs of a form, those of its folded part beside the others, and the values with which it opens."""
    found: dict[str, Any] = {}
    for name, entry in form["properties"].items():
        if entry["type"]["name"] == "Object":
            found |= _inputs(entry["type"])
        elif entry["type"]["name"] != "Void":  # a notice
            found[name] = entry["default"]
    return found


def _nothing() -> None:
    """To mend after a form, which changes nothing."""


def manifest_operators() -> list[str]:
    """The operators that ``fiftyone.yml`` names."""
    lines = (ROOT / "fiftyone.yml").read_text(encoding="utf-8").partition("operators:")[2].splitlines()[1:]
    return [line.strip(" -") for line in itertools.takewhile(lambda line: line.startswith("  - "), lines)]


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
            for call in [*_functions(dataset, labels), *_operators(dataset, labels)]:
                numbers = range(first + call.offset, end, call.step)
                tried += len(numbers)
                examples += malformed_calls(call, seed, numbers, runs.mend)
    finally:
        dataset.delete()
        spare.delete()
    return tried, len(examples), examples


CAMPAIGNS = (Campaign("parameters", "malformed calls of every public function and operator", parameters, 2_000),)
