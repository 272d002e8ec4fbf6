#!/bin/sh
# Builds the documentation, in an environment of its own; any warning (a link that leads nowhere, a page that is not in
# the navigation) is an error.
set -eu
cd "$(dirname "$0")/../.."
environment=.dev/docs-venv
wanted=$(cksum < requirements-docs.txt)
if [ "$(cat "$environment/.ready" 2> /dev/null)" != "$wanted" ]; then
    echo "Setting up $environment (once) ..."
    .venv/bin/python -m venv "$environment"
    .venv/bin/uv pip install --quiet --python "$environment/bin/python" -r requirements-docs.txt ||
        "$environment/bin/python" -m pip install --quiet --disable-pip-version-check -r requirements-docs.txt
    echo "$wanted" > "$environment/.ready"
fi
# the pages of functions read the checkout under the name that users import
package=.dev/docs/annotator_agreement
rm -rf "$package"
mkdir -p "$package"
for part in __init__.py names.py agreement charts dataset_io metrics; do
    ln -s "$PWD/$part" "$package/$part"
done
NO_MKDOCS_2_WARNING=1 "$environment/bin/python" -m mkdocs build --quiet --strict
echo "The documentation is at .dev/site/index.html"
