"""Run kalos, kalphacv and ours on the same annotations, print the tables and write the document: ``make compare``."""

from __future__ import annotations

import os
import sys

from tools.dev.other_programs import KALOS, KALPHACV, OtherProgram
from tools.dev.private_fiftyone import ROOT, PrivateFiftyOne

FOLDER = ROOT / ".dev" / "compare"
DOCUMENT = ROOT / "docs" / "method" / "compare.md"
N_ANNOTATORS = (2, 3, 5)

#: the order of Python's sets, on which kalos' sequential matching depends
_HASH_SEED = {"PYTHONHASHSEED": "0"}


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    """Compare everything."""
    os.environ["FIFTYONE_SHOW_PROGRESS_BARS"] = "false"
    say("starting the programs ...")
    PrivateFiftyOne(FOLDER).start()
    # after FiftyOne's environment is set
    from .annotations import LVIS, generated, lvis
    from .diagnostics import DIAGNOSTICS
    from .matching import Comparison
    from .ours import OurDataset
    from .table import document

    kalos = OtherProgram(KALOS, "tools.compare.kalos_side", say=say, environment=_HASH_SEED)
    kalphacv = OtherProgram(KALPHACV, "tools.compare.kalphacv_side", say=say)
    photographs = lvis()
    if photographs is None:
        say(f"LVIS-200 is skipped: {LVIS} is absent")
    sections = []
    for data in filter(None, (photographs, *(generated(n, FOLDER / "data") for n in N_ANNOTATORS))):
        say(f"{data.name}: {len(data.ids)} boxes of {len(data.annotators)} annotators ...")
        with OurDataset(data) as ours:
            comparison = Comparison(ours, kalos, kalphacv)
            sections.append(comparison.section())
            sections += [section for make in DIAGNOSTICS if (section := make(comparison)) is not None]
    text = document(sections, {**kalos.ask("versions"), **kalphacv.ask("versions")})
    kalos.close()
    kalphacv.close()
    say(f"\n{text}")
    if photographs is None:
        say(f"{DOCUMENT} is left as it is, since LVIS-200 was skipped")
        return
    DOCUMENT.write_text(text, encoding="utf-8")
    say(f"written: {DOCUMENT}")


if __name__ == "__main__":
    main()
