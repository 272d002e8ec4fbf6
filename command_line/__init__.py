"""The command line, for pipelines: each command is one call of the package, and its exit code says how it went."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from .. import names

#: exit codes
PASSED, FAILED, NOT_COMPUTED = 0, 1, 2
_CODES = "exit codes: 0 done, or all requirements passed; 1 a requirement failed; 2 nothing could be computed or judged"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code, even if its output cannot be printed.

    Args:
        arguments: the words after the name of the program; None for those of the process
    """
    # closed streams become the null device, so that no file gets their numbers; what they cannot encode is escaped
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: SIM115  for the life of the process
        if isinstance(getattr(sys, name), io.TextIOWrapper) and number:
            getattr(sys, name).reconfigure(errors="backslashreplace")
    try:
        given = _parser().parse_args(arguments)
    except OSError:  # the usage could not be printed
        return _told("the arguments must be those of a command")
    from ..agreement.settings.errors import AgreementInputError  # `--help` needs no numpy

    try:
        # stdout is for the answer alone: what FiftyOne prints goes to stderr
        with contextlib.redirect_stdout(sys.stderr):
            answer: Answered = given.command(given)
        text = json.dumps(answer.values, default=str) if given.json else answer.text
    except (AgreementInputError, TypeError) as error:
        return _told(error)
    except KeyboardInterrupt:
        return _told("interrupted")
    except Exception as error:  # such as a lost database: a sentence, not a traceback
        if os.environ.get("ANNOTATOR_AGREEMENT_TRACEBACK"):
            _print(traceback.format_exc(), sys.stderr)
        return _told(f"{type(error).__name__}: {error} (ANNOTATOR_AGREEMENT_TRACEBACK=1 shows where)")
    if answer.code != PASSED:
        _told(answer.sentence)
    failed = _print(text, sys.stdout)
    if failed is not None and not isinstance(failed, BrokenPipeError):  # `head` closes its pipe early
        _told(f"the answer could not be printed: {failed}")
    return answer.code


def _print(text: str, stream: TextIO) -> Exception | None:
    """Print a text; if nobody reads the stream or the disk is full, return the error and discard what follows."""
    from ..agreement.settings.errors import printable

    try:
        print(printable(text), file=stream, flush=True)
    except (OSError, ValueError) as error:
        with contextlib.suppress(OSError, ValueError):  # else a flush at Python's exit changes the code
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None


def _told(error: object) -> int:
    said = " ".join(str(error).splitlines())
    for argument, word in _WORDS.items():
        said = said.replace(argument, word)
    _print(f"{_PROGRAM}: {said}", sys.stderr)
    return NOT_COMPUTED


_PROGRAM = "annotator-agreement"
#: arguments in Python that messages name, and what they are called here
_WORDS = {"overwrite=True": "--overwrite", "`media_dir=`": "--images", "`media_dir`": "--images"}


class Answered:
    """Answer of a command: text for people, values for programs, the exit code, and a sentence on why it is not 0."""

    def __init__(self, text: str, values: Any, code: int = PASSED, sentence: str = "") -> None:
        self.text, self.values, self.code, self.sentence = text, values, code, sentence


# ---- the commands ----


def _dataset(given: argparse.Namespace, *, create: bool = False) -> Any:
    """The dataset of a command.

    Raises:
        AgreementInputError: if there is none
    """
    import fiftyone as fo

    from ..agreement.settings.errors import AgreementInputError, did_you_mean

    if given.dataset not in fo.list_datasets():
        if create:
            try:
                return fo.Dataset(given.dataset, persistent=True)
            except ValueError as error:
                raise AgreementInputError(f"DATASET must be a name for a dataset of FiftyOne: {error}") from error
        hint = did_you_mean(given.dataset, fo.list_datasets())
        raise AgreementInputError(f"DATASET must be a dataset of FiftyOne, got {given.dataset!r}{hint}")
    return fo.load_dataset(given.dataset)


def _import(given: argparse.Namespace) -> Answered:
    import fiftyone as fo

    from ..dataset_io import files

    options: dict[str, Any] = {"overwrite": given.overwrite}
    if given.format:
        options["format"] = given.format
    if given.images:
        options["media_dir"] = given.images
    is_new = given.create and given.dataset not in fo.list_datasets()
    dataset = _dataset(given, create=given.create)
    try:
        summary = files.load(dataset, _source(given.files), **options, progress=False)
    except BaseException:
        if is_new:  # it is empty, and would be in the way of the next try
            dataset.delete()
        raise
    return Answered(summary.to_markdown(), summary.to_dict())


def _source(files: Sequence[str]) -> Any:
    """What to import: one file or folder with the labels of all annotators, or a file of each (``NAME=FILE``) by name.

    Raises:
        AgreementInputError: if several files do not say whose they are
    """
    from ..agreement.settings.errors import AgreementInputError

    named = [file.partition("=") for file in files]
    if all(is_named and name for name, is_named, _ in named) and len({name for name, *_ in named}) == len(files):
        return {name: file for name, _, file in named}
    if len(files) > 1:
        raise AgreementInputError(
            f"Several files must be given as NAME=FILE, each of another annotator, got {files[:5]}"
        )
    return files[0]


