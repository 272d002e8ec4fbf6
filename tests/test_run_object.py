"""A run as an object, from the installed package, and from the plugin the same."""

from __future__ import annotations

import importlib
import inspect
import io
import json
import pydoc
import warnings
from pathlib import Path

import pytest

PEOPLE = ["alice", "bob", "carol"]
URI = "@annotator/agreement"


@pytest.fixture
def aa(private_fiftyone):
    """The package as ``pip install .`` gives it."""
    return importlib.import_module("annotator_agreement")


@pytest.fixture
def dataset(make_dataset):
    return make_dataset(then=_add_sizes)


def _add_sizes(dataset):
    import fiftyone as fo

    dataset.set_values("metadata", [fo.ImageMetadata(width=100, height=80)] * len(dataset))


@pytest.fixture
def run(aa, dataset):
    return aa.compute(dataset, PEOPLE, resamples=0)


def _relabel(dataset, annotator="bob"):
    """Edit one image, as a person in the App does."""
    sample = dataset.skip(1).first()
    sample[annotator].detections[0].label = "cat"
    sample.save()


# ---- what a run says ----


def test_a_run_says_in_one_line_and_as_a_page_what_it_found(run):
    assert "\n" not in repr(run)
    assert repr(run).startswith("<AgreementRun 'agreement': F1 0.")
    assert "4 of 5 samples rated" in repr(run)
    assert run._repr_html_() == run.report._repr_html_()


def test_a_loaded_run_has_the_report_of_the_computed_one(aa, run, dataset):
    loaded = aa.load(dataset)
    assert type(loaded) is aa.AgreementRun
    assert loaded.report == run.report
    assert (loaded.key, loaded.dataset) == (run.key, dataset)
    assert aa.load(dataset.take(1)).report == run.report
    assert aa.list_runs(dataset) == ["agreement"]


def test_the_report_is_printed_whole_or_in_part(run):
    short, full, of_report = io.StringIO(), io.StringIO(), io.StringIO()
    run.print_report(file=short)
    run.print_report(full=True, file=full)
    run.report.print_report(file=of_report)
    assert short.getvalue() == of_report.getvalue()
    assert len(full.getvalue()) > len(short.getvalue())


def test_a_report_is_printed_to_open_files_only(aa, run, dataset, tmp_path):
    results = [run, run.report, run.by("tags"), run.compare(run)]
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


def test_methods_are_called_on_a_run(aa, run, dataset):
    for arguments, got in (((), "none"), ((dataset, "agreement"), "Dataset"), (("agreement",), "str")):
        with pytest.raises(aa.AgreementInputError, match=rf"run.view\(\) must be called on a run, .*, got {got}$"):
            aa.AgreementRun.view(*arguments)
    assert aa.AgreementRun.view(run, verdict="missed") == run.view(verdict="missed")


def test_the_tables_have_every_label_unit_and_sample(run, dataset):
    assert len(run.labels()) == sum(dataset.count(f"{name}.detections") for name in PEOPLE)
    assert (run.units()["assigned"] > 1).sum() == run.report.n_units
    assert run.samples()["id"].tolist() == sorted(dataset.values("id"))


def test_what_is_no_name_of_a_run_is_that_of_its_report(run):
    assert run.alpha.pooled == run.report.alpha.pooled
    assert run.to_dict() == run.report.to_dict()
    assert len(run.plot_pairs().data) > 0
    assert run.to_dataframe("pairs").equals(run.report.to_dataframe("pairs"))


def test_names_are_completed_and_a_misspelt_one_is_corrected(run):
    listed = dir(run)
    assert {"view", "decisions", "key", "plot_pairs", "to_dataframe", "to_json"} <= set(listed)
    assert {"score", "alpha", "pairs", "image_alpha", "existence", "findings"} <= set(listed)
    assert not [name for name in listed if name.startswith("_")]
    assert len(listed) <= 45
    of_report = {name for name in dir(run.report) if not name.startswith("_")}
    assert {"n_hard_components", "inexact_gap", "roles_beside_one", "family"} <= of_report - set(listed)
    assert all(hasattr(run, name) for name in of_report)
    assert all(hasattr(run, name) for name in listed)
    assert not hasattr(run, "_ipython_canary_method_should_not_exist_")
    assert {"decide", "list", "undo"} <= {name for name in dir(run.decisions) if not name.startswith("_")}
    assert repr(run.objects) == "<run.objects of 'agreement': write, consensus, patches>"


