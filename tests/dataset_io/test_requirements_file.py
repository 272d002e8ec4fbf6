"""Requirements files: what they mean, and every mistake as one sentence with its line."""

from __future__ import annotations

import dataclasses
import json
import time

import pytest
import yaml

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io.results.check import read_requirements


def _read(tmp_path, text, name="requirements.yaml"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    found, _ = read_requirements(path)
    return {each.name: each for each in found}


FULL = """
requirements:
  boxes:
    labels: detections
    metric: f1
    at_least: 0.8
    judge: interval
    least_objects: 100
    iou: {default: 0.5, person: 0.7}
  people:
    inherits: boxes
    classes: person
    at_least: 0.9
  missed:
    inherits: people
    metric: miss_rate
    at_most: 0.1
    each_annotator: true
    iou: null
  base:
    enabled: false
    metric: alpha
  "no":
    inherits: base
    at_least: 0.667
    classes: [no, 1, 2024-01-01, Straße 🚗]
    attributes: {occluded: true, pose: left}
    size: small
    tags: [night]
    annotators: [alice, bob]
"""


def test_children_inherit_and_override(tmp_path):
    found = _read(tmp_path, FULL)
    assert list(found) == ["boxes", "people", "missed", "no"]
    people, missed, last = found["people"], found["missed"], found["no"]
    assert (people.labels, people.judge, people.least_objects) == (("detections",), "interval", 100)
    assert (people.limit, people.classes, dict(people.iou)) == (0.9, ("person",), {"default": 0.5, "person": 0.7})
    assert (missed.is_most, missed.limit, missed.iou, missed.each_annotator) == (True, 0.1, (), True)
    assert last.classes == ("no", "1", "2024-01-01", "Straße 🚗")
    assert last.attributes == (("occluded", True), ("pose", "left"))
    assert (last.metric, last.limit, last.judge) == ("alpha", 0.667, "value")


def test_distances_and_errors_may_be_above_1(tmp_path):
    text = "requirements:\n  a: {metric: hd95, at_most: 5}\n  b: {against: reference, metric: error, at_most: 2}\n"
    assert [each.limit for each in _read(tmp_path, text).values()] == [5, 2]


def test_a_mapping_is_as_a_file(tmp_path):
    of_file = _read(tmp_path, FULL.replace("[no, 1, 2024-01-01, Straße 🚗]", "[car]"))
    of_mapping, name = read_requirements(yaml.safe_load(FULL.replace("[no, 1, 2024-01-01, Straße 🚗]", "[car]")))
    assert name == "requirements"
    assert [dataclasses.replace(each, place="") for each in of_mapping] == [
        dataclasses.replace(each, place="") for each in of_file.values()
    ]


def _wrong(keys: str) -> str:
    return "requirements:\n  a:\n    metric: f1\n    at_least: 0.8\n" + keys


MISTAKES = {
    "empty": ("", r"^requirements.yaml must have requirements, got an empty file$"),
    "comment": ("# nothing\n", r"must have requirements, got an empty file"),
    "list": ("- 1\n- 2\n", r"line 1: `a requirement` must be|line 1: `a requirement`|a requirement"),
    "text": ("hello\n", r"line 1: `the file` must be a mapping of keys to values, got 'hello'"),
    "unclosed": ("requirements:\n  a: [1, 2\n", r"line 3: must be YAML or JSON, got while parsing a flow sequence"),
    "tab": ("requirements:\n\ta: 1\n", r"line 2: must be YAML or JSON, got .*cannot start any token"),
    "control": ("requirements:\n  a: \x01\n", r"line 2: must have no control characters"),
    "not UTF-8": (b"requirements:\n  a: \xff\n", r"line 2: must be text in UTF-8, got other bytes"),
    "no key": ("other: 1\n", r"line 1: there is no key 'other' in the file; the keys are requirements"),
    "misspelt top": (
        "requirement:\n  a: 1\n",
        r"line 1: there is no key 'requirement' in the file; did you mean 'requireme",
    ),
    "none": ("requirements: {}\n", r"line 1: `requirements` must have at least one requirement, got none"),
    "misspelt": (
        _wrong("    at_last: 1\n"),
        r"line 5: there is no key 'at_last' in the requirement 'a'; did you mean 'at_least'",
    ),
    "text for number": (
        "requirements:\n  a:\n    metric: f1\n    at_least: high\n",
        r"line 4: `at_least` must be a number, got 'high'",
    ),
    "quoted": (
        'requirements:\n  a:\n    metric: f1\n    at_least: "0.8"\n',
        r"line 4: `at_least` must be a number, got '0.8'",
    ),
    "nan": (
        "requirements:\n  a:\n    metric: f1\n    at_least: .nan\n",
        r"line 4: `at_least` must be a number, got .nan",
    ),
    "metric": (
        "requirements:\n  a:\n    metric: alpa\n    at_least: 1\n",
        r"line 3: `metric` must be one of .*, got 'alpa'; did you mean 'alpha'",
    ),
    "no metric": (
        "requirements:\n  a:\n    at_least: 1\n",
        r"line 2: the requirement 'a' must have a `metric`, got none",
    ),
    "no limit": ("requirements:\n  a:\n    metric: f1\n", r"line 2: .* must have `at_least` or `at_most`, got neither"),
    "percentage": (
        "requirements:\n  a: {metric: f1, at_least: 0}\n  b:\n    inherits: a\n    at_least: 80\n",
        r"line 5: `at_least` of 'b' must be at most 1, got 80; 80 % is 0.8$",
    ),
    "greatest percentage": (
        "requirements:\n  a: {metric: miss_rate, each_annotator: true, at_most: 10}\n",
        r"line 2: `at_most` of 'a' must be at most 1, got 10; 10 % is 0.1$",
    ),
    "inherited percentage": (
        "requirements:\n  a: {enabled: false, at_least: 200}\n  b: {inherits: a, metric: f1}\n",
        r"line 3: `at_least` of 'b' must be at most 1, got 200$",
    ),
    "both": (_wrong("    at_most: 1\n"), r"line 5: .* must have one of `at_least` and `at_most`, got both"),
    "duplicate": (
        "requirements:\n  a: {metric: f1, at_least: 1}\n  a: {}\n",
        r"line 3: there must be one 'a', got another one",
    ),
    "duplicate key": (_wrong("    metric: f1\n"), r"line 5: there must be one 'metric', got another one"),
    "unknown parent": (
        _wrong("    inherits: bose\n  base: {metric: f1, at_least: 1}\n"),
        r"line 5: `inherits` must be the name",
    ),
    "cycle": (
        "requirements:\n  a: {inherits: b}\n  b: {inherits: c}\n  c: {inherits: a}\n",
        r"line 2: the requirement 'a' must not inherit from itself, got a → b → c → a",
    ),
    "itself": ("requirements:\n  a: {inherits: a}\n", r"must not inherit from itself, got a → a"),
    "anchor": ("requirements: &x\n  a: 1\n", r"line 1: there must be no anchors and aliases"),
    "merge": ("requirements:\n  a: {<<: {metric: f1}, at_least: 1}\n", r"line 2: keys must be texts"),
    "tag": ("requirements:\n  a: !!python/object/apply:os.system ['true']\n", r"line 2: there must be no tags, got"),
    "scalar tag": ("requirements:\n  a: !!python/name:os.system ''\n", r"line 2: there must be no tags, got"),
    "deep": ("requirements: " + "[" * 5000, r"line 1: there must be at most 12 values within each other, got more"),
    "iou": (_wrong("    iou: 1.5\n"), r"line 5: `iou` must be in \(0, 1\], got 1.5"),
    "iou without default": (_wrong("    iou: {car: 0.7}\n"), r"line 5: `iou` must have an entry `default`"),
    "size": (_wrong("    size: tiny\n"), r"line 5: `size` must be one of small, medium, large, got 'tiny'"),
    "count": (
        _wrong("    least_objects: -1\n"),
        r"line 5: `least_objects` must be a whole number of at least 0, got -1",
    ),
    "area": (
        _wrong("    area: [2, 1]\n"),
        r"line 5: `area` must be a list of the least and the greatest area in that order",
    ),
    "switch": (_wrong("    each_annotator: 1\n"), r"line 5: `each_annotator` must be true or false, got 1"),
    "classes": (_wrong("    classes: [car, car]\n"), r"line 5: `classes` must be one or several different texts"),
    "two choices": (
        _wrong("    each_annotator: true\n    annotators: bob\n"),
        r"line 2: .* must have one of `annotators` and",
    ),
    "none enabled": (_wrong("    enabled: false\n"), r"at least one requirement must be enabled, got none"),
    "documents": ("a: 1\n---\nb: 2\n", r"line 2: must be YAML or JSON, got expected a single document"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_every_mistake_is_one_sentence_with_its_line(tmp_path, name):
    text, message = MISTAKES[name]
    with pytest.raises(AgreementInputError, match=message) as error:
        _read(tmp_path, text)
    assert "\n" not in str(error.value)


def test_all_mistakes_of_a_file_are_told(tmp_path):
    text = "requirements:\n" + "".join(f"  r{k}: {{metric: f1, at_least: x, sizes: 1}}\n" for k in range(3))
    text += "  good: {metric: f1, at_least: 1}\n"
    with pytest.raises(AgreementInputError, match=r"line 2: .* · .*line 3: .* · .*line 4: "):
        _read(tmp_path, text)


def test_aliases_expand_nothing(tmp_path):
    """A billion laughs."""
    text = "a: &a [x, x, x]\n" + "".join(
        f"{chr(98 + k)}: &{chr(98 + k)} [{', '.join(['*' + chr(97 + k)] * 9)}]\n" for k in range(9)
    )
    with pytest.raises(AgreementInputError, match=r"line 1: there must be no anchors"):
        _read(tmp_path, text)


def test_a_huge_file_is_refused_before_it_is_read(tmp_path):
    with pytest.raises(AgreementInputError, match=r"requirements.yaml must have at most 1 MB, got more"):
        _read(tmp_path, b"a" * (1 << 20) + b"a")


@pytest.mark.parametrize(
    "number", [":".join(["59"] * 300_000), "9" * 900_000, "0x" + "f" * 900_000, "1_" * 400_000 + "0"]
)
def test_an_endless_number_is_refused_in_no_time(tmp_path, number):
    start = time.process_time()
    with pytest.raises(AgreementInputError, match=r"line 4: `at_least` must be a number, got .{5,30}"):
        _read(tmp_path, f"requirements:\n  r:\n    metric: f1\n    at_least: {number}\n")
    assert time.process_time() - start < 10


def test_a_thousand_requirements_are_read_in_seconds_and_no_more_are_taken(tmp_path):
    lines = [f"  r{k}: {{{f'inherits: r{k - 1}' if k else 'metric: f1'}, at_least: 0.{k:03}}}" for k in range(1000)]
    start = time.monotonic()
    assert len(_read(tmp_path, "requirements:\n" + "\n".join(lines))) == 1000
    assert time.monotonic() - start < 20
    with pytest.raises(AgreementInputError, match=r"there must be at most 1,000 requirements, got 1,001"):
        _read(tmp_path, "requirements:\n" + "\n".join([*lines, "  more: {metric: f1, at_least: 1}"]))


@pytest.mark.parametrize("wrong", [None, 3, ["a"], b"a"])
def test_what_is_neither_path_nor_mapping_is_refused(wrong):
    with pytest.raises(AgreementInputError, match="must be the path of a requirements file, or a mapping"):
        read_requirements(wrong)


def test_a_file_that_is_not_there_and_a_mapping_without_end_are_refused(tmp_path):
    with pytest.raises(AgreementInputError, match=r"must be a readable file, got .*No such file"):
        read_requirements(tmp_path / "none.yaml")
    with pytest.raises(AgreementInputError, match=r"must be a readable file, got .*directory"):
        read_requirements(tmp_path)
    endless: dict = {}
    endless["requirements"] = endless
    with pytest.raises(AgreementInputError, match="at most 12 values within each other"):
        read_requirements(endless)
    with pytest.raises(
        AgreementInputError, match=r"requirements\['requirements'\]\['a'\]\['at_least'\]: `at_least` must"
    ):
        read_requirements({"requirements": {"a": {"metric": "f1", "at_least": "x"}}})


# ---- CVAT ----

_SETTINGS = {"iou_threshold": 0.4, "point_size": 0.09, "line_thickness": 0.01, "match_orientation": True}
CVAT = [
    {"id": 7, "name": "Base: rectangle", "parent_requirement": None, "annotation_type": "rectangle", "enabled": True,
     "metric": "accuracy", "required_score": 0.7, "filter": "", "sort_order": 1, **_SETTINGS},
    {"id": 8, "name": "people", "parent_requirement": 7, "annotation_type": "rectangle", "metric": "recall",
     "required_score": 0.9, "filter": json.dumps({"and": [{"==": [{"var": "shape.label"}, "person"]},
                                                          {">=": [{"var": "shape.area"}, 1024]}]})},
    {"id": 9, "name": "left", "parent_requirement": 8, "required_score": None, "metric": None,
     "filter": json.dumps({"and": [{"==": [{"var": "shape.attribute.name"}, "pose"]},
                                   {"==": [{"var": "shape.attribute.value"}, "left"]}]})},
    {"id": 10, "name": "tags", "annotation_type": "tag", "enabled": False, "target_metric": "precision",
     "target_metric_threshold": 0.5},
]  # fmt: skip


@pytest.mark.parametrize("wrapped", [lambda every: every, lambda every: {"count": 4, "results": every},
                                     lambda every: {"requirements": every}])  # fmt: skip
def test_requirements_of_cvat_are_against_the_reference(tmp_path, wrapped):
    found = _read(tmp_path, json.dumps(wrapped(CVAT), indent="\t"), "cvat.json")
    assert list(found) == ["Base: rectangle", "people", "left"]
    base, people, left = found.values()
    assert (base.against, base.metric, base.limit, base.labels) == ("reference", "accuracy", 0.7, ("detections",))
    assert (people.metric, people.limit, people.classes, people.area) == (
        "class_recall",
        0.9,
        ("person",),
        (1024, None),
    )
    assert (left.metric, left.limit, left.classes) == ("class_recall", 0.9, ("person",))
    assert left.attributes == (("pose", "left"),)


def test_nested_children_of_cvat_inherit_from_where_they_stand(tmp_path):
    nested = [{"name": "base", "metric": "precision", "required_score": 0.5, "annotation_type": "mask",
               "children": [{"name": "child", "required_score": 0.6}]}]  # fmt: skip
    found = _read(tmp_path, json.dumps(nested), "cvat.json")
    assert (found["child"].metric, found["child"].limit) == ("class_precision", 0.6)
    assert found["child"].labels == ("detections", "segmentation")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"annotation_type": "cuboid"}, r"line 1: `annotation_type` must be one of tag, rectangle"),
        ({"metric": "f1"}, r"line 1: `metric` must be one of accuracy, precision, recall, got 'f1'"),
        ({"parent_requirement": 99}, r"line 1: `parent_requirement` must be the id of another requirement, got 99"),
        ({"parent_requirement": 7}, r"must not inherit from itself"),
        ({"filter": "{"}, r"line 1: `filter` must be JSON Logic"),
        ({"filter": json.dumps({"or": [1, 2]})}, r"`filter` must be conditions joined by `and` on shape.label"),
        ({"filter": json.dumps({"==": [{"var": "shape.source"}, "x"]})}, r"got shape.source =="),
        ({"name": None}, r"line 1: a requirement must have a `name`, got none"),
        ({"required_score": "x"}, r"line 1: `at_least` must be a number, got 'x'"),
    ],
)
def test_what_cvat_does_not_write_is_told_with_its_line(tmp_path, change, message):
    with pytest.raises(AgreementInputError, match=message):
        _read(tmp_path, json.dumps([{**CVAT[0], **change}]), "cvat.json")
