"""A delegated run that shares samples out among worker processes and is killed: it is continued, or deleted."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import fiftyone.operators as foo
import psutil
import pytest
from fiftyone.operators.delegated import DelegatedOperationService

from tests.datasets import random_annotators, stored
from tools.dev.private_fiftyone import PATIENT_SECONDS, ROOT

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import delete_agreement, load_agreement
from annotator_agreement.dataset_io.record import COMPLETED, Run

pytestmark = pytest.mark.long

PARAMS = {"fields": ["alice", "bob", "carol"], "run_key": "later", "workers": 2, "resamples": 0}
#: what `fiftyone delegated launch` does with an operation
_LAUNCHER = """
import sys
from bson import ObjectId
from fiftyone.operators.delegated import DelegatedOperationService
service = DelegatedOperationService()
service.execute_operation(service.get(ObjectId(sys.argv[1])))
"""


@pytest.fixture
def launched(operator):
    """Delegates a run, and gives the process that does it, and what FiftyOne says of it."""
    compute, service, started = operator("compute_agreement"), DelegatedOperationService(), []

    def launch(dataset, **params):
        foo.execute_operator(compute.uri, {"dataset": dataset, "params": {**PARAMS, **params}}, request_delegation=True)
        waiting = next(each for each in service.list_operations(operator=compute.uri) if each.run_state == "queued")
        command = [sys.executable, "-c", _LAUNCHER, str(waiting.id)]
        started.append(subprocess.Popen(command, cwd=ROOT, env=os.environ))
        return started[-1], lambda: service.get(waiting.id).run_state

    yield launch
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.parametrize("then", ["continued", "deleted"])
def test_a_delegated_run_that_was_killed_is_continued_as_that_of_one_process_or_deleted_with_all_that_it_left(
    launched, make_dataset, operator, then
):
    dataset = make_dataset(random_annotators(30, seed=5))
    before = stored(dataset)
    process, state = launched(dataset)
    run, workers = Run(dataset, "later"), []
    while not workers:  # until they have begun
        assert process.poll() is None
        dataset.reload()
        parts = run.exists and "shared" in run.config
        workers = [each for each in psutil.Process(process.pid).children() if parts and "spawn" in str(each.cmdline())]
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert not psutil.wait_procs(workers, timeout=PATIENT_SECONDS)[1]  # they end with the process that started them
    assert state() == "running"  # FiftyOne does not see it
    assert run.was_killed
    with pytest.raises(AgreementInputError, match="'running', but its process is gone; compute it again"):
        load_agreement(dataset, "later")
    if then == "deleted":
        delete_agreement(dataset, "later")
        after = stored(dataset)
        for name in before.keys() - {"dataset", "indexes"}:
            assert after[name] == before[name], name
        return
    process, state = launched(dataset, resume=True)
    assert process.wait() == 0
    assert state() == "completed"
    dataset.reload()
    assert run.status == COMPLETED
    reports = [load_agreement(dataset, "later").to_dict()]
    delete_agreement(dataset, "later")
    alone = {"dataset": dataset, "params": {**PARAMS, "workers": 1}}
    foo.execute_operator(operator("compute_agreement").uri, alone)
    dataset.reload()
    reports.append(load_agreement(dataset, "later").to_dict())
    for report in reports:
        report["run"].pop("seconds")
    assert reports[0] == reports[1]
