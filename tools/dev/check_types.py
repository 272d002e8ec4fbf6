"""``make lint``: check the types of all packages of the product, under the name of the installed package.

And of two scripts of a user: a right one must pass, and misspelt names in the other must be found, although the names
of the package are imported when they are used.
"""

from __future__ import annotations

import os
import subprocess
import sys

from .private_fiftyone import ROOT

PACKAGES = ("names", "metrics", "agreement", "charts", "dataset_io", "operators", "panels", "command_line")

_RIGHT = """
from typing import Any

import annotator_agreement as aa
from annotator_agreement.agreement.objects.report import ObjectReport


def first_iou(dataset: Any) -> float | None:
    report = aa.compute(dataset, ["alice", "bob"], run_key="strict", iou=0.75, progress=False).report
    print(report.alpha.pooled, report.score.mean, report.pairs[0].mean_iou, report.to_dict()["alpha"], aa.__version__)
    for entry in aa.load(dataset, "strict").report.annotators:
        print(entry.name)
    run: aa.AgreementRun = aa.load(dataset, "strict")
    print(len(run.view(missed_by="bob")), run.update().key, run.decisions.decide("none", min_votes=2).n_decided)
    return report.existence.f1 if isinstance(report, ObjectReport) else None
"""
_WRONG = """
import annotator_agreement as aa
from annotator_agreement import comput_agreement


def wrong(report: aa.AgreementReport) -> None:
    print(report.pars, aa.lod_agreement)


def wrong_of_run(run: aa.AgreementRun) -> None:
    print(run.vieww(), run.view(mised_by="bob"))
"""
#: what must be said of the second, in this order
_SAID = ("comput_agreement", "pars", "lod_agreement", "vieww", "mised_by")


def main() -> None:
    """Run mypy on a folder that contains the checkout under its package name, then on the scripts."""
    folder = ROOT / ".dev" / "types"
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "annotator_agreement"
    if not link.is_symlink():
        link.symlink_to(ROOT)

    def mypy(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), *arguments]
        environment = {**os.environ, "MYPYPATH": str(folder)}
        return subprocess.run(command, env=environment, cwd=folder, text=True, **options)  # type: ignore[call-overload]

    if mypy(*(argument for package in PACKAGES for argument in ("-p", f"annotator_agreement.{package}"))).returncode:
        sys.exit(1)
    (folder / "right.py").write_text(_RIGHT, encoding="utf-8")
    (folder / "wrong.py").write_text(_WRONG, encoding="utf-8")
    printed = mypy("right.py", "wrong.py", capture_output=True).stdout
    errors = [line for line in printed.splitlines() if ": error: " in line]
    if len(errors) == len(_SAID) and all(map(_is_said, errors, _SAID)):
        return
    sys.exit(f"Of a user's scripts mypy must find {', '.join(_SAID)} and nothing else, got:\n{printed}")


def _is_said(line: str, name: str) -> bool:
    return line.startswith("wrong.py:") and f'"{name}"' in line


if __name__ == "__main__":
    main()
