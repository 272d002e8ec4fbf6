"""Checks of arguments and calls of public functions; numpy's numbers and arrays are taken as Python's."""

from __future__ import annotations

import contextlib
import errno
import functools
import inspect
import numbers
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeGuard, TypeVar

import numpy as np

from .errors import AgreementInputError, did_you_mean, no_attribute, printable, shown

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

#: lists within lists are converted to this depth; no argument is deeper, and a list can contain itself
_DEEPEST = 4


def without_numpy(value: Any, depth: int = 0) -> Any:
    """A value without numpy: arrays, and columns of pandas, as lists, their numbers as numbers; others unchanged.

    Raises:
        AgreementInputError: if a text has characters that neither the database nor a file can hold
    """
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, np.generic) or hasattr(type(value), "tolist"):
        found = value.tolist()
        return found if isinstance(found, np.generic) else without_numpy(found, depth)
    if depth < _DEEPEST:
        if type(value) in (list, tuple):
            return type(value)(without_numpy(entry, depth + 1) for entry in value)
        if type(value) is dict:
            return {without_numpy(name, depth + 1): without_numpy(entry, depth + 1) for name, entry in value.items()}
    return value


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise AgreementInputError(f"Texts must be Unicode without halves of surrogate pairs, got {value!r}") from error
    return str(value)


