#!/bin/sh
# Runs all tests. Those in the App go first; all others run beside them with the lowest priority, which uses what a
# browser leaves of the processor, and their output is shown afterwards.
set -u
cd "$(dirname "$0")/../.."
log=.dev/tests.log
mkdir -p .dev
nice -n 19 "$@" --ignore=tests/app > "$log" 2>&1 &
others=$!
trap 'kill "$others" 2> /dev/null; exit 1' INT TERM
echo "The tests in the App (they need Chromium):"
# a click may be lost while the App draws; a test that failed is tried once more, and named as RERUN
.venv/bin/python -m pytest tests/app --reruns 1 -rR
app=$?
echo "All other tests, which have begun meanwhile:"
tail -n +1 -f "$log" &
shown=$!
wait "$others"
rest=$?
sleep 1
kill "$shown"
[ "$app" = 0 ] && [ "$rest" = 0 ]
