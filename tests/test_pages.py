"""The snippets of the pages and the tutorial run as they stand, and print what the pages show."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from tests.dataset_io.annotation_samples import coco, images_in, written
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


def test_the_snippets_of_the_readme_and_the_quickstart_run_and_print_the_report_that_is_shown(capsys):
    # what it imports: alice drew on both images, bob looked at both and drew on one
    images_in(Path("images"), ["1.jpg", "2.jpg"])
    for name, drawn_on in {"alice": (0, 1), "bob": (0,)}.items():
        written(
            Path(f"{name}.json"), coco(["1.jpg", "2.jpg"], [{"image_id": k, "bbox": [4, 4, 9, 6]} for k in drawn_on])
        )
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
    outputs = [(k, output) for k, cell in enumerate(notebook.cells) for output in cell.get("outputs", ())]
    texts = [(k, each.data.get("text/plain", "")) for k, each in outputs if each.output_type == "execute_result"]
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