MISSPELT_NAMES = [
    (lambda aa, run: aa.compte, "has no attribute 'compte'; did you mean 'compute'?"),
    (
        lambda aa, run: aa.delete,
        "has no attribute 'delete'; there are compute, load, list_runs, trend, files, metrics, AgreementRun, "
        "AgreementReport, AgreementInputError; what is done with a run is a method of load(dataset)",
    ),
    (lambda aa, run: aa.metrics.krippendorf_alpha, "'krippendorf_alpha'; did you mean 'krippendorff_alpha'?"),
    (lambda aa, run: aa.files.laod, "files has no attribute 'laod'; did you mean 'load'?"),
    (lambda aa, run: run.print_reprot, "run has no attribute 'print_reprot'; did you mean 'print_report'?"),
    (lambda aa, run: run.scroe, "run has no attribute 'scroe'; did you mean 'score'?"),
    (lambda aa, run: run.report.scroe, "ObjectReport has no attribute 'scroe'; did you mean 'score'?"),
    (lambda aa, run: run.objects.consensu, "run.objects has no attribute 'consensu'; did you mean 'consensus'?"),
    (
        lambda aa, run: run.decisions.undo_aplied,
        "run.decisions has no attribute 'undo_aplied'; did you mean 'undo_applied'?",
    ),
]


def test_a_misspelt_name_is_corrected_in_the_message(aa, run):
    for look, message in MISSPELT_NAMES:
        with pytest.raises(AttributeError) as error:
            look(aa, run)
        assert str(error.value).endswith(message)


def test_calls_that_mean_something_else_are_told_what_to_write(aa, run, dataset):
    with pytest.raises(ValueError, match=r"""annotator 'bob'; say "version", annotator='bob' for their labels"""):
        run.decisions.decide("bob", all=True)
    with pytest.raises(ValueError, match=r"`runs` must be a list of runs, such as .*, got Dataset$"):
        aa.trend(dataset)


def test_an_error_within_a_property_is_not_taken_for_a_misspelt_name(run):
    object.__setattr__(run, "_report", None)
    del run._view
    with pytest.raises(AttributeError, match="_view"):
        run.report  # noqa: B018


def test_help_is_short_for_a_run_and_complete_for_a_method(aa, run):
    text = pydoc.plain(pydoc.render_doc(run))
    assert len(text.splitlines()) < 175
    for name in {*dir(run)} - {"report"}:
        assert f" |  {name}(" in text or f" |      {name}: " in text, name
    of_view = pydoc.plain(pydoc.render_doc(run.view))
    assert "missed_by: objects that two or more" in of_view
    assert "run_key:" not in of_view
    assert "samples:" not in of_view
    assert "``run.decisions.decide``" in inspect.getdoc(run.decisions.undo)


# ---- a part of a run ----


def test_a_view_gives_a_part_of_a_run(run, dataset):
    part = run.on(dataset.limit(2), resamples=0)
    assert part.report.n_samples == 2
    assert part.report.score.mean != run.report.score.mean
    assert len(part.samples()) == 2
    assert len(part.units()) < len(run.units())
    assert len(part.view()) == 2
    assert run.report.n_samples == 5


def test_what_concerns_a_whole_run_is_refused_for_a_part(run, dataset, aa):
    for name in ("update", "delete", "export", "changed", "app", "save_views"):
        with pytest.raises(aa.AgreementInputError, match=rf"run\.{name}\(\) must be called on the whole run"):
            getattr(run.on(dataset.limit(2)), name)()
    assert aa.list_runs(dataset) == ["agreement"]


