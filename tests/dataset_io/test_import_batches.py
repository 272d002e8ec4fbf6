"""Imports into fields that hold labels already: second batches, replacing, and attributes of other types."""

from __future__ import annotations

import fiftyone as fo
import pytest
from fiftyone import ViewField as F

from tests.dataset_io.annotation_samples import by, coco, dataset_of, label_studio_task, ls_box, region

from annotator_agreement.dataset_io.annotation_files import written_fields

pytestmark = pytest.mark.usefixtures("delete_imports")

NAMES = [f"{k}.jpg" for k in range(4)]
BOX = {"bbox": [4, 5, 10, 10], "rater_id": "ann"}


def batch(boxes, raters=("ann", "bob"), **more):
    """A COCO file with boxes, ``{image: {rater: [class, …]}}``; everybody looked at its images."""
    images = [{"file_name": name, "rater_list": [rater for rater in raters if rater in of_raters]}
              for name, of_raters in boxes.items()]  # fmt: skip
    entries = [{**BOX, "image_id": k, "rater_id": rater, "category_id": {"cat": 1, "dog": 2}[name], **more}
               for k, of_raters in enumerate(boxes.values())
               for rater, names in of_raters.items() for name in names]  # fmt: skip
    return coco(images, entries)


def classes(dataset, field):
    """The classes on every image; None where there is no list."""
    dataset.reload()
    return dataset.values(f"{field}.detections.label")


FIRST = batch({"0.jpg": {"ann": ["cat", "cat"], "bob": []}, "1.jpg": {"ann": ["cat"], "bob": ["cat"]}})
OTHER_IMAGES = {"2.jpg": {"ann": ["dog", "dog"], "bob": ["dog"]}}
SECOND = batch({"1.jpg": {"ann": ["dog"]}, **OTHER_IMAGES})


@pytest.fixture
def dataset(imported):
    """Four images, with the first batch."""
    return imported(FIRST, NAMES)[0]


def test_a_second_batch_adds_labels_and_replaces_those_of_its_images_or_all_only_if_asked_for(dataset, imported):
    _, preview = imported(batch(OTHER_IMAGES), dataset, preview=True)
    counts = [(c.field, c.n_labels, c.n_labels_kept, c.n_images_kept) for c in preview.changes]
    assert (counts, preview.lost) == ([("ann", 2, 3, 2), ("bob", 1, 1, 2)], "")
    assert "3 labels on 2 images" in str(preview)
    imported(batch(OTHER_IMAGES), dataset)
    assert classes(dataset, "ann") == [["cat", "cat"], ["cat"], ["dog", "dog"], None]
    assert classes(dataset, "bob") == [[], ["cat"], ["dog"], None]
    assert len(set(dataset.values(F("ann.detections.id"), unwind=True))) == 5

    dataset.add_sample_field("ann_being_imported", fo.StringField)  # of the user, though it looks like ours
    dataset.set_values("ann_being_imported", ["mine"] * 4)
    fields = set(dataset.get_field_schema(flat=True))
    raw = list(dataset._sample_collection.find({"filepath": "/images/3.jpg"}))
    imported.refuses(r"got 'ann' \(3 labels on 2 images\), 'bob' \(1 labels.*; say overwrite=True", SECOND, dataset)
    of_bob = batch({"0.jpg": {"bob": ["dog"]}})
    imported.refuses(r"got 'bob' \(0 labels on 1 images\); say overwrite=True", of_bob, dataset)  # somebody looked
    _, preview = imported(SECOND, dataset, overwrite=True, preview=True)
    assert preview.lost == "4 labels on images of the file will be replaced; this cannot be undone"
    assert [(c.n_images_replaced, c.n_labels_replaced, c.n_images_kept, c.n_labels_kept)
            for c in preview.changes] == [(2, 3, 1, 2), (1, 1, 2, 1)]  # fmt: skip
    imported(SECOND, dataset, overwrite=True)
    assert classes(dataset, "ann") == [["cat", "cat"], ["dog"], ["dog", "dog"], None]
    assert classes(dataset, "bob") == [[], ["cat"], ["dog"], None]  # bob did not look at 1.jpg in the second file
    assert list(dataset._sample_collection.find({"filepath": "/images/3.jpg"})) == raw  # not even null is written
    assert dataset.values("ann_being_imported") == ["mine"] * 4
    assert set(dataset.get_field_schema(flat=True)) == fields

    imported.refuses("`remove_others` must come with overwrite=True", SECOND, dataset, remove_others=True)
    _, summary = imported(SECOND, dataset, overwrite=True, remove_others=True)
    said = "4 labels on images of the file were replaced and 3 other labels were removed; this cannot be undone"
    assert (summary.lost, said in str(summary)) == (said, True)
    assert classes(dataset, "ann") == [None, ["dog"], ["dog", "dog"], None]
    assert classes(dataset, "bob") == [None, None, ["dog"], None]


