"""Share a pass over the objects of a run out among processes: each works through some of its samples.

Every sample is written at once with what was decided there, and says by which step. So a task whose process died is
done again: that counts what the first attempt has written, and writes the rest.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import fiftyone.core.utils as fou
from bson import ObjectId

from ...agreement.settings.errors import AgreementInputError
from ..database.fiftyone_private import dataset_id, sample_collection
from ..record.run import versions
from ..record.run_labels import RunLabels, open_run_labels
from ..run.work_through import CountingPass, Progress, rare_collections
from .engines import Engine, GivenUpError, Tasks, answered
from .work import opened_dataset

logger = logging.getLogger(__name__)

#: samples, or videos, of a task
TASK_SAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class SharedPass:
    """A pass to share out."""

    function: str  #: does a part of it: ``module:function`` within ``dataset_io``
    labels: RunLabels  #: the labels of the run
    gold: str  #: the field of decisions
    among: Iterable[ObjectId] | None  #: the samples; None for all
    options: Mapping[str, Any]  #: what is done, as plain values
    advice: str  #: what to do about what is done when it ends early

    def done(self, engine: Engine, progress: Progress) -> Counter[Any]:
        """Have it done; the outcomes of all parts together.

        Raises:
            AgreementInputError: if a part was refused, failed in all attempts, or cannot be submitted
        """
        advice = "nothing was written" if self.options["preview"] else f"what is done is kept: {self.advice}"
        total: Counter[Any] = Counter()
        n_samples = self.labels.dataset.count() if self.among is None else None
        with engine.running() as submitted, fou.ProgressBar(total=n_samples, progress=progress) as bar:
            tasks = Tasks(submitted, self.function, self._task, lambda: None)
            try:
                for answer in tasks.answers(self._parts()):
                    total.update(dict(answer.get("total", ())))
                    bar.update(answer.get("n_samples", 0))
            except GivenUpError as error:
                raise AgreementInputError(
                    f"Samples from {error.item[0]} to {error.item[-1]} must be worked through by a worker, but "
                    f"{error.reason}; {advice}{submitted.hint}"
                ) from error
            except BaseException:  # interrupted, say
                logger.warning("Not all samples were worked through; %s", advice)
                raise
            finally:
                tasks.cancel()
                tasks.stop()
        return total

    def _parts(self) -> Iterator[tuple[str, ...]]:
        ids = self.among
        if ids is None:
            ids = (row["_id"] for row in sample_collection(self.labels.dataset).find({}, {"_id": True}).sort("_id"))
        each = map(str, ids)
        while part := tuple(islice(each, TASK_SAMPLES)):
            yield part

    def _task(self, part: tuple[str, ...]) -> dict[str, Any]:
        dataset = self.labels.dataset
        return {
            "dataset": (str(dataset_id(dataset)), dataset.name, versions()),
            "run": (self.labels.run_key, self.labels.run.config["results_id"]),
            "gold": self.gold,
            "ids": part,
            "options": dict(self.options),
        }


def part_done(task: Mapping[str, Any], open_pass: Callable[..., CountingPass]) -> dict[str, Any]:
    """Do a part of a pass, in any process.

    Args:
        task: as :class:`SharedPass` makes it
        open_pass: called with the labels of the run, the field of decisions, the ids of the samples, and the options
    """

    def done() -> dict[str, Any]:
        labels = open_run_labels(opened_dataset(*task["dataset"]), task["run"][0])
        if labels.run.config["results_id"] != task["run"][1]:
            raise AgreementInputError(
                f"The run {labels.run_key!r} must stay while decisions are made, but somebody computed it again"
            )
        ids = tuple(map(ObjectId, task["ids"]))
        with rare_collections():
            total = open_pass(labels, task["gold"], ids, **task["options"]).done(progress=False)
        return {"n_samples": len(ids), "total": list(total.items())}

    return answered(done)
