"""``make lint``: check the types of all packages of the product, under the name of the installed package."""

from __future__ import annotations

import os
import subprocess
import sys

from .private_fiftyone import ROOT

PACKAGES = ("names", "metrics", "agreement", "charts", "dataset_io", "operators", "panels", "command_line")


def main() -> None:
    """Run mypy on a folder that contains the checkout under its package name."""
    folder = ROOT / ".dev" / "types"
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "annotator_agreement"
    if not link.is_symlink():
        link.symlink_to(ROOT)
    arguments = [argument for package in PACKAGES for argument in ("-p", f"annotator_agreement.{package}")]
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), *arguments]
    sys.exit(subprocess.run(command, env={**os.environ, "MYPYPATH": str(folder)}, cwd=folder).returncode)


if __name__ == "__main__":
    main()
