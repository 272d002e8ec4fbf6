#!/bin/sh
# Builds sdist and wheel into .dev/dist, checks them, and installs the wheel in a clean environment.
set -eu
cd "$(dirname "$0")/../.."
tools=.dev/release-venv
clean=.dev/release-clean
[ -x "$tools/bin/twine" ] || {
    echo "Setting up $tools (once) ..."
    .venv/bin/python -m venv "$tools"
    "$tools/bin/python" -m pip install --quiet --disable-pip-version-check build twine
}
rm -rf .dev/dist .dev/release "$clean"
# of what is committed, so that nothing else gets in
mkdir -p .dev/release
git archive HEAD | tar -x -C .dev/release
"$tools/bin/python" -m build --outdir .dev/dist .dev/release
"$tools/bin/twine" check --strict .dev/dist/*
echo "Installing the wheel in a clean environment ..."
.venv/bin/python -m venv "$clean"
"$clean/bin/python" -m pip install --quiet --disable-pip-version-check .dev/dist/*.whl
(cd .dev/dist && "../../$clean/bin/python" -c '
import annotator_agreement as aa
from importlib.metadata import version
assert aa.metrics.box_iou([[0, 0, 2, 2]], [[1, 0, 3, 2]]).shape
print("annotator-agreement", version("annotator-agreement"), "works from", aa.__file__)')
"$clean/bin/annotator-agreement" --version
ls -l .dev/dist
