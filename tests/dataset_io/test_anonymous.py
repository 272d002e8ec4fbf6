"""No name of an annotator is anywhere in what is printed or exported anonymously."""

from __future__ import annotations

import io
import json
import re
import stat
import zipfile
from concurrent.futures import ThreadPoolExecutor

import fiftyone as fo
import pandas as pd
import pytest

from tests.datasets import random_annotators

from annotator_agreement import AgreementInputError, compute, load
from annotator_agreement.dataset_io.results.anonymous import Aliases, _letters

NAMES = ("zoraqx", "wilfrid_k", "Ümitcan")
KEY = "agreement"


def spoken(names=NAMES):
    made = random_annotators(40, names)
    made[names[0]] = [None if labels is None else labels[:1] for labels in made[names[0]]]  # who misses much
    return made


@pytest.fixture(scope="module")
def dataset(make_module_dataset):
    made = make_module_dataset(spoken())
    made.set_values("filepath", [f"/data/{NAMES[k % 3]}/ZORAQX{k}.jpg" for k in range(40)])
    made.set_values("delivered", [NAMES[k % 2] for k in range(40)])
    compute(made, [*NAMES], resamples=50)
    return made


@pytest.fixture(scope="module")
def in_attribute(make_module_dataset):
    """Sessions of one person, in an attribute, with an assigned field; labels without a class."""
    rows = spoken()
    made = make_module_dataset({"labels": [[]] * 40})
    for k, sample in enumerate(made):
        found = [
            fo.Detection(label=label if k % 5 else None, bounding_box=list(box), rater=name)
            for name in NAMES
            for label, box in rows[name][k] or ()
        ]
        sample["labels"] = fo.Detections(detections=found)
        sample.save()
    persons = {NAMES[0]: "Qwertzia", NAMES[1]: "Qwertzia", NAMES[2]: "Plonk"}
    compute(made, "labels", annotator_attribute="rater", annotators=persons, resamples=0, sensitivity=False)
    return made


def assert_without_names(text, names):
    for name in names:
        assert not re.search(re.escape(name), text, re.IGNORECASE), re.findall(
            rf".{{60}}{re.escape(name)}.{{20}}", text
        )[:3]


def everything(run, folder, anonymous):
    """All that can be printed and exported, as text."""
    said = io.StringIO()
    run.print_report(file=said, anonymous=anonymous)
    run.print_report(full=True, file=said, anonymous=anonymous)
    texts = [said.getvalue()]
    for ending in ("html", "json", "zip"):
        path = run.export(folder / f"out.{ending}", by=["tags"], anonymous=anonymous)
        if ending != "zip":
            texts.append(path.read_text(encoding="utf-8"))
            continue
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                content = archive.read(name)
                table = name.endswith(".parquet")
                texts += [name, pd.read_parquet(io.BytesIO(content)).to_csv() if table else content.decode("utf-8-sig")]
    return "\n".join(texts)


def test_names_are_nowhere(dataset, tmp_path):
    run = load(dataset)
    said = everything(run, tmp_path, tmp_path / "key.json")
    assert_without_names(said, NAMES)
    key = json.loads((tmp_path / "key.json").read_text(encoding="utf-8"))
    assert sorted(key) == sorted(NAMES)
    assert sorted(key.values()) == ["A", "B", "C"]
    assert f"{key['zoraqx']} misses" in said or f"{key['zoraqx']}: misses" in said or key["zoraqx"] in said
    assert stat.S_IMODE((tmp_path / "key.json").stat().st_mode) == 0o600


def test_names_of_persons_and_of_values_are_nowhere(in_attribute, tmp_path):
    names = (*NAMES, "Qwertzia", "Plonk")
    assert_without_names(everything(load(in_attribute), tmp_path, True), names)


def test_parts_with_names_of_annotators_have_letters(dataset, tmp_path):
    page = load(dataset).export(tmp_path / "by.html", by="delivered", anonymous=tmp_path / "key.json")
    text = page.read_text(encoding="utf-8")
    assert "by delivered" in text
    assert_without_names(text, NAMES)


def test_the_numbers_are_those_of_the_names(dataset, tmp_path):
    run = load(dataset)
    run.export(tmp_path / "named.json")
    run.export(tmp_path / "hidden.json", anonymous=tmp_path / "key.json")
    named, hidden = (
        json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8")) for name in ("named", "hidden")
    )
    key = json.loads((tmp_path / "key.json").read_text(encoding="utf-8"))
    scores = {key[each["name"]]: each["score"] for each in named["annotators"]}
    assert {each["name"]: each["score"] for each in hidden["annotators"]} == scores
    assert [each["name"] for each in hidden["annotators"]] == ["A", "B", "C"]
    assert named["alpha"] == hidden["alpha"]


