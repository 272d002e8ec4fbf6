"""Options of a run: accepted values, errors, and the round trip through JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from annotator_agreement.agreement import AgreementConfig, AgreementInputError, make_config
from annotator_agreement.agreement.settings import shown

TWO = ("alice", "bob")
ATTRIBUTE = {"annotator_attribute": "rater_id"}
MUST_LIST = "`annotators` must be a list of annotator names in attribute mode, or map them to persons"


def _error(message: str, fields: Any = TWO, **options: Any) -> Any:
    return fields, options, message


ERRORS = [
    _error(r"Agreement needs at least 2 annotators, got 1 \('alice'\)", "alice"),
    _error(r"Agreement needs at least 2 annotators, got 1 \('alice'\); choose two or more", ["alice"]),
    _error(r"Agreement needs at least 2 annotators, got 0 \(\)", []),
    _error("`fields` must be different fields, got alice more than once", ["alice", "bob", "alice"]),
    _error("`fields` must be names of label fields, got ''", ["alice", ""]),
    _error("`fields` must be names of label fields, got 3", ["alice", 3]),
    _error(r"With `annotator_attribute` `fields` must be one label field, got 2 \(alice, bob\)", **ATTRIBUTE),
    _error("`similarity` must be one of iou, dice, got 'giou'", similarity="giou"),
    _error("`method` must be one of optimal, recursive, mutual_best, got 'greedy'", method="greedy"),
    _error("`classes` must be one of prefer, ignore, require, got None", classes=None),
    _error("`missing` must be one of category, ignore, got 'drop'", missing="drop"),
    _error("`undefined` must be one of none, one, got 1", undefined=1),
    _error("`empty` must be one of skip, agree, got 'one'", empty="one"),
    _error("`invalid` must be one of error, skip, got True", invalid=True),
    *(_error(rf"`iou` must be in \(0, 1\], got {value!r}", iou=value) for value in (0, -0.5, 1.5, True, "0.5", None)),
    *(_error(rf"`iou` must be in \(0, 1\], got {value!r}", iou=value) for value in (float("nan"), float("inf"))),
    _error("`no_labels` has no effect with `assigned_field`", assigned_field="asked", no_labels="drew_nothing"),
    _error("`no_labels` must be 'not_assigned' or 'drew_nothing', or map .* got 'null'", no_labels="null"),
    _error("`no_labels` must be .* got {'alice': 'empty'}", no_labels={"alice": "empty"}),
    _error("`no_labels` must be .* got {1: 'drew_nothing'}", no_labels={1: "drew_nothing"}),
    _error("`no_labels` must be .* got {'alice': \\['x'\\]}", no_labels={"alice": ["x"]}),
    _error("`no_labels` must be .* got None", no_labels=None),
    _error(r"`annotators` must map field names to .* in field mode, got \['a', 'b'\]", annotators=["a", "b"]),
    _error("`annotators` must map field names to annotator names in field mode, got 'a'", annotators="a"),
    _error("`annotators` must name chosen fields, got carol", annotators={"carol": "c"}),
    _error(r"`annotators` must be told apart by their names, got bob \(a\) twice", ("a", "b", "c"),
           annotators={"a": "bob", "b": "bob", "c": "bob (a)"}),
    _error("`annotators` must give every field a name, got {'alice': ''}", annotators={"alice": ""}),
    _error("`annotators` must give every value a name, got {'a': 3, 'b': 'x'}", "x", annotators={"a": 3, "b": "x"},
           **ATTRIBUTE),
    _error(f"{MUST_LIST}, got 'r1'", "x", annotators="r1", **ATTRIBUTE),
    _error(r"Agreement needs at least 2 annotators, got 1 \(a\)", "x", annotators={"a": "b"}, **ATTRIBUTE),
    _error(r"Agreement needs at least 2 annotators, got 1 \(r1\)", "x", annotators=["r1", "r1"], **ATTRIBUTE),
]  # fmt: skip


OPTION_ERRORS = [
    ({"geometry": "boxes"}, "`geometry` must be one of auto, box, shape, got 'boxes'"),
    ({"rasterize": "cv2"}, '`rasterize` must be "pillow" or None'),
    ({"line_tolerance": 0}, "`line_tolerance` must be a number above 0, or None, got 0"),
    ({"crowd_attribute": "a.b"}, "`crowd_attribute` must be the name of an attribute, or None, got 'a.b'"),
    ({"attributes": ["occluded", "a.b"]}, r"`attributes` must be names of attributes, got \['occluded', 'a.b'\]"),
    ({"attributes": {"occluded": 1}}, "`attributes` must be names of attributes, got {'occluded': 1}"),
    ({"attributes": ["b", "a", "b"]}, "`attributes` must be different attributes, got b more than once"),
    ({"aliases": ["Car"]}, r"`aliases` must map class names to class names, got \['Car'\]"),
    ({"aliases": {"Car": ""}}, "`aliases` must map class names to class names, got {'Car': ''}"),
    ({"aliases": {"C\0r": "car"}}, "`aliases` must map class names to class names, got {'C"),
    ({"aliases": {1: "car"}}, "`aliases` must map class names to class names, got {1: 'car'}"),
    ({"aliases": {"Car": "car", "car": "vehicle"}}, "`aliases` must map every name to the final one, got 'Car' for "
     "'car', which stands for 'vehicle' itself"),
    ({"aliases": {"a": "b", "b": "a"}}, "got 'a' for 'b', which stands for 'a' itself"),
    ({"sigmas": [0.1, -1]}, '`sigmas` must be "coco", a number above 0, or a list of these'),
    ({"level": "cardinal"}, "`level` must be one of auto, nominal, ordinal, interval, ratio"),
    ({"categories": "bad"}, "`categories` must be a list of classes in ascending order, got 'bad'"),
    ({"categories": [1, 2, 1.0]}, "`categories` must be different classes, got 1 more than once"),
    ({"tolerance": -1}, "`tolerance` must be a number of at least 0, got -1"),
    ({"tolerance": float("nan")}, "`tolerance` must be a number of at least 0, got nan"),
    ({"background": "black"}, '`background` must be a mask value, "auto" or None'),
    ({"ignore_values": [255, "x"]}, "`ignore_values` must be mask values"),
    ({"boundaries": 1}, "`boundaries` must be True or False, got 1"),
    ({"map_folder": ""}, "`map_folder` must be the path of a file or folder"),
    ({"resamples": -1}, "`resamples` must be a whole number from 0 to 100,000, got -1"),
    ({"resamples": 200_000}, "`resamples` must be a whole number from 0 to 100,000, got 200000"),
    ({"resamples": True}, "`resamples` must be a whole number from 0 to 100,000, got True"),
    ({"seed": 0.5}, "`seed` must be a whole number from 0 to 9,007,199,254,740,992, got 0.5"),
]  # fmt: skip


def test_unusable_options_are_an_error_that_says_what_to_change() -> None:
    for fields, options, message in (*ERRORS, *((TWO, *row) for row in OPTION_ERRORS)):
        with pytest.raises(AgreementInputError, match=message):
            make_config(fields, **options)
    for run_key in ("", "Agreement", "1st", "_a", "a-b", "a.b", "a b", "ä", "a\n", 3, None):
        with pytest.raises(AgreementInputError, match="`run_key` must be lower-case letters, digits and underscores"):
            make_config(TWO, run_key=run_key)
    for run_key in ("a", "agreement", "run_2", "a__b1_"):
        assert make_config(TWO, run_key=run_key).run_key == run_key
    with pytest.raises(TypeError, match="treshold"):
        make_config(TWO, treshold=0.5)
    assert (shown("abc"), shown(range(7))) == ("a, b, c", "0, 1, 2, 3, 4, … (7 in all)")


def test_options_are_kept_in_one_form() -> None:
    config = make_config(
        TWO, categories=[1.0, 2, "b"], ignore_values=["#0000ff", 3], background="#000001", sigmas=[1, 2]
    )
    assert config.categories == ("1", "2", "b")
    assert (config.ignore_values, config.background, config.sigmas) == ((3, 255), 1, (1.0, 2.0))
    assert make_config(TWO, sigmas=np.array([0.1, 0.2])).sigmas == (0.1, 0.2)
    assert make_config(TWO, sigmas=np.array(0.5)).sigmas == 0.5
    with pytest.raises(AgreementInputError, match="`sigmas` must be"):
        make_config(TWO, sigmas=np.array([[0.1, 0.2]]))
    assert make_config(TWO, map_folder="/tmp/maps").disagreement_map
    config = make_config(TWO, resamples=500.0, seed=7.0)
    assert (repr(config.resamples), repr(config.seed)) == ("500", "7")
    assert make_config(TWO, attributes="occluded").attributes == ("occluded",)
    assert make_config(TWO, aliases={"car": "car", "Car ": "car"}).aliases == {"Car ": "car"}
    for iou in (1, 1.0, 1e-6, 0.5):
        assert repr(make_config(TWO, iou=iou).iou) == repr(float(iou))


def test_fields_and_values_are_annotators_or_sessions_of_persons() -> None:
    config = make_config(["bob_v2", "alice"], annotators={"bob_v2": "bob"})
    assert (config.fields, config.annotators) == (("bob_v2", "alice"), ("bob", "alice"))
    assert make_config(TWO, annotators={"alice": "bob", "bob": "alice"}).annotators == ("bob", "alice")
    config = make_config(["alice_1", "bob"], annotators={"alice_1": "alice"})  # names nobody twice
    assert (config.annotators, config.persons, config.named_persons()) == (("alice", "bob"), (), {})
    config = make_config(["alice_2", "bob", "alice_1"], annotators={"alice_1": "alice", "alice_2": "alice"})
    assert config.annotators == ("alice (alice_2)", "bob", "alice (alice_1)")
    assert config.persons == ("alice", "bob", "alice")
    assert config.named_persons() == {"alice (alice_2)": "alice", "bob": "bob", "alice (alice_1)": "alice"}
    assert AgreementConfig.from_dict(config.to_dict()) == config
    frames = make_config(["frames.a", "frames.b"], annotators={"frames.a": "alice", "frames.b": "alice"})
    assert frames.annotators == ("alice (a)", "alice (b)")
    config = make_config("labels", annotators={"r2": "alice", "r1": "alice", "r3": "bob"}, **ATTRIBUTE)
    assert (config.annotators, config.persons) == (("r1", "r2", "r3"), ("alice", "alice", "bob"))
    assert config.annotator_names(["r3", "r1", "r4"]) == ("bob", "alice (r1)", "r4")
    assert config.named_persons() == {"alice (r1)": "alice", "alice (r2)": "alice", "bob": "bob"}
    assert make_config("labels", annotators=["r1", "r2"], **ATTRIBUTE).annotator_names(["r1"]) == ("r1",)
    config = make_config("labels", annotators=["r2", "r1", "r2"], assigned_field="asked", **ATTRIBUTE)
    assert (config.fields, config.annotators, config.attribute_mode) == (("labels",), ("r1", "r2"), True)
    assert make_config("labels", **ATTRIBUTE).annotators == ()


CONFIGS = [
    make_config(TWO),
    make_config(TWO, run_key="k", iou=0.25, similarity="dice", method="recursive", classes="require"),
    make_config(TWO, missing="ignore", undefined="one", empty="agree", invalid="skip", annotators={"bob": "b"}),
    make_config("labels", annotators=["r1", "r2"], assigned_field="asked", **ATTRIBUTE),
    make_config(TWO, attributes=["occluded", "age"], aliases={"Car ": "car", "Auto": "car"}),
    make_config(TWO, iou="auto"),
]


def test_a_config_survives_a_dict_and_json_and_entries_of_a_later_version_are_left_out() -> None:
    for config in CONFIGS:
        assert AgreementConfig.from_dict(config.to_dict()) == config
        assert AgreementConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
        assert AgreementConfig.from_dict({**config.to_dict(), "later": [1], "status": "completed"}) == config
    assert (CONFIGS[-1].iou, CONFIGS[-1].iou_from_data) == (0.5, True)  # until it is found
    assert not make_config(TWO, iou=0.5).iou_from_data
