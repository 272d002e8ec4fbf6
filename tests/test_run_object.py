"""A run as an object, from the installed package, and from the plugin the same."""

from __future__ import annotations

import inspect
import io
import json
import pydoc
import warnings
from pathlib import Path

import fiftyone as fo
import pytest

import annotator_agreement as aa

PEOPLE = ["alice", "bob", "carol"]


def _add_sizes(dataset):
    dataset.set_values("metadata", [fo.ImageMetadata(width=100, height=80)] * len(dataset))


def _made(make_dataset):
    dataset = make_dataset(None, _add_sizes)
    aa.compute(dataset, PEOPLE, resamples=0)
    return dataset


@pytest.fixture
def dataset(lend):
    return lend(_made)


@pytest.fixture
def run(dataset):
    return aa.load(dataset)


# ---- what a run says ----


def test_a_run_says_in_one_line_and_as_a_page_what_it_found_and_has_the_names_of_its_report(run, dataset):
    assert repr(run).startswith("<AgreementRun 'agreement': F1 0.")
    assert "4 of 5 samples rated" in repr(run)
    assert "\n" not in repr(run)
    assert run._repr_html_() == run.report._repr_html_()
    assert run.to_dict() == run.report.to_dict()
    assert run.alpha.pooled == run.report.alpha.pooled
    assert len(run.plot_pairs().data) > 0
    assert run.to_dataframe("pairs").equals(run.report.to_dataframe("pairs"))
    assert len(run.labels()) == sum(dataset.count(f"{name}.detections") for name in PEOPLE)
    assert (run.units()["assigned"] > 1).sum() == run.report.n_units
    assert run.samples()["id"].tolist() == sorted(dataset.values("id"))


def test_a_loaded_run_has_the_report_of_the_computed_one(dataset):
    computed, loaded = aa.compute(dataset, PEOPLE, resamples=0, overwrite=True), aa.load(dataset)
    assert type(loaded) is aa.AgreementRun
    assert loaded.report == computed.report
    assert (loaded.key, loaded.dataset) == (computed.key, dataset)
    assert aa.load(dataset.take(1)).report == computed.report
    assert aa.list_runs(dataset) == ["agreement"]


def test_a_report_is_printed_whole_or_in_part_to_open_files_only(run, dataset, tmp_path):
    short, full, of_report = io.StringIO(), io.StringIO(), io.StringIO()
    run.print_report(file=short)
    run.print_report(full=True, file=full)
    run.report.print_report(file=of_report)
    assert short.getvalue() == of_report.getvalue()
    assert len(full.getvalue()) > len(short.getvalue())
    results = [run, run.report, run.by("tags"), run.compare(run, resamples=0)]
    results.append(aa.files.save(dataset, PEOPLE, tmp_path / "a.json"))
    run.decisions.decide(verdict="agreed")
    results.append(run.decisions.apply(preview=True))
    message = r"`file` must be a text file that is open for writing in UTF-8, got .*; give open\('report.txt'"
    with open(tmp_path / "bytes", "wb") as of_bytes, open(tmp_path / "bytes", encoding="utf-8") as to_read:
        for result in results:
            for file in ("report.txt", tmp_path / "report.txt", of_bytes, to_read):
                with pytest.raises(aa.AgreementInputError, match=message):
                    result.print_report(file=file)
    with pytest.raises(aa.AgreementInputError, match=r"`full` must be True or False, got 'report.txt'"):
        run.print_report("report.txt")


def test_methods_are_called_on_a_run(run, dataset):
    for arguments, got in (((), "none"), ((dataset, "agreement"), "Dataset"), (("agreement",), "str")):
        with pytest.raises(aa.AgreementInputError, match=rf"run.view\(\) must be called on a run, .*, got {got}$"):
            aa.AgreementRun.view(*arguments)
    assert aa.AgreementRun.view(run, verdict="missed") == run.view(verdict="missed")


