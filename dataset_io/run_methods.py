"""Turn functions of (samples, run key) into methods of a run; its parts ``run.objects`` and ``run.decisions``."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from fiftyone.core.collections import SampleCollection
from fiftyone.core.view import DatasetView

from .. import names
from ..agreement.settings.arguments import Public, check_call, takes_arrays
from ..agreement.settings.errors import AgreementInputError
from .decide.against import decided_against, report_decisions
from .decide.apply import apply_decisions, undo_applied
from .decide.decide import decide
from .decide.gold import delete_decisions, list_decisions, undo_decisions
from .decide.next_object import record_own_labels
from .results.decided_labels import export_decided, export_decided_against
from .results.load import report_decisions_with
from .units.units_field import add_units, agreement_patches, resolve_units

P = ParamSpec("P")
R = TypeVar("R")
Part = TypeVar("Part", bound="RunPart")

_SELF = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)


class Method(Generic[P, R]):
    """A function of samples and the key of a run, as a method of the run.

    ``help(run)`` shows the first sentence of the function's docstring, ``help(run.view)`` all of it.

    Args:
        function: the function
        whole: whether it works on a whole run only, and is refused on a part of it (``run.on(view)``)
    """

    n_given = 2  #: number of arguments that the run gives

    def __init__(self, function: Callable[Concatenate[Any, str, P], R], *, whole: bool = False) -> None:
        self.function: Callable[..., R] = function
        self.whole = whole

    def __set_name__(self, owner: type[Methods], name: str) -> None:
        self.name, self.place = name, f"{owner._said}.{name}"

    @overload
    def __get__(self, found: None, owner: type) -> Callable[Concatenate[Any, P], R]: ...

    @overload
    def __get__(self, found: Methods, owner: type) -> Callable[P, R]: ...

    def __get__(self, found: Methods | None, owner: type) -> Any:
        signature = inspect.signature(self.function)
        parameters = list(signature.parameters.values())
        given, signature = parameters[: self.n_given], signature.replace(parameters=parameters[self.n_given :])

        def method(*arguments: Any, **options: Any) -> R:
            if found is None and not (arguments and isinstance(arguments[0], owner)):
                got = type(arguments[0]).__name__ if arguments else "none"
                raise AgreementInputError(
                    f"{self.place}() must be called on a run, as load(dataset) gives it, got {got}"
                )
            run, *others = arguments if found is None else (found, *arguments)
            check_call(self.place, signature, others, options)
            return self.function(*run._given(self.whole, self.place)[: self.n_given], *others, **options)

        text = documented(self.function, [each.name for each in given])
        method.__doc__ = text if found is not None else text.partition("\n\n")[0]
        parameters = [*([_SELF] if found is None else []), *signature.parameters.values()]
        method.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        method.__name__, method.__qualname__ = self.name, f"{owner.__name__}.{self.name}"
        return method


class DatasetMethod(Method[P, R]):
    """As :class:`Method`, for a function of samples that takes no run key."""

    n_given = 1

    def __init__(self, function: Callable[Concatenate[Any, P], R], *, whole: bool = False) -> None:
        super().__init__(function, whole=whole)  # type: ignore[arg-type]


def documented(function: Callable[..., Any], left_out: list[str]) -> str:
    """The docstring of a function without some of its arguments; functions are named as methods of a run."""
    text = inspect.cleandoc(function.__doc__ or "")
    for name in left_out:
        text = re.sub(rf"^    {name}: .*\n?(?:     .*\n?)*", "", text, flags=re.MULTILINE)
    text = re.sub(r"^Args:\n(?=\n|\Z)\n?", "", text, flags=re.MULTILINE)
    return re.sub(r":func:`(\w+)`", r"``\1``", text)


class Methods(Public):
    """Base of the objects whose methods act on a run."""

    def _given(self, whole: bool, place: str) -> tuple[SampleCollection, str]:
        """The samples and the key that a method gives to its function."""
        raise NotImplementedError

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in vars(cls) if not name.startswith("_")]


class RunPart(Methods):
    """Methods of a run that are grouped under a name, such as ``run.objects``."""

    def __init__(self, run: Any) -> None:
        self._run = run

    def _given(self, whole: bool, place: str) -> tuple[SampleCollection, str]:
        given: tuple[SampleCollection, str] = self._run._given(whole, place)
        return given

    def __repr__(self) -> str:
        return f"<{self._said} of {self._run.key!r}: {', '.join(self._names())}>"


#: the classes of the parts of a run, by name; :func:`part_of_runs` enters them
RUN_PARTS: dict[str, type[Any]] = {}


def part_of_runs(part: type[Part]) -> type[Part]:
    """Decorate a class as a part of all runs, under the last word of its name (``run.objects``: ``objects``)."""
    RUN_PARTS[part._said.rpartition(".")[2]] = part
    return part


report_decisions_with(report_decisions)


@part_of_runs
class RunObjects(RunPart):
    """The objects that the labels of a run show: fields with one label for each object, patches."""

    _said = "run.objects"

    write = Method(add_units, whole=True)
    consensus = Method(resolve_units, whole=True)
    patches = Method(agreement_patches)


@part_of_runs
class RunDecisions(RunPart):
    """Decisions on the objects of a run: which version is right. They outlive the run, as they belong to labels."""

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
        """A view of an annotator's labels that a person, not a rule, decided against, and of those decided as right."""
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
        """Write the decisions against an annotator, or the labels that the reference contradicts, as a page (``.html``)
        or a table (``.csv``)."""
        samples, key = self._given(False, "export_against")
        return export_decided_against(
            samples, annotator, key, path, gold=gold, reference=reference, overwrite=overwrite
        )
