"""Have tasks done by an engine: each up to three times, as a process that does one may die."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from itertools import islice
from typing import Any, Generic, TypeVar

from ...agreement.settings.errors import AgreementInputError, short_message
from ..labels.stored import NoRoomError
from .engines import Submitted

#: how often a task is tried
MOST_ATTEMPTS = 3
#: what the answer of a task has one of
_ANSWERS = {"n_samples", "refused", "failed"}
#: seconds between two checks of whether the work is still wanted
_LOOK = 1.0

Item = TypeVar("Item")


class GivenUpError(Exception):
    """A task that cannot be done: it failed in all attempts, or the engine takes none.

    Attributes:
        reason: what happened, as a clause
    """

    def __init__(self, item: Any, reason: str) -> None:
        super().__init__(reason)
        self.item = item
        self.reason = reason


class Tasks(Generic[Item]):
    """Tasks of one kind on their way through an engine.

    Attributes:
        attempts: failed attempts of every item
    """

    def __init__(
        self,
        engine: Submitted,
        function: str,
        task_of: Callable[[Item], Mapping[str, Any]],
        check: Callable[[], None],
        is_done: Callable[[Item], bool] = lambda _: False,
    ) -> None:
        """
        Args:
            engine: does the tasks
            function: does them: ``module:function`` within ``dataset_io``
            task_of: the task of an item, as plain values
            check: raises an error when the work is no longer wanted
            is_done: True if an item whose task failed needs no other attempt
        """
        self.attempts: Counter[Item] = Counter()
        self._engine, self._function, self._task_of = engine, function, task_of
        self._check, self._is_done = check, is_done
        self._futures: dict[Future[dict[str, Any]], Item] = {}

    def answers(self, items: Iterable[Item]) -> Iterator[dict[str, Any]]:
        """The answers of the tasks of some hashable items, as they come, those of failed attempts too.

        Raises:
            AgreementInputError: if a task was refused, or the executor of the user is none
            GivenUpError: if one failed in all attempts, or cannot be submitted
        """
        fresh, again = iter(items), deque[Item]()
        while True:
            while len(self._futures) < self._engine.most and (found := again or deque(islice(fresh, 1))):
                self._submit(found.popleft())
            if not self._futures:
                return
            self._check()
            for future in wait(self._futures, _LOOK, FIRST_COMPLETED).done:
                item = self._futures.pop(future)
                answer = _answer(future)
                if "refused" in answer:
                    raise _refusal(answer)
                if "failed" in answer and not self._is_done(item):
                    self.attempts[item] += 1
                    if self.attempts[item] >= MOST_ATTEMPTS:
                        reason = f"{MOST_ATTEMPTS} attempts failed, the last one with {answer['failed']}"
                        raise GivenUpError(item, reason)
                    again.append(item)
                yield answer

    def _submit(self, item: Item) -> None:
        task = self._task_of(item)
        try:
            future = self._engine.submit(self._function, task)
        except Exception as error:  # engines say in their own ways that they ended
            raise GivenUpError(item, f"workers take no more tasks ({_said(error)})") from error
        if not isinstance(future, Future):
            raise AgreementInputError(
                f"`executor` must have a method `submit` that returns a concurrent.futures.Future, got one of the type "
                f"{type(future).__module__}.{type(future).__qualname__}"
            )
        self._futures[future] = item

    def cancel(self) -> None:
        """Cancel what has not begun."""
        for future in self._futures:
            future.cancel()

    def stop(self) -> None:
        """Wait until nothing is done any more."""
        self._engine.stop(self._futures)


def answered(function: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The answer of a task in the process that does it.

    Returns:
        what the function returned; or ``{"refused"}`` or ``{"failed"}`` with a sentence: errors of ours cannot travel
        to processes that load the plugin under another name
    """
    try:
        return function()
    except AgreementInputError as error:
        return {"refused": str(error), "kind": type(error).__name__}
    except Exception as error:  # tried again
        return {"failed": _said(error)}


def _answer(future: Future[dict[str, Any]]) -> dict[str, Any]:
    try:
        answer = future.result()
    except (Exception, CancelledError, SystemExit) as error:  # a worker died; engines say so in their own ways
        return {"failed": _said(error)}
    if isinstance(answer, Mapping) and not answer.keys().isdisjoint(_ANSWERS):
        return answer
    return {"failed": short_message(f"the answer {answer!r}, which is not that of the task")}


def _said(error: BaseException) -> str:
    return short_message(f"{type(error).__name__}: {error}")


def _refusal(answer: Mapping[str, str]) -> AgreementInputError:
    """The error that a worker met."""
    kind = NoRoomError if answer["kind"] == NoRoomError.__name__ else AgreementInputError
    error = kind.__new__(kind)
    error.args = (answer["refused"],)
    return error
