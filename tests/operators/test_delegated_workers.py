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

ANNOTATORS = ["alice", "bob", "carol"]
PARAMS = {"fields": ANNOTATORS, "run_key": "later", "workers": 2, "resamples": 0}
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
        request = {"dataset": dataset, "params": {**PARAMS, **params}}
        foo.execute_operator(compute.uri, request, request_delegation=True)
        waiting = [each for each in service.list_operations(operator=compute.uri) if each.run_state == "queued"]
        started.append(
            subprocess.Popen([sys.executable, "-c", _LAUNCHER, str(waiting[0].id)], cwd=ROOT, env=os.environ)
        )
        return started[-1], lambda: service.get(waiting[0].id).run_state

    yield launch
    for process in started:
        process.kill()
        process.wait()


def _killed(launched, dataset):
    """Kill the process of a run whose workers have begun."""
    process, state = launched(dataset)
    run, workers = Run(dataset, "later"), []
    while not workers:
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
    return run


def test_a_delegated_run_that_was_killed_is_continued_and_is_that_of_one_process(launched, make_dataset):
    dataset = make_dataset(random_annotators(30, seed=5))
    run = _killed(launched, dataset)
    process, state = launched(dataset, resume=True)
    assert process.wait() == 0
    assert state() == "completed"
    dataset.reload()
    assert run.status == COMPLETED
    of_workers = load_agreement(dataset, "later").to_dict()
    delete_agreement(dataset, "later")
    foo.execute_operator(
        "@annotator/agreement/compute_agreement", {"dataset": dataset, "params": {**PARAMS, "workers": 1}}
    )
    dataset.reload()
    alone = load_agreement(dataset, "later").to_dict()
    for report in (of_workers, alone):
        report["run"].pop("seconds")
    assert of_workers == alone


def test_a_delegated_run_that_was_killed_is_deleted_with_all_that_it_left(launched, make_dataset):
    dataset = make_dataset(random_annotators(30, seed=5))
    before = stored(dataset)
    _killed(launched, dataset)
    delete_agreement(dataset, "later")
    after = stored(dataset)
    assert {name: each for name, each in after.items() if name not in ("dataset", "indexes")} == {
        name: each for name, each in before.items() if name not in ("dataset", "indexes")
    }
