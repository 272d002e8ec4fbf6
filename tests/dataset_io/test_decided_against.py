"""How right annotators were by decisions: against loops over the documents of the database."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import replace

import fiftyone as fo
import pytest
from PIL import Image

from tests.dataset_io.quick_runs import ANNOTATORS, LISTS, compute_quickly, refused
from tests.dataset_io.unit_oracle import current_decisions, documents_of, units_of
from tests.datasets import detections, grouped_dataset, random_annotators

from annotator_agreement import dataset_io
from annotator_agreement.charts.text import counted as counted_of
from annotator_agreement.dataset_io.results import load


def one_by_one(samples, lists=LISTS, **options):
    """Decide on objects that are named, as somebody does who looks at them."""
    chosen = set(samples.values("id"))
    documents = [each for each in documents_of(samples._root_dataset) if str(each["_id"]) in chosen]
    return dataset_io.decide(samples, objects=[unit for each in documents for unit in units_of(each, lists)], **options)


@pytest.fixture(scope="module")
def dataset(make_module_dataset):
    """Alice is right on half of the samples, bob on others; lone objects are none; some are skipped, the last alone."""
    dataset = make_module_dataset(random_annotators(60, seed=4))
    dataset_io.compute_agreement(dataset, ANNOTATORS, resamples=60)
    dataset_io.decide(dataset.skip(55), choice="skip", verdict="lone")
    one_by_one(dataset.limit(30), choice="version", annotator="alice", min_votes=2)
    one_by_one(dataset.skip(30).limit(27), choice="version", annotator="bob", min_votes=2)
    one_by_one(dataset.limit(45), choice="none", verdict="lone")
    dataset_io.decide(dataset.limit(50), choice="none", verdict="lone")
    return dataset


def answered(dataset):
    """Who gave what on objects decided by hand, what is right, and where; counts; and labels on objects of rules."""
    rows, total, of_rules = [], Counter(), Counter()
    for document in documents_of(dataset):
        gold = {label["_id"]: label["label"] for label in (document.get("agreement_gold") or {}).get("detections", [])}
        decisions = {each["unit"]: each for each in current_decisions(document)}
        assigned = [name for name in ANNOTATORS if document.get(name) is not None]
        for unit_id, members in units_of(document, LISTS).items():
            disputed, decision = (
                next(iter(members.values()))["agreement"] not in ("agreed", None),
                decisions.get(unit_id),
            )
            total += Counter(n_objects=1, n_disputed=disputed)
            if decision is None or decision["choice"] == "skip":
                total["n_skipped"] += decision is not None
                continue
            total += Counter(n_decided=1, n_disputed_decided=disputed, n_by_rule=decision["by_rule"])
            if decision["by_rule"]:
                of_rules.update([*members])
                continue
            right = gold.get(decision["gold_id"])
            votes = Counter(member["label"] for member in members.values()).most_common()
            is_tied = 2 * len(members) == len(assigned) or (len(votes) > 1 and votes[0][1] == votes[1][1])
            said = None if 2 * len(members) < len(assigned) else "tie" if is_tied else votes[0][0]
            what = "n_no_majority" if said == "tie" else "n_consensus_right" if said == right else "n_consensus_wrong"
            total[what] += len(assigned) > 1
            rows += [(name, members.get(name, {}).get("label"), right, str(document["_id"])) for name in assigned]
    return rows, total, of_rules


def test_the_report_is_what_loops_over_the_labels_find(dataset):
    report, (rows, total, of_rules) = dataset_io.report_decisions(dataset), answered(dataset)
    values = report.to_dict()
    assert {name: values[name] for name in total} == dict(total)
    assert values["n_changed"] == 0
    assert total["n_skipped"] > 0 < total["n_by_rule"]
    by_rule = report.by_rule
    assert (by_rule.name, by_rule.n_too_many) == ("decided by a rule", of_rules.total())  # lone objects, which are none
    assert by_rule.n_right == by_rule.n_wrong_class == by_rule.n_missed == 0
    assert by_rule.precision is by_rule.recall is by_rule.class_errors is None
    assert report.share_decided == pytest.approx(total["n_disputed_decided"] / total["n_disputed"])
    for entry in report.annotators:
        own = [(given, right) for name, given, right, _ in rows if name == entry.name]
        n_right, n_drawn = sum(a == b is not None for a, b in own), sum(None not in pair for pair in own)
        n_missed, n_too_many = (sum(pair[k] is None is not pair[1 - k] for pair in own) for k in (0, 1))
        assert (entry.n_right, entry.n_wrong_class) == (n_right, n_drawn - n_right)
        assert (entry.n_missed, entry.n_too_many) == (n_missed, n_too_many)
        assert entry.precision == pytest.approx(n_drawn / (n_drawn + n_too_many))
        assert entry.recall == pytest.approx(n_drawn / (n_drawn + n_missed))
        assert entry.class_errors == pytest.approx(1 - n_right / n_drawn)
        assert entry.intervals["recall"].low <= entry.recall <= entry.intervals["recall"].high
        for each in entry.classes:
            where_given = [right for given, right in own if given == each.name]
            where_right = [given for given, right in own if right == each.name]
            drawn = [given for given in where_right if given is not None]
            assert (each.n_labels, each.n_objects) == (len(where_given), len(where_right))
            assert each.precision == pytest.approx(1 - where_given.count(None) / len(where_given))
            assert each.recall == pytest.approx(len(drawn) / len(where_right))
            assert each.class_errors == pytest.approx(1 - drawn.count(each.name) / len(drawn))
    assert {entry.recall for entry in report.annotators} != {1.0}


@pytest.mark.long
def test_a_consensus_is_what_resolve_units_writes(make_dataset):
    annotators = ["alice", "bob", "carol", "dave"]
    dataset = make_dataset(random_annotators(20, annotators, seed=4))
    compute_quickly(dataset, annotators)
    made, resolved = dataset_io.decide(dataset, all=True), dataset_io.resolve_units(dataset)
    assert (made.n_decided, made.n_no_majority) == (resolved.n_labels, resolved.n_below_quorum + resolved.n_tied)
    assert made.n_no_majority > 5
    gold, consensus = ({label.unit: (label.label, label.bounding_box)
                        for labels in dataset.values(field) if labels for label in labels.detections}
                       for field in ("agreement_gold", "agreement_consensus"))  # fmt: skip
    assert gold == consensus


def test_what_nobody_drew_but_who_decides_was_missed_by_all(make_dataset):
    place = (0.1, 0.1, 0.2, 0.2)
    dataset = make_dataset({"alice": [[("cat", place)]] * 3, "bob": [[("dog", place)]] * 3, "carol": [[], [], None]})
    compute_quickly(dataset)
    one_by_one(dataset, choice="version", annotator="alice", classes="dog")
    for sample in dataset.iter_samples(autosave=True):
        sample["agreement_gold"].detections.append(fo.Detection(label="owl", bounding_box=[0.7, 0.7, 0.2, 0.2]))
    assert dataset_io.record_own_labels(dataset, by="mia").n_decided == 3
    report = dataset_io.report_decisions(dataset)
    found = [(entry.n_right, entry.n_wrong_class, entry.n_missed, entry.recall) for entry in report.annotators]
    assert (report.n_decided, report.n_undrawn, found) == (3, 3, [(3, 0, 3, 0.5), (0, 3, 3, 0.5), (0, 0, 4, 0.0)])
    assert dataset_io.decided_against(dataset, "alice").count("agreement_gold.detections") == 3
    sample = dataset.first()
    sample["alice"].detections.append(fo.Detection(label="owl", bounding_box=[0.7, 0.7, 0.2, 0.2]))
    sample.save()
    dataset_io.update_agreement(dataset)
    report = dataset_io.report_decisions(dataset)
    assert (report.n_undrawn, report.n_changed, [entry.n_missed for entry in report.annotators]) == (2, 1, [2, 2, 3])


def test_what_was_decided_against_somebody_is_shown_in_every_slice_of_groups(make_dataset):
    place = (0.1, 0.1, 0.2, 0.2)
    slices = {name: [fo.Sample(f"/{name}.jpg", alice=detections([("cat", place)]), bob=detections([("dog", place)]))]
              for name in ("left", "right")}  # fmt: skip
    dataset = grouped_dataset(make_dataset, slices)
    compute_quickly(dataset, ["alice", "bob"])
    one_by_one(dataset.select_group_slices("right"), {"alice": "detections"}, choice="version", annotator="alice")
    view = dataset_io.decided_against(dataset, "bob")
    assert view.values("filepath") == dataset.select_group_slices("right").values("filepath")


def test_what_was_decided_is_shown_in_a_few_lines_in_terminal_and_notebook(dataset, capsys):
    report, decisions = dataset_io.report_decisions(dataset), dataset_io.list_decisions(dataset)
    preview = dataset_io.decide(dataset, all=True, overwrite=True, preview=True)
    nothing = dataset_io.decide(dataset, min_votes=9)
    applied = dataset_io.apply_decisions(dataset, annotators="bob", preview=True)
    for shown in (report, decisions, preview, applied, dataset_io.undo_applied(dataset)):
        assert len(repr(shown)) < 250
    assert repr(nothing) == "<Decided 0 objects>"
    assert repr(preview).startswith(f"<Would decide {preview.n_decided} objects; left out: ")
    assert f"{preview.n_no_majority} without a majority" in repr(preview)
    assert f"{report.n_disputed_decided} of {report.n_disputed} disputed objects decided" in repr(report)
    assert f"<{len(decisions)} decisions on " in repr(decisions)
    assert repr(applied).startswith(f"<Would change the labels of {applied.n_applied} objects")
    report.print_report()
    applied.print_report()
    text = capsys.readouterr().out
    assert len(text.splitlines()) < 40
    n_without = 60 - report.n_samples_decided
    logs = [{each["choice"] for each in current_decisions(document)} for document in documents_of(dataset)]
    assert n_without == sum(choices <= {"skip"} for choices in logs) > sum(not choices for choices in logs)
    assert f"{report.n_samples_decided} of 60 images have decisions" in " ".join(text.split())
    assert f"has the other {n_without} without labels" in " ".join(text.split())
    assert "leaves them out" not in text  # images with skipped objects alone are among those that exist
    replace(report, n_skipped=0).print_report()
    assert "leaves them out" in " ".join(capsys.readouterr().out.split())
    for shown in (report, decisions, applied):
        assert "<table" in shown._repr_html_()
        assert len(shown._repr_html_()) < 20_000
    frame = report.to_dataframe().set_index("name")
    carol = next(entry for entry in report.annotators if entry.name == "carol")
    assert [*frame.loc["carol", ["recall", "recall_low"]]] == [carol.recall, carol.intervals["recall"].low]
    assert frame.loc["decided by a rule", "n_too_many"] == report.by_rule.n_too_many
    assert list(decisions.to_dataframe()["unit"]) == [each.unit for each in decisions]
    assert list(applied.to_dataframe()["name"]) == ["bob"]


def test_the_view_of_what_was_decided_against_somebody_shows_just_that(dataset):
    view = dataset_io.decided_against(dataset, "bob")
    rows, *_ = answered(dataset)
    assert set(view.values("id")) == {where for name, given, right, where in rows if name == "bob" and given != right}
    bob = next(entry for entry in dataset_io.report_decisions(dataset, resamples=0).annotators if entry.name == "bob")
    assert view.count("bob.detections") == bob.n_wrong_class + bob.n_too_many
    assert view.count("agreement_gold.detections") == bob.n_wrong_class + bob.n_missed
    assert not view.has_field("alice")
    refused("did you mean 'bob'", dataset_io.decided_against, dataset, "bop")


def test_on_a_view_the_report_is_about_its_samples(dataset):
    parts = [dataset_io.report_decisions(view, resamples=0).to_dict() for view in (dataset.limit(20), dataset.skip(20))]
    whole = dataset_io.report_decisions(dataset, resamples=0).to_dict()
    for name in ("n_objects", "n_disputed", "n_decided", "n_disputed_decided", "n_skipped", "n_consensus_right"):
        assert parts[0][name] + parts[1][name] == whole[name]


def test_objects_whose_labels_were_changed_since_count_for_nobody(make_dataset):
    place = (0.1, 0.2, 0.4, 0.3)
    dataset = make_dataset({"alice": [[("car", place)]] * 2, "bob": [[("bus", place)]] * 2, "carol": [[]] * 2})
    compute_quickly(dataset)
    one_by_one(dataset, choice="version", annotator="bob")
    sample = dataset.first()
    sample["alice"].detections[0].label = "van"
    sample.save()
    report = dataset_io.report_decisions(dataset)
    assert (report.n_decided, report.n_changed, report.n_no_majority) == (1, 1, 1)
    assert [entry.n_wrong_class + entry.n_right + entry.n_missed for entry in report.annotators] == [1, 1, 1]


def test_the_printed_report_of_the_run_says_what_was_decided_unless_it_is_too_much(dataset, capsys, monkeypatch):
    dataset_io.load_agreement(dataset).print_report()
    text = capsys.readouterr().out
    report = dataset_io.report_decisions(dataset, resamples=0)
    n_majority = report.n_consensus_right + report.n_consensus_wrong
    recall = next(entry.recall for entry in report.annotators if entry.name == "carol")
    for said in (
        f"{report.n_disputed_decided} of {report.n_disputed} disputed objects were decided",
        f"The majority was right on {report.n_consensus_right} of {n_majority} decided objects",
        f"{report.n_no_majority} objects decided on which there is no majority",
        f"{counted_of(report.n_by_rule, 'object')} decided by a rule, which says nothing of who was right",
    ):
        assert said in text
    assert f"{100 * recall:.1f} %" in text.split("What was decided")[1]
    monkeypatch.setattr(load, "MOST_DECIDED", 2)
    dataset_io.load_agreement(dataset).print_report()
    text = capsys.readouterr().out
    assert "More than 2 images have decisions: run.decisions.report() counts them." in text
    assert "The majority was right" not in text


@pytest.mark.long
def test_the_list_to_send_has_everything_that_was_decided_against_somebody(dataset, tmp_path):
    bob = next(entry for entry in dataset_io.report_decisions(dataset, resamples=0).annotators if entry.name == "bob")
    path = dataset_io.export_decided_against(dataset, "bob", path=tmp_path / "bob.csv")
    rows = list(csv.DictReader(path.read_text("utf-8-sig").splitlines()))
    kinds = Counter((bool(row["given"]), bool(row["right"])) for row in rows)
    assert kinds == {(True, True): bob.n_wrong_class, (False, True): bob.n_missed, (True, False): bob.n_too_many}
    names = {sample.id: sample.filename for sample in dataset}
    labels = {label.id: label.label for labels in dataset.values("bob.detections") for label in labels or ()}
    for row in rows:
        assert row["image"] == names[row["sample_id"]]
        assert labels.get(row["label_id"], "") == row["given"]
    refused("There is a file at", dataset_io.export_decided_against, dataset, "bob", path=path)
    message = r"`path` must end in .html or .csv"
    refused(message, dataset_io.export_decided_against, dataset, "bob", path=tmp_path / "bob.txt")
    ((who, n_by_rule),) = answered(dataset)[-1].most_common(1)
    page = dataset_io.export_decided_against(dataset, who, path=tmp_path / "page.html").read_text("utf-8")
    assert f"{counted_of(n_by_rule, 'decision')} of a rule, which say nothing of who was right, are not listed" in page


def test_a_label_without_a_class_is_no_class_called_none(make_dataset, tmp_path):
    dataset = make_dataset({"alice": [[(None, (0.1, 0.1, 0.2, 0.2))]], "bob": [[]]})
    compute_quickly(dataset, ["alice", "bob"])
    one_by_one(dataset, {"alice": "detections"}, choice="none")
    path = dataset_io.export_decided_against(dataset, "alice", path=tmp_path / "alice.csv")
    assert [row["given"] for row in csv.DictReader(path.read_text("utf-8-sig").splitlines())] == ["(no label)"]


def test_the_page_to_send_shows_pictures_and_what_is_right(make_dataset, tmp_path):
    place = (0.25, 0.25, 0.5, 0.5)
    dataset = make_dataset({"alice": [[("<b>", place)]], "bob": [[("bus", place)]], "carol": [[]]})
    sample = dataset.first()
    sample.filepath = str(tmp_path / "white.png")
    Image.new("RGB", (400, 200), "white").save(sample.filepath)
    sample.save()
    compute_quickly(dataset)
    one_by_one(dataset, choice="version", annotator="bob", by="mia", remark="it has wheels & doors")
    page = dataset_io.export_decided_against(dataset, "alice", path=tmp_path / "alice.html").read_text("utf-8")
    assert "<td>&lt;b&gt;</td><td>bus</td>" in page
    assert "it has wheels &amp; doors" in page
    assert page.count("data:image/jpeg") == 1
    assert "1 object of which something else is right" in page
    missed = dataset_io.export_decided_against(dataset, "carol", path=tmp_path / "carol.html").read_text("utf-8")
    assert "<td>–</td><td>bus</td>" in missed
    nothing = dataset_io.export_decided_against(dataset, "bob", path=tmp_path / "bob.html").read_text("utf-8")
    assert "Nothing was decided against them" in nothing
    assert "of a rule" not in page + nothing
