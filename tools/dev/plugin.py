"""The checkout as the package ``annotator_agreement``, without installing it."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from .private_fiftyone import ROOT

NAME = "annotator_agreement"


def load_plugin() -> ModuleType:
    """Import the checkout; the same module every time."""
    if NAME in sys.modules:
        return sys.modules[NAME]
    spec = importlib.util.spec_from_file_location(NAME, ROOT / "__init__.py", submodule_search_locations=[str(ROOT)])
    if spec is None or spec.loader is None:
        raise ImportError(f"{ROOT} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    spec.loader.exec_module(module)
    return module
