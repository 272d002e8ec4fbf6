"""Share a run out among processes: plan its shards, have them compared, and add up their records in their order.

The report, the values and what is stored are those of a single process, whoever compared which shard and how often.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import fiftyone.core.utils as fou
from bson import ObjectId
from pymongo.errors import PyMongoError

from ...agreement.settings.config import AgreementConfig
from ...agreement.settings.errors import AgreementInputError
from ...agreement.statistics.codes import CodeNames
from ...agreement.statistics.report import RunFacts
from ..database.fiftyone_private import dataset_id
from ..families.protocol import LabelFamily
from ..labels.source import Shard, Source
from ..record.lease import this_process
from ..record.run import FAILED, RUNNING, Run, versions
from ..record.stored_records import file_context, open_file, part_id, part_names, read_part, write_journal, write_part
from ..run.one_pass import Compared, Noticed
from ..run.work_through import Progress, return_memory
from .engines import MOST_ATTEMPTS, Engine, GivenUpError, Submitted, Tasks
from .work import EMPTY, Task

#: samples of a shard, or frames; those of one group, or video, are in one shard
SHARD_SAMPLES = 5_000
#: name of the part that says what is shared out
PLAN = "plan"


def shards_of(source: Source) -> tuple[list[Shard], int]:
    """The shards of a source, by the order of ids, and the number of its documents; needs hardly any memory."""
    key = source.shard_key
    ids = {"$project": {"_id": True if key == "_id" else f"${key}"}}
    # the documents of a dataset are sorted by an index, which has all that is asked for
    stages: list[dict[str, Any]] = [ids, {"$sort": {"_id": 1}}] if source.is_view else [{"$sort": {key: 1}}, ids]
    lows: list[ObjectId | None] = [None]
    n_samples = n_of_shard = 0
    last = None
    for row in source.aggregate(stages):
        found = row["_id"]
        if n_of_shard >= SHARD_SAMPLES and found != last:
            lows.append(found)
            n_of_shard = 0
        n_samples, n_of_shard, last = n_samples + 1, n_of_shard + 1, found
    limits = zip(lows, [*lows[1:], None], strict=True)
    return [Shard(number, key, *limit) for number, limit in enumerate(limits)], n_samples


@dataclass(frozen=True, slots=True)
class _Plan:
    """Plan of a shared run: its shards, and the facts that each must know."""

    shards: list[Shard]
    n_samples: int
    details: Mapping[str, Any]  #: what the family found out about all labels
    thresholds: list[list[float]]  #: of every role

    @classmethod
    def of(cls, family: LabelFamily[Any, Any], run_id: str) -> _Plan:
        """The plan of a run, the stored one if it is continued."""
        stored = read_part(run_id, PLAN)
        if stored is None:
            shards, n_samples = shards_of(family.source)
            details = dict(family.context(RunFacts()).details)
            limits = [[str(limit) if limit else None for limit in (each.low, each.high)] for each in shards]
            stored = {
                "key": family.source.shard_key,
                "limits": limits,
                "n_samples": n_samples,
                "details": details,
                "thresholds": [list(role.thresholds) for role in family.source.roles],
            }
            write_part(run_id, PLAN, stored)
        shards = [
            Shard(number, stored["key"], *(ObjectId(limit) if limit else None for limit in limits))
            for number, limits in enumerate(stored["limits"])
        ]
        return cls(shards, stored["n_samples"], stored["details"], stored["thresholds"])


def share_out(
    family: LabelFamily[Any, Any], run: Run, engine: Engine, progress: Progress
) -> tuple[Compared | None, Noticed]:
    """Have all samples of a run compared.

    Args:
        family: reads the labels
        run: the run; shards that are done are not done again
        engine: who compares them

    Raises:
        AgreementInputError: if labels cannot be compared, or a shard failed in all attempts, or cannot be submitted
    """
    plan = _Plan.of(family, str(run.run_id))
    with engine.running() as submitted, fou.ProgressBar(total=plan.n_samples, progress=progress) as bar:
        sharing = _Sharing(plan, run, submitted)
        try:
            for n_samples in sharing.work():
                bar.update(n_samples)
        except BaseException:
            sharing.stop()
            raise
    return _added_up(family, run)


class _Sharing:
    """Shards on their way."""

    def __init__(self, plan: _Plan, run: Run, engine: Submitted) -> None:
        self._plan, self._run, self._hint = plan, run, engine.hint
        self._tasks = Tasks(engine, self._task, run.require_current, lambda shard: shard.number in _parts_by_shard(run))

    def work(self) -> Iterator[int]:
        """Have everything done; yields the numbers of samples."""
        try:
            n_rounds = 0
            while missing := self._missing():
                if n_rounds == MOST_ATTEMPTS:
                    raise GivenUpError(missing[0], f"{n_rounds} times it was said to be done, and nothing was stored")
                n_rounds += 1
                for answer in self._tasks.answers(missing):
                    yield answer.get("n_samples", 0)
        except GivenUpError as error:
            raise self._given_up(error.item, error.reason) from error

    def _missing(self) -> list[Shard]:
        """The shards whose records are not stored, so that a database that is killed keeps them."""
        write_journal()
        done = _parts_by_shard(self._run)
        return [shard for shard in self._plan.shards if shard.number not in done]

    def stop(self) -> None:
        """Tell the workers to stop, and wait until they did."""
        self._tasks.cancel()
        with contextlib.suppress(PyMongoError):  # then they cannot write either
            if self._run.is_current():
                self._run.update(status=FAILED)
        self._tasks.stop()

    def _task(self, shard: Shard) -> dict[str, Any]:
        low, high = (str(limit) if limit else None for limit in (shard.low, shard.high))
        dataset = self._run.dataset
        return Task(
            str(dataset_id(dataset)),
            dataset.name,
            self._run.key,
            str(self._run.run_id),
            (shard.number, shard.key, low, high),
            self._plan.details,
            self._plan.thresholds,
            versions(),
            self._tasks.attempts[shard],
        ).to_dict()

    def _given_up(self, shard: Shard, reason: str) -> AgreementInputError:
        first, last = shard.low or "the first", shard.high or "the last"
        what = {"_id": "samples", "_sample_id": "videos"}.get(shard.key, "groups")
        return AgreementInputError(
            f"Shard {shard.number + 1} of {len(self._plan.shards)} ({what} from {first} to {last}) must be compared by "
            f"a worker, but {reason}; what is done is kept: compute again with resume=True, with fewer workers if they "
            f"lack memory{self._hint}"
        )


def _parts_by_shard(run: Run) -> dict[int, str]:
    """The name of the records of every shard that is done; of several attempts one, as they are the same."""
    named = [name for name in part_names(str(run.run_id)) if "-" in name]
    return {int(name.partition("-")[0]): name for name in named}


def _added_up(family: LabelFamily[Any, Any], run: Run) -> tuple[Compared | None, Noticed]:
    """The records of all shards, in their order."""
    run_id, noticed = str(run.run_id), Noticed()
    codes: dict[str, CodeNames] = {}
    for _, name in sorted(_parts_by_shard(run).items()):
        said = read_part(run_id, name) if name.endswith(EMPTY) else file_context(part_id(run_id, name))
        noticed += Noticed(**said["noticed"])
        if not name.endswith(EMPTY):
            attributes = {key: tuple(values) for key, values in said["attributes"].items()}
            codes[name] = CodeNames(tuple(said["classes"]), attributes, tuple(said["roles"]))
    if not codes:
        return None, noticed
    first, *others = codes.values()
    joined = first.joined(others)

    def parts() -> Iterator[Compared]:
        for name, own in codes.items():
            opened = open_file(part_id(run_id, name), family.source.family.name)
            yield Compared(opened.records, opened.index, own).with_codes(joined)

    compared = Compared.concatenate(parts()).in_order()
    return_memory()
    return compared, noticed


def continued_run(source: Source) -> Run:
    """The run to continue, which is running again; the dataset's lease is held.

    What was edited since it was read is found by time stamps, as after any run.

    Raises:
        AgreementInputError: if there is no such run, it is being computed, or it is not the same
    """
    config = source.config
    run = Run(source.dataset, config.run_key)
    run.require()
    record = run.config
    run_id = record["results_id"]
    if record.get("status") not in (RUNNING, FAILED) or read_part(run_id, PLAN) is None:
        raise AgreementInputError(
            f"`resume` needs a run that was shared out among workers and did not complete, got {config.run_key!r} with "
            f"the status {record.get('status')!r}; compute it with overwrite=True"
        )
    if record.get("status") == RUNNING and not run.was_killed:
        machine, process = str(record.get("process")).split(" ")[:2]
        raise AgreementInputError(
            f"`resume` needs a run that nobody computes, got {config.run_key!r}, which the process {process} on "
            f"{machine.partition('/')[0]} computes; wait for it, or end it"
        )
    before = AgreementConfig.from_dict(record["options"])
    same = before == config and tuple(record["annotators"]) == source.annotators
    if not same or record.get("versions") != versions():
        differs = "other software" if same else "other options or annotators"
        raise AgreementInputError(
            f"`resume` needs the same options, annotators and software as before, got {differs} for the run "
            f"{config.run_key!r}; compute it with overwrite=True"
        )
    run = Run(source.dataset, config.run_key, run_id)
    run.update(status=RUNNING, process=this_process(), error=None)
    return run
