"""Where the numbers of a report are shown."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from tests.agreement.agreement_oracle import CLASS_NAMES, Sample, batch_of

from annotator_agreement.agreement.compare import ComparedRun, compare_runs
from annotator_agreement.agreement.comparison import AgreementComparison
from annotator_agreement.agreement.config import AgreementConfig
from annotator_agreement.agreement.objects.compute import compute_agreement_of
from annotator_agreement.agreement.objects.records import record
from annotator_agreement.agreement.report import AgreementReport, ReportContext, RunFacts
from annotator_agreement.charts.document import report_markdown, report_text
from annotator_agreement.charts.page.page import report_page
from annotator_agreement.panels.view_model import view_model


def shown(report: AgreementReport) -> dict[str, str]:
    """What everybody sees of a report, by surface, without line breaks and marks."""
    surfaces = {
        "text": report_text(report, full=True),
        "markdown": report_markdown(report),
        "panel": json.dumps(view_model(report, np.zeros(report.n_samples), "1"), ensure_ascii=False),
        "page": report_page(report),
    }
    return {name: " ".join(text.replace("**", "").split()) for name, text in surfaces.items()}


def compared(a: Sequence[Sample], b: Sequence[Sample], config: AgreementConfig) -> AgreementComparison:
    """The comparison of two runs on the same samples."""
    n = len(config.fields)
    context = ReportContext(config, config.annotators, CLASS_NAMES, ["Detections"], RunFacts())
    runs = [
        ComparedRun(record(compute_agreement_of(batch_of(samples, n), config)), context, np.arange(len(samples)))
        for samples in (a, b)
    ]
    return compare_runs(*runs, lambda rows: [{"id": str(k)} for k in rows], None, resamples=20, seed=0)