def test_a_part_must_be_of_the_same_dataset(aa, run, make_dataset):
    other = make_dataset()
    for samples in (other, other.limit(1)):
        with pytest.raises(aa.AgreementInputError, match=f"`view` must be a view of .* got one of '{other.name}'"):
            run.on(samples)


def test_a_part_has_no_parts_that_would_hold_other_samples(aa, run, dataset):
    with pytest.raises(aa.AgreementInputError, match=r"run\.on\(\) must be called on the whole run"):
        run.on(dataset.limit(1)).on(dataset.limit(3))


def test_a_run_is_compared_with_whole_runs_of_its_dataset_alone(aa, run, dataset, make_dataset):
    other = aa.compute(make_dataset(), PEOPLE, iou=0.9, resamples=0)  # under the same key
    with pytest.raises(aa.AgreementInputError, match=r"`before` must be a run of .*, got one of"):
        run.compare(other, resamples=0)
    with pytest.raises(aa.AgreementInputError, match=r"`before` must be a whole run, got a part of one.*on\(…\)\.comp"):
        run.compare(run.on(dataset.limit(2)), resamples=0)


def test_decisions_of_parts_of_samples_are_refused_as_everywhere(aa, run, dataset, tmp_path):
    run.decisions.decide("consensus", min_votes=2)
    of_boxes, grouped = run.on(dataset.to_patches("alice")).decisions, run.on(dataset.group_by("filepath")).decisions
    for decisions, message in ((of_boxes, "got a view of parts of"), (grouped, "grouped by a field")):
        with pytest.raises(aa.AgreementInputError, match=message):
            decisions.list()
        with pytest.raises(aa.AgreementInputError, match=message):
            decisions.export(tmp_path / "gold.json")


def test_a_run_of_a_deleted_dataset_says_so(run, dataset):
    dataset.delete()
    run._report = None
    assert "is deleted" in repr(run)
    assert run._repr_html_() is None


# ---- views ----


def test_a_view_shows_what_somebody_missed(run):
    view = run.view(missed_by="carol")
    units = run.units()
    missed = units[units["missed_by"].map(lambda names: "carol" in names) & (units["votes"] > 1)]
    assert len(missed) == 1
    assert view.count("alice.detections") == view.count("bob.detections") == 1


def test_the_usual_views_are_saved_and_the_app_is_set_up(run, dataset):
    assert set(run.save_views()) <= set(dataset.list_saved_views())
    assert "colours" in repr(run.app(color_by="verdict")) or dataset.app_config.color_scheme is not None


# ---- the life of a run ----


def test_a_run_is_updated_and_compared_with_itself_and_with_another(aa, run, dataset):
    assert run.changed() == 0
    before = run.report
    _relabel(dataset)
    assert run.changed() == 1
    assert run.update() is run
    assert run.report.score.mean > before.score.mean
    assert run.changed() == 0
    change = run.compare(resamples=0).to_dict()["numbers"]["score.mean"]
    assert change["b"] == run.report.score.mean
    assert change["a"] == before.score.mean
    other = aa.compute(dataset, PEOPLE, run_key="strict", iou=0.9, resamples=0)
    assert other.compare(run, resamples=0) == other.compare("agreement", resamples=0)
    assert other.compare(run, resamples=0).to_dict()["numbers"]["score.mean"]["b"] == other.report.score.mean


def test_a_run_is_renamed_and_deleted(aa, run, dataset):
    fields = set(dataset.get_field_schema()) - {"agreement_score"}
    assert run.rename("v2").key == "v2"
    assert aa.list_runs(dataset) == ["v2"]
    assert run.report.run_key == "v2"
    assert dataset.has_field("v2_score")
    run.delete()
    assert aa.list_runs(dataset) == []
    assert {name for name in dataset.get_field_schema() if name.startswith(("v2", "agreement"))} == set()
    assert fields >= set(dataset.get_field_schema())
    assert {"view", "plot_pairs"} <= set(dir(run))
    assert "must be an agreement run" in repr(run)
    assert run._repr_html_() is None
    with pytest.raises(aa.AgreementInputError, match="must be an agreement run"):
        run.view()