def test_one_field_for_all_gets_labels_of_other_annotators_on_the_same_images(imported):
    options = {"into": "attribute", "field": "all"}
    dataset, _ = imported(batch({"0.jpg": {"ann": ["cat"]}, "1.jpg": {"ann": []}}), NAMES, **options)
    imported(batch({"0.jpg": {"bob": ["dog"]}, "1.jpg": {"bob": ["dog"]}}), dataset, **options)
    assert dataset.values("all.detections.annotator") == [["ann", "bob"], ["bob"], None, None]
    assert dataset.values("all_assigned") == [["ann", "bob"], ["ann", "bob"], None, None]
    again = batch({"0.jpg": {"bob": ["cat", "cat"]}, "1.jpg": {"ann": ["cat"]}})
    imported.refuses(r"got 'all' \(1 labels on 2 images\)", again, dataset, **options)
    _, summary = imported(again, dataset, **options, overwrite=True)
    (change,) = summary.changes
    assert (change.n_labels_replaced, change.n_labels_kept) == (1, 2)
    assert dataset.values("all.detections.annotator") == [["ann", "bob", "bob"], ["bob", "ann"], None, None]
    assert list(map(sorted, dataset.values("all_assigned")[:2])) == [["ann", "bob"]] * 2
    imported(again, dataset, **options, overwrite=True, remove_others=True)
    assert dataset.values("all.detections.annotator") == [["bob", "bob"], ["ann"], None, None]
    assert dataset.values("all_assigned") == [["bob"], ["ann"], None, None]


@pytest.fixture
def while_it_writes(monkeypatch):
    """Call a function when an import has written all labels beside the old ones, before it puts them into place."""

    def install(action):
        original = written_fields.FieldWriter._write_values

        def write(writer, *given):
            original(writer, *given)
            action(fo.load_dataset(writer.dataset.name))

        monkeypatch.setattr(written_fields.FieldWriter, "_write_values", write)

    return install


def drawn(label, **more):
    return fo.Detections(detections=[fo.Detection(label=label, bounding_box=[0, 0, 0.5, 0.5], **more)])


BOTH = {"0.jpg": {"ann": ["cat", "cat"], "bob": ["cat"]}, "1.jpg": {"ann": ["cat"]}, "2.jpg": {"ann": ["cat"]}}


def test_labels_that_somebody_saves_while_an_import_writes_stay_and_are_said(imported, while_it_writes):
    def save(dataset):
        first, second, third = dataset.limit(3)
        first["ann"], second["ann"], third["bob"] = drawn("dog"), fo.Detections(), drawn("dog")
        for sample in (first, second, third):
            sample.save()

    while_it_writes(save)
    dataset, summary = imported(batch(BOTH), NAMES)
    assert classes(dataset, "ann") == [["dog"], [], ["cat"], None]
    assert classes(dataset, "bob") == [["cat"], None, ["dog"], None]
    (line,) = summary.left_out
    assert line.startswith("images of an annotator on which labels were saved while the import wrote (these stay; ove")
    assert line.endswith("overwrite=True replaces them): 2 (ann on 0.jpg, ann on 1.jpg)")
    assert not any(name.startswith("agreement_import") for row in dataset._sample_collection.find() for name in row)
    _, again = imported(batch(BOTH), dataset, overwrite=True)
    assert classes(dataset, "ann") == [["cat", "cat"], ["cat"], ["cat"], None]
    assert again.left_out == ()


