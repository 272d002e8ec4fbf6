"""Outcome of an acceptance check: each requirement passed, failed, or not enough data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ..statistics.presentation import ShowsItself, shown_as

if TYPE_CHECKING:
    from pandas import DataFrame

PASSED, FAILED, NOT_ENOUGH = "passed", "failed", "not enough data"


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked requirement and its outcome; undefined numbers are None."""

    name: str
    outcome: str  #: ``passed``, ``failed`` or ``not enough data``
    condition: str  #: what must hold
    of: str = ""  #: the annotator, class or pair whose number it is; empty: the run's
    by: str = ""  #: what divides the images, if it is about a part of them
    part: str = ""  #: this part
    value: float | None = None
    low: float | None = None  #: ends of the interval of the value
    high: float | None = None
    n_objects: int | None = None  #: objects that it is about; None where the numbers do not say
    n_images: int | None = None  #: images that it is about
    reason: str = ""  #: why there is not enough data
    #: arguments of ``run.view()`` that show the labels on which annotators disagree here
    view: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def title(self) -> str:
        """The name, with what it is about."""
        about = ", ".join(filter(None, (self.of, self.part)))
        return f"{self.name} ({about})" if about else self.name


@dataclass(frozen=True, slots=True, repr=False)
class AcceptanceCheck(ShowsItself):
    """Acceptance check of a run against its requirements.

    ``outcome`` is ``failed`` if any requirement failed, else ``not enough data`` if any has not enough, else
    ``passed``.
    """

    shown_by: ClassVar[str] = "acceptance"

    run_key: str
    source: str  #: name of the requirements file
    outcome: str
    results: tuple[Checked, ...]
    n_unlisted: int = 0  #: results that a stored check leaves out, failures last

    @property
    def passed(self) -> bool:
        """True if all requirements passed."""
        return self.outcome == PASSED

    def of(self, outcome: str) -> list[Checked]:
        """The requirements with an outcome."""
        return [each for each in self.results if each.outcome == outcome]

    @classmethod
    def from_results(cls, run_key: str, source: str, results: tuple[Checked, ...]) -> AcceptanceCheck:
        """The check with the outcome that follows from the results."""
        found = {each.outcome for each in results}
        outcome = next((each for each in (FAILED, NOT_ENOUGH) if each in found), PASSED)
        return cls(run_key, source, outcome, results)

    def shortened(self, at_most: int) -> AcceptanceCheck:
        """The check with so many results, at most: failures first."""
        order = (FAILED, NOT_ENOUGH, PASSED)
        ordered = sorted(self.results, key=lambda each: order.index(each.outcome))
        if len(ordered) <= at_most:
            return self
        return dataclasses.replace(self, results=tuple(ordered[:at_most]), n_unlisted=len(ordered) - at_most)

    def __repr__(self) -> str:
        said = ", ".join(f"{len(self.of(each))} {each}" for each in (PASSED, FAILED, NOT_ENOUGH) if self.of(each))
        return f"<{type(self).__name__} of {self.run_key!r}: {self.outcome} ({said}); print_report() says more>"

    def to_dataframe(self) -> DataFrame:
        """The results as a pandas DataFrame, a row each; undefined numbers are nan."""
        return shown_as("acceptance_frame", self)

    def to_dict(self) -> dict[str, Any]:
        """The check as JSON-serialisable values."""
        values = dataclasses.asdict(self)
        return {**values, "results": list(values["results"])}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> AcceptanceCheck:
        """Rebuild a check from :meth:`to_dict`."""
        results = tuple(Checked(**each) for each in values["results"])
        return cls(**{**values, "results": results})
