"""Copies of the demo dataset, which tests may change."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from tests.app.counted import ANNOTATORS

_numbers = itertools.count()


def copy_of_the_demo(demo_address: str, *label_types: str) -> Iterator[Any]:
    """A copy without a run, with the boxes and the labels of some more types; deleted in the end.

    Pages with the labels of all types take half as long again.
    """
    import fiftyone as fo

    from tools.demo.dataset import LABEL_TYPES

    demo = fo.load_dataset(demo_address.rsplit("/", 1)[1])
    dataset = demo.clone(f"{demo.name}-{next(_numbers)}", persistent=True)
    others = [entry["fields"] for name, entry in LABEL_TYPES.items() if name not in ("boxes", *label_types)]
    dataset.delete_sample_fields(list(itertools.chain(*others)))
    yield dataset
    if fo.dataset_exists(dataset.name):
        fo.delete_dataset(dataset.name)


def computed(dataset: Any) -> Any:
    """The report of a run on the boxes of a dataset, as another process would read it."""
    from annotator_agreement.dataset_io import compute_agreement, load_agreement

    compute_agreement(dataset, list(ANNOTATORS), progress=False)
    return load_agreement(dataset)


def address_of(dataset: Any, demo_address: str) -> str:
    """Where the App shows a dataset."""
    return f"{demo_address.rsplit('/', 1)[0]}/{dataset.name}"
