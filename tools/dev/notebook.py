"""``make notebook``: execute the tutorial, and keep its outputs in the file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import nbclient
import nbformat

from .private_fiftyone import ROOT, PrivateFiftyOne

TUTORIAL = ROOT / "docs" / "tutorial.ipynb"
_CELL_SECONDS = 120


def executed(path: Path, folder: Path) -> nbformat.NotebookNode:
    """A notebook with the outputs of executing it in its folder; an error in a cell is raised.

    The checkout is importable there as the package ``annotator_agreement``, as after ``pip install .``.
    """
    (folder / "annotator_agreement").symlink_to(ROOT)
    notebook = nbformat.read(path, as_version=4)
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "FIFTYONE_LOGGING_LEVEL": "WARNING"}
    resources = {"metadata": {"path": str(path.parent)}}
    client = nbclient.NotebookClient(notebook, timeout=_CELL_SECONDS, kernel_name="python3", resources=resources)
    client.execute(env=environment)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times
        # complaints of packages that only concern this environment
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        for output in cell.get("outputs", ()):
            if "image/jpeg" in output.get("data", {}):
                output.data.pop("image/png", None)  # the same picture in ten times the size
    return notebook


def main() -> None:
    """Execute the tutorial against a private database, and write it."""
    with tempfile.TemporaryDirectory() as folder:
        database = PrivateFiftyOne(Path(folder) / "fiftyone").start()
        work = Path(folder) / "work"
        work.mkdir()
        try:
            nbformat.write(executed(TUTORIAL, work), TUTORIAL)
        finally:
            database.stop()


if __name__ == "__main__":
    main()
