"""One copy of the plugin for all tests, and a FiftyOne of the tests' own (started when a test needs it)."""

from __future__ import annotations

import atexit
import gc
import itertools
import os
import shutil
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import psutil
import pytest
from xdist.scheduler import LoadScopeScheduling

from tools.dev.plugin import load_plugin
from tools.dev.private_fiftyone import ROOT, PrivateFiftyOne

SHARED_DATA = ROOT.parent / "shared" / "data"

#: a database in memory, where there is enough, makes datasets in a fifth of the time: nothing waits for a disk
_MEMORY = Path("/dev/shm")
_MEMORY_BYTES = 4 << 30
_PREFIX = "annotator-agreement-tests-"


def _make_folder() -> Path:
    """The folder of this process; removes those of processes that were killed."""
    in_memory = os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _MEMORY_BYTES
    parent = _MEMORY if in_memory else Path(tempfile.gettempdir())
    for folder in parent.glob(f"{_PREFIX}*"):
        if not psutil.pid_exists(int(folder.name.removeprefix(_PREFIX))):
            shutil.rmtree(folder, ignore_errors=True)
    return parent / f"{_PREFIX}{os.getpid()}"


# threads of linear algebra wait for each other by turning in a loop, which takes the processor from other tests
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
load_plugin()
_FOLDER = _make_folder()
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)
# before anything imports FiftyOne, which reads its environment once
_PRIVATE = PrivateFiftyOne(_FOLDER)
os.environ.update(_PRIVATE.environment, FIFTYONE_SHOW_PROGRESS_BARS="false")

_numbers = itertools.count()


class _ByFile(LoadScopeScheduling):
    """Runs the tests of a file, which share fixtures, in one process; also those of some folders, and on the code."""

    def _split_scope(self, nodeid: str) -> str:
        path = PurePosixPath(nodeid.split("::")[0])
        if path.name in ("test_house.py", "test_layers.py"):  # both read all modules
            return "house"
        return (path.parent if path.parent.name in ("app", "demo") else path).as_posix()


@pytest.hookimpl(optionalhook=True)  # also works with `-p no:xdist`
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Share the tests out among processes."""
    return _ByFile(config, log)


#: what takes longest begins first, so that no process waits for another at the end
_LONG = ("test_packaging.py", "test_killed.py", "test_killed_settings.py", "test_coverage.py")


@pytest.hookimpl(tryfirst=True)  # before those of another part are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest; of the tests in the App, only journeys are not long."""
    items.sort(key=lambda item: item.path.name not in _LONG)
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.path.parent.name == "app" and item.get_closest_marker("journey") is None:
            item.add_marker("long")
        if item.get_closest_marker("few") is not None:
            cases.setdefault(item.nodeid.split("[")[0], []).append(item)
    for found in cases.values():
        (n,) = found[0].get_closest_marker("few").args
        kept = {k * len(found) // n for k in range(n)}  # spread, so that all values of a parameter have their turn
        for k, item in enumerate(found):
            if k not in kept:
                item.add_marker("long")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say the result of each part where both ran."""
    counts: dict[bool, Counter[str]] = {}
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, ()):
            if outcome != "passed" or report.when == "call":
                counts.setdefault("long" in getattr(report, "keywords", ()), Counter())[outcome] += 1
    if len(counts) == 2:
        for is_long, command in ((False, "make test"), (True, "make test-long")):
            n, n_passed = counts[is_long].total(), counts[is_long]["passed"]
            terminalreporter.write_line(f"{command}: {n_passed} passed, {n - n_passed} failed")


def pytest_collection_finish() -> None:
    """Collect garbage seldom and skip imported objects; otherwise it takes a fifth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


@pytest.fixture(scope="session")
def private_fiftyone() -> PrivateFiftyOne:
    """A running database of the tests' own, with the checkout as a plugin."""
    _PRIVATE.start()
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):  # pytest takes SystemExit as the failure of one test and goes on
            signal.signal(number, signal.default_int_handler)
    return _PRIVATE


def _maker(make_named: Callable[..., Any], kind: str = "") -> Iterator[Callable[..., Any]]:
    """A function that makes datasets under names of its own; they are deleted afterwards."""
    made = []

    def make(*arguments: Any, **options: Any) -> Any:
        made.append(make_named(f"test-{kind}{os.getpid()}-{next(_numbers)}", *arguments, **options))
        return made[-1]

    yield make
    for dataset in made:
        if not dataset.deleted:
            dataset.delete()


@pytest.fixture
def make_dataset(private_fiftyone: PrivateFiftyOne) -> Iterator[Callable[..., Any]]:
    """Make datasets of boxes; see :func:`tests.datasets.boxes_dataset`."""
    from tests.datasets import boxes_dataset

    _delete_orphans()
    yield from _maker(boxes_dataset)


@pytest.fixture(scope="module")
def make_module_dataset(private_fiftyone: PrivateFiftyOne) -> Iterator[Callable[..., Any]]:
    """Make datasets as ``make_dataset`` does, for all tests of a file."""
    from tests.datasets import boxes_dataset

    yield from _maker(boxes_dataset)


@pytest.fixture(scope="module")
def lend(make_module_dataset: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Lend the datasets that functions make to all tests of a file; see :class:`tests.datasets.Lent`."""
    from tests.datasets import Lent

    lent: dict[Callable[..., Any], Lent] = {}

    def lend(make: Callable[..., Any]) -> Any:
        if make not in lent:
            lent[make] = Lent(lambda: make(make_module_dataset))
        dataset = lent[make].lend()
        _delete_orphans()
        return dataset

    return lend


@pytest.fixture(scope="module")
def delete_imports(private_fiftyone: PrivateFiftyOne) -> Iterator[None]:
    """Delete the datasets of ``annotation_samples`` after the tests of a file."""
    import fiftyone as fo

    from tests.dataset_io.annotation_samples import PREFIX

    yield
    for name in fo.list_datasets(f"{PREFIX}{os.getpid()}-*"):
        fo.delete_dataset(name)


@pytest.fixture
def make_videos(private_fiftyone: PrivateFiftyOne) -> Iterator[Callable[..., Any]]:
    """Make datasets of videos; see :func:`tests.datasets.videos_dataset`."""
    from tests.datasets import videos_dataset

    _delete_orphans()
    yield from _maker(videos_dataset, "videos-")


def _delete_orphans() -> None:
    """Remove the records of runs of datasets that earlier tests deleted: FiftyOne does not, and tests count files."""
    from annotator_agreement.dataset_io.record import delete_orphans

    delete_orphans()


@pytest.fixture
def shared_data() -> Path:
    """Data sets that are not part of the repository."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"needs the test data in {SHARED_DATA}")
    return SHARED_DATA
