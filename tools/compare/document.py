"""``docs/compare.md``."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence

from .table import Section, as_markdown

_HEAD = """\
# Other programs and ours on the same annotations

Written by `make compare`, which installs kalos and kalphacv into environments of their own and runs all three programs
on the same files. The numbers of the other programs are those of their own functions; ours are those of
`compute_agreement` on a FiftyOne dataset of the same boxes. Numbers are compared to six digits.

Every difference is explained by a check that is part of the run: our formula is applied to *their* units (if it gives
their number, only the units differ), and every place in which the units differ is looked at: what each of the two
solutions is worth, and whether a pair within a unit is below the threshold. What matches no known kind would stand
here as "not explained".
"""


def document(sections: Sequence[Section], versions: Mapping[str, str]) -> str:
    """The whole text."""
    installed = {name: importlib.metadata.version(name) for name in ("fiftyone", "numpy", "scipy")}
    ours = ", ".join(f"{name} {version}" for name, version in installed.items())
    theirs = ", ".join(f"{name} {versions[name]}" for name in ("kalos", "pylibmgm", "kalphacv", "krippendorff"))
    return "\n".join([_HEAD, f"Versions: {theirs}; ours with {ours}.\n", *map(as_markdown, sections)])
