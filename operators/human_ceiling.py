"""A metric of FiftyOne's own evaluation of detections: how near a model is to what annotators reach."""

from __future__ import annotations

import logging
from typing import Any

import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators import types

from .. import names
from ..agreement import AgreementInputError
from ..dataset_io.results.measure_ceiling import agreement_ceiling
from .form import method_of, run_choice

logger = logging.getLogger(__name__)


class HumanCeiling(foo.EvaluationMetric):
    """F1 of the evaluated predictions as a share of the F1 that annotators reach among each other, at the same IoU.

    ``evaluate_detections(…, custom_metrics={"@annotator/agreement/human_ceiling": {"run_key": "agreement"}})``. The F1
    of the annotators of that run, on the evaluated images, stands beside it as ``human_f1``.

    Called from Python it gives the ceiling of a run, as ``run.ceiling()``.
    """

    __call__ = method_of(names.HUMAN_CEILING, agreement_ceiling)

    @property
    def config(self) -> foo.EvaluationMetricConfig:
        """The configuration that FiftyOne registers."""
        config = foo.EvaluationMetricConfig(
            name=names.HUMAN_CEILING,
            label="Share of the human ceiling",
            description="F1 as a share of what annotators of an agreement run reach among each other",
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

    def compute(
        self, samples: SampleCollection, results: Any, run_key: str = names.DEFAULT_RUN_KEY, **_: Any
    ) -> float | None:
        """The share; None where annotators have no F1.

        Args:
            samples: the evaluated samples
            results: results of ``evaluate_detections()``
        """
        ceiling = agreement_ceiling(samples, run_key, resamples=0)
        best = ceiling.f1_at(results.config.iou)
        if not best:
            raise AgreementInputError(f"The annotators of the run {run_key!r} must agree on a label, got F1 {best}")
        f1 = float(results.metrics()["fscore"])
        said = f"F1 {f1:.2f} = {100 * f1 / best:.0f} % of what annotators reach among each other ({best:.2f})"
        logger.info(said)
        of_annotators = {"key": "human_f1", "value": best, "label": "F1 of annotators among each other"}
        shown = dict(results.custom_metrics or {})
        results.custom_metrics = {**shown, f"{self.uri}/f1": {**of_annotators, "lower_is_better": False}}
        return f1 / best