@pytest.mark.parametrize(
    "names", [("score", "a", "name"), ("missed", "lone", "config"), ("iou", "fields", "optimal"), ("B", "C", "A")]
)
def test_annotators_may_be_called_as_what_a_report_has(make_dataset, tmp_path, names):
    made = make_dataset(spoken())
    run = compute(made, [*NAMES], annotators=dict(zip(NAMES, names, strict=True)), resamples=5, sensitivity=False)
    everything(run, tmp_path, True)
    run.export(tmp_path / "hidden.json", anonymous=tmp_path / "key.json")
    hidden = json.loads((tmp_path / "hidden.json").read_text(encoding="utf-8"))
    key = json.loads((tmp_path / "key.json").read_text(encoding="utf-8"))
    named = run.to_dict()
    for each in named["annotators"]:
        (same,) = [found for found in hidden["annotators"] if found["name"] == key[each["name"]]]
        assert [same[part] for part in ("score", "verdicts", "intervals")] == [
            each[part] for part in ("score", "verdicts", "intervals")
        ]
    assert hidden["config"]["similarity"] == "iou"
    pairs = {frozenset((key[each["a"]], key[each["b"]])): each["score"] for each in named["pairs"]}
    assert {frozenset((each["a"], each["b"])): each["score"] for each in hidden["pairs"]} == pairs


def test_a_letter_that_is_the_name_of_somebody_else_is_not_replaced_again():
    aliases = Aliases({"bob": "A", "A": "B", "B": "C"})
    assert aliases.hide("bob / A, B and agreement_bob") == "A / B, C and agreement_A"
    assert Aliases({"Anna": "B", "Bert": "A"}).hide("/data/ANNA/bert_1.jpg", "filepath") == "/data/B/A_1.jpg"


def test_letters_that_are_given_at_once_are_those_of_the_file(tmp_path):
    path, names = tmp_path / "key.json", [[f"p{k}", f"p{k + 1}", "all"] for k in range(12)]
    with ThreadPoolExecutor(12) as pool:
        given = list(pool.map(lambda each: _letters(each, path), names))
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert len(set(kept.values())) == len(kept) == 14
    for each, letters in zip(names, given, strict=True):
        assert {name: letters[name] for name in each} == {name: kept[name] for name in each}


def test_everybody_keeps_their_letter_and_the_new_get_the_next(dataset, make_dataset, tmp_path):
    path = tmp_path / "keys" / "key.json"
    load(dataset).export(tmp_path / "a.json", anonymous=path)
    first = json.loads(path.read_text(encoding="utf-8"))
    load(dataset).export(tmp_path / "b.json", anonymous=path)
    assert json.loads(path.read_text(encoding="utf-8")) == first
    assert (tmp_path / "a.json").read_text() == (tmp_path / "b.json").read_text()
    other = make_dataset(spoken(("zoraqx", "Ypsilanti")))
    compute(other, ["zoraqx", "Ypsilanti"], resamples=0, sensitivity=False).export(tmp_path / "c.json", anonymous=path)
    assert json.loads(path.read_text(encoding="utf-8")) == first | {"Ypsilanti": "D"}


@pytest.mark.parametrize("content", ["no json", "[1]", '{"zoraqx": 1}', '{"zoraqx": "A", "other": "A"}'])
def test_a_file_that_is_no_key_is_refused_and_left_alone(dataset, tmp_path, content):
    path = tmp_path / "key.json"
    path.write_text(content)
    with pytest.raises(AgreementInputError, match="`anonymous` must be a file with"):
        load(dataset).export(tmp_path / "a.json", anonymous=path)
    assert path.read_text() == content
    assert not (tmp_path / "a.json").exists()


def test_tables_are_in_the_order_of_the_letters(dataset, tmp_path):
    """Rows and lists in the order of the names would tell who is who."""
    # the letters run against the names
    key = tmp_path / "key.json"
    key.write_text(json.dumps(dict(zip(sorted(NAMES), "CBA", strict=True))))
    run = load(dataset)
    path = run.export(tmp_path / "tables.zip", anonymous=key)
    with zipfile.ZipFile(path) as archive:
        labels, units = (
            pd.read_csv(io.BytesIO(archive.read(f"{name}.csv")), encoding="utf-8-sig") for name in ("labels", "units")
        )
    for _, rows in labels.groupby("sample_id"):
        assert rows["annotator"].is_monotonic_increasing
    lists = {name: units[name].map(json.loads) for name in ("drawn_by", "missed_by", "labels")}
    for name in ("drawn_by", "missed_by"):
        assert all(each == sorted(each) for each in lists[name])
    # each keeps the class that they gave
    letters = json.loads(key.read_text())
    known = run.units()
    for (drawn, said), (names, classes) in zip(
        zip(lists["drawn_by"], lists["labels"], strict=True),
        zip(known["drawn_by"], known["labels"], strict=True),
        strict=True,
    ):
        expected = sorted(zip([letters[name] for name in names], classes, strict=True), key=lambda each: each[0])
        assert [*zip(drawn, said, strict=True)] == expected


def test_columns_of_annotators_have_letters_in_their_order():
    columns = {"id": ["x"], "reference_f1.reference": [0.1], "reference_f1.f1": [0.2], "reference_f1.a.b": [0.3]}
    hidden = Aliases({"reference": "B", "f1": "C", "a.b": "A"}).hide_in(pd.DataFrame(columns))
    assert list(hidden.columns) == ["id", "reference_f1.A", "reference_f1.B", "reference_f1.C"]
    assert hidden.iloc[0, 1:].tolist() == [0.3, 0.1, 0.2]
