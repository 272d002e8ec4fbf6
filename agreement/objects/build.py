"""From the records of samples to the report on objects."""

from __future__ import annotations

import numpy as np

from ..report import ReportContext, mean_defined
from .annotators import WithoutEach, annotator_summaries
from .attributes import Values, attribute_summaries
from .class_given_match import class_given_match
from .class_summaries import class_summaries
from .clusters import clusters
from .coefficients import alpha_of, coefficients_of
from .confusions import class_pairs
from .existence import existence
from .intervals import with_intervals
from .localisation import Matches, localisation
from .merges import merges
from .overall import alpha_summary, score_summary
from .pairs import pair_summaries
from .records import ObjectRecords
from .report import ObjectReport
from .sessions import sessions
from .similar_names import similar_names
from .size_rule import SizeRule
from .sizes import size_summaries
from .statistics import summarise
from .threshold_report import data_threshold, rule_alphas, threshold_points
from .totals import RunTotals


def build_object_report(records: ObjectRecords, context: ReportContext) -> ObjectReport:
    """The report on samples."""
    config, describe, class_names = context.config, context.describe, context.class_names
    totals = records.totals or RunTotals()
    size_rule = SizeRule.of(records, config)
    attributes = [
        Values.of(name, context.attribute_values.get(name, [None]), config.tolerance) for name in config.attributes
    ]
    sums = summarise(records, size_rule, attributes, context)
    overall = sums.overall
    joint = overall.joint.tally()
    met = class_pairs(sums.pairs.confusion, class_names)
    matches = Matches.of(sums.localisation)
    pairs = pair_summaries(sums.pairs, totals, context)
    consistency = [pair.track_consistency for pair in pairs if pair.track_consistency is not None]
    classes, n_classes_unlisted = class_summaries(sums.classes, met, matches, context)
    drawn = np.unique(sums.annotators.classes.column(1)).tolist()
    without = WithoutEach(alpha_of(joint, config), sums.vitality.alphas(config), totals.rematched.alphas(config))
    report = ObjectReport(
        run_key=config.run_key,
        config=config.to_dict(),
        label_types=list(context.label_types),
        n_samples=records.n_samples,
        n_rated=overall.n_rated,
        n_empty=overall.n_empty,
        n_units=overall.n_units,
        n_objects=overall.n_objects,
        n_hard_components=None if records.totals is None else totals.n_hard,
        n_inexact_components=None if records.totals is None else totals.n_inexact,
        n_repaired=None if records.totals is None else totals.n_repaired,
        n_points=None if records.totals is None else totals.n_points,
        track_consistency=mean_defined(consistency)[0],
        score=score_summary(overall),
        alpha=alpha_summary(overall, config),
        existence=existence(sums.existence, config, describe),
        class_given_match=class_given_match(sums.classes_given_match, met, class_names, config, describe),
        localisation=localisation(sums.localisation, matches, context.measure, context.measure == "OKS", describe),
        coefficients=coefficients_of(overall.joint, config),
        attributes=attribute_summaries(sums.attributes, attributes, config, describe),
        sizes=size_summaries(sums.sizes, size_rule, matches),
        pairs=pairs,
        annotators=annotator_summaries(
            sums.annotators, sums.pairs, sums.bias, sums.consensus, without, records.n_samples, context
        ),
        sessions=sessions(pairs, sums.pairs, context),
        clusters=clusters(pairs, context.annotators),
        classes=classes,
        n_classes_unlisted=n_classes_unlisted,
        merges=merges(sums.met, joint, class_names, config),
        similar_names=similar_names([class_names[code] for code in drawn]),
        thresholds=threshold_points(totals.sweep, config),
        data_threshold=data_threshold(totals.threshold_sample, config),
        rules=rule_alphas(totals.rules),
        worst_samples=context.worst_samples,
        run=context.run,
    )
    return with_intervals(report, records, context)
