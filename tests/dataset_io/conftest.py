"""Fixtures that act just before a write to the database (run a function, or kill the process), and one that imports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from annotator_agreement.dataset_io.run import settle
from annotator_agreement.dataset_io.units import changing


@pytest.fixture
def before_each_write(monkeypatch):
    """Call a function just before every batch is written, after it was read and computed."""

    def install(action):
        original = settle.write

        def write(source, batch, updates, **options):
            action(batch)
            return original(source, batch, updates, **options)

        swap = changing.swap

        def swap_after(collection, writes, rows):
            if writes:
                action(writes)
            return swap(collection, writes, rows)

        monkeypatch.setattr(settle, "write", write)
        monkeypatch.setattr(changing, "swap", swap_after)

    return install


@pytest.fixture(scope="session")  # to start it takes as long as twenty kills
def killable(private_fiftyone):
    """Call a function of the plugin in a process that is killed before its n-th write."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("killable.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def call(dataset, function, *arguments, kill_before, **options):
        request = {
            "dataset": dataset.name,
            "call": function,
            "arguments": arguments,
            "options": options,
            "kill_before": kill_before,
        }
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline().split()
        assert answer[0] in ("killed", "done"), answer
        return answer[0] == "killed"

    yield call
    process.stdin.close()
    process.wait()


@pytest.fixture
def computed(lend):
    """The example with a run."""
    from tests.dataset_io.quick_runs import run_on

    return lend(run_on())


@pytest.fixture
def imported(tmp_path, delete_imports):
    """Import a file with some content; see :class:`tests.dataset_io.annotation_samples.Importing`."""
    from tests.dataset_io.annotation_samples import Importing

    return Importing(tmp_path)