def test_in_one_field_for_all_labels_of_the_same_annotator_stay_and_of_others_come(imported, while_it_writes):
    def save(dataset):
        first, second = dataset.limit(2)
        first["all"], second["all"] = drawn("dog", annotator="ann"), drawn("dog", annotator="eve")
        first.save()
        second.save()

    while_it_writes(save)
    dataset, summary = imported(batch(BOTH), NAMES, into="attribute", field="all")
    assert classes(dataset, "all") == [["dog", "cat"], ["dog", "cat"], ["cat"], None]
    assert dataset.values("all.detections.annotator") == [["ann", "bob"], ["eve", "ann"], ["ann"], None]
    assert dataset.values("all_assigned")[:2] == [["ann", "bob"], ["ann"]]
    (line,) = summary.left_out
    assert line.endswith("overwrite=True replaces them): 1 (all on 0.jpg)")


def test_labels_whose_annotator_is_a_number_are_those_of_the_annotator_of_that_name(imported):
    dataset = dataset_of(NAMES)
    labels = [drawn("cat", annotator=number).detections[0] for number in (1, 2, True)]
    dataset.add_sample_field("all", fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    dataset.set_values("all", [fo.Detections(detections=labels)] + [None] * 3)
    content, options = batch({"0.jpg": {"1": ["dog"]}}, raters=["1"]), {"into": "attribute", "field": "all"}
    imported.refuses(r"got 'all' \(1 labels on 1 images\); say overwrite=True", content, dataset, **options)
    (change,) = imported(content, dataset, **options, overwrite=True)[1].changes
    assert (change.n_labels_replaced, change.n_labels_kept) == (1, 2)
    assert [label["annotator"] for label in dataset.first()["all"].detections] == [2, True, "1"]


def test_a_second_batch_with_other_questions_finds_the_fields_of_the_first(imported):
    box, weather = ls_box(0, 0, 10, 10), region("choices", {"choices": ["rain"]}, name="w", from_name="weather")
    dataset = dataset_of(NAMES)
    for number, results in enumerate(([box], [box, weather], [weather])):
        imported([label_studio_task(NAMES[number], by("ann", *results))], dataset)
    assert [value and len(value) for value in classes(dataset, "ann")] == [1, 1, None, None]
    assert dataset.values("ann_weather.label") == [None, "rain", "rain", None]


WHOLE = {"label_types": "polylines", "overwrite": True, "remove_others": True}


def test_a_field_of_another_type_is_replaced_only_as_a_whole(dataset, imported):
    content, lines = batch({"2.jpg": {"ann": ["cat"]}}), {"label_types": "polylines"}
    for options in (lines, {**lines, "overwrite": True}):
        imported.refuses(r"'ann' must be of the type .* got Detections.* remove", content, dataset, **options)
    imported(content, dataset, **WHOLE)
    dataset.reload()
    assert [value and len(value.polylines) for value in dataset.values("ann")] == [None, None, 1, None]


def test_an_import_stopped_before_it_declares_another_type_is_mended_by_the_next_one(dataset, imported, monkeypatch):
    redeclare = written_fields.redeclare

    def stopped(dataset, fields):
        if fields:
            raise KeyboardInterrupt
        redeclare(dataset, fields)

    with monkeypatch.context() as patch:
        patch.setattr(written_fields, "redeclare", stopped)  # also when it wants to clean up: it is as if killed
        with pytest.raises(KeyboardInterrupt):
            imported(batch({"2.jpg": {"ann": ["cat"], "bob": ["cat"]}}), dataset, **WHOLE)
    imported(batch({"0.jpg": {"eve": ["cat"]}}, raters=["eve"]), dataset)
    assert {dataset.get_field(name).document_type for name in ("ann", "bob")} == {fo.Polylines}
    assert [sample.ann and len(sample.ann.polylines) for sample in dataset] == [None, None, 1, None]
    assert not any(name.startswith("agreement_import") for name in dataset.get_field_schema())


def test_an_import_stopped_before_it_moves_labels_of_another_type_leaves_the_type(dataset, imported, while_it_writes):
    def stop(dataset):
        raise KeyboardInterrupt

    while_it_writes(stop)
    with pytest.raises(KeyboardInterrupt):
        imported(SECOND, dataset, **WHOLE)
    assert dataset.get_field("ann").document_type is fo.Detections
    assert classes(dataset, "ann") == [["cat", "cat"], ["cat"], None, None]


#: values of an attribute, the type of its field, and the values that are read
VALUES = [
    ([1, "n/a", True], fo.StringField, ["1", "n/a", "true"]),
    ([True, 1, 0.5], fo.StringField, ["true", "1", "0.5"]),
    ([1, 2.5], fo.FloatField, [1.0, 2.5]),
    ([1, 3], fo.IntField, [1, 3]),
]


@pytest.mark.long
def test_attributes_have_values_of_their_declared_type_and_the_dataset_can_be_read(imported):
    for values, type_, read in VALUES:
        entries = [{**BOX, "attributes": {"depth": value}, "iscrowd": crowd}
                   for value, crowd in zip(values, ["x", 1, 2], strict=False)]  # fmt: skip
        dataset, _ = imported(coco(["0.jpg"], entries), NAMES)
        labels = fo.load_dataset(dataset.name, reload=True).first().ann.detections
        assert [(label.depth, type(label.depth)) for label in labels] == [(value, type(value)) for value in read]
        assert [label.iscrowd for label in labels] == ["x", "1", "2"][: len(values)]
        assert isinstance(dataset.get_field("ann.detections.depth"), type_)
    dataset.clone().delete()


#: values of an attribute in two batches, and what is read; None if the second is refused
BATCHES = [
    (1, 0.5, [1.0, 0.5]), ("a", 3, ["a", "3"]), (0.5, 3, [0.5, 3.0]), (True, False, [True, False]),
    (1, "a", None), (0.5, "a", None), (True, 1, None), (1, True, None),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second", "read"), BATCHES)
@pytest.mark.few(4)
def test_attributes_of_a_second_batch_get_the_types_of_the_first_or_are_refused(imported, first, second, read):
    dataset, _ = imported(batch({"0.jpg": {"ann": ["cat"]}}, depth=first), NAMES)
    content = batch({"1.jpg": {"ann": ["cat"]}}, depth=second)
    if read is not None:
        imported(content, dataset)
        dataset.reload()
        assert [label.depth for value in dataset.values("ann")[:2] for label in value.detections] == read
        return
    for preview in (True, False):
        message = r"'depth' must have values that fit .*got .* on '/images/1.jpg'"
        imported.refuses(message, content, dataset, preview=preview)
    assert classes(dataset, "ann") == [["cat"], None, None, None]
    imported(content, dataset, overwrite=True, remove_others=True)
    dataset.reload()
    assert dataset.values("ann.detections.depth")[1] == [second]
    dataset.first()


def test_an_attribute_that_others_gave_another_type_stays_undeclared(imported):
    dataset = dataset_of(NAMES)
    dataset.add_sample_field("ann", fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    sample = dataset.first()
    sample["ann"] = fo.Detections(detections=[fo.Detection(label="cat", bounding_box=[0, 0, 1, 1], depth="deep")])
    sample.save()
    imported(batch({"1.jpg": {"ann": ["cat"]}}, depth=3), dataset)
    dataset.reload()
    assert [label.depth for value in dataset.values("ann")[:2] for label in value.detections] == ["deep", 3]
    assert dataset.get_field("ann.detections.depth") is None


HALF = "\ud800"
UNSTORABLE = [
    ({"attributes": {"n": 2**63}}, r"integers from .* got 'n' = 9223372036854775808 in label 2 of 'ann'"),
    ({"iscrowd": 10**30}, r"integers from .* label 2 of 'ann' on '/images/0.jpg'"),
    ({"attributes": {"n": HALF}}, r"whole characters.* got 'n' = .* in label 2 of 'ann' on '/images/0.jpg'"),
]


def test_what_the_database_cannot_hold_is_refused_with_its_place_or_left_out(imported):
    dataset = dataset_of(NAMES)
    for more, message in UNSTORABLE:
        imported.refuses(message, coco(["0.jpg"], [BOX, {**BOX, **more}]), dataset)
    images = [{"file_name": "0.jpg"}, {"file_name": "1.jpg"}]
    of_class = coco(images, [BOX])
    of_class["categories"][0]["name"] = HALF
    for into in ("fields", "attribute"):
        for content in (of_class, coco(images, [{**BOX, "rater_id": HALF}])):
            imported.refuses("whole characters", content, dataset, into=into)
    dataset.reload()
    assert not dataset.has_field("ann")
    for into in ("fields", "attribute"):  # names of files that the dataset does not have are only said
        str(imported(coco(["0.jpg", f"{HALF}.jpg"], [BOX]), dataset, into=into)[1]).encode()