def test_names_are_completed_and_help_is_short_for_a_run_and_complete_for_a_method(run):
    listed = dir(run)
    assert {"view", "decisions", "key", "plot_pairs", "to_dataframe", "to_json"} <= set(listed)
    assert {"score", "alpha", "pairs", "image_alpha", "existence", "findings"} <= set(listed)
    assert not [name for name in listed if name.startswith("_")]
    assert len(listed) <= 45
    of_report = {name for name in dir(run.report) if not name.startswith("_")}
    assert {"n_hard_components", "inexact_gap", "roles_beside_one", "family"} <= of_report - set(listed)
    assert all(hasattr(run, name) for name in of_report | set(listed))
    assert not hasattr(run, "_ipython_canary_method_should_not_exist_")
    assert {"decide", "list", "undo"} <= {name for name in dir(run.decisions) if not name.startswith("_")}
    assert repr(run.objects) == "<run.objects of 'agreement': write, consensus, patches>"
    text = pydoc.plain(pydoc.render_doc(run))
    assert len(text.splitlines()) < 175
    for name in {*listed} - {"report"}:
        assert f" |  {name}(" in text or f" |      {name}: " in text, name
    of_view = pydoc.plain(pydoc.render_doc(run.view))
    assert "missed_by: objects that two or more" in of_view
    assert "run_key:" not in of_view
    assert "samples:" not in of_view
    assert "``run.decisions.decide``" in inspect.getdoc(run.decisions.undo)


# ---- what is misspelt ----

MISSPELT_NAMES = [
    (lambda run: aa.compte, "has no attribute 'compte'; did you mean 'compute'?"),
    (lambda run: aa.delete, "has no attribute 'delete'; there are compute, load, list_runs, trend, files, metrics, "
     "AgreementRun, AgreementReport, AgreementInputError; what is done with a run is a method of load(dataset)"),
    (lambda run: aa.metrics.krippendorf_alpha, "'krippendorf_alpha'; did you mean 'krippendorff_alpha'?"),
    (lambda run: aa.files.laod, "files has no attribute 'laod'; did you mean 'load'?"),
    (lambda run: run.print_reprot, "run has no attribute 'print_reprot'; did you mean 'print_report'?"),
    (lambda run: run.scroe, "run has no attribute 'scroe'; did you mean 'score'?"),
    (lambda run: run.report.scroe, "ObjectReport has no attribute 'scroe'; did you mean 'score'?"),
    (lambda run: run.objects.consensu, "run.objects has no attribute 'consensu'; did you mean 'consensus'?"),
    (lambda run: run.decisions.undo_aplied,
     "run.decisions has no attribute 'undo_aplied'; did you mean 'undo_applied'?"),
]  # fmt: skip
MISSPELT = [
    (lambda run: aa.compute(run.dataset, PEOPLE, iuo=0.5), "compute() has no option 'iuo'; did you mean 'iou'?"),
    (lambda run: aa.load(run.dataset, runkey="a"), "load() has no option 'runkey'; did you mean 'run_key'?"),
    (lambda run: aa.load(run.dataset, kee="a"), "load() has no option 'kee'; its options are dataset, run_key"),
    (lambda run: aa.list_runs(datset=1), "list_runs() has no option 'datset'; did you mean 'dataset'?"),
    (lambda run: aa.trend([], resmples=3), "trend() has no option 'resmples'; its options are runs, names"),
    (lambda run: run.view(mised_by="carol"), "run.view() has no option 'mised_by'; did you mean 'missed_by'?"),
    (lambda run: run.view(overwite=True), "run.view() has no option 'overwite'; its options are verdict, "),
    (
        lambda run: aa.files.load(run.dataset, {}, prefx="a"),
        "files.load() has no option 'prefx'; did you mean 'prefix'",
    ),
    (lambda run: aa.files.save(run.dataset, "a", "b", fileds=1), "files.save() has no option 'fileds'; its options"),
    (lambda run: run.decisions.decide(min_vote=2), "decisions.decide() has no option 'min_vote'; did you mean 'min_vo"),
    (lambda run: run.delete(x=1), "run.delete() has no option 'x'; it takes none"),
    (lambda run: run.plot_pairs(metrc="f1"), "plot_pairs() has no option 'metrc'; its options are value"),
    (lambda run: run.report.to_json(indnt=1), "to_json() has no option 'indnt'; it takes none"),
    (lambda run: run.view("carol"), "run.view() takes options by name, got 'carol'"),
    (
        lambda run: aa.compute(run.dataset, "alice", "bob"),
        "give several fields as one list: compute(samples, ['alice',",
    ),
]


def test_a_misspelt_name_or_option_is_corrected(run):
    for error, wrong in ((AttributeError, MISSPELT_NAMES), (TypeError, MISSPELT)):
        for use, message in wrong:
            with pytest.raises(error) as raised:
                use(run)
            assert message in str(raised.value)
    comparison = run.compare(run, resamples=0)
    for owner in (aa.files, run, run.report, run.decisions, run.objects, comparison, run.by("tags")):
        for name in dir(owner):
            method = getattr(owner, name)
            if name[0] != "_" and name != "from_dict" and inspect.isroutine(method):
                with pytest.raises(TypeError, match=rf"{name}\(\) has no option 'nonsense'"):
                    method(nonsense=1)


