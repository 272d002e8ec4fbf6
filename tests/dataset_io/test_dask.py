"""Runs on a cluster of Dask, where it is installed: the same as those of one process, also if a worker is killed."""

from __future__ import annotations

import os
import signal

import fiftyone as fo
import pytest

from tests.dataset_io.test_shards import ANNOTATORS, contents
from tests.datasets import random_annotators

from annotator_agreement.dataset_io.shards import share

pytestmark = pytest.mark.long

distributed = pytest.importorskip("distributed", reason="needs the extra `cluster` (Dask's distributed)")


@pytest.fixture(scope="module")
def client(private_fiftyone):
    with (
        distributed.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_runs_of_dask_are_those_of_one_process_also_if_a_worker_is_killed(client, make_dataset, monkeypatch):
    monkeypatch.setattr(share, "SHARD_SAMPLES", 4)
    dataset, killed = make_dataset(random_annotators(60, seed=5)), []

    def kill(bar):
        if not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    progress = fo.report_progress(kill, n=1)
    found = contents(dataset, ANNOTATORS, resamples=50, executor=client.get_executor(), progress=progress)
    assert len(killed) == 1
    assert found == contents(dataset, ANNOTATORS, resamples=50)
