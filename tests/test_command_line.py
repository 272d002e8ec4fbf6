"""The command line: one call of the package each, exit codes, sentences on errors, and the pipeline of the docs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import fiftyone as fo
import pytest
import yaml
from PIL import Image

from tests.dataset_io.annotation_samples import coco, written
from tests.datasets import random_annotators
from tools.dev.private_fiftyone import ROOT

import annotator_agreement as aa
from annotator_agreement import command_line
from annotator_agreement.names import VERSION

NAMES = ["alice", "bob", "carol"]
PAGE = ROOT / "docs" / "reference" / "command_line.md"


def _made(make_dataset):
    return make_dataset(random_annotators(12))


def _computed(make_dataset):
    dataset = _made(make_dataset)
    aa.compute(dataset, NAMES, resamples=0)
    return dataset


@pytest.fixture
def computed(lend):
    return lend(_computed)


@pytest.fixture
def call(capsys):
    def run(*words):
        capsys.readouterr()
        code = command_line.main([str(word) for word in words])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.fixture
def requirements(tmp_path):
    def write(at_least, **keys):
        path = tmp_path / "requirements.json"
        path.write_text(json.dumps({"requirements": {"all": {"number": "existence.f1", "at_least": at_least, **keys}}}))
        return path

    return write


def test_every_command_does_what_the_function_does(call, lend, requirements, tmp_path):
    dataset = lend(_made)
    name = dataset.name
    code, printed, _ = call("compute", name, *NAMES, "-o", "resamples=0", "-o", "similarity=dice")
    run = aa.load(dataset)
    assert (code, run.config["similarity"], run.config["resamples"]) == (0, "dice", 0)
    assert f"{run.report.n_objects:,} labels" in printed
    code, printed, _ = call("show", name, "--json")
    assert (code, json.loads(printed)) == (0, run.report.to_dict())
    call("compute", name, *NAMES, "--run", "strict", "-o", "iou=0.8", "-o", "resamples=0")
    code, printed, _ = call("compare", name, "agreement", "--run", "strict", "--json")
    assert json.loads(printed)["numbers"] == aa.load(dataset, "strict").compare("agreement").to_dict()["numbers"]
    code, printed, _ = call("check", name, requirements(0.01), "--json")
    assert (code, json.loads(printed)["outcome"]) == (0, "passed")
    code, printed, _ = call("export", name, tmp_path / "report.json", "--requirements", requirements(0.01))
    assert json.loads((tmp_path / "report.json").read_text())["acceptance"]["outcome"] == "passed"
    assert printed == f"Written to {tmp_path / 'report.json'}\n"


def test_exit_codes_tell_passed_failed_and_not_computed_apart(call, computed, requirements):
    name = computed.name
    assert call("check", name, requirements(0.01))[0] == 0
    code, printed, error = call("check", name, requirements(0.999))
    assert (code, "Not accepted" in printed) == (1, True)
    assert error.endswith("of 1 requirement 1 failed. First: all: existence.f1 ≥ 0.999.\n")
    code, printed, error = call("check", name, requirements(0.01, judge="interval"))
    assert (code, "existence.f1 has no interval" in printed) == (2, True)
    assert error.endswith("1 has not enough data. First: all: existence.f1 has no interval.\n")
    code, printed, _ = call("check", name, requirements(0.999), "--markdown")
    assert (code, "**" in printed, "✗ failed" in printed) == (1, True, True)


ERRORS = [
    (["show", "no-such-dataset"], r"DATASET must be a dataset of FiftyOne, got 'no-such-dataset'"),
    (["show", "{}", "--run", "other"], r"`run_key` must be an agreement run of .*, got 'other'"),
    (["compute", "{}", "alice", "nobody"], r"nobody"),
    (["compute", "{}", "alice", "bob", "-o", "ioo=1"], r"compute\(\) has no option 'ioo'; did you mean 'iou'"),
    (["compute", "{}", "alice", "bob", "-o", "fields=nobody"], r"nobody"),
    (["compute", "{}", "alice", "bob", "-o", "samples=1"], r"must be a FiftyOne dataset or view, got int"),
    (["compute", "{}", "alice", "bob", "-o", "progress=true"], r"`progress` must be left out"),
    (["compute", "{}", "alice", "bob", "-o", "iou=2"], r"`iou` must be in \(0, 1\], got 2"),
    (["check", "{}", "none.yaml"], r"`requirements` must be a readable file, got 'none.yaml'"),
    (["import", "{}", "a.json", "b.json"], r"Several files must be given as NAME=FILE"),
    (["import", "", "a.json", "--create"], r"DATASET must be a name for a dataset of FiftyOne"),
    (["compute", "{}", "alice", "bob"], r"or replace it with --overwrite"),
]


def test_errors_are_one_sentence_on_stderr_and_an_import_that_fails_makes_no_dataset(call, lend):
    dataset, known = lend(_made), fo.list_datasets()
    for words, message in ERRORS:
        if "check" in words:
            aa.compute(dataset, NAMES, resamples=0)
        code, printed, error = call(*[dataset.name if word == "{}" else word for word in words])
        last = error.strip().splitlines()[-1]
        assert (code, printed) == (2, ""), words
        assert last.startswith("annotator-agreement: "), words
        assert re.search(message, last), words
        assert "Traceback" not in error, words
    for name in ("new-dataset", dataset.name):
        assert call("import", name, "/nowhere.json", "--create")[0] == 2
    assert fo.list_datasets() == known


def test_words_that_are_no_command_are_explained_and_help_tells_the_exit_codes(capsys):
    for words in ([], ["inspect"], ["check"], ["compute", "d", "a", "-o", "iou"]):
        with pytest.raises(SystemExit, match="2"):
            command_line.main(words)
        assert "usage: annotator-agreement" in capsys.readouterr().err
    for words in ([], ["import"], ["compute"], ["show"], ["compare"], ["export"], ["check"]):
        with pytest.raises(SystemExit, match="0"):
            command_line.main([*words, "--help"])
        printed = " ".join(capsys.readouterr().out.split())
        assert "exit codes: 0 done, or all requirements passed; 1 a requirement failed; 2" in printed, words


def test_an_error_that_nobody_foresaw_is_a_sentence_too(call, computed, monkeypatch):
    def broken(*_):
        raise RuntimeError("the disk\nis full")

    monkeypatch.setattr(command_line, "_run", broken)
    code, _, error = call("show", computed.name)
    assert (code, "RuntimeError: the disk is full" in error) == (2, True)
    monkeypatch.setenv("ANNOTATOR_AGREEMENT_TRACEBACK", "1")
    code, _, error = call("show", computed.name)
    assert (code, "Traceback" in error) == (2, True)


def test_arguments_without_end_are_sentences(call, computed, tmp_path):
    for value in ("[" * 100_000, "[" * 900 + "]" * 900, "{" * 5_000, "9" * 5_000, "NaN", "1e999", "null", "\udcff"):
        code, printed, error = call("compute", computed.name, "alice", "bob", "-o", f"iou={value}")
        assert (code, printed, "Traceback" in error) == (2, "", False), value[:20]
        assert re.search("`iou` must be|Texts must be Unicode", error), value[:20]
    deep = tmp_path / "deep.yaml"
    deep.write_text("requirements: " + "[" * 100_000)
    assert call("check", computed.name, deep)[0] == 2


#: a program in which packages are not there
START = f"""
import sys; sys.path.insert(0, {str(ROOT)!r})
from tools.dev.plugin import load_plugin; load_plugin()
from annotator_agreement.command_line import main
"""


@pytest.mark.long
def test_the_requirements_are_read_before_fiftyone_is_loaded_and_the_version_before_numpy():
    def run(missing, words):
        code = f"{START}sys.modules.update(dict.fromkeys({missing})); sys.exit(main(sys.argv[1:]))"
        return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=ROOT)

    told = "annotator-agreement: `requirements` must be a readable file, got 'none.yaml': No such file or directory\n"
    for words in (["check", "any", "none.yaml"], ["export", "any", "a.html", "--requirements", "none.yaml"]):
        done = run(["fiftyone"], words)
        assert (done.returncode, done.stderr) == (2, told)
    done = run(["fiftyone", "numpy"], ["--version"])
    assert done.stdout == f"annotator-agreement {VERSION}\n", done.stderr


# ---- the pipeline of the docs ----

#: how GitHub runs the file of a step, by the shell that the workflow names
SHELLS = {"bash": "bash --noprofile --norc -eo pipefail", None: "bash -e"}


#: what becomes of the answer, in a shell (what is read of it goes to the file `out`), and the outcome of the check
SHOWN = {
    "nobody": (1, "{} 2> err | true"),
    "a full disk": (0, "{} > /dev/full 2> err"),
    "closed": (2, "{} >&- 2> err"),
    "ASCII": (1, "PYTHONIOENCODING=ascii {} > out 2> err"),
    "ASCII in JSON": (1, "PYTHONIOENCODING=ascii {} --json > out 2> err"),
    "a full disk for errors": (2, "{} > out 2> /dev/full"),
    "nothing at all": (0, "{} >&- 2>&- <&-"),
}


@pytest.fixture(scope="module")
def program(private_fiftyone, tmp_path_factory):
    """The program, as a package installs it."""
    folder = tmp_path_factory.mktemp("bin")
    found = folder / "annotator-agreement"
    found.write_text(f"#!{sys.executable}{START}sys.exit(main())\n")
    found.chmod(0o755)
    return found


@pytest.mark.long
def test_the_answer_has_its_exit_code_whatever_becomes_of_what_is_printed(computed, program, tmp_path):
    told = {1: "Not accepted by wanted1.json: of 900 requirements 900 failed. First: ", 2: "Cannot be judged by"}
    for outcome, at_least, judge in ((0, 0, "value"), (1, 1, "value"), (2, 0, "interval")):
        wanted = {"number": "existence.f1", "at_least": at_least, "judge": judge}
        entries = {f"Straße 🚗 {k}": wanted for k in range(900)}  # longer than what a pipe holds
        (tmp_path / f"wanted{outcome}.json").write_text(json.dumps({"requirements": entries}))
    found = {}
    for name, (outcome, line) in SHOWN.items():
        words = f"{program} check {computed.name} wanted{outcome}.json"
        shell = f"set -o pipefail; {line.format(words)}; echo ${{PIPESTATUS[0]}} > code"
        subprocess.run(["bash", "-c", shell], cwd=tmp_path, check=False)
        found[name] = int((tmp_path / "code").read_text())
        error = (tmp_path / "err").read_text() if "2> err" in line else ""
        assert "Traceback" not in error, name
        assert "Exception ignored" not in error, name
        if "2> err" in line and outcome:
            assert f"annotator-agreement: {told[outcome]}" in error, name
        if name == "a full disk":
            assert "the answer could not be printed: [Errno 28] No space left on device" in error
        if name == "ASCII in JSON":
            assert json.loads((tmp_path / "out").read_text())["results"][0]["name"] == "Straße 🚗 0"
    assert found == {name: outcome for name, (outcome, _) in SHOWN.items()}


@pytest.mark.long
def test_the_pipeline_of_the_docs_runs_and_fails_where_the_delivery_is_not_accepted(program, tmp_path):
    # label files of two annotators, as the workflow finds them in the repository
    (tmp_path / "images").mkdir()
    images = [{"file_name": f"{k}.jpg", "width": 200, "height": 100} for k in range(12)]
    for image in images:
        Image.new("RGB", (200, 100)).save(tmp_path / "images" / image["file_name"])
    for name, shift in (("alice", 0), ("bob", 2)):
        boxes = [{"image_id": k, "bbox": [10 * k + shift, 5 * k, 30, 20]} for k in range(12)]
        written(tmp_path / f"{name}.json", coco(images, boxes))
    summary = tmp_path / "summary.md"
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "GITHUB_STEP_SUMMARY": str(summary)}
    # the shells and lines of the steps of the GitHub Actions workflow on the page
    (snippet,) = re.findall(r"```yaml\n(name: .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    workflow = yaml.safe_load(snippet)
    (job,) = workflow["jobs"].values()
    named = [each.get("defaults", {}).get("run", {}).get("shell") for each in (job, workflow)]
    steps = [(SHELLS[step.get("shell") or named[0] or named[1]], step["run"]) for step in job["steps"] if "run" in step]
    steps = [(shell, lines) for shell, lines in steps if "pip install" not in lines]
    assert steps
    script = tmp_path / "step.sh"

    def code_of(shell, lines, at_least):
        text = f"requirements:\n  boxes: {{number: localisation.mean_iou, at_least: {at_least}}}\n"
        (tmp_path / "requirements.yaml").write_text(text, encoding="utf-8")
        script.write_text(lines)
        done = subprocess.run([*shell.split(), script], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode

    assert [code_of(*step, at_least=0.8) for step in steps] == [0] * len(steps)
    assert code_of(*steps[-1], at_least=0.9) == 1
    assert summary.read_text().startswith(("#", "**"))
    assert "boxes" in summary.read_text()
    assert (tmp_path / "agreement.html").stat().st_size > 1000
    fo.delete_dataset("delivery")
