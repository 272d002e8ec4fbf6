"""Decide on objects, tags, or labels of whole samples: on one, or on many at once by a rule."""

from __future__ import annotations

import getpass
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import fiftyone as fo
import fiftyone.core.labels as fol
import numpy as np
from bson import ObjectId
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.matching.verdicts import VERDICTS
from ...agreement.settings.arguments import count_of, is_real, one_of, takes_arrays, text_of, texts_of, true_or_false
from ...agreement.settings.errors import AgreementInputError, shown
from ...agreement.settings.options import OPTIONS
from ...charts.reports.decided import but_left_out
from ...charts.text.words import counted
from ..database.fiftyone_private import reload_dataset, reload_samples
from ..labels.stored import all_fields, attributes_of_runs, can_hold
from ..record.lease import unless_deleted, writing
from ..record.run_labels import open_run_labels
from ..record.sample_index import now
from ..run.read import Progress, rare_collections
from ..units.changing import Changed, change
from ..units.unit_labels import Stored
from .decision_log import BY_RULE, Choice
from .decision_units import CHANGED, OPEN, SKIPPED, Decidable, ObjectsToDecide, Rule, objects_to_decide
from .gold import Gold


@dataclass(frozen=True, slots=True, repr=False)
class Decided:
    """Numbers of objects, by outcome."""

    field: str  #: the field of decisions
    step: str | None  #: what ``run.decisions.undo`` takes back; None if nothing was decided
    n_decided: int = 0  #: objects that were decided; in a preview: those that would be decided
    n_before: int = 0  #: objects on which somebody had decided before; these decisions stay
    #: objects without a consensus: at most half of the assigned annotators drew it, or several classes have most votes
    n_no_majority: int = 0
    n_without: int = 0  #: objects without the chosen label: the annotator drew none, or no geometry is usable
    n_left_out: int = 0  #: objects whose labels were deleted or added since the run
    n_changed: int = 0  #: samples or frames left out because others kept on deciding there

    def told(self, what: str) -> str:
        """A sentence on the outcomes that begins with ``what``."""
        others = [
            (self.n_before, "decided before"),
            (self.n_no_majority, "without a majority"),
            (self.n_without, "without such a label"),
            (self.n_left_out, "with labels that were deleted or added since the run"),
            (self.n_changed, "samples in which others kept on deciding"),
        ]
        return f"{what} {counted(self.n_decided, 'object')}" + but_left_out(others)

    def __repr__(self) -> str:
        if self.step is None:  # of a preview, or nothing was decided
            return f"<{self.told('Would decide' if self.n_decided else 'Decided')}>"
        return f"<{self.told('Decided')}; run.decisions.undo({self.step!r}) takes it back>"


