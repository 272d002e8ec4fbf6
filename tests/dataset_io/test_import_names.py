"""Names of annotators and classes that differ only in case, blanks or Unicode form."""

from __future__ import annotations

import io
import unicodedata

import fiftyone as fo
import pandas as pd
import pytest

from tests.dataset_io.annotation_samples import dataset_of

import annotator_agreement as aa
from annotator_agreement import AgreementInputError
from annotator_agreement.agreement.settings.annotators import spelt_alike
from annotator_agreement.dataset_io import import_annotations

pytestmark = pytest.mark.usefixtures("delete_imports")


def _table(rows):
    table = pd.DataFrame(rows, columns=["image", "annotator", "label"])
    return table.assign(x=4, y=5, width=10, height=10, image_width=40, image_height=20)


def _cars(label):
    return fo.Detections(detections=[fo.Detection(label=label, bounding_box=[0.1, 0.1, 0.5, 0.5])])


@pytest.mark.parametrize(
    ("names", "how"),
    [
        (["Ann", "ann"], "case"),
        (["ann", "ann "], "blanks"),
        (["traffic light", "trafficlight"], "blanks"),
        (["Ann", "ann "], "case and blanks"),
        (["é", unicodedata.normalize("NFD", "é")], "Unicode form"),
        (["ＡＮＮ", "ANN"], "Unicode form"),
        (["Straße", "STRASSE"], "case"),
    ],
)
def test_how_names_differ(names, how):
    ((group, question),) = spelt_alike([*names, "bob", "bobby"], "annotators")
    assert group == sorted(names)
    assert f" differ only in {how}: one person? " in question
    aliases = eval(question.split("`aliases=")[1].split("`")[0])
    assert {*aliases, *aliases.values()} == {*names}
    assert list(spelt_alike(["ann", "anne", "a_b", "a-b"], "classes")) == []


def test_an_import_points_out_names_that_are_spelt_alike_and_joins_them():
    rows = [("1.jpg", "Ann", "Car"), ("2.jpg", "ann ", "car"), ("3.jpg", "ann", "car"), ("1.jpg", "bob", "car")]
    dataset = dataset_of(["1.jpg", "2.jpg", "3.jpg"])
    preview = import_annotations(dataset, _table(rows), into="attribute", preview=True)
    said = "\n".join(preview.notes)
    assert (
        "Annotators 'Ann', 'ann', 'ann ' differ only in case and blanks: one person? Importing with `aliases={" in said
    )
    assert "Classes 'Car', 'car' differ only in case: one class? `aliases={'car': 'Car'}` joins them" in said
    assert len(preview.annotators) == 4
    aliases = {"ann ": "Ann", "ann": "Ann", "car": "Car"}
    summary = import_annotations(dataset, _table(rows), aliases=aliases)
    assert [(entry.name, entry.n_images) for entry in summary.annotators] == [("Ann", 3), ("bob", 1)]
    assert dataset.distinct("Ann.detections.label") == ["Car"]
    assert not any("differ only" in note for note in summary.notes)
    with pytest.raises(AgreementInputError, match=r"`aliases` must map names of annotators or classes .* got 'eve'"):
        import_annotations(dataset, _table(rows), aliases={"eve": "ann"}, prefix="x_")
    twice = [*rows, ("1.jpg", "ann", "car")]
    with pytest.raises(AgreementInputError, match=r"more than one of 'Ann' for '1.jpg'"):
        import_annotations(dataset, _table(twice), aliases=aliases, prefix="x_")


def test_names_in_another_unicode_form_are_the_same():
    other = unicodedata.normalize("NFD", "Zoë")
    rows = [("1.jpg", "Zoë", "Möwe"), ("2.jpg", other, unicodedata.normalize("NFD", "Möwe"))]
    dataset = dataset_of(["1.jpg", "2.jpg"])
    summary = import_annotations(dataset, _table(rows))
    assert [(entry.name, entry.n_images) for entry in summary.annotators] == [("Zoë", 2)]
    assert dataset.distinct("Zoë.detections.label") == ["Möwe"]


@pytest.mark.parametrize("of_one", [True, False])
@pytest.mark.few(1)
def test_a_run_points_out_names_that_are_spelt_alike_instead_of_blaming_the_guideline(of_one):
    dataset = dataset_of([f"{k}.jpg" for k in range(30)])
    for name, period in (("Ann", 2), ("ann", 3), ("bob", 5)):
        is_small = [name == "bob" if of_one else k % period > 0 for k in range(30)]
        dataset.set_values(name, [_cars("car" if small else "Car") for small in is_small])
    run = aa.compute(dataset, ["Ann", "ann", "bob"])
    printed = io.StringIO()
    run.print_report(file=printed)
    text = " ".join(printed.getvalue().split())
    assert "Annotators 'Ann', 'ann' differ only in case: one person? Importing with `aliases={'ann': 'Ann'}`" in text
    assert "Classes 'Car', 'car' differ only in case: one class? `aliases={'car': 'Car'}` joins them" in text
    assert len([line for line in aa.load(dataset, "agreement").warnings if "differ only in case" in line]) == 2
    assert (": classes 'Car', 'car' differ only in case: one class?" in text) == of_one  # among what stands out
    assert "how to tell" not in text
    assert "talk to" not in text
    joined = aa.compute(dataset, ["Ann", "ann", "bob"], aliases={"car": "Car"}, run_key="joined")
    assert not any("Classes" in warning for warning in joined.warnings)
    assert joined.score.mean == 1.0
