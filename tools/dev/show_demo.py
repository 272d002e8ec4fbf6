"""``make demo`` and ``make app``: the demo dataset, its agreement, and the App."""

from __future__ import annotations

import argparse
import functools
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from .app_server import require_free, wait_for_server
from .private_fiftyone import ROOT, PrivateFiftyOne

FOLDER = ROOT / ".dev" / "demo"
_DOT_SECONDS = 5.0


def say(text: str) -> None:
    """Print a message at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def timed(what: str, work: Callable[[], Any]) -> Any:
    """Print what is done, do it, and print how long it took; meanwhile a dot every few seconds."""
    sys.stdout.write(f"{what} ... ")
    sys.stdout.flush()
    started, ended = time.perf_counter(), threading.Event()
    dots = threading.Thread(target=_dots, args=(ended,), daemon=True)
    dots.start()
    try:
        result = work()
    finally:
        ended.set()
        dots.join()
    say(f"{time.perf_counter() - started:.1f} s")
    return result


def _dots(ended: threading.Event) -> None:
    while not ended.wait(_DOT_SECONDS):
        sys.stdout.write(". ")
        sys.stdout.flush()


def build(all_reports: bool = False) -> Any:
    """Build the demo dataset, compute the agreement on every label type, and print the report on boxes, or all."""
    from tools.demo.dataset import DATASET_NAME, IN_ORDER, build_demo_dataset, compute_run, set_up_app

    dataset = timed(
        f"Building the dataset {DATASET_NAME!r} (photographs from scikit-image and scikit-learn, 3 annotators)",
        lambda: build_demo_dataset(FOLDER / "images"),
    )
    reports = {}
    for label_type in IN_ORDER:
        run = functools.partial(compute_run, dataset, label_type)
        reports[label_type] = timed(f"Computing agreement on {label_type}", run)
    timed("Saving views of the run on boxes and setting up the App", lambda: set_up_app(dataset))
    for label_type, report in reports.items():
        if all_reports or label_type == "boxes":
            say("\n")
            report.print_report()
    _print_summary(reports)
    return dataset


def _print_summary(reports: dict[str, Any]) -> None:
    from annotator_agreement.charts.text.sections import Cell, Column, Section, as_text, table
    from annotator_agreement.charts.text.words import shown_number

    columns = [
        Column("label type", lambda item: item[0]),
        Column("run key", lambda item: item[1].run_key),
        Column("rated samples", lambda item: item[1].n_rated),
        Column("labels", lambda item: item[1].n_objects),
        Column("score", lambda item: Cell(item[1].score.mean, shown_number(item[1].score.mean))),
    ]
    title = "All label types (their reports: make demo ALL=1)"
    say("\n\n" + as_text([Section(title, [table(columns, reports.items())], is_first=True)]))


def demo(all_reports: bool) -> None:
    """Build, compute, print."""
    timed("Starting a private MongoDB", PrivateFiftyOne(FOLDER).start)
    timed("Loading FiftyOne", lambda: __import__("fiftyone"))
    build(all_reports)
    say(
        "\nTo see this in the FiftyOne App:  make app   (another port: make app PORT=5252)\n"
        "  The panel “Annotator agreement” is open beside the grid: click an underlined number to see the images and\n"
        "  labels behind it, “Back” to return. It is also behind the + beside the tab “Samples”.\n"
        "  Saved views, above the sidebar: “agreement: lowest score”, “class conflicts”, “missed”, “lone”; and\n"
        "  “agreement: disputed objects”, one by one, each with the labels of all annotators.\n"
        "  The button of the three people above the grid (behind the ⌄ where the grid is narrow) computes again."
    )


def app(port: int) -> None:
    """Open the demo dataset in the App, building it if necessary."""
    require_free(port)
    timed("Starting a private MongoDB", PrivateFiftyOne(FOLDER).start)
    fo = timed("Loading FiftyOne", lambda: __import__("fiftyone"))
    from tools.demo.dataset import DATASET_NAME, workspace

    dataset = fo.load_dataset(DATASET_NAME) if fo.dataset_exists(DATASET_NAME) else build()
    wait_for_server()
    options = {"remote": True, "port": port, "address": "127.0.0.1", "spaces": workspace()}
    session = timed("Starting the App", lambda: fo.launch_app(dataset, **options))
    say(f"\nOpen http://127.0.0.1:{port}/datasets/{DATASET_NAME} in a browser; Ctrl+C ends the App.")
    try:
        session.wait(-1)
    except KeyboardInterrupt:
        say("\nThe App is closed.")


def _private_home() -> None:
    """Let FiftyOne keep the App's files in the user's home (an id, a greeting) in the demo's folder."""
    home = FOLDER / "home"
    home.mkdir(parents=True, exist_ok=True)
    os.environ["HOME"] = os.environ["USERPROFILE"] = str(home)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["demo", "app"])
    parser.add_argument("--all", action="store_true", help="print the reports on all label types")
    parser.add_argument("--port", type=int, default=5151, help="port of the App")
    arguments = parser.parse_args()
    os.environ["FIFTYONE_LOGGING_LEVEL"] = "WARNING"
    _private_home()
    try:
        demo(arguments.all) if arguments.what == "demo" else app(arguments.port)
    except RuntimeError as error:
        sys.exit(f"\n{error}")


if __name__ == "__main__":
    main()
