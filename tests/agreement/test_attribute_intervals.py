"""Confidence intervals of attributes: against reports on resampled samples."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tests.agreement.agreement_oracle import CLASS_NAMES, NAMES, batch_of, random_samples
from tests.agreement.interval_oracle import check_intervals
from tests.agreement.test_attribute_summaries import VALUES, given_of

from annotator_agreement.agreement.matching.compute import compute_agreement_of
from annotator_agreement.agreement.objects.build import build_object_report, sample_contents
from annotator_agreement.agreement.objects.records import ObjectRecords, record
from annotator_agreement.agreement.settings.config import make_config
from annotator_agreement.agreement.statistics.codes import AttributeCodes
from annotator_agreement.agreement.statistics.report import ReportContext, RunFacts


def _records_and_context(**options: Any) -> tuple[ObjectRecords, ReportContext]:
    """Samples on which labels have a value of every attribute, mostly."""
    samples = random_samples(3, 44, len(NAMES))
    config = make_config(NAMES, attributes=list(VALUES), **{"resamples": 25, **options})
    codes = {name: AttributeCodes(name) for name in config.attributes}
    columns = tuple(codes[name].of(given_of(samples, 5, VALUES[name])) for name in config.attributes)
    numbers = tuple(codes[name].numbers() for name in config.attributes)
    batch = dataclasses.replace(batch_of(samples, len(NAMES)), attributes=columns, attribute_numbers=numbers)
    values = {name: codes[name].values_of_codes() for name in config.attributes}
    context = ReportContext(config, NAMES, CLASS_NAMES, ["Detections"], RunFacts(), attribute_values=values)
    return record(compute_agreement_of(batch, config)), context


@pytest.mark.parametrize("options", [{}, {"tolerance": 0.5, "undefined": "one"}], ids=str)
def test_intervals_are_those_of_reports_on_resampled_samples(options: dict) -> None:
    records, context = _records_and_context(**options)
    keys = check_intervals(records, context, build_object_report, sample_contents, "attributes.")
    assert {key[0] for key in keys} == {
        f"attributes.{name}.{number}" for name in VALUES for number in ("alpha", "percent_agreement")
    }