def test_calls_that_mean_something_else_are_told_what_to_write(run, dataset):
    with pytest.raises(ValueError, match=r"""annotator 'bob'; say "version", annotator='bob' for their labels"""):
        run.decisions.decide("bob", all=True)
    with pytest.raises(ValueError, match=r"`runs` must be a list of runs, such as .*, got Dataset$"):
        aa.trend(dataset)
    object.__setattr__(run, "_report", None)
    del run._view
    with pytest.raises(AttributeError, match="_view"):  # an error within a property
        run.report  # noqa: B018


# ---- a part of a run ----


def test_a_view_gives_a_part_of_a_run_for_which_what_concerns_the_whole_is_refused(run, dataset, make_dataset):
    part = run.on(dataset.limit(2), resamples=0)
    assert part.report.n_samples == len(part.samples()) == len(part.view()) == 2
    assert part.report.score.mean != run.report.score.mean
    assert len(part.units()) < len(run.units())
    assert run.report.n_samples == 5
    for name in ("update", "delete", "export", "changed", "app", "save_views"):
        with pytest.raises(aa.AgreementInputError, match=rf"run\.{name}\(\) must be called on the whole run"):
            getattr(part, name)()
    with pytest.raises(aa.AgreementInputError, match=r"run\.on\(\) must be called on the whole run"):
        part.on(dataset.limit(3))
    assert aa.list_runs(dataset) == ["agreement"]
    other = make_dataset()
    for samples in (other, other.limit(1)):
        with pytest.raises(aa.AgreementInputError, match=f"`view` must be a view of .* got one of '{other.name}'"):
            run.on(samples)
    other = aa.compute(other, PEOPLE, iou=0.9, resamples=0)  # under the same key
    for before, message in (
        (other, "a run of .*, got one of"),
        (part, r"a whole run, got a part of one.*on\(…\)\.com"),
    ):
        with pytest.raises(aa.AgreementInputError, match=f"`before` must be {message}"):
            run.compare(before, resamples=0)


def test_decisions_of_parts_of_samples_are_refused_as_everywhere(run, dataset, tmp_path):
    run.decisions.decide("consensus", min_votes=2)
    of_boxes, grouped = run.on(dataset.to_patches("alice")).decisions, run.on(dataset.group_by("filepath")).decisions
    for decisions, message in ((of_boxes, "got a view of parts of"), (grouped, "grouped by a field")):
        for act in (decisions.list, lambda decisions=decisions: decisions.export(tmp_path / "gold.json")):
            with pytest.raises(aa.AgreementInputError, match=message):
                act()


# ---- views, the life of a run, objects ----


def test_views_are_shown_and_saved_and_the_app_is_set_up(run, dataset):
    view, units = run.view(missed_by="carol"), run.units()
    missed = units[units["missed_by"].map(lambda names: "carol" in names) & (units["votes"] > 1)]
    assert len(missed) == view.count("alice.detections") == view.count("bob.detections") == 1
    saved = run.save_views()
    assert saved
    assert set(saved) <= set(dataset.list_saved_views())
    assert "colours" in repr(run.app(color_by="verdict")) or dataset.app_config.color_scheme is not None


def test_a_run_is_updated_and_compared_with_itself_and_with_another(run, dataset):
    assert run.changed() == 0
    before = run.report
    sample = dataset.skip(1).first()
    sample.bob.detections[0].label = "cat"
    sample.save()
    assert run.changed() == 1
    assert run.update() is run
    assert run.report.score.mean > before.score.mean
    assert run.changed() == 0
    change = run.compare(resamples=0).to_dict()["numbers"]["score.mean"]
    assert (change["a"], change["b"]) == (before.score.mean, run.report.score.mean)
    other = aa.compute(dataset, PEOPLE, run_key="strict", iou=0.9, resamples=0)
    assert other.compare(run, resamples=0) == other.compare("agreement", resamples=0)
    assert other.compare(run, resamples=0).to_dict()["numbers"]["score.mean"]["b"] == other.report.score.mean


