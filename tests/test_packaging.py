"""The checkout as users get it: as a pip package, and as a FiftyOne plugin downloaded from an archive."""

from __future__ import annotations

import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml

from tools.dev.private_fiftyone import ROOT

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """A copy of the files that are tracked by git, as they are now."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this is not a git checkout")
    copy = tmp_path_factory.mktemp("checkout") / "annotator-agreement-main"
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    return copy


def _run(*command: str, cwd: Path, **environment: str) -> str:
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


_COMPUTE = """
import annotator_agreement as aa, fiftyone as fo
box = fo.Detection(label="cat", bounding_box=[0, 0, .5, .5])
dataset = fo.Dataset()
dataset.add_sample(fo.Sample("1.jpg", a=fo.Detections(detections=[box]), b=fo.Detections()))
report = aa.compute(dataset, ["a", "b"], progress=False)
print(report.score.mean, aa.__file__, aa.metrics.box_iou([[0, 0, 2, 2]], [[1, 0, 3, 2]]))
dataset.delete()
"""
#: FiftyOne's command line, imported once
_LINES = """
import sys, fiftyone.core.cli as cli
for line in sys.argv[1:]:
    sys.argv[1:] = line.split()
    cli.main()
"""


def test_pip_install_gives_the_package(private_fiftyone, checkout, tmp_path):
    target = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    _run(*pip, "--target", str(target), str(checkout), cwd=tmp_path)
    installed = {path.name for path in (target / "annotator_agreement").iterdir()}
    expected = {"metrics", "agreement", "charts", "dataset_io", "operators", "names.py", "command_line", "py.typed"}
    assert expected <= installed
    assert not {"tests", "tools"} & installed
    printed = _run(sys.executable, "-c", _COMPUTE, cwd=tmp_path, PYTHONPATH=str(target))
    assert printed.startswith(f"0.0 {target}")


def test_every_package_folder_is_installed():
    tomllib = pytest.importorskip("tomllib", reason="needs Python 3.11")
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    faces = [
        path for path in ROOT.glob("[!.]*/**/__init__.py") if path.relative_to(ROOT).parts[0] not in ("tools", "tests")
    ]
    folders = [path.parent.relative_to(ROOT).parts for path in faces]
    assert listed == {"annotator_agreement"} | {".".join(("annotator_agreement", *folder)) for folder in folders}


def test_versions_and_requirements_agree():
    tomllib = pytest.importorskip("tomllib", reason="needs Python 3.11")
    import annotator_agreement

    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    plugin = yaml.safe_load((ROOT / "fiftyone.yml").read_text())
    requirements = (ROOT / "requirements.txt").read_text().split()
    assert plugin["version"] == project["version"] == annotator_agreement.__version__
    assert re.findall(r"^## (\d\S*)", changes, re.MULTILINE)[0] == project["version"]
    assert requirements == project["dependencies"]
    assert f"fiftyone{plugin['fiftyone']['version']}" in requirements


def test_fiftyone_downloads_a_working_plugin(private_fiftyone, checkout, tmp_path):
    served = tmp_path / "served"
    served.mkdir()
    shutil.make_archive(str(served / "main"), "zip", checkout.parent, checkout.name)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(served))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    commands = [
        f"plugins download http://127.0.0.1:{server.server_address[1]}/main.zip",
        "plugins requirements @annotator/agreement --install",
        "operators list",
    ]
    try:
        environment = {"FIFTYONE_PLUGINS_DIR": str(plugins), "NO_PROXY": "127.0.0.1"}
        listed = _run(sys.executable, "-c", _LINES, *commands, cwd=tmp_path, **environment)
    finally:
        server.shutdown()
    assert "@annotator/agreement/compute_agreement" in listed
    assert "@annotator/agreement/delete_agreement" in listed


def test_type_checkers_know_the_public_names():
    """The names are imported when used; type checkers follow the star imports of two packages."""
    import annotator_agreement as aa
    from annotator_agreement import agreement, dataset_io

    assert set(aa.__all__) - {"metrics"} <= {*agreement.__all__, *dataset_io.__all__}
    assert (ROOT / "py.typed").is_file()