def takes_arrays(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """A function that can be called with arrays where it takes lists, and with numpy's numbers."""

    @functools.wraps(function)
    def converted(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        return function(
            *map(without_numpy, arguments), **{name: without_numpy(value) for name, value in options.items()}
        )

    return called_as(function.__name__, converted)


def called_as(place: str, function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """A function that refuses unknown arguments, with a message that has the name by which users call it.

    Args:
        place: the name, such as ``"run.view"``
        function: the function; its attribute ``takes``, if it has one, is checked instead of its signature
    """
    signature = getattr(function, "takes", None) or inspect.signature(function)

    @functools.wraps(function)
    def called(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        check_call(place, signature, arguments, options)
        return function(*arguments, **options)

    return called


class Public:
    """Base of objects for users: errors on unknown attributes and arguments of methods suggest the right name."""

    __slots__ = ()
    _said: ClassVar[str] = ""  #: name of such an object in messages, as ``run``; empty: there is no one name

    def __init_subclass__(cls) -> None:
        """Check the calls of its methods."""
        super().__init_subclass__()
        if "__repr__" in vars(cls):
            shows = cls.__repr__
            cls.__repr__ = functools.wraps(shows)(lambda self: printable(shows(self)))  # type: ignore[method-assign]
        for name, value in list(vars(cls).items()):
            place = f"{cls._said}.{name}".removeprefix(".")
            if inspect.isfunction(value) and not name.startswith("_"):
                setattr(cls, name, called_as(place, value))
            elif isinstance(value, staticmethod):
                setattr(cls, name, staticmethod(called_as(place, value.__func__)))

    if not TYPE_CHECKING:  # with it, type checkers would accept every name

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):  # a property that failed: raise its error
                return object.__getattribute__(self, name)
            raise no_attribute(self._said or type(self).__name__, name, () if name.startswith("_") else dir(self))


def check_call(
    function: str, signature: inspect.Signature, arguments: Sequence[Any], options: Mapping[str, Any]
) -> None:
    """Raise :class:`TypeError` if there are more arguments than a function takes, or options that it has not."""
    parameters = {name: each for name, each in signature.parameters.items() if name != "self"}
    arguments = arguments[len(signature.parameters) - len(parameters) :]
    ordered = [name for name, each in parameters.items() if each.kind is each.POSITIONAL_OR_KEYWORD]
    if len(arguments) > len(ordered):
        if not ordered:
            raise TypeError(printable(f"{function}() takes options by name, got {shown(map(repr, arguments))}"))
        given, last = arguments[len(ordered) - 1 :], ordered[-1]
        example = ", ".join(ordered)
        advice = f"give options by name: {function}({example}, …=…)"
        if "Sequence" in str(parameters[last].annotation) and all(isinstance(name, str) for name in given):
            advice = f"give several {last} as one list: {function}({', '.join([*ordered[:-1], str(list(given))])})"
        raise TypeError(
            printable(f"{function}() takes {example}, got {shown(map(repr, given[1:]))} beside them; {advice}")
        )
    by_name = [name for name, each in parameters.items() if each.kind is not each.VAR_KEYWORD]
    unknown = [name for name in options if name not in by_name]
    if unknown and len(by_name) == len(parameters):
        told = shown(by_name[len(ordered) :] or by_name, limit=50)
        hint = did_you_mean(unknown[0], by_name) or (f"; its options are {told}" if told else "; it takes none")
        raise TypeError(printable(f"{function}() has no option {unknown[0]!r}{hint}"))


def is_real(value: Any) -> TypeGuard[float]:
    """True for a number that is finite and no larger than floats can be."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return is_number and bool(-sys.float_info.max <= value <= sys.float_info.max)


def true_or_false(option: str, value: Any) -> bool:
    """Check a switch."""
    if not isinstance(value, bool):
        raise AgreementInputError(f"`{option}` must be True or False, got {value!r}")
    return value


def count_of(option: str, value: Any, least: int = 1) -> int:
    """Check a whole number of at least ``least``."""
    if not is_real(value) or value != int(value) or value < least:
        raise AgreementInputError(f"`{option}` must be a whole number of at least {least}, got {value!r}")
    return int(value)


def text_of(option: str, value: Any, *, may_be_empty: bool = False) -> str:
    """Check a text that becomes a name, or a part of one."""
    text = value if isinstance(value, str) else ""
    is_text = value is text and text.encode(errors="ignore").decode() == text and "\0" not in text
    if not is_text or not (text or may_be_empty):
        raise AgreementInputError(f"`{option}` must be a text, got {value!r}")
    return text


def texts_of(option: str, value: Any) -> list[str]:
    """Check one text, or a collection of texts."""
    try:
        texts = iter([value] if isinstance(value, str) else value)
    except (TypeError, ValueError) as error:  # the latter from a sample of FiftyOne, which has no entries
        raise AgreementInputError(f"`{option}` must be texts, got {value!r}") from error
    return [text_of(option, text) for text in texts]  # one by one: an endless iterator ends here


def path_of(option: str, value: Any) -> str:
    """The path of a file or folder, the user's home folder filled in."""
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else value
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise AgreementInputError(f"`{option}` must be the path of a file or folder, got {value!r}")
    found = os.path.expanduser(_text(text))
    if found.startswith("~"):
        raise AgreementInputError(
            f"`{option}` must be a path, got {text!r}: there is no such user; write ./{found} for a file of that name"
        )
    try:
        os.lstat(found)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise AgreementInputError(f"`{option}` must be a path, got one that is too long: {text!r}") from error
    return found


@contextlib.contextmanager
def writing_to(option: str, path: object) -> Iterator[None]:
    """Re-word errors of the file system while something is written.

    Raises:
        AgreementInputError: if something cannot be written
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise AgreementInputError(f"`{option}` must be writable, got {str(path)!r}: {reason}") from error


def print_to(file: Any, text: str) -> None:
    """Print a text to an open file, standard output if that is None.

    Raises:
        AgreementInputError: if it is no file that can be written to
    """
    try:
        (sys.stdout if file is None else file).write(printable(text) + "\n")
    except (AttributeError, TypeError, ValueError) as error:
        raise AgreementInputError(
            f"`file` must be a text file that is open for writing in UTF-8, got {file!r}; "
            "give open('report.txt', 'w', encoding='utf-8')"
        ) from error


def repeated(values: Iterable[str]) -> list[str]:
    """Values that occur more than once, sorted."""
    return sorted(value for value, n in Counter(values).items() if n > 1)


def one_of(option: str, value: Any, allowed: Sequence[str | None]) -> str:
    """Check a choice."""
    if not isinstance(value, str) or value not in allowed:
        hint = did_you_mean(value, (name for name in allowed if name)) if isinstance(value, str) else ""
        raise AgreementInputError(f"`{option}` must be one of {', '.join(map(str, allowed))}, got {value!r}{hint}")
    return value
