"""Names from data that look like code, formulas, markup or paths stay text wherever they are shown."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from typing import Any

import fiftyone as fo
import pandas as pd
import pytest

from tests.dataset_io.annotation_samples import coco, dataset_of, written
from tests.dataset_io.quick_runs import compute_quickly
from tools.stress.texts import active_parts, formulas, hostile_text

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import compute_agreement, export_agreement, import_annotations, list_agreements
from annotator_agreement.dataset_io.record.schema import declare

pytestmark = pytest.mark.usefixtures("delete_imports")

HOSTILE = (
    *("=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", '=HYPERLINK("http://host")', "-5", "+1.5"),
    *("![x](http://host/x.png)", "[x](javascript:alert(1))", "<img src=http://host/x.png>", "</script><script>", "# x"),
    *(
        "http://host/x",
        "www.host.com",
        "a@host.com",
        "`code`",
        "**bold**",
        "1. x",
        "- x",
        "a|b",
        "&lt;",
        "../../x",
        "%s{0}",
    ),
)


@pytest.fixture
def named(make_dataset) -> fo.Dataset:
    """Classes and annotators with hostile names, who disagree."""
    dataset = make_dataset({})
    samples = []
    for k, name in enumerate(HOSTILE):
        labels = [
            fo.Detection(label=of, bounding_box=[0.1, 0.1, 0.3, 0.3 + shift], who=who)
            for who, of, shift in (("=alice", name, 0.0), ("@bob", HOSTILE[k - 1], 0.01), ("-carol", name, 0.02))
        ]
        samples.append(fo.Sample(f"/images/{k}.jpg", all=fo.Detections(detections=labels)))
    dataset.add_samples(samples, dynamic=True)
    compute_agreement(dataset, "all", annotator_attribute="who", resamples=10)
    return dataset


def test_no_cell_of_a_table_is_a_formula(named: fo.Dataset, tmp_path) -> None:
    path = export_agreement(named, path=tmp_path / "tables.zip")
    names = set()
    with zipfile.ZipFile(path) as archive:
        for entry in archive.namelist():
            text = archive.read(entry).decode("utf-8-sig")
            for row in csv.reader(io.StringIO(text, newline="")):
                names.update(row)
    assert formulas(path) == []
    assert {"'=1+1", "'@SUM(1)", "'=alice", "'@bob", "'-carol", "-5"} <= names


def test_the_page_asks_for_nothing_and_runs_nothing(named: fo.Dataset, tmp_path) -> None:
    page = export_agreement(named, path=tmp_path / "page.html").read_text()
    assert active_parts(page) == []
    assert active_parts('<p onclick="x"><img src="http://host"></p>') == ["img", "onclick=x", "src=http://host"]


def test_a_short_campaign_of_hostile_names_and_paths(private_fiftyone) -> None:
    outcome = hostile_text(seed=3, rounds=3)
    assert outcome.failed == 0, "\n".join(outcome.examples)


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_shows_names_as_they_are(name: str) -> None:
    from annotator_agreement.charts.text.sections import plain_markdown

    shown = plain_markdown(name)
    unescaped = re.sub(r"\\[^\w\s]", "", shown)
    assert not re.search(r"\]\(|[`*<|]|://|\A\s*(#|[-+>] |\d+\. )|www\.\w|\w@\w|&\w+;", unescaped)
    assert re.sub(r"\\([^\w\s])", r"\1", shown) == " ".join(name.splitlines())


@pytest.mark.parametrize("what", ["x" * 300_000, ["é" * 100_000], {"a": "\n" * 9_000}], ids=["text", "list", "lines"])
def test_messages_are_one_line_of_at_most_2_kb(make_dataset, what: Any) -> None:
    dataset = make_dataset()
    for options in ({"iou": what}, {"run_key": what}, {"annotators": what}, {"attributes": what}, {"fields": what}):
        with pytest.raises(AgreementInputError) as refused:
            compute_quickly(dataset, **options)
        message = str(refused.value)
        assert len(message.encode()) <= 2_000
        assert len(message.splitlines()) == 1
        assert next(iter(options)) in message


PATHS = {
    "NUL": "a\x00b.html",
    "a long name": "x" * 300 + ".html",
    "a long path": "y/" * 3_000 + "x.html",
    "nobody's home": "~nobody-here/x.html",
    "bytes": b"x.html",
    "None": None,
    "a number": 5,
    "half a character": "\udcff.html",
    "nothing": " ",
    "below a file": "/etc/passwd/x.html",
    "a device": "/proc/x.html",
}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_paths_that_cannot_be_are_a_sentence(make_dataset, path: Any, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    dataset = make_dataset()
    compute_quickly(dataset)
    for format in (None, "html", "csv", "json"):
        with pytest.raises(AgreementInputError) as refused:
            export_agreement(dataset, path=path, format=format)
        assert len(str(refused.value).encode()) <= 2_000
    assert list(tmp_path.iterdir()) == []
    assert list_agreements(dataset) == ["agreement"]


@pytest.mark.parametrize("name", ["n\x00", "\x00", "\ud800x", "$\x00.y"], ids=repr)
def test_attributes_with_names_that_cannot_be_stored_get_others(tmp_path, name: str) -> None:
    images = [{"file_name": "1.jpg", "rater_list": ["ann", "bob"]}]
    boxes = [
        {"image_id": 0, "bbox": [4, 5, 9, 9], "rater_id": who, "attributes": {name: "v"}} for who in ("ann", "bob")
    ]
    dataset = dataset_of(["1.jpg"])
    import_annotations(dataset, written(tmp_path / "y.json", coco(images, boxes)))
    _open_again(dataset)
    assert [value for label in dataset.first().ann.detections for _, value in label.iter_attributes()] == ["v"]


def test_columns_with_names_that_cannot_be_stored_get_others(tmp_path) -> None:
    table = pd.DataFrame({"image": "1.jpg", "annotator": ["ann", "bob"], "label": "cat", "n\x00": "v"})
    table[["x1", "y1", "x2", "y2"]] = (0.1, 0.2, 0.4, 0.5)
    dataset = dataset_of(["1.jpg"])
    import_annotations(dataset, table)
    _open_again(dataset)
    assert dataset.first().ann.detections[0]["n_"] == "v"


@pytest.mark.parametrize("path", ["x\x00", "$x", "ann.detections.x\x00"])
def test_no_field_is_declared_with_which_the_dataset_would_never_open(make_dataset, path: str) -> None:
    dataset = make_dataset({"ann": [[]]})
    before = dataset.get_field_schema(flat=True).keys()
    with pytest.raises(AgreementInputError, match=r"Fields must be such that FiftyOne can read them, got .*null char"):
        declare(dataset, {"ok": fo.StringField(), path: fo.StringField()})
    assert _open_again(dataset).get_field_schema(flat=True).keys() == before


def _open_again(dataset: fo.Dataset) -> fo.Dataset:
    """The dataset as another process would open it."""
    dataset.reload()
    return fo.load_dataset(dataset.name, reload=True)
