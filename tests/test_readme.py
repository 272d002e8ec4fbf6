"""The snippets of README and quickstart run as they stand, and print what README shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from PIL import Image

from tools.dev.private_fiftyone import ROOT


def _run(path: Path) -> dict[str, object]:
    scope: dict[str, object] = {}
    for snippet in re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(snippet, path.name, "exec"), scope)
    return scope


@pytest.fixture(autouse=True)
def _in_a_folder_of_their_own(private_fiftyone, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def test_the_readme_needs_no_import_but_fiftyone():
    """Its blocks are pasted into one notebook: table, figure and view come without another import."""
    imports = re.findall(r"^(?:import|from) .*", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert imports == ["import fiftyone as fo", "import fiftyone.operators as foo"]


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


def test_the_readme_is_short_and_its_links_lead_somewhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 150
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert target.startswith("https://") or (ROOT / target).is_file(), target
