"""Reference and models of a run (roles): find and check their fields; undecided labels; confidence thresholds."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ... import names
from ...agreement.settings.errors import AgreementInputError, did_you_mean, shown
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from .kinds import LabelKind, kind_of
from .source import Role, Source, comparable_fields, field_schema, own_fields, refuse_read_only, values_found
from .stored import StoredSample, gold_of, half_of, is_of_frames, label_ids, run_of


def with_roles(source: Source) -> Source:
    """The source with the labels of the reference and the models of its options.

    Raises:
        AgreementInputError: if the labels of one cannot be compared with those of the annotators
    """
    config = source.config
    if not config.roles:
        return source
    values = values_found(source) if config.attribute_mode else ()
    schema, roles = field_schema(source.samples), []
    for name in config.roles:
        option = "reference" if name == config.reference else "models"
        least = config.confidence_threshold if option == "models" else None
        thresholds = (least, least) if isinstance(least, float) else ()
        if name in values:
            kind, of_attribute = source.kinds[0], True
        else:
            kind = _kind(source, option, name, values)
            of_attribute = False
            if kind.is_label:
                refuse_read_only(source.dataset, [name, kind.label_path(name)])
        field = config.fields[0] if of_attribute else name
        inner = name.removeprefix(names.FRAMES_PREFIX)
        log = inner + names.DECISIONS_SUFFIX if gold_of(schema.get(name)) == inner else None
        decided, n_by_rule = None, 0
        if log is not None:  # number of decisions, the id of the last, and how many that hold a rule made
            by_rule: Any = {"$filter": {"input": f"${log}", "cond": {"$and": [*_IS_DECIDED, "$$this.by_rule"]}}}
            counts: dict[str, Any] = {"n": {"$sum": {"$size": f"${log}"}}, "last": {"$max": {"$max": f"${log}.id"}}}
            counts["by_rule"] = {"$sum": {"$size": by_rule}}
            there, group = {"$match": {f"{log}.id": {"$exists": True}}}, {"$group": {"_id": None, **counts}}
            rows = list(source.collection.aggregate([there, group]))
            decided = ", ".join(f"{row['n']} {row['last']}" for row in rows)
            n_by_rule = sum(row["by_rule"] for row in rows)
        roles.append(Role(name, option == "models", field, kind, of_attribute, thresholds, log, decided, n_by_rule))
    return dataclasses.replace(source, roles=tuple(roles))


def _kind(source: Source, option: str, name: str, values: Iterable[str]) -> LabelKind:
    """The label type of the field of a role."""
    schema, config = field_schema(source.samples), source.config
    if name not in schema:
        every, wanted = comparable_fields(source.samples), source.kinds[0].comparable
        known = [field for field, kind in every.items() if kind.comparable == wanted and field not in config.fields]
        what = f"other fields with such labels are {shown(known) or '(none)'}"
        if config.attribute_mode:
            what += f"; values of {config.annotator_attribute!r} are {shown(values) or '(none)'}"
        raise AgreementInputError(
            f"`{option}` must be a label field{' or an annotator' * config.attribute_mode}, got {name!r}, which does "
            f"not exist{did_you_mean(name, [*known, *values])}; {what}"
        )
    written_by = run_of(name, schema[name])
    if written_by is not None:
        raise AgreementInputError(
            f"`{option}` must hold labels of its own, got {name!r}, which the run {written_by!r} wrote"
        )
    kind = kind_of(schema[name]) if name not in own_fields(source.samples) else None
    if kind is None or kind.comparable != source.kinds[0].comparable:
        found = type(schema[name]).__name__ if kind is None else kind.title
        raise AgreementInputError(
            f"`{option}` must hold labels that can be compared with those of the annotators "
            f"({source.kinds[0].title}), got {name!r} with {found}"
        )
    if is_of_frames(name) != source.on_frames:
        where = f"frames ({names.FRAMES_PREFIX}…)" if source.on_frames else "samples"
        raise AgreementInputError(f"`{option}` must be a field of {where}, as those of the annotators, got {name!r}")
    return kind


def check_roles(source: Source) -> None:
    """Refuse a reference or model without any label list, and models without confidences where these are asked for."""
    threshold = source.config.confidence_threshold
    for role in source.roles:
        path = source.everybody.label_paths[source.number_read(role)]
        option = "models" if role.is_model else "reference"
        ids = label_ids(role.kind, path)
        if not role.of_attribute and not source.has_any({"$expr": {"$ne": [ids, None]}}):
            raise AgreementInputError(
                f"`{option}` must have labels on some of the samples, got {role.name!r}, which is null on all of them"
            )
        if not role.is_model or threshold is None:
            continue
        has_list = role.kind.list_name is not None
        field = path if has_list else f"{path}._cls"
        stages: list[dict[str, Any]] = [{"$match": {field: {"$exists": True, "$nin": [None, []]}}}]
        stages += [{"$project": {"label": f"${path}"}}, *([{"$unwind": "$label"}] if has_list else [])]
        if role.of_attribute:
            stages.append({"$match": {f"label.{source.config.annotator_attribute}": role.name}})
        without = {"$match": {"label.confidence": {"$not": {"$type": "number"}}}}
        n = sum(row["n"] for row in source.aggregate([*stages, without, {"$count": "n"}]))
        if n:
            raise AgreementInputError(
                f"`confidence_threshold` needs the `confidence` of every label of the models, got {n:,} without in "
                f"{role.name!r}; leave it out, or give them one"
            )


# ---- read with the labels of annotators ----

#: column of query results with the names of the decided labels; length of the label id at the end of such a name
_DECIDED, _ID_LENGTH = "decided_labels", 24
#: conditions on a decision that holds and decides: a skipped object is not decided
_IS_DECIDED = ({"$ne": ["$$this.choice", "skip"]}, {"$not": ["$$this.replaced_by"]})


def decisions(source: Source) -> dict[str, Any]:
    """Projection of the decisions behind a role, if a role is a field of decisions; a skipped object is not decided."""
    logs = [role.log for role in source.roles if role.log is not None]
    current = [{"$filter": {"input": f"${log}", "cond": {"$and": [*_IS_DECIDED]}}} for log in logs]
    return {_DECIDED: {"$map": {"input": each, "in": "$$this.labels"}} for each in current}  # noqa: B035


def undecided_labels(
    source: Source, rows: Sequence[dict[str, Any]], sample: IntArray, ids: Sequence[object]
) -> BoolArray | None:
    """Labels that the decisions behind a role did not decide, mask ``(N, roles)``; None if no role holds decisions."""
    holds = np.array([role.log is not None for role in source.roles], np.bool_)
    if not holds.any():
        return None
    decided = [{name[-_ID_LENGTH:] for names in row.get(_DECIDED) or () for name in names} for row in rows]
    found = [str(label_id) not in decided[k] for k, label_id in zip(sample.tolist(), ids, strict=True)]
    return np.array(found, np.bool_).reshape(-1, 1) & holds


def are_sure(
    source: Source, samples: Sequence[StoredSample], sample: IntArray, who: IntArray, confidence: FloatArray
) -> BoolArray:
    """Mask ``(N,)``: labels of annotators, and labels of roles with the least confidence for their half of the images.

    Args:
        samples: the samples
        sample: shape ``(N,)``, sample of every label
        who: shape ``(N,)``, number of its annotator, or role
        confidence: shape ``(N,)``, nan without one
    """
    if not any(role.thresholds for role in source.roles):
        return np.ones(len(sample), np.bool_)
    least = np.full((len(source.annotators) + len(source.roles), 2), -np.inf)
    for number, role in enumerate(source.roles, len(source.annotators)):
        least[number] = role.thresholds or -np.inf
    sure: BoolArray = np.nan_to_num(confidence) >= least[who, half_of(samples)[sample]]
    return sure