def _compute(given: argparse.Namespace) -> Answered:
    from ..agreement.settings.errors import AgreementInputError
    from ..dataset_io import compute

    fields: Any = given.fields if len(given.fields) > 1 else given.fields[0]
    # all arguments by name: ``-o`` may give any, and a wrong name is refused by ``compute()``
    options = {"run_key": given.run, "overwrite": given.overwrite, "progress": False, **dict(given.option or ())}
    if options["progress"] is not False:
        raise AgreementInputError("`progress` must be left out: no command shows its progress")
    run = compute(**{"samples": _dataset(given), "fields": fields, **options})
    return Answered(_text_of(run.report), run.report.to_dict())


def _show(given: argparse.Namespace) -> Answered:
    report = _run(given).report
    return Answered(_text_of(report, full=given.full), report.to_dict())


def _compare(given: argparse.Namespace) -> Answered:
    comparison = _run(given).compare(given.before)
    return Answered(_text_of(comparison), comparison.to_dict())


def _export(given: argparse.Namespace) -> Answered:
    if given.requirements is not None:
        _read_requirements(given)
    path = _run(given).export(given.path, requirements=given.requirements, overwrite=given.overwrite)
    return Answered(f"Written to {path}", {"path": str(path)})


def _check(given: argparse.Namespace) -> Answered:
    from ..agreement.acceptance.evaluate import FAILED as REQUIREMENT_FAILED

    _read_requirements(given)
    check = _run(given).check(given.requirements)
    code = PASSED if check.passed else FAILED if check.outcome == REQUIREMENT_FAILED else NOT_COMPUTED
    from ..charts.reports.other_results import acceptance_sentence

    first = next((each for each in check.of(check.outcome) if code), None)
    why = "" if first is None else f" First: {first.title}: {first.reason or first.condition}."
    text = check.to_markdown() if given.markdown else _text_of(check)
    return Answered(text, check.to_dict(), code, acceptance_sentence(check) + why)


def _read_requirements(given: argparse.Namespace) -> None:
    """Read the requirements file first, so that an error in it is reported before FiftyOne is loaded, in seconds."""
    from ..agreement.acceptance.requirements import read_requirements

    read_requirements(given.requirements)


def _run(given: argparse.Namespace) -> Any:
    from .. import charts as charts  # lets results print themselves
    from ..dataset_io import load

    return load(_dataset(given), given.run)


def _text_of(result: Any, **options: Any) -> str:
    """Text that a result prints."""
    from .. import charts as charts

    printed = io.StringIO()
    result.print_report(file=printed, **options)
    return printed.getvalue().rstrip("\n")


# ---- the arguments ----


def _option(text: str) -> tuple[str, Any]:
    """An option as NAME=VALUE; values are JSON, or else texts."""
    name, is_given, value = text.partition("=")
    if not is_given or not name:
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got {text!r}")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_PROGRAM, description="How far annotators agree, on datasets of FiftyOne.", epilog=_CODES
    )
    parser.add_argument("--version", action="version", version=f"{_PROGRAM} {names.VERSION}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, function: Callable[[argparse.Namespace], Answered], help: str, *, run: bool = True) -> Any:
        added = commands.add_parser(name, help=help, description=f"{help}.", epilog=_CODES)
        added.add_argument("dataset", metavar="DATASET", help="name of the dataset in FiftyOne")
        if run:
            added.add_argument(
                "--run", default=names.DEFAULT_RUN_KEY, metavar="KEY", help="key of the run (%(default)s)"
            )
        added.add_argument("--json", action="store_true", help="print one line of JSON")
        added.set_defaults(command=function)
        return added

    overwrite = {"action": "store_true", "help": "replace what is there"}
    added = command("import", _import, "Import annotation files of several annotators", run=False)
    added.add_argument("files", nargs="+", metavar="FILE", help="one file or folder, or NAME=FILE for each annotator")
    added.add_argument("--format", help="the format; by default, the files tell")
    added.add_argument("--images", metavar="FOLDER", help="folder with the images, which are added to the dataset")
    added.add_argument("--create", action="store_true", help="make the dataset if there is none")
    added.add_argument("--overwrite", **overwrite)
    added = command("compute", _compute, "Compute agreement and store it as a run")
    added.add_argument("fields", nargs="+", metavar="FIELD", help="a label field for each annotator, or one with all")
    added.add_argument(
        "-o", "--option", action="append", type=_option, metavar="NAME=VALUE", help="an option of compute(): -o iou=0.6"
    )
    added.add_argument("--overwrite", **overwrite)
    added = command("show", _show, "Show the report of a run")
    added.add_argument("--full", action="store_true", help="all sections")
    added = command("compare", _compare, "Compare a run with another one")
    added.add_argument("before", metavar="BEFORE", nargs="?", help="key of the other run; none: before the last update")
    added = command("export", _export, "Write the report of a run to a file")
    added.add_argument("path", metavar="PATH", help="a file ending in .html, .json or .zip")
    added.add_argument("--requirements", metavar="FILE", help="a requirements file whose check is written too")
    added.add_argument("--overwrite", **overwrite)
    added = command("check", _check, "Check a run against a requirements file")
    added.add_argument("requirements", metavar="FILE", help="YAML or JSON")
    added.add_argument("--markdown", action="store_true", help="print Markdown, for the summary of a pipeline")
    return parser


if __name__ == "__main__":
    sys.exit(main())
