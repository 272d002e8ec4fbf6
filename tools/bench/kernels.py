"""The kernels alone, columns in and numbers out, against kalos 0.8.0 on the same boxes."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

import numpy as np

from tools.dev.other_programs import KALOS, OtherProgram
from tools.dev.plugin import load_plugin

from .generated import GeneratedBoxes, batch_of, generate
from .output import Limit, Row, at_least, say, timed

N_SAMPLES = 5_000
REPETITIONS = 3

#: our class handling, the cost function of kalos with the same class rule, and how much faster we must be
_COMPARED = (("ignore", "negative_score", 5), ("prefer", "category_lenient", 3))


def kalos_with(data: GeneratedBoxes) -> OtherProgram:
    """kalos, which keeps the boxes in memory; it answers with seconds and pooled alpha."""
    columns = Path(tempfile.mkdtemp()) / "boxes.npz"
    np.savez(
        columns,
        sample=data.sample,
        annotator=data.annotator,
        label=data.label,
        boxes=data.boxes_xywh_rel,
        shape=[data.n_samples, data.n_annotators],
        assigned=data.assigned,
    )
    return OtherProgram(KALOS, "tools.bench.kalos_side", str(columns), say=say)


def our_run(data: GeneratedBoxes, classes: str, **conventions: str) -> tuple[float, float]:
    """Seconds of matching, verdicts and per-sample numbers, and the pooled alpha."""
    load_plugin()
    from annotator_agreement.agreement import make_config
    from annotator_agreement.agreement.matching.compute import compute_agreement_of
    from annotator_agreement.metrics import NominalTally

    config = make_config([f"annotator_{k:03d}" for k in range(data.n_annotators)], classes=classes, **conventions)

    def run() -> float:
        ratings = compute_agreement_of(batch_of(data), config).ratings
        return float(NominalTally.from_counts(ratings.unit, ratings.category, ratings.count).alpha())

    return timed(run)


def _where_all_drew(data: GeneratedBoxes) -> GeneratedBoxes:
    """The samples on which every annotator drew something: the multi-graph matching of kalos needs this."""
    drew = np.zeros((data.n_samples, data.n_annotators), np.bool_)
    drew[data.sample, data.annotator] = True
    kept = drew.all(axis=1)
    rows = kept[data.sample]
    number = np.cumsum(kept) - 1
    return GeneratedBoxes(
        number[data.sample[rows]],
        data.annotator[rows],
        data.label[rows],
        data.boxes_xywh_rel[rows],
        int(kept.sum()),
        data.n_annotators,
    )


def measure() -> list[Row]:
    """Time both on the same boxes, taking turns, and compare the pooled alphas.

    The alphas differ because the objectives differ: multi-graph matching joins only objects whose pairs all reach the
    threshold, and maximises the sum of IoU; ours maximises the sum of (IoU - threshold), in which a pair below the
    threshold has a negative value (21 of 42,409 units on these boxes have such a pair).
    """
    data = generate(N_SAMPLES)
    say(f"kernels: {len(data.sample)} boxes, columns in, units and numbers out")
    kalos = kalos_with(data)
    rows = []
    for classes, cost, times in _COMPARED:
        our_run(data, classes)
        ours, theirs = [], []
        for _ in range(REPETITIONS):
            ours.append(our_run(data, classes)[0])
            theirs.append(kalos.ask("greedy", cost)[0])
        own, other = statistics.median(ours), statistics.median(theirs)
        rows.append(Row(f"kalos greedy {cost} / ours {classes}", other, at_least(times), own))
        _, alpha = our_run(_where_all_drew(data), classes, empty="agree", undefined="one")
        _, reference = kalos.ask("mgm", cost)
        title, near = f"pooled alpha, {classes}: ours, kalos mgm {cost}", Limit(-0.001, 0.001, of_difference=True)
        rows.append(Row(title, alpha, near, reference))
        say(f"  {classes}: alpha ours {alpha:.6f}, kalos mgm {reference:.6f}, difference {alpha - reference:+.6f}")
    kalos.close()
    return rows
