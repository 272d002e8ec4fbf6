"""The snippets of the pages and the tutorial run as they stand, and print what the pages show."""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import pytest
from PIL import Image

from tests.datasets import random_annotators
from tools.dev.notebook import TUTORIAL, executed
from tools.dev.private_fiftyone import ROOT

import annotator_agreement as aa
from annotator_agreement.agreement.acceptance import KEYS


def _run(path: Path) -> dict[str, object]:
    scope: dict[str, object] = {}
    for snippet in re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(snippet, path.name, "exec"), scope)
    return scope


def _write_files_of_two() -> None:
    """The files that README imports: alice drew on both images, bob looked at both and drew on one."""
    Path("images").mkdir()
    for name in ("1.jpg", "2.jpg"):
        Image.new("RGB", (100, 80)).save(Path("images", name))
    images = [{"id": k, "file_name": f"{k}.jpg", "width": 100, "height": 80} for k in (1, 2)]
    box = {"category_id": 1, "bbox": [10, 10, 30, 20], "area": 600, "iscrowd": 0}
    for name, drawn_on in {"alice": (1, 2), "bob": (1,)}.items():
        labels = [{"id": k, "image_id": image, **box} for k, image in enumerate(drawn_on, 1)]
        coco = {"images": images, "categories": [{"id": 1, "name": "cat"}], "annotations": labels}
        Path(f"{name}.json").write_text(json.dumps(coco), encoding="utf-8")


def test_the_snippets_of_the_readme_run_and_the_quickstart_prints_the_report_that_it_shows(capsys):
    _write_files_of_two()
    scope = _run(ROOT / "README.md")
    shown = re.search(r"```text\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert shown is not None
    printed = capsys.readouterr().out
    assert printed.startswith(shown[1])
    assert 'aa.compute(dataset, ["alice", "bob"])' in printed.replace("'", '"')
    assert "2 of 2 samples rated by two or more · 2 annotators · 3 labels · 2 objects" in printed
    scope["dataset"].delete()
    assert scope["lone"].count("alice.detections") == 1
    assert len(scope["conflicts"]) == 1
    assert len(scope["objects"]) == 3
    assert scope["figure"].data
    assert len(scope["disputed"]) == 2
    costs = scope["first"].values("agreement_cost")
    assert costs == sorted(costs, reverse=True)
    assert len(costs) > 1
    scope["first"]._dataset.delete()


def test_the_quickstart_of_the_documentation_runs():
    scope = _run(ROOT / "docs" / "start" / "quickstart.md")
    assert scope["same"].count("bob.detections") == 1
    scope["dataset"].delete()


@pytest.fixture(autouse=True)
def _in_a_folder_of_their_own(private_fiftyone, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def test_the_readme_is_short_and_needs_no_import_but_fiftyone():
    """Its blocks are pasted into one notebook: table, figure and view come without another import."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 150
    imports = re.findall(r"^(?:import|from) .*", text, re.MULTILINE)
    assert imports == ["import fiftyone as fo", "import fiftyone.operators as foo"]


GUIDE = (ROOT / "docs" / "guides" / "accept.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "reference" / "requirements.md").read_text(encoding="utf-8")


def test_the_guide_to_acceptance_runs_with_its_requirements(make_dataset, tmp_path, capsys):
    short, long = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    assert short.count("\n") <= 5
    dataset = make_dataset(random_annotators(30))
    dataset.set_values("camera", [("left", "right")[k % 2] for k in range(30)])
    run = aa.compute(dataset, ["alice", "bob", "carol"], resamples=100)
    scope = {"run": run}
    for text in (short, long):
        (tmp_path / "requirements.yaml").write_text(text.replace("person", "cat"), encoding="utf-8")
        exec(compile(code, "accept.md", "exec"), scope)
        assert "Not accepted by requirements.yaml" in capsys.readouterr().out  # random boxes
        assert len(scope["view"])
    results = {each.title: each for each in scope["check"].results}
    assert {f"everybody finds them ({name})" for name in ("alice", "bob", "carol")} < {*results}
    assert {f"with every camera ({name})" for name in ("left", "right")} < {*results}
    assert results["against the reference"].reason == "the run has no reference"


def test_the_reference_has_all_keys_of_requirements():
    assert re.findall(r"^\| `(\w+)` \|", REFERENCE, re.MULTILINE) == list(KEYS)


def _lines(notebook: nbformat.NotebookNode) -> list[tuple[int, str]]:
    """The results of one line, by cell; tables, pictures and printed reports are as long as they are."""
    texts = [
        (k, output.data.get("text/plain", ""))
        for k, cell in enumerate(notebook.cells)
        for output in cell.get("outputs", ())
        if output.output_type == "execute_result"
    ]
    return [(k, text) for k, text in texts if "\n" not in text and "<PIL." not in text]


@pytest.mark.long
def test_the_tutorial_runs_and_shows_what_comes_out(private_fiftyone, tmp_path):
    import fiftyone as fo

    shown = nbformat.read(TUTORIAL, as_version=4)
    assert all(cell.outputs or "delete()" in cell.source for cell in shown.cells if cell.cell_type == "code")
    lines = _lines(shown)
    assert len(lines) > 5
    assert _lines(executed(TUTORIAL, tmp_path)) == lines, "run `make notebook`"
    assert "annotator-agreement-tutorial" not in fo.list_datasets()
