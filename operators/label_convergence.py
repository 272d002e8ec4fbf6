"""A metric of FiftyOne's own evaluation of detections: F1 of annotators among each other, beside that of the model."""

from __future__ import annotations

import logging
from typing import Any

import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators import types

from .. import names
from ..agreement import AgreementInputError
from ..charts.text.words import shown_number
from ..dataset_io.results.measure_convergence import agreement_convergence
from .form import run_choice

logger = logging.getLogger(__name__)


class LabelConvergence(foo.EvaluationMetric):
    """F1 with equal classes of annotators among each other, at the IoU and on the images of an evaluation.

    ``evaluate_detections(…, custom_metrics={"@annotator/agreement/label_convergence": {"run_key": "agreement"}})``.
    """

    @property
    def config(self) -> foo.EvaluationMetricConfig:
        """The configuration that FiftyOne registers."""
        config = foo.EvaluationMetricConfig(
            name=names.LABEL_CONVERGENCE,
            label="F1 of annotators among each other",
            description="F1 with equal classes of the annotators of an agreement run, at the same IoU",
            eval_types=["detection"],
            lower_is_better=False,
            unlisted=True,
            risk_level="low",
        )
        config.kwargs["lower_is_better"] = False  # where FiftyOne looks for it
        return config

    def resolve_input(self, ctx: foo.ExecutionContext) -> types.Property:
        """The choice of a run."""
        inputs = types.Object()
        run_choice(ctx.dataset, "Agreement run", "whose annotators the model is compared with").add(inputs)
        return types.Property(inputs)

    def compute(self, samples: SampleCollection, results: Any, run_key: str = names.DEFAULT_RUN_KEY, **_: Any) -> float:
        """F1 with equal classes of the annotators.

        Args:
            samples: the evaluated samples
            results: results of ``evaluate_detections()``

        Raises:
            AgreementInputError: if no two annotators have labels on these samples
        """
        best = agreement_convergence(samples, run_key, resamples=0).f1_at(results.config.iou)
        if best is None:
            raise AgreementInputError(
                f"The evaluated samples must have labels of two annotators of the run {run_key!r}, got none"
            )
        of_model = shown_number(float(results.metrics()["fscore"]), 2)
        said = f"F1 {of_model}, of annotators among each other {shown_number(best, 2)}"
        logger.info(said)
        return best