def test_a_run_is_exported_renamed_and_deleted(run, dataset, tmp_path):
    assert run.export(tmp_path / "report.json") == tmp_path / "report.json"
    assert json.loads((tmp_path / "report.json").read_text()) == run.to_dict()
    assert run.rename("v2").key == run.report.run_key == "v2"
    assert aa.list_runs(dataset) == ["v2"]
    assert dataset.has_field("v2_score")
    run.delete()
    assert aa.list_runs(dataset) == []
    assert not [name for name in dataset.get_field_schema() if name.startswith(("v2", "agreement"))]
    assert {"view", "plot_pairs"} <= set(dir(run))
    assert "must be an agreement run" in repr(run)
    assert run._repr_html_() is None
    with pytest.raises(aa.AgreementInputError, match="must be an agreement run"):
        run.view()


def test_what_did_not_complete_or_was_left_by_fiftyone_can_be_loaded_and_deleted(run, dataset):
    info = dataset.get_run_info("agreement")
    info.config.status = "failed"
    dataset.update_run_config("agreement", info.config)
    failed = aa.load(dataset)
    assert "must be completed, got the status 'failed'" in repr(failed)
    with pytest.raises(aa.AgreementInputError, match="must be completed"):
        failed.print_report()
    failed.delete()
    assert not dataset.has_field("agreement_score")
    aa.compute(dataset, PEOPLE, resamples=0)
    dataset.delete_run("agreement")
    aa.load(dataset).delete()
    assert not dataset.has_field("agreement_score")
    with pytest.raises(aa.AgreementInputError, match="`run_key` must be an agreement run"):
        aa.load(dataset)
    dataset.delete()
    assert "is deleted" in repr(run)
    assert run._repr_html_() is None


def test_objects_are_written_and_shown(run, dataset):
    run.objects.write()
    assert dataset.count("agreement_units.detections") == len(run.units())
    run.objects.consensus()
    assert 0 < dataset.count("agreement_consensus.detections") < len(run.units())
    assert len(run.objects.patches(max_units=2)) == 2


# ---- decisions ----


def test_decisions_are_made_listed_reported_applied_and_taken_back(run, dataset, tmp_path):
    decisions = run.decisions
    assert decisions.decide("consensus", min_votes=2, preview=True).n_decided > 0
    assert not dataset.has_field("agreement_gold")
    done = decisions.decide("consensus", min_votes=2)
    assert len(decisions.list()) == done.n_decided
    unit = run.units().query("verdict == 'class_conflict'")["unit"].iloc[0]
    decisions.decide("version", annotator="alice", objects=unit, by="mia", overwrite=True)
    assert decisions.report(resamples=0).to_dict()["n_decided"] >= 1
    assert decisions.against("bob").count("bob.detections") == 1
    assert decisions.export_against("bob", tmp_path / "bob.csv").is_file()
    assert decisions.export(tmp_path / "gold.json").path
    labels = dataset.values("bob.detections.label")
    applied = decisions.apply(by="mia")
    assert dataset.values("bob.detections.label") != labels
    decisions.undo_applied(applied.step)
    assert dataset.values("bob.detections.label") == labels
    assert decisions.record_own().n_decided == 0
    assert decisions.undo(by="mia") == 1
    assert decisions.undo(done.step) == done.n_decided
    decisions.delete()
    assert not dataset.has_field("agreement_gold")


def test_a_part_of_a_run_decides_on_its_own_samples_alone_and_a_decision_on_everything_must_be_meant(run, dataset):
    n, part = len(run.units()), run.on(dataset.limit(1))
    one = run.on(dataset.select(run.units()["sample_id"].value_counts().index[-1]))
    for decisions, options, what in (
        (run.decisions, {}, f"{n} objects"), (run.decisions, {"min_votes": 1}, f"{n} objects"),
        (one.decisions, {}, "1 object"),
    ):  # fmt: skip
        message = rf"must have a condition.*it would decide {what}; say all=True"
        with pytest.raises(aa.AgreementInputError, match=message):
            decisions.decide("none", **options)
    assert part.decisions.decide("version", annotator="bob", min_votes=2).n_decided == 2
    assert len(run.decisions.list()) == len(part.decisions.list()) == 2
    assert len(run.on(dataset.skip(1)).decisions.list()) == 0
    assert run.decisions.decide("none", all=True, overwrite=True).n_decided == n


