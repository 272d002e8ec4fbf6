"""The examples in the docstrings of the metrics run as written."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

from annotator_agreement import metrics

MODULES = [module.name for module in pkgutil.walk_packages(metrics.__path__, f"{metrics.__name__}.")]


def _examples(name: str) -> list[doctest.DocTest]:
    module = importlib.import_module(name)
    return doctest.DocTestFinder(exclude_empty=True).find(module, globs={"np": np, **vars(module)})


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_module_give_what_they_show(name: str) -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for example in _examples(name):
        assert runner.run(example).failed == 0, example.name


def test_there_are_examples_to_run() -> None:
    assert sum(len(example.examples) for name in MODULES for example in _examples(name)) >= 40