@takes_arrays
def decide(
    samples: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    choice: Choice = "consensus",
    *,
    annotator: str | None = None,
    label: fol.Label | None = None,
    objects: Sequence[str] | str | None = None,
    verdict: Sequence[str] | str | None = None,
    classes: Sequence[str] | str | None = None,
    annotators: Sequence[str] | str | None = None,
    min_votes: int = 1,
    one_class: bool = False,
    min_iou: float | None = None,
    all: bool = False,
    by: str | None = None,
    remark: str | None = None,
    gold: str = names.DEFAULT_GOLD_FIELD,
    overwrite: bool = False,
    preview: bool = False,
    progress: Progress = None,
) -> Decided:
    """Decide which version of an object is right: of all objects of a run that meet the conditions, or of some by id.

    Without a condition nothing is decided, unless ``all`` is true.

    If annotators gave samples tags, a class, a number or a mask, "object" stands for a tag of a sample, or a sample,
    and its versions are the annotators' values.

    The right label is written into a label field, ``agreement_gold``, with ``decided_by``, ``decided_at``, ``basis``,
    ``basis_id``, ``unit`` and ``remark`` on every label. The annotators' labels do not change. FiftyOne's exporters can
    export the field unchanged. Decisions outlive runs: they name the annotators' labels, not the run. An attribute that
    the annotators' fields declare with different types is not declared there.

    Earlier decisions stay, except on skipped objects, and on objects named in ``objects`` whose labels were changed
    since. Any number of processes can decide at once.

    A decision by conditions is no evidence of who was right: ``run.decisions.report`` counts it apart from decisions on
    objects named in ``objects``.

    Args:
        samples: the dataset, or a view of its samples
        run_key: key of the run
        choice: ``"version"``: the label of ``annotator``; ``"consensus"``: where more than half of the assigned
            annotators drew the object (``run.objects.consensus``), their median box or point, or the most typical
            shape, with the class that most of them gave; for samples the class that more than half gave, or the median
            number (masks have no consensus); ``"own"``: ``label``; ``"none"``: there is no object, or no right value;
            ``"skip"``: the object is left for later
        annotator: the annotator whose label is right
        label: the right label; only with one object
        objects: match ids of objects; of samples their own ids, of tags the id of the sample, a space, and the tag
        verdict: objects with this verdict, or one of several; None for any, agreed ones included
        classes: objects to which somebody gave this class, or one of several
        annotators: objects that this annotator drew, or one of several
        min_votes: objects that at least so many annotators drew; samples whose leading value so many gave
        one_class: objects to which all who drew them gave the same class
        min_iou: objects with at least this mean IoU (masks: class IoU); an object with a single label has none
        all: all objects of the samples; only without conditions
        by: name of the person who decides; None for the name of the user
        remark: the reason, or any note
        gold: the field of decisions
        overwrite: decide again where somebody decided before
        preview: count only
        progress: as in ``compute``

    Returns:
        numbers of the objects that meet the conditions, by outcome

    Raises:
        AgreementInputError: if there is no such completed run, the field is not free, an argument is not usable, or
            there is neither a condition nor ``all``
    """
    labels = open_run_labels(samples, run_key)
    opened = objects_to_decide(labels, gold, None if samples is labels.dataset else documents_of(samples))
    verdicts = texts_of("verdict", () if verdict is None else verdict)
    if isinstance(choice, str) and choice in labels.annotators and choice not in get_args(Choice):
        raise AgreementInputError(
            f"`choice` must be one of {', '.join(get_args(Choice))}, got the annotator {choice!r}; say "
            f'"version", annotator={choice!r} for their labels'
        )
    one_of("choice", choice, get_args(Choice))
    rule = Rule(
        objects=None if objects is None else frozenset(texts_of("objects", objects)),
        verdicts=tuple(one_of("verdict", each, VERDICTS) for each in verdicts),
        classes=frozenset(texts_of("classes", () if classes is None else classes)),
        annotators=tuple(labels.annotators.index(name) for name in labels.annotators_asked(annotators)),
        min_votes=count_of("min_votes", min_votes),
        one_class=true_or_false("one_class", one_class),
        min_iou=min_iou,
    )
    if min_iou is not None and not (is_real(min_iou) and 0 <= min_iou <= 1):
        raise AgreementInputError(f"`min_iou` must be None or in [0, 1], got {min_iou!r}")
    given = {"classes": rule.classes, "one_class": rule.one_class, "min_iou": rule.min_iou is not None}
    for name, value in given.items():
        if value and name in opened.without:
            raise AgreementInputError(
                f"`{name}` must not be given for {labels.title}, where it means nothing; leave it out"
            )
    if choice == "consensus" and not opened.has_consensus:
        raise AgreementInputError(
            f'`choice` must be "version", "own", "none" or "skip" for {labels.title}, which have no consensus, '
            f"got {choice!r}"
        )
    OPTIONS["progress"].checked(progress)
    for meant, option, value in (("version", "annotator", annotator), ("own", "label", label)):
        if (choice == meant) != (value is not None):
            raise AgreementInputError(
                f'`{option}` must be given with the choice "{meant}", and only then, got {value!r} with {choice!r}'
            )
        if option == "annotator" and value is not None:
            labels.check_annotators("annotator", [text_of("annotator", value)])
    own: Stored | None = None
    if label is not None:
        if type(label) is not opened.label_type:
            raise AgreementInputError(f"`label` must be a {opened.label_type.__name__}, got {type(label).__name__}")
        if rule.objects is None or len(rule.objects) != 1:
            raise AgreementInputError("A label of one's own must be for one object; give its match id as `objects`")
        own = dict(label.copy().to_mongo())
        if not opened.is_usable(own):
            raise AgreementInputError(f"`label` must have {opened.requirement}")
    said: dict[str, Any] = {
        "annotator": None if annotator is None else str(annotator),
        "label": own,
        "by": text_of("by", user_name() if by is None else by),
        "remark": None if remark is None else text_of("remark", remark),
        "again": true_or_false("overwrite", overwrite),
    }
    true_or_false("preview", preview)
    if true_or_false("all", all) and rule != Rule():
        raise AgreementInputError("`all` must not be given together with conditions; leave one of them out")
    if rule == Rule() and not all and not preview:
        n = decide_on(opened, rule, choice, **said, preview=True).n_decided
        raise AgreementInputError(
            "A decision must have a condition, such as `verdict` or `min_votes`, got none: it would decide "
            f"{counted(n, opened.unit)}; say all=True to mean that"
        )
    return decide_on(opened, rule, choice, **said, preview=preview, progress=progress)


