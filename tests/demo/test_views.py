"""Views of the demo dataset hold as many labels as its reports count, for every annotator and label type."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.long

OBJECTS = ["boxes", "polygons", "masks", "keypoints"]


@pytest.fixture(scope="module")
def demo(demo_copy):
    from tools.demo.annotators import ANNOTATORS
    from tools.demo.dataset import field_name

    from annotator_agreement.dataset_io import compute_agreement

    reports = {}
    for label_type in (*OBJECTS, "class", "tags"):
        fields = {field_name(label_type, name): name for name in ANNOTATORS}
        key = f"of_{label_type}"
        options = {"annotators": fields, "run_key": key, "resamples": 0, "progress": False}
        reports[label_type] = compute_agreement(demo_copy, list(fields), **options)
    return demo_copy, reports


def _count(dataset, report, annotator, **asked):
    """Labels of an annotator in a view."""
    from annotator_agreement.dataset_io import view_agreement

    view = view_agreement(dataset, report.run_key, **asked)
    field = report.config["fields"][report.config["annotators"].index(annotator)]
    if view.get_field(field) is None:
        return 0
    held = view.get_field(field).document_type
    return view.count(f"{field}.{held._LABEL_LIST_FIELD}" if hasattr(held, "_LABEL_LIST_FIELD") else field)


@pytest.mark.parametrize("label_type", [*OBJECTS, "class", "tags"])
def test_verdicts_have_as_many_labels(demo, label_type):
    dataset, reports = demo
    report = reports[label_type]
    assert len(report.annotators) == 3
    for annotator in report.annotators:
        for verdict, n in annotator.verdicts.items():
            assert _count(dataset, report, annotator.name, verdict=verdict) == n
    assert sum(sum(annotator.verdicts.values()) for annotator in report.annotators) > 60


@pytest.mark.parametrize("label_type", [*OBJECTS, "tags"])
def test_misses_are_as_many_units(demo, label_type):
    from annotator_agreement.dataset_io import view_agreement

    dataset, reports = demo
    report = reports[label_type]
    for annotator in report.annotators:
        view = view_agreement(dataset, report.run_key, missed_by=annotator.name)
        units = set()
        for field in report.config["fields"]:
            if view.get_field(field) is not None:
                path = f"{field}.{view.get_field(field).document_type._LABEL_LIST_FIELD}"
                unit = "label" if label_type == "tags" else f"{report.run_key}_id"
                for sample_id, ids in zip(*view.values(["id", f"{path}.{unit}"]), strict=True):
                    units |= {(sample_id, unit_id) for unit_id in ids or []}
        assert len(units) == annotator.n_missed
    assert sum(annotator.n_missed for annotator in report.annotators) > 0


@pytest.mark.parametrize("label_type", OBJECTS)
def test_pairs_and_confusions_have_as_many_labels(demo, label_type):
    dataset, reports = demo
    report = reports[label_type]
    for pair in report.pairs:
        n_agreeing = round(pair.n_matched * (pair.class_agreement or 0))
        shown = [_count(dataset, report, name, annotators=[pair.a, pair.b]) for name in (pair.a, pair.b)]
        assert shown == [pair.n_a - n_agreeing, pair.n_b - n_agreeing]
        for entry in pair.confusion:
            asked = {"annotators": [pair.a, pair.b], "confusion": [entry["a"], entry["b"]]}
            assert _count(dataset, report, pair.a, **asked) == _count(dataset, report, pair.b, **asked) == entry["n"]
    assert sum(sum(entry["n"] for entry in pair.confusion) for pair in report.pairs) > 0 or label_type != "boxes"
