"""Ways to work on a dataset while a run is on its way."""

from __future__ import annotations

import pytest

from annotator_agreement.dataset_io import write as write_module


@pytest.fixture
def before_each_write(monkeypatch):
    """Call a function just before every batch is written, after it was read and computed."""

    def install(action):
        original = write_module.Writer.write

        def write(self, batch, updates):
            action(batch)
            return original(self, batch, updates)

        monkeypatch.setattr(write_module.Writer, "write", write)

    return install
