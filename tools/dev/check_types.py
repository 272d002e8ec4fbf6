"""``make lint``: types of the pure layers, strictly, under the name that the package has when installed."""

from __future__ import annotations

import os
import subprocess
import sys

from .private_fiftyone import ROOT


def main() -> None:
    """Run mypy on a folder in which the checkout stands under its package name."""
    folder = ROOT / ".dev" / "types"
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "annotator_agreement"
    if not link.is_symlink():
        link.symlink_to(ROOT)
    packages = ["annotator_agreement.names", "annotator_agreement.metrics", "annotator_agreement.agreement"]
    arguments = [argument for package in packages for argument in ("-p", package)]
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), *arguments]
    sys.exit(subprocess.run(command, env={**os.environ, "MYPYPATH": str(folder)}, cwd=folder).returncode)


if __name__ == "__main__":
    main()