def user_name() -> str:
    """Name of the user of this process."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # in containers users may have no name
        return "somebody"


def documents_of(samples: SampleCollection) -> tuple[ObjectId, ...]:
    """Ids of the samples of a view."""
    return tuple(map(ObjectId, samples.values("id")))


def open_decided(samples: SampleCollection, run_key: str, gold: str, *, if_any: bool = False) -> ObjectsToDecide:
    """The objects of a run in a dataset, or view, with decisions; with ``if_any`` also if the dataset has none yet.

    Raises:
        AgreementInputError: if there is no such completed run, or no such field of decisions
    """
    labels = open_run_labels(samples, run_key)
    (Gold.open_if_any if if_any else Gold.open)(samples, gold)
    return objects_to_decide(labels, gold, None if samples is labels.dataset else documents_of(samples))


def decide_on(
    opened: ObjectsToDecide,
    rule: Rule,
    choice: Choice,
    *,
    annotator: str | None = None,
    label: Stored | None = None,
    by: str,
    remark: str | None = None,
    again: bool | str | None = False,
    opens: bool = False,
    preview: bool = False,
    progress: Progress = False,
) -> Decided:
    """Decide on the objects that meet a rule; see :func:`decide`.

    Args:
        again: decide again where somebody decided before; the id of a decision: only where this one is current
        opens: whether the label is only written to be edited in the App: the object counts as skipped until somebody
            edits it
    """
    gold, labels, reader, step = opened.gold, opened.labels, opened.reader, str(ObjectId())
    reader.is_lean &= choice != "version"
    said = {
        "choice": "skip" if opens else choice,
        "annotator": None if opens else annotator,
        "run_key": labels.run_key,
        "decided_by": by,
        "remark": remark,
        "step": step,
        BY_RULE: rule.objects is None,
    }
    basis = choice if annotator is None else annotator
    schema, inside = dict[str, fo.Field](), opened.kind.label_path(gold.path)
    # attributes that are not copied with a label: those of runs and of the annotator
    left_out = {labels.config.annotator_attribute, "tags"}
    if choice == "version":
        left_out |= attributes_of_runs(labels.dataset)

    def decided(rows: list[Stored]) -> dict[ObjectId, Changed]:
        objects, at = Decidable(opened, rows), now()
        units, chosen = objects.units, opened.meeting(rule, objects.units)
        some, numbers, samples = units.only(chosen), np.flatnonzero(chosen).tolist(), units.sample.tolist()
        counts = [Counter({"n_left_out": n}) for n in units.n_left_out.tolist()]
        right: list[Stored | None] = [label for _ in numbers]
        no_majority = [False for _ in numbers]
        if choice == "consensus":
            right, no_majority = opened.consensus(some), (~opened.has_majority(some)).tolist()
        elif annotator is not None:
            for row in np.flatnonzero(some.annotator == labels.annotators.index(annotator)).tolist():
                given = some.labels[row]
                copied = {name: value for name, value in given.items()
                          if name not in left_out and can_hold(schema.get(f"{inside}.{name}"), value)}  # fmt: skip
                basis_id = str(given["_id"]) if "_id" in given else None  # plain values have none
                new = {"_id": ObjectId(), "tags": [], "basis_id": basis_id}
                right[int(some.unit[row])] = {"_cls": opened.label_type.__name__, **copied, **new}
        changed, taken = set[int](), set[str]()  # an old decision on several objects is replaced once
        for unit, its_label, has_none in zip(numbers, right, no_majority, strict=True):
            k, found = samples[unit], objects.found[unit]
            counts[k]["n_found"] += 1
            if any(each["step"] == step for each in found):  # written by an earlier attempt
                counts[k]["n_decided"] += 1
                continue
            state = objects.state(unit)
            is_again = again is True or any(each["id"] == again for each in found)
            is_open = is_again or state == OPEN or (state == SKIPPED and choice != "skip")
            if not is_open and not (state == CHANGED and rule.objects is not None):
                counts[k]["n_before"] += 1
            elif has_none:
                counts[k]["n_no_majority"] += 1
            elif its_label is None and choice not in ("none", "skip"):
                counts[k]["n_without"] += 1
            else:
                counts[k]["n_decided"] += 1
                changed.add(k)
                old = [each for each in found if each["id"] not in taken]
                taken.update(each["id"] for each in old)
                if not preview:
                    facts = objects.facts(unit)
                    objects.logs[k].add(facts, its_label, {**said, "decided_at": at}, basis, old)
        writes = [log.write() if k in changed else None for k, log in enumerate(objects.logs)]
        return {each.sample_id: (counts[k], writes[k]) for k, each in enumerate(units.samples)}

    with unless_deleted(labels.dataset), rare_collections():
        if not preview:
            gold.declare(opened.kind.stored, labels.config.fields)
            schema |= all_fields(labels.dataset)
            for name, value in (label or {}).items():
                if not can_hold(schema.get(f"{inside}.{name}"), value):
                    gold.delete_if_empty()
                    raise AgreementInputError(
                        f"`label` must have attributes of the types that `{gold.path}` has, got {name} = {value!r}, "
                        f"where {type(schema[f'{inside}.{name}']).__name__} is declared"
                    )
        total = change(reader, decided, preview=preview, progress=progress)
        if not preview:
            reload_dataset(labels.dataset)
            if not gold.exists:
                with writing(labels.dataset):
                    if not gold.exists:  # nobody decided anew: delete also what was written after the deletion
                        gold.delete()
                        raise AgreementInputError(f"The field `{gold.path}` was deleted meanwhile; nothing was decided")
            reload_samples(labels.dataset)
    if rule.objects is not None and not total["n_found"]:
        raise AgreementInputError(
            f"`objects` must be match ids of the run {labels.run_key!r} in the samples, got "
            f"{shown(map(repr, sorted(rule.objects)))}"
        )
    made = {name: total[name] for name in ("n_decided", "n_before", "n_no_majority", "n_without", "n_left_out")}
    return Decided(
        gold.path, step if made["n_decided"] and not preview else None, **made, n_changed=total["n_meanwhile"]
    )
