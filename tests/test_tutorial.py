"""The tutorial runs from the first cell to the last, and what it shows in one line is what comes out."""

from __future__ import annotations

import nbformat
import pytest

from tools.dev.notebook import TUTORIAL, executed

pytestmark = pytest.mark.long


def _lines(notebook: nbformat.NotebookNode) -> list[tuple[int, str]]:
    """The results of one line, by cell; tables, pictures and printed reports are as long as they are."""
    texts = [
        (k, output.data.get("text/plain", ""))
        for k, cell in enumerate(notebook.cells)
        for output in cell.get("outputs", ())
        if output.output_type == "execute_result"
    ]
    return [(k, text) for k, text in texts if "\n" not in text and "<PIL." not in text]


def test_the_tutorial_runs_and_shows_what_comes_out(private_fiftyone, tmp_path):
    import fiftyone as fo

    shown = nbformat.read(TUTORIAL, as_version=4)
    assert all(cell.outputs or "delete()" in cell.source for cell in shown.cells if cell.cell_type == "code")
    lines = _lines(shown)
    assert len(lines) > 5
    assert _lines(executed(TUTORIAL, tmp_path)) == lines, "run `make notebook`"
    assert "annotator-agreement-tutorial" not in fo.list_datasets()
