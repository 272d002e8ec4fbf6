"""One copy of the plugin for all tests, and a FiftyOne of the tests' own (started when a test needs it)."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tools.dev.plugin import load_plugin
from tools.dev.private_fiftyone import ROOT, PrivateFiftyOne

SHARED_DATA = ROOT.parent / "shared" / "data"

load_plugin()
_FOLDER = Path(tempfile.gettempdir()) / f"annotator-agreement-tests-{os.getpid()}"
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)
# before anything imports FiftyOne, which reads its environment once
_PRIVATE = PrivateFiftyOne(_FOLDER)
os.environ.update(_PRIVATE.environment, FIFTYONE_SHOW_PROGRESS_BARS="false")

_numbers = itertools.count()


class _ByFile(LoadScopeScheduling):
    """Runs tests of a file, which share what is prepared for them, in one process; also those of some folders."""

    def _split_scope(self, nodeid: str) -> str:
        path = PurePosixPath(nodeid.split("::")[0])
        return (path.parent if path.parent.name in ("app", "demo") else path).as_posix()


@pytest.hookimpl(optionalhook=True)  # also works with `-p no:xdist`
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Share the tests out among processes."""
    return _ByFile(config, log)


@pytest.fixture(scope="session")
def private_fiftyone() -> PrivateFiftyOne:
    """A running database of the tests' own, with the checkout as a plugin."""
    return _PRIVATE.start()


@pytest.fixture
def make_dataset(private_fiftyone: PrivateFiftyOne) -> Iterator[Callable[..., Any]]:
    """Make datasets of boxes; see :func:`tests.datasets.boxes_dataset`."""
    from tests.datasets import boxes_dataset

    made = []

    def make(*arguments: Any, **options: Any) -> Any:
        dataset = boxes_dataset(f"test-{os.getpid()}-{next(_numbers)}", *arguments, **options)
        made.append(dataset)
        return dataset

    yield make
    for dataset in made:
        if not dataset.deleted:
            dataset.delete()


@pytest.fixture
def make_videos(private_fiftyone: PrivateFiftyOne) -> Iterator[Callable[..., Any]]:
    """Make datasets of videos; see :func:`tests.datasets.videos_dataset`."""
    from tests.datasets import videos_dataset

    made = []

    def make(videos: Any, size: tuple[int, int] | None = (200, 100)) -> Any:
        dataset = videos_dataset(f"test-videos-{os.getpid()}-{next(_numbers)}", videos, size)
        made.append(dataset)
        return dataset

    yield make
    for dataset in made:
        if not dataset.deleted:
            dataset.delete()


@pytest.fixture
def shared_data() -> Path:
    """Data sets that are not part of the repository."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"needs the test data in {SHARED_DATA}")
    return SHARED_DATA