def test_a_run_that_did_not_complete_can_be_loaded_and_deleted(aa, run, dataset):
    info = dataset.get_run_info("agreement")
    info.config.status = "failed"
    dataset.update_run_config("agreement", info.config)
    failed = aa.load(dataset)
    assert "must be completed, got the status 'failed'" in repr(failed)
    with pytest.raises(aa.AgreementInputError, match="must be completed"):
        failed.print_report()
    failed.delete()
    assert not dataset.has_field("agreement_score")


def test_what_fiftyone_left_of_a_run_can_be_loaded_and_deleted(aa, run, dataset):
    dataset.delete_run("agreement")
    aa.load(dataset).delete()
    assert not dataset.has_field("agreement_score")
    with pytest.raises(aa.AgreementInputError, match="`run_key` must be an agreement run"):
        aa.load(dataset)


def test_a_run_is_exported(run, tmp_path):
    assert run.export(tmp_path / "report.json") == tmp_path / "report.json"
    assert json.loads((tmp_path / "report.json").read_text()) == run.to_dict()


# ---- objects ----


def test_objects_are_written_and_shown(run, dataset):
    run.objects.write()
    assert dataset.count("agreement_units.detections") == len(run.units())
    run.objects.consensus()
    assert 0 < dataset.count("agreement_consensus.detections") < len(run.units())
    patches = run.objects.patches(max_units=2)
    assert len(patches) == 2


def test_actions_on_objects_are_refused_under_their_names(aa, make_dataset):
    run = aa.compute(_tags(make_dataset), ["a", "b"], resamples=0)
    for method in (run.objects.write, run.objects.consensus):
        with pytest.raises(aa.AgreementInputError, match=rf"^run.objects.{method.__name__}\(\) needs a run on objects"):
            method()


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


def test_a_decision_on_everything_must_be_meant(run, dataset, aa):
    n, first = len(run.units()), run.on(dataset.select(run.units()["sample_id"].value_counts().index[-1]))
    for decisions, options, what in (
        (run.decisions, {}, f"{n} objects"),
        (run.decisions, {"min_votes": 1}, f"{n} objects"),
        (first.decisions, {}, "1 object"),
    ):
        with pytest.raises(
            aa.AgreementInputError, match=rf"must have a condition.*it would decide {what}; say all=True"
        ):
            decisions.decide("none", **options)
    assert run.decisions.decide("none", all=True).n_decided == n


def test_a_run_without_decisions_lists_reports_and_undoes_none(run, dataset, aa):
    decisions = run.decisions
    assert (decisions.list(), len(decisions.list().to_dataframe()), decisions.undo()) == ([], 0, 0)
    assert decisions.report(resamples=0).to_dict()["n_decided"] == 0
    assert "export" not in repr(decisions.report(resamples=0)) + decisions.report(resamples=0).to_markdown()
    for act in (decisions.apply, decisions.undo_applied, decisions.delete, decisions.record_own):
        with pytest.raises(
            aa.AgreementInputError, match=r"must have decisions, .*run\.decisions\.decide\(\) makes some"
        ):
            act()
    with pytest.raises(aa.AgreementInputError, match=r"`step` must be that of decisions which are there, got 'nope'"):
        decisions.undo("nope")
    done = decisions.decide("none", verdict="missed")
    with pytest.raises(aa.AgreementInputError, match=r"got 'nope', and none was taken back"):
        decisions.undo("nope")
    with pytest.raises(aa.AgreementInputError, match=r"must be a field of decisions of .*there are agreement_gold"):
        decisions.list(gold="golden")
    assert decisions.undo(done.step) == done.n_decided


def test_a_part_of_a_run_decides_on_its_own_samples_alone(run, dataset):
    part = run.on(dataset.limit(1))
    assert part.decisions.decide("version", annotator="bob", min_votes=2).n_decided == 2
    assert len(run.decisions.list()) == len(part.decisions.list()) == 2
    assert len(run.on(dataset.skip(1)).decisions.list()) == 0


