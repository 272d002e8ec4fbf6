"""Names from data that look like code, formulas, markup or paths stay text wherever they are shown."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import fiftyone as fo
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chance import examples
from tests.dataset_io.annotation_samples import coco, written
from tests.dataset_io.quick_runs import compute_quickly
from tools.stress.texts import active_parts, formulas

import annotator_agreement as aa
from annotator_agreement import AgreementInputError, command_line
from annotator_agreement.agreement.settings import printable
from annotator_agreement.charts.text import plain_markdown
from annotator_agreement.dataset_io import export_agreement, list_agreements
from annotator_agreement.dataset_io.record import declare

pytestmark = pytest.mark.usefixtures("delete_imports")

HOSTILE = (
    *("=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", '=HYPERLINK("http://host")', "-5", "+1.5"),
    *("![x](http://host/x.png)", "[x](javascript:alert(1))", "<img src=http://host/x.png>", "</script><script>", "# x"),
    *("http://host/x", "www.host.com", "a@host.com", "`code`", "**bold**", "1. x", "- x", "a|b", "&lt;", "../../x"),
    "%s{0}",
)


def _disputed(make_dataset, names, owners, **more) -> fo.Dataset:
    """Images on which people call an object by one of the names, or the one before it; and fields by name."""
    samples = []
    for k, name in enumerate(names):
        drawn = zip(owners(k), (name, names[k - 1], name), (0.0, 0.02, 0.01), strict=True)
        labels = [fo.Detection(label=of, bounding_box=[0.1, 0.1, 0.3, 0.3 + by], who=who) for who, of, by in drawn]
        fields = {field: make(k) for field, make in more.items()}
        samples.append(fo.Sample(all=fo.Detections(detections=labels), **{"filepath": f"/images/{k}.jpg", **fields}))
    dataset = make_dataset({})
    dataset.add_samples(samples, dynamic=True)
    return dataset


def test_no_cell_of_a_table_is_a_formula_and_the_page_asks_for_nothing_and_runs_nothing(make_dataset, tmp_path) -> None:
    named = _disputed(make_dataset, HOSTILE, lambda k: ("=alice", "@bob", "-carol"))
    compute_quickly(named, "all", annotator_attribute="who", resamples=10)
    path = export_agreement(named, path=tmp_path / "tables.zip")
    names = set()
    with zipfile.ZipFile(path) as archive:
        for entry in archive.namelist():
            text = archive.read(entry).decode("utf-8-sig")
            for row in csv.reader(io.StringIO(text, newline="")):
                names.update(row)
    assert formulas(path) == []
    assert {"'=1+1", "'@SUM(1)", "'=alice", "'@bob", "'-carol", "-5"} <= names
    page = export_agreement(named, path=tmp_path / "page.html").read_text()
    assert active_parts(page) == []
    assert active_parts('<p onclick="x"><img src="http://host"></p>') == ["img", "onclick=x", "src=http://host"]


def test_markdown_shows_names_as_they_are() -> None:
    for name in HOSTILE:
        shown = plain_markdown(name)
        unescaped = re.sub(r"\\[^\w\s]", "", shown)
        active = r"\]\(|[`*<|]|://|\A\s*(#|[-+>] |\d+\. )|www\.\w|\w@\w|&\w+;"
        assert not re.search(active, unescaped)
        assert re.sub(r"\\([^\w\s])", r"\1", shown) == " ".join(name.splitlines()).replace("\t", r"\t")


#: what steers a terminal, turns the direction of text, or is a command to a CI system at the beginning of a line
STEERING = (
    *("\x1b]0;title\x07", "\x1b[2J", "\x9b31m", "a\u202eb", "\u2067x", "\u200fy", "a\rb", "a\bb", "\x7f", "tab\there"),
    *("::error::x", "  ::add-mask::x", "a\n::warning::y", "\u2028::stop-commands::z", "\x85::debug::q"),
    *("##[error]x", "a ##vso[task.complete]y", "###[group]z"),
)


def is_harmless(text: str) -> bool:
    lines = text.split("\n")
    kinds = {(unicodedata.category(sign), unicodedata.name(sign, "")) for sign in text if sign != "\n"}
    steers = any(kind in ("Cc", "Zl", "Zp") or (kind == "Cf" and OF_DIRECTION.search(name)) for kind, name in kinds)
    return not (steers or any(line.lstrip().startswith("::") for line in lines) or re.search(r"##(\[|vso\[)", text))


#: names of the invisible characters that only say how the others are ordered
OF_DIRECTION = re.compile("DIRECTIONAL|LEFT-TO-RIGHT|RIGHT-TO-LEFT|ARABIC LETTER MARK|FIRST STRONG")


@pytest.mark.long
@examples(150)
@given(st.lists(st.sampled_from([*STEERING, *":#[v\n \t\u061c", "so[", "é", "🚗"]) | st.text(max_size=3)))
def test_what_is_printed_is_harmless_whatever_it_is_made_of(parts: list[str]) -> None:
    text = "".join(parts)
    shown = printable(text)
    assert is_harmless(shown)
    assert printable(shown) == shown
    if is_harmless(text):
        assert shown == text


def _everything_printed(dataset: fo.Dataset, folder: Any) -> Iterator[tuple[str, Callable[[], object]]]:
    """Everything that prints, with names from data, and all messages about names that are given."""
    run, bad = aa.load(dataset), STEERING
    yield "report", run.print_report
    yield "full report", lambda: run.print_report(full=True)
    yield "run", lambda: print(repr(run), repr(run.report), repr(run.objects), repr(run.decisions))
    yield "comparison", lambda: run.compare("strict", resamples=10).print_report()
    for by in ("camera", "tags"):
        divided = run.by(by)
        yield f"parts by {by}", lambda divided=divided: (divided.print_report(), print(divided))
    wanted = {"number": "score", "annotator": "each", "at_least": 0.9}
    parts = {"number": "score.mean", "by": "camera", "at_least": 0.9}
    check = run.check({"requirements": {bad[0]: wanted, bad[10]: parts, **dict.fromkeys(bad[11:], wanted)}})
    yield "check", lambda: (check.print_report(), print(check.to_markdown(), check))
    decided = run.decisions.decide("consensus", min_votes=2)
    yield "decided", lambda: print(repr(decided), decided)
    yield "decisions", lambda: (run.decisions.report().print_report(), print(run.decisions.report()))
    yield "list of decisions", lambda: print(repr(run.decisions.list()))
    for k, name in enumerate(bad):
        label = {"bbox": [1, 1, 3, 3], "area": 9, "iscrowd": 0}
        content = coco(["1.jpg", name], [label, {**label, "image_id": 1}])
        content["categories"][0]["name"] = name
        file = written(folder / f"{k}.json", content)
        yield f"import {k}", lambda file=file, k=k: _printed_import(fo.Dataset(), {f"a{k}": file})
        unknown = f"{name}x"
        calls: dict[str, Callable[[], object]] = {
            "view": lambda name=name: run.view(annotators=name),
            "class": lambda name=name, unknown=unknown: run.view(classes=[name, unknown]),
            "by": lambda name=name: run.by(name),
            "part": lambda unknown=unknown: run.by("camera").view(unknown),
            "decide": lambda name=name: run.decisions.decide(name),
            "version": lambda unknown=unknown: run.decisions.decide("version", annotator=unknown),
            "field": lambda name=name: aa.compute(dataset, [name, "all"]),
            "option": lambda name=name: aa.compute(dataset, "all", annotator_attribute="who", **{name: 1}),
            "value": lambda name=name: aa.compute(dataset, "all", annotator_attribute=name),
            "run": lambda name=name: aa.load(dataset, name),
            "file": lambda name=name: run.check(folder / name),
            "requirement": lambda name=name: run.check({"requirements": {name: {name: 1}}}),
            "export": lambda name=name: run.export(folder / f"{name}.xyz"),
            "import": lambda name=name: aa.files.load(dataset, {name: folder / name}),
        }
        yield from ((f"{what} {name!r}", call) for what, call in calls.items())


def _printed_import(dataset: fo.Dataset, files: dict[str, Any]) -> None:
    summary = aa.files.load(dataset, files, progress=False)
    summary.print_report()
    print(repr(summary), summary, summary.to_markdown())
    dataset.delete()


@pytest.mark.long
def test_no_name_steers_a_terminal_or_a_ci_system(make_dataset, tmp_path, capsys, caplog) -> None:
    n, names = len(STEERING), STEERING * 2
    fields = {"filepath": lambda k: f"/images/{names[k].replace('/', '')}{k}.jpg", "camera": lambda k: names[k],
              "tags": lambda k: [names[k % 5]]}  # fmt: skip
    dataset = _disputed(make_dataset, names, lambda k: (names[k], names[k - 1], "carol"), **fields)
    compute_quickly(dataset, "all", annotator_attribute="who", resamples=10)
    compute_quickly(dataset, "all", annotator_attribute="who", run_key="strict", iou=0.9)
    wrong, n_messages = {}, 0
    for what, call in _everything_printed(dataset, tmp_path):
        capsys.readouterr()
        caplog.clear()
        message = ""
        try:
            call()
        except (AgreementInputError, TypeError, AttributeError) as error:
            message = str(error)
            n_messages += 1
        shown = capsys.readouterr().out + message + "\n".join(record.getMessage() for record in caplog.records)
        if not is_harmless(shown):
            wrong[what] = [line for line in shown.split("\n") if not is_harmless(line)][:3]
    assert not wrong
    assert n_messages > 5 * n
    for command in ("show {} --full", "compare {} strict", "show {} --json"):
        words = command.format(dataset.name).split()
        assert command_line.main(words) == 0
        printed = capsys.readouterr().out
        assert is_harmless(printed), words
        if words[0] == "show":
            assert r"\x1b" in printed or r"\u001b" in printed


def test_messages_are_one_line_of_at_most_2_kb(make_dataset) -> None:
    dataset = make_dataset()
    for what in ("x" * 300_000, ["é" * 100_000], {"a": "\n" * 9_000}):
        for name in ("iou", "run_key", "annotators", "attributes", "fields"):
            message = _message(compute_quickly, dataset, **{name: what})
            assert len(message.splitlines()) == 1
            assert name in message


def _message(call: Callable[..., object], *arguments: Any, **options: Any) -> str:
    with pytest.raises(AgreementInputError) as refused:
        call(*arguments, **options)
    assert len(str(refused.value).encode()) <= 2_000
    return str(refused.value)


#: with NUL, too long a name and path, nobody's home, no texts, half a character, nothing, below a file, and on a device
PATHS = ("a\x00b.html", "x" * 300 + ".html", "y/" * 3_000 + "x.html", "~nobody-here/x.html", b"x.html", None, 5,
         "\udcff.html", " ", "/etc/passwd/x.html", "/proc/x.html")  # fmt: skip


def test_paths_that_cannot_be_are_a_sentence(make_dataset, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    dataset = make_dataset()
    compute_quickly(dataset)
    for path in PATHS:
        for format in (None, "html", "csv", "json"):
            _message(export_agreement, dataset, path=path, format=format)
    assert list(tmp_path.iterdir()) == []
    assert list_agreements(dataset) == ["agreement"]


@pytest.mark.long
def test_attributes_and_columns_with_names_that_cannot_be_stored_get_others(imported) -> None:
    images = [{"file_name": "1.jpg", "rater_list": ["ann", "bob"]}]
    for name in ("n\x00", "\x00", "\ud800x", "$\x00.y"):
        boxes = [{"bbox": [4, 5, 9, 9], "rater_id": who, "attributes": {name: "v"}} for who in ("ann", "bob")]
        dataset, _ = imported(coco(images, boxes))
        _open_again(dataset)
        assert [value for label in dataset.first().ann.detections for _, value in label.iter_attributes()] == ["v"]
    table = pd.DataFrame({"image": "1.jpg", "annotator": ["ann", "bob"], "label": "cat", "n\x00": "v"})
    table[["x1", "y1", "x2", "y2"]] = (0.1, 0.2, 0.4, 0.5)
    dataset, _ = imported(table)
    _open_again(dataset)
    assert dataset.first().ann.detections[0]["n_"] == "v"


def test_no_field_is_declared_with_which_the_dataset_would_never_open(make_dataset) -> None:
    dataset = make_dataset({"ann": [[]]})
    before = dataset.get_field_schema(flat=True).keys()
    for path in ("x\x00", "$x", "ann.detections.x\x00"):
        message = _message(declare, dataset, {"ok": fo.StringField(), path: fo.StringField()})
        assert re.match(r"Fields must be such that FiftyOne can read them, got .*null char", message)
    assert _open_again(dataset).get_field_schema(flat=True).keys() == before


def _open_again(dataset: fo.Dataset) -> fo.Dataset:
    """The dataset as another process would open it."""
    dataset.reload()
    return fo.load_dataset(dataset.name, reload=True)
