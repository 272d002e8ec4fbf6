"""Divide a run among processes: plan its shards, have them compared, and add up their records in their order.

The report, the values and the stored records do not depend on which process compared a shard, or how often. A task
and its answer are plain values, and the records go through the database, so any engine can carry them. A task may be
done twice, also at once: every attempt writes the same values, and its records to a file of its own.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import fiftyone as fo
import fiftyone.core.utils as fou
from bson import ObjectId
from pymongo.errors import PyMongoError

from ...agreement.settings.config import AgreementConfig
from ...agreement.settings.errors import AgreementInputError, short_message
from ...agreement.statistics.codes import CodeNames
from ...agreement.statistics.report import ReportContext, RunFacts
from ..database.fiftyone_private import database, dataset_id, reload_dataset
from ..families import open_family
from ..families.protocol import LabelFamily
from ..labels.roles import with_roles
from ..labels.source import Shard, Source, flattened, label_kinds, recorded_source
from ..labels.stored import is_of_frames
from ..record.lease import this_process
from ..record.run import FAILED, RUNNING, SHARED, Run, versions
from ..record.stored_records import file_context, file_id, open_file, write_journal, write_records
from ..run.read import Progress, rare_collections, return_memory
from ..run.settle import Compared, settle
from .engines import Engine, GivenUpError

#: samples of a shard, or frames; those of one group, or video, are in one shard
SHARD_SAMPLES = 5_000


def share_out(
    family: LabelFamily[Any, Any], run: Run, engine: Engine, progress: Progress
) -> tuple[Compared | None, Counter[str]]:
    """Have all samples of a run compared by an engine; the result is that of :func:`~..run.settle.settle`.

    Args:
        family: reads the labels
        run: the run; shards that are done are not done again
        engine: the processes that compare them
        progress: as in ``compute``

    Raises:
        AgreementInputError: if labels cannot be compared, or a shard failed in all attempts, or cannot be submitted
    """
    plan = _plan(family, run)
    limits = plan["limits"]
    task = {"dataset_id": str(dataset_id(run.dataset)), "dataset_name": run.dataset.name, "run_key": run.key}

    def is_done(number: int) -> bool:
        return run.is_current(**{f"{SHARED}.shards.{number}.noticed": {"$exists": True}})

    with fou.ProgressBar(total=plan["n_samples"], progress=progress) as bar:
        try:
            missing = sorted(set(range(len(limits))) - _done(run).keys())
            for answer in engine.answers(missing, {**task, "run_id": str(run.run_id)}, run.require_current, is_done):
                bar.update(answer.get("n_samples", 0))
        except BaseException as error:
            engine.cancel()
            with contextlib.suppress(PyMongoError):  # then the workers cannot write either
                if run.is_current():
                    run.update(status=FAILED)
            if not isinstance(error, GivenUpError):
                raise
            low, high = limits[error.number]
            what = {"_id": "samples", "_sample_id": "videos"}.get(plan["key"], "groups")
            raise AgreementInputError(
                f"Shard {error.number + 1} of {len(limits)} ({what} from {low or 'the first'} to "
                f"{high or 'the last'}) must be compared by a worker, but {error.reason}; what is done is kept: "
                f"compute again with resume=True, with fewer workers if they lack memory{engine.hint}"
            ) from error
        finally:
            engine.stop()
    # add up the records of all shards, in their order
    noticed, codes = Counter[str](), dict[str, CodeNames]()
    for done in _done(run).values():
        noticed.update(done["noticed"])
        if done["file"] is not None:
            said = file_context(done["file"])
            attributes = {key: tuple(values) for key, values in said["attributes"].items()}
            codes[done["file"]] = CodeNames(tuple(said["classes"]), attributes)
    if not codes:
        return None, noticed
    first, *others = codes.values()
    joined, records = first.joined(others), None
    for stored_as, own in codes.items():  # one after another, so that only one more is in memory
        of_shard = Compared(open_file(stored_as, family.source.family.name)[0], own).with_codes(joined).records
        records = of_shard if records is None else records + of_shard
    assert records is not None  # there are codes
    compared = Compared(records, joined).in_order()
    return_memory()
    return compared, noticed


def _plan(family: LabelFamily[Any, Any], run: Run) -> dict[str, Any]:
    """The plan of a run, the recorded one if it is continued.

    It has the limits of the shards in the order of ids, the number of documents, and facts that every shard needs:
    those of the family about all labels, and the thresholds of every role. To make it needs hardly any memory.
    """
    recorded: dict[str, Any] | None = run.config.get(SHARED)
    if recorded is not None:
        return recorded
    source = family.source
    # the samples of a group, or the frames of a video, are in one shard
    group_field = source.dataset.group_field
    key = "_sample_id" if source.on_frames else "_id" if group_field is None else f"{group_field}._id"
    ids = {"$project": {"_id": True if key == "_id" else f"${key}"}}
    # the documents of a dataset are sorted by an index, which alone answers the query
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
    plan: dict[str, Any] = {
        "key": key,
        "limits": [list(limits) for limits in zip(lows, [*lows[1:], None], strict=True)],
        "n_samples": n_samples,
        "details": json.dumps(dict(family.context(RunFacts()).details)),  # names in it may have dots
        "thresholds": [list(role.thresholds) for role in source.roles],
        "shards": {},
    }
    run.update(shared=plan)
    return plan


def _done(run: Run) -> dict[int, dict[str, Any]]:
    """What is recorded of every shard that is done, in their order: its file, if it has samples, and counts."""
    shards = run.config[SHARED]["shards"]
    return {number: shards[str(number)] for number in sorted(map(int, shards)) if shards[str(number)]}


def continued_run(source: Source) -> Run:
    """The run to continue, which is running again; the dataset's lease is held.

    What was edited since it was read is found by time stamps, as after any run.

    Raises:
        AgreementInputError: if there is no such run, it is being computed, has other options, annotators or software,
            or was cloned with its dataset
    """
    config = source.config
    run = Run(source.dataset, config.run_key)
    run.require()
    record = run.config
    run_id = record["results_id"]
    if record.get("status") not in (RUNNING, FAILED) or SHARED not in record:
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
    twin = {"config.results_id": run_id, "_id": {"$lt": run.reference}}
    if database().runs.find_one(twin, {"_id": True}) is not None:  # its shards are files of the original
        raise AgreementInputError(
            f"`resume` needs a run of the dataset itself, got {config.run_key!r}, which is a copy of a run of the "
            "dataset that was cloned; compute it with overwrite=True"
        )
    run = Run(source.dataset, config.run_key, run_id)
    run.update(status=RUNNING, process=this_process(), error=None)
    return run


def work(task: Mapping[str, Any]) -> dict[str, Any]:
    """Do a task of :func:`share_out` in a worker.

    Returns:
        ``{"n_samples"}``; or ``{"refused"}`` or ``{"failed"}`` with a sentence: errors of ours cannot travel to
        processes that load the plugin under another name
    """
    try:
        return {"n_samples": _compare(**task)}
    except AgreementInputError as error:
        return {"refused": str(error), "kind": type(error).__name__}
    except Exception as error:  # tried again
        return {"failed": short_message(f"{type(error).__name__}: {error}")}


def _compare(*, dataset_id: str, dataset_name: str, run_key: str, run_id: str, number: int, attempt: int) -> int:
    """Compare a shard; returns its number of samples.

    Args:
        dataset_id: id of the dataset
        dataset_name: its name
        run_key: key of the run
        run_id: its id
        number: of the shard
        attempt: engines that remember results tell attempts apart by it
    """
    document = database().datasets.find_one({"_id": ObjectId(dataset_id)}, {"name": True})
    if document is None:
        raise AgreementInputError(
            f"Workers must be connected to the database with the dataset {dataset_name!r}, got another one, or "
            "the dataset was deleted; set FIFTYONE_DATABASE_URI where the workers start"
        )
    dataset = fo.load_dataset(document["name"])
    reload_dataset(dataset)
    run = Run(dataset, run_key, run_id)
    require_running = functools.partial(run.require_current, status=RUNNING)  # a late worker may outlive the run
    require_running()
    record = run.config
    if record["versions"] != versions():
        wanted, found = (
            ", ".join(f"{name} {version}" for name, version in each.items())
            for each in (record["versions"], versions())
        )
        raise AgreementInputError(
            f"Workers must have the software of the process that they work for ({wanted}), got {found}; install the "
            "same versions"
        )
    # the labels of the shard, from what the run recorded
    config, plan = AgreementConfig.from_dict(record["options"]), record[SHARED]
    samples = flattened(run.target(), on_frames=is_of_frames(config.fields[0]))
    kinds = label_kinds(samples, config.fields)
    source = recorded_source(samples, config, kinds, tuple(record["annotators"]))
    source = with_roles(replace(source, run_id=run_id, shard=Shard(plan["key"], *plan["limits"][number])))
    roles = zip(source.roles, plan["thresholds"], strict=True)
    source = replace(source, roles=tuple(replace(role, thresholds=tuple(found)) for role, found in roles))
    details = json.loads(plan["details"])
    known = ReportContext(source.config, source.annotators, (), (), RunFacts(), details=details)
    entry = f"{SHARED}.shards.{number}"
    done: dict[str, Any] = {entry: {}}
    is_first = run.update(only_with={entry: None}, **done)
    with rare_collections():
        compared, noticed = settle(open_family(source, known), require_running, False, again=not is_first)
    stored_as = None
    if compared is not None:
        names = compared.codes
        codes = {"classes": names.classes, "attributes": names.attributes}
        context = {"annotators": source.annotators, **codes}
        require_running()
        stored_as = file_id(run_id, f"{number:06d}-{ObjectId()}")
        write_records(stored_as, compared.records, context)
    done = {entry: {"file": stored_as, "noticed": dict(noticed)}}
    run.update(only_with={"status": RUNNING}, **done)
    write_journal()  # so that a database that is killed keeps what is done
    return 0 if compared is None else compared.records.n_samples