# ---- files ----


def test_files_are_written_and_read(aa, dataset, tmp_path):
    n_labels = {name: dataset.count(f"{name}.detections") for name in PEOPLE}
    aa.files.save(dataset, PEOPLE, tmp_path / "all.json")
    read = aa.files.load(dataset, tmp_path / "all.json", prefix="new_")
    assert [each.fields for each in read.annotators] == [("new_alice",), ("new_bob",), ("new_carol",)]
    assert {name: dataset.count(f"new_{name}.detections") for name in PEOPLE} == n_labels


# ---- what is misspelt ----

MISSPELT = [
    (lambda aa, run: aa.compute(run.dataset, PEOPLE, iuo=0.5), "compute() has no option 'iuo'; did you mean 'iou'?"),
    (lambda aa, run: aa.load(run.dataset, runkey="a"), "load() has no option 'runkey'; did you mean 'run_key'?"),
    (lambda aa, run: run.view(mised_by="carol"), "run.view() has no option 'mised_by'; did you mean 'missed_by'?"),
    (lambda aa, run: run.on(run.dataset, resample=0), "run.on() has no option 'resample'; did you mean 'resamples'?"),
    (
        lambda aa, run: run.update(progress_bar=True),
        "run.update() has no option 'progress_bar'; did you mean 'progress'?",
    ),
    (lambda aa, run: run.compare(before_key="a"), "run.compare() has no option 'before_key'; did you mean 'before'?"),
    (lambda aa, run: run.export(formats="html"), "run.export() has no option 'formats'; did you mean 'format'?"),
    (lambda aa, run: run.app(colour_by="verdict"), "run.app() has no option 'colour_by'; did you mean 'color_by'?"),
    (
        lambda aa, run: run.decisions.decide(min_vote=2),
        "run.decisions.decide() has no option 'min_vote'; did you mean 'min_votes'?",
    ),
    (lambda aa, run: run.decisions.undo(stp="a"), "run.decisions.undo() has no option 'stp'; did you mean 'step'?"),
    (
        lambda aa, run: aa.files.load(run.dataset, {}, prefx="a"),
        "files.load() has no option 'prefx'; did you mean 'prefix'?",
    ),
    (
        lambda aa, run: aa.files.save(run.dataset, "a", "b", fileds=1),
        "files.save() has no option 'fileds'; its options",
    ),
    (lambda aa, run: aa.list_runs(datset=1), "list_runs() has no option 'datset'; did you mean 'dataset'?"),
    (lambda aa, run: aa.trend([], resmples=3), "trend() has no option 'resmples'; its options are runs, names"),
    (lambda aa, run: aa.load(run.dataset, kee="a"), "load() has no option 'kee'; its options are dataset, run_key"),
    (lambda aa, run: run.print_report(ful=True), "run.print_report() has no option 'ful'; did you mean 'full'?"),
    (lambda aa, run: run.labels(x=1), "run.labels() has no option 'x'; it takes none"),
    (lambda aa, run: run.units(view=1), "run.units() has no option 'view'; it takes none"),
    (lambda aa, run: run.delete(x=1), "run.delete() has no option 'x'; it takes none"),
    (lambda aa, run: run.changed(x=1), "run.changed() has no option 'x'; it takes none"),
    (lambda aa, run: run.view(overwite=True), "run.view() has no option 'overwite'; its options are verdict, "),
    (lambda aa, run: run.to_dataframe(nam="pairs"), "to_dataframe() has no option 'nam'; its options are table"),
    (lambda aa, run: run.plot_pairs(metrc="f1"), "plot_pairs() has no option 'metrc'; its options are value"),
    (lambda aa, run: run.report.to_json(indnt=1), "to_json() has no option 'indnt'; it takes none"),
    (lambda aa, run: run.compare(run, resamples=0).to_dataframe(tabel=1), "'tabel'; did you mean 'table'?"),
    (
        lambda aa, run: run.decisions.against("bob", godl=1),
        "run.decisions.against() has no option 'godl'; did you mean",
    ),
    (lambda aa, run: run.view("carol"), "run.view() takes options by name, got 'carol'"),
    (
        lambda aa, run: aa.compute(run.dataset, "alice", "bob"),
        "give several fields as one list: compute(samples, ['alice', 'bob'])",
    ),
]