def test_a_run_without_decisions_lists_reports_and_undoes_none(run):
    decisions = run.decisions
    assert (decisions.list(), len(decisions.list().to_dataframe()), decisions.undo()) == ([], 0, 0)
    assert decisions.report(resamples=0).to_dict()["n_decided"] == 0
    assert "export" not in repr(decisions.report(resamples=0)) + decisions.report(resamples=0).to_markdown()
    for act in (decisions.apply, decisions.undo_applied, decisions.delete, decisions.record_own):
        message = r"must have decisions, .*run\.decisions\.decide\(\) makes some"
        with pytest.raises(aa.AgreementInputError, match=message):
            act()
    with pytest.raises(aa.AgreementInputError, match=r"`step` must be that of decisions which are there, got 'nope'"):
        decisions.undo("nope")
    done = decisions.decide("none", verdict="missed")
    with pytest.raises(aa.AgreementInputError, match=r"got 'nope', and none was taken back"):
        decisions.undo("nope")
    with pytest.raises(aa.AgreementInputError, match=r"must be a field of decisions of .*there are agreement_gold"):
        decisions.list(gold="golden")
    assert decisions.undo(done.step) == done.n_decided


def test_files_are_written_and_read(dataset, tmp_path):
    aa.files.save(dataset, PEOPLE, tmp_path / "all.json")
    read = aa.files.load(dataset, tmp_path / "all.json", prefix="new_")
    assert [each.fields for each in read.annotators] == [("new_alice",), ("new_bob",), ("new_carol",)]
    for name in PEOPLE:
        assert dataset.count(f"new_{name}.detections") == dataset.count(f"{name}.detections")


# ---- options of one kind of labels, together ----


def test_options_of_one_kind_of_labels_can_be_given_together_and_those_of_another_are_refused(dataset, make_dataset):
    tags = make_dataset({})
    said = [[fo.Classification(label=tag) for tag in each.split()] for each in ("cat", "cat dog", "owl")]
    values = [fo.Classifications(classifications=each) for each in said]
    tags.add_samples([fo.Sample(f"{k}.jpg", a=each, b=values[0].copy()) for k, each in enumerate(values)])
    together = aa.compute(tags, ["a", "b"], resamples=0, tags={"set_distance": "jaccard"})
    flat = aa.compute(tags, ["a", "b"], resamples=0, run_key="flat", set_distance="jaccard")
    default = aa.compute(tags, ["a", "b"], resamples=0, run_key="default", tags={})
    assert together.config["set_distance"] == "jaccard"
    assert together.alpha.pooled == flat.alpha.pooled != default.alpha.pooled
    for method in (flat.objects.write, flat.objects.consensus):
        with pytest.raises(aa.AgreementInputError, match=rf"^run.objects.{method.__name__}\(\) needs a run on objects"):
            method()
    for options, message in (
        ({"masks": {"boundary": True}}, "`masks` must be options of masks, got 'boundary'; did you mean 'boundaries'"),
        ({"tags": {"iou": 0.5}}, "`tags` must be options of tags, got 'iou'; they are set_distance"),
        ({"masks": True}, r"`masks` must be a mapping, such as dict\(background=…\), got True"),
        ({"tags": {"set_distance": "masi"}, "set_distance": "masi"}, "`set_distance` must be given once, got it also"),
        ({"tags": {"set_distance": "jaccard"}}, "`set_distance` concerns tags, but"),
    ):
        with pytest.raises(aa.AgreementInputError, match=message):
            aa.compute(dataset, PEOPLE, run_key="other", **options)
    assert aa.list_runs(dataset) == ["agreement"]


def test_compute_says_every_option_once(private_fiftyone):
    from annotator_agreement.agreement.settings import OPTIONS, TOGETHER

    grouped = [name for names in TOGETHER.values() for name in names]
    assert len(grouped) == 14
    parameters = list(inspect.signature(aa.compute).parameters)
    assert parameters == ["samples", "fields", *(name for name in OPTIONS if name not in grouped), *TOGETHER]
    text = inspect.getdoc(aa.compute)
    assert all(f"``{name}``: " in text.replace("\n    ", " ") for name in grouped)
    assert all(f"\n    {name}: " in text for name in parameters)


def test_the_package_of_the_plugin_is_the_checkout_with_the_same_names_and_results(run, dataset):
    import fiftyone.operators as foo

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(getattr(aa, name).__doc__ for name in aa.__all__)
    package = foo.get_operator("@annotator/agreement/decide").package
    assert dir(package) == dir(aa) == sorted(aa.__all__)
    of_plugin = package.load(dataset)
    assert dir(of_plugin) == dir(run)
    assert of_plugin.report.to_dict() == run.report.to_dict()
    assert of_plugin.decisions.decide("consensus", min_votes=2).n_decided == len(run.decisions.list())
    assert Path(package.__file__).resolve().parent == Path(__file__).resolve().parents[1]
    assert package.metrics.box_iou is not None
