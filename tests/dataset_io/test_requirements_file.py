"""Requirements files: what they mean, and every mistake as one sentence with its line."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import yaml

from annotator_agreement import AgreementInputError
from annotator_agreement.agreement.acceptance import read_requirements


def _read(tmp_path, text, name="requirements.yaml"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    found, _ = read_requirements(path)
    return {each.name: each for each in found}


FULL = """
requirements:
  same objects:
    number: existence.f1
    at_least: 0.8
    judge: interval
  everybody: {number: miss_rate, at_most: 1e-1, annotator: each}
  "no":
    number: alpha
    at_least: "0.667"
    class: no
  both: {number: f1, at_least: 0.5, pair: [alice, Straße 🚗], by: tags, part: 2024-01-01}
"""


def test_a_file_has_conditions_on_numbers(tmp_path):
    found = _read(tmp_path, FULL)
    first, everybody, no, both = found.values()
    assert (first.number, first.limit, first.is_most, first.judge) == ("existence.f1", 0.8, False, "interval")
    assert (everybody.annotator, everybody.limit, everybody.is_most, everybody.judge) == ("each", 0.1, True, "value")
    assert (no.name, no.class_name, no.limit) == ("no", "no", 0.667)
    assert (both.pair, both.by, both.part) == (("alice", "Straße 🚗"), "tags", "2024-01-01")
    assert [each.place[-7:] for each in found.values()] == [" line 3", " line 7", " line 8", "line 12"]


def test_json_and_a_mapping_are_as_yaml(tmp_path):
    values = yaml.safe_load(FULL.replace("2024-01-01", "'2024-01-01'").replace("class: no", "class: 'no'"))
    values["requirements"]["same objects"]["at_least"] = np.float64(0.8)
    of_file = [dataclasses.replace(each, place="") for each in _read(tmp_path, FULL).values()]
    of_mapping, name = read_requirements(values)
    values["requirements"]["same objects"]["at_least"] = 0.8
    for indent in (None, "\t"):
        of_json = _read(tmp_path, json.dumps(values, indent=indent), "requirements.json").values()
        assert [dataclasses.replace(each, place="") for each in of_json] == of_file
    assert [dataclasses.replace(each, place="") for each in of_mapping] == of_file
    assert (name, of_mapping[0].place) == ("requirements", "requirements['same objects']")


def _keys(**keys: str) -> str:
    given = {"number": "f1", "at_least": "0.8", **keys}
    return "requirements:\n  a:\n" + "".join(f"    {key}: {value}\n" for key, value in given.items() if value)


MISTAKES = {
    "empty": ("", r"^requirements.yaml must have requirements, got nothing$"),
    "list": ("- 1\n- 2\n", r"line 1: there must be one key, `requirements`, got list"),
    "unclosed": ("requirements:\n  a: [1, 2\n", r"line 3: must be YAML or JSON, got while parsing a flow sequence"),
    "tab": ("requirements:\n\ta: 1\n", r"line 2: must be YAML or JSON, got .*cannot start any token"),
    "not UTF-8": (b"requirements:\n  a: \xff\n", r"line 2: must be text in UTF-8, got other bytes"),
    "other key": ("requirement:\n  a: 1\n", r"line 1: there must be one key, `requirements`, got 'requirement'"),
    "none": ("requirements: {}\n", r"line 1: `requirements` must be a mapping of names to requirements"),
    "no mapping": ("requirements:\n  a: 1\n", r"line 2: the requirement 'a' must be a mapping of keys to values"),
    "misspelt": (_keys(at_last="1"), r"line 5: there is no key 'at_last' in .*; did you mean 'at_least'"),
    "text for number": (_keys(at_least="high"), r"line 4: `at_least` must be a number, got 'high'$"),
    "infinite": (_keys(at_least="inf"), r"line 4: `at_least` must be a number, got 'inf'$"),
    "list for number": (_keys(at_least="[0.8]"), r"line 4: `at_least` must be a text or a number$"),
    "empty name": (_keys(number='""'), r"line 3: `number` must be a text or a number$"),
    "no number": (_keys(number=""), r"line 2: the requirement 'a' must have a `number`, got none"),
    "no limit": (_keys(at_least=""), r"line 2: .* must have one of `at_least` and `at_most`, got 0"),
    "both limits": (_keys(at_most="1"), r"line 2: .* must have one of `at_least` and `at_most`, got 2"),
    "judge": (_keys(judge="mean"), r"line 5: `judge` must be value or interval, got 'mean'"),
    "one of a pair": (_keys(pair="[alice]"), r"line 5: `pair` must be the names of two annotators, or `each`"),
    "a pair of lists": (_keys(pair="[[alice], bob]"), r"line 5: there must be at most 5 values within each other"),
    "a pair and more": (_keys(pair="each", annotator="alice"), r"line 5: `pair` must be without"),
    "part of nothing": (_keys(part="left"), r"line 5: `part` must have `by`"),
    "twice": ("requirements:\n  a: {number: f1, at_least: 1}\n  a: {}\n", r"line 3: there must be one 'a', got an"),
    "key twice": (_keys() + "    number: f1\n", r"line 5: there must be one 'number', got another one"),
    "anchor": ("requirements: &x\n  a: *x\n", r"line 1: there must be no anchors and aliases"),
    "key of a list": ("requirements:\n  ? [a]\n  : 1\n", r"line 2: keys must be texts, got something else"),
    "deep": ("requirements: " + "[" * 100_000, r"line 1: there must be at most 5 values within each other, got more"),
    "two documents": ("requirements: {}\n---\na: 1\n", r"line 2: must be YAML or JSON, got expected a single document"),
    "long": ("requirements:\n  a: " + "x" * 300_000, r"^requirements.yaml must have at most 256 kB, got more$"),
    "many": ("requirements:\n" + "".join(f"  r{k}: {{number: f1, at_least: 0}}\n" for k in range(1_001)),
             r"line 1: there must be at most 1,000 requirements, got 1,001"),
}  # fmt: skip


def test_a_mistake_is_one_sentence_with_its_line(tmp_path):
    for name, (text, message) in MISTAKES.items():
        with pytest.raises(AgreementInputError, match=message) as error:
            _read(tmp_path, text)
        assert len(str(error.value)) < 500, name
        assert "\n" not in str(error.value), name


ENDLESS: dict[str, object] = {}
ENDLESS["requirements"] = ENDLESS
GIVEN = {
    "number": (1, "must be the path of a requirements file, or a mapping as in one, got int"),
    "nothing": ({}, "requirements: there must be one key, `requirements`, got nothing"),
    "no texts as keys": ({"requirements": {1: {}}}, r"requirements\['requirements'\] must have texts as keys, got '1'"),
    "endless": (ENDLESS, "must have at most 5 values within each other, got more"),
    "misspelt": ({"requirements": {"a": {"numbar": "f1"}}}, r"^requirements\['a'\]\['numbar'\]: there is no key"),
}


def test_a_mistake_in_a_mapping_is_told_with_its_way():
    for given, message in GIVEN.values():
        with pytest.raises(AgreementInputError, match=message) as error:
            read_requirements(given)
        assert "in the file" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(AgreementInputError, match="`requirements` must be a readable file, got"):
            read_requirements(path)
    folder = tmp_path / ".yaml"
    folder.write_bytes(b"\xef\xbb\xbf" + _keys().encode())
    assert len(read_requirements(folder)[0]) == 1
