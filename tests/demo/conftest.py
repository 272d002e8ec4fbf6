"""The demo dataset, built once for all tests here; what changes it has a copy of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def demo_dataset(private_fiftyone: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The demo dataset as it is built; not to be changed."""
    from tools.demo.dataset import build_demo_dataset

    dataset = build_demo_dataset(tmp_path_factory.mktemp("demo"), f"demo-{os.getpid()}")
    yield dataset
    dataset.delete()


@pytest.fixture
def demo_copy(demo_dataset: Any) -> Iterator[Any]:
    """A copy of it, whose files are those of the original."""
    dataset = demo_dataset.clone(persistent=True)
    yield dataset
    dataset.delete()
