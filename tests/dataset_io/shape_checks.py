"""Shared steps of the tests of shapes: compare two shapes, expect a refusal, paint a shape."""

from __future__ import annotations

import numpy as np
import pytest

from tests.dataset_io.shaped import HEIGHT, WIDTH
from tests.datasets import stored

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import compute_agreement

PAIR = ["alice", "bob"]


def iou_of_the_only_object(dataset, fields=PAIR, **options):
    """IoU of the only object, as it is written on both labels."""
    options = {"iou": 1e-6, "overwrite": True, **options}
    report = compute_agreement(dataset, fields, **options)
    value = report.localisation.mean_iou
    for field in fields:
        of_labels = dataset.first()[field]
        assert [label["agreement_iou"] for label in of_labels[of_labels._LABEL_LIST_FIELD]] == [value]
    return value


def assert_refused(dataset, match, *arguments, **options):
    """The run is refused with a message, and nothing was written."""
    before = stored(dataset)
    with pytest.raises(AgreementInputError, match=match):
        compute_agreement(dataset, *arguments, **options)
    assert stored(dataset) == before


def image_with(x, y, width, height):
    """An image in which one box of pixels is inside."""
    image = np.zeros((HEIGHT, WIDTH), np.bool_)
    image[y : y + height, x : x + width] = True
    return image