def test_a_misspelt_option_is_corrected(aa, run):
    for call, message in MISSPELT:
        with pytest.raises(TypeError) as error:
            call(aa, run)
        assert message in str(error.value)


# ---- options of one kind of labels, together ----


def _tags(make_dataset):
    import fiftyone as fo

    dataset = make_dataset({})
    tags = [["cat"], ["cat", "dog"], ["owl"]]
    values = [fo.Classifications(classifications=[fo.Classification(label=tag) for tag in each]) for each in tags]
    dataset.add_samples([fo.Sample(f"{k}.jpg", a=each, b=values[0].copy()) for k, each in enumerate(values)])
    return dataset


def test_options_of_one_kind_of_labels_can_be_given_together(aa, make_dataset):
    dataset = _tags(make_dataset)
    together = aa.compute(dataset, ["a", "b"], resamples=0, tags={"set_distance": "jaccard"})
    flat = aa.compute(dataset, ["a", "b"], resamples=0, run_key="flat", set_distance="jaccard")
    default = aa.compute(dataset, ["a", "b"], resamples=0, run_key="default", tags={})
    assert together.config["set_distance"] == "jaccard"
    assert together.alpha.pooled == flat.alpha.pooled != default.alpha.pooled


OF_ANOTHER_KIND = [
    ({"masks": {"boundary": True}}, "`masks` must be options of masks, got 'boundary'; did you mean 'boundaries'"),
    ({"tags": {"iou": 0.5}}, "`tags` must be options of tags, got 'iou'; they are set_distance"),
    ({"masks": True}, r"`masks` must be a mapping, such as dict\(background=…\), got True"),
    ({"tags": {"set_distance": "masi"}, "set_distance": "masi"}, "`set_distance` must be given once, got it also in"),
    ({"tags": {"set_distance": "jaccard"}}, "`set_distance` concerns tags, but"),
]


def test_options_of_another_kind_are_refused(aa, dataset):
    for options, message in OF_ANOTHER_KIND:
        with pytest.raises(aa.AgreementInputError, match=message):
            aa.compute(dataset, PEOPLE, **options)
    assert aa.list_runs(dataset) == []


def test_compute_says_every_option_once(private_fiftyone):
    from annotator_agreement import compute
    from annotator_agreement.agreement.settings import OPTIONS, TOGETHER

    grouped = [name for names in TOGETHER.values() for name in names]
    assert len(grouped) == 14
    parameters = list(inspect.signature(compute).parameters)
    assert parameters == ["samples", "fields", *(name for name in OPTIONS if name not in grouped), *TOGETHER]
    text = inspect.getdoc(compute)
    assert all(f"``{name}``: " in text.replace("\n    ", " ") for name in grouped)
    assert all(f"\n    {name}: " in text for name in parameters)


# ---- scripts that were written for the functions ----


def test_the_names_of_today_give_no_warning(aa):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(getattr(aa, name).__doc__ for name in aa.__all__)
    assert dir(aa) == sorted(aa.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'comput'"):
        aa.comput  # noqa: B018


def test_the_package_of_the_plugin_is_the_checkout_with_the_same_names_and_results(aa, run, dataset):
    import fiftyone.operators as foo

    package = foo.get_operator(f"{URI}/decide").package
    assert dir(package) == dir(aa)
    of_plugin = package.load(dataset)
    assert dir(of_plugin) == dir(run)
    assert of_plugin.report.to_dict() == run.report.to_dict()
    assert of_plugin.decisions.decide("consensus", min_votes=2).n_decided == len(run.decisions.list())
    assert Path(package.__file__).resolve().parent == Path(__file__).resolve().parents[1]
    assert package.metrics.box_iou is not None
