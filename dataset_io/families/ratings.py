"""Ratings: one class or number by every annotator on every sample, from label fields or plain fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...agreement.disputes.costs import pair_costs
from ...agreement.matching.verdicts import MOST_NAMED, NO_VERDICT, Relation, verdict_names
from ...agreement.ratings.compute import (
    RatingAgreement,
    RatingRecords,
    check_listed,
    compute_ratings,
    level_of,
    mean_and_spread,
    record_ratings,
)
from ...agreement.settings.errors import AgreementInputError, shown
from ...agreement.settings.options import value_name
from ...agreement.statistics.codes import NO_LABEL, ClassCodes, is_number
from ...agreement.statistics.records import packed, uncounted_columns
from ...agreement.statistics.report import ReportContext, RunFacts
from ...metrics.numeric.arrays import FloatArray
from ...names import DIFFERING_PAIRS, DIFFERS_FROM, pair_name
from ..labels.checks import NAMING, NOT_COMPARED, document_title, is_class, unusable_labels_error
from ..labels.roles import are_sure, check_roles
from ..labels.source import Source
from ..labels.stored import StoredSample, id_bytes
from .protocol import LabelFamily, LabelsRead, report_context, values_by_path, where_rated

#: larger integers are not exact as floats; the squares of other numbers must not overflow
LARGEST_INTEGER, LARGEST = 2**53, 1e100
_NUMBERS_REQUIRED = "Ratings must be finite numbers (integers up to 2**53, others up to 1e100)"
_CLASSES_REQUIRED = "Ratings must be texts, numbers, or true and false"


@dataclass(frozen=True, slots=True)
class RatingLabels:
    """The ratings of some samples."""

    #: shape ``(S, R + roles)``, class codes or numbers, nan where somebody did not rate
    ratings: FloatArray
    class_names: Sequence[str]  #: name of every class code
    #: shape ``(S, R + roles, 12)``, the id of every label, zeros where there is none, as for plain values
    label_ids: NDArray[np.uint8]


class RatingFamily(LabelFamily[RatingLabels, RatingAgreement]):
    """Classes and numbers of whole samples; every annotator has a field of their own.

    If a view filters a label away, its annotator counts as not assigned.
    """

    def __init__(self, source: Source, known: ReportContext | None = None) -> None:
        self.source, self._everybody = source, source.everybody
        self.numbers = source.kinds[0].is_number
        self._is_usable: Callable[[object], bool] = is_comparable if self.numbers else is_class
        self._requirement = _NUMBERS_REQUIRED if self.numbers else _CLASSES_REQUIRED
        self._level = level_of(source.config, numbers=self.numbers)
        self.codes = ClassCodes(source.config.aliases, () if known is None else known.names_of_codes)
        self._class_names: list[str] = []

    # ---- reading ----

    def check(self) -> None:
        """Refuse numbers that cannot be compared, and classes that are not listed."""
        unusable = []
        negative = []
        for sample, value in self._conspicuous():
            if not self._is_usable(value):
                unusable.append(sample)
            elif self.numbers and value < 0:
                negative.append(sample)
        if unusable and self.source.config.invalid == "error":
            raise unusable_labels_error([self._requirement], len(unusable), sorted(set(unusable)))
        if negative and self._level == "ratio":
            raise _negative_error(len(negative), sorted(set(negative)))
        if self.source.config.categories:
            found: set[str] = set()
            for kind, path in zip(self._everybody.kinds, self._everybody.label_paths, strict=True):
                there = {f"{path}._cls": {"$type": "string"}} if kind.is_label else {path: {"$ne": None}}
                values = self.source.aggregate([{"$match": there}, {"$group": {"_id": f"${kind.value_path(path)}"}}])
                given = [row["_id"] for row in values]
                found.update(_name_of(value) for value in given if self._is_usable(value))
            aliases = {} if self.numbers else self.source.config.aliases
            check_listed({aliases.get(name, name) for name in found}, self.source.config)
        check_roles(self.source)

    def _conspicuous(self) -> Iterator[tuple[str, Any]]:
        """Sample and value of all ratings on samples with a negative or possibly unusable rating."""
        conditions: list[dict[str, Any]] = []
        for kind, path in zip(self._everybody.kinds, self._everybody.label_paths, strict=True):
            value = kind.value_path(path)
            if not self.numbers:
                conditions.append({value: {"$type": NOT_COMPARED}})
                continue
            no_number = {value: {"$not": {"$type": ["double", "int", "long"]}}}
            there = {f"{path}._cls": {"$type": "string"}} if kind.is_label else {path: {"$ne": None}}
            conditions += [
                {"$and": [there, no_number]},
                {value: {"$type": "double", "$not": {"$gte": -LARGEST, "$lte": LARGEST}}},  # nan too
                {value: {"$type": ["int", "long"], "$not": {"$gte": -LARGEST_INTEGER, "$lte": LARGEST_INTEGER}}},
            ]
            if self._level == "ratio":
                conditions.append({value: {"$lt": 0}})
        wanted = dict.fromkeys((*self._everybody.label_paths, *NAMING), True)
        for document in self.source.aggregate([{"$match": {"$or": conditions}}, {"$project": wanted}]):
            for kind, path in zip(self._everybody.kinds, self._everybody.label_paths, strict=True):
                held = document.get(path)
                if kind.is_label and isinstance(held, dict):
                    yield document_title(document), held.get("value" if self.numbers else "label")
                elif not kind.is_label and held is not None:
                    yield document_title(document), held

    def projection(self) -> dict[str, Any]:
        """The value of every label; values of plain fields are read with the ids."""
        found = {}
        for field, (kind, path) in enumerate(zip(self._everybody.kinds, self._everybody.label_paths, strict=True)):
            if kind.is_label:
                found[f"value{field}"] = {"$ifNull": [f"${kind.value_path(path)}", None]}
                found[f"confidence{field}"] = {"$ifNull": [f"${path}.confidence", None]}
        return found

    def load(self, row: dict[str, Any]) -> int:
        """Number of ratings."""
        return len(self._everybody.kinds)

    def read(self, rows: list[dict[str, Any]], samples: list[StoredSample]) -> LabelsRead[RatingLabels]:
        """The ratings of query results.

        Raises:
            AgreementInputError: if numbers cannot be compared and the config does not say to leave them out
        """
        n, everybody = len(self.source.annotators), self._everybody
        ratings, confidence = np.full((2, len(rows), len(everybody.annotators)), np.nan)
        unusable, label_ids = np.zeros(ratings.shape, np.bool_), np.zeros((*ratings.shape, 12), np.uint8)
        for field, (kind, annotator) in enumerate(zip(everybody.kinds, everybody.field_annotator, strict=True)):
            if kind.is_label:
                label_ids[:, annotator] = id_bytes((row[f"id{field}"] or [None])[0] for row in rows)
                given = (row[f"confidence{field}"] for row in rows)
                confidence[:, annotator] = [value if is_number(value) else np.nan for value in given]
            for k, row in enumerate(rows):
                held = row[f"id{field}"]
                if held is None:
                    continue
                value = row[f"value{field}"] if kind.is_label else held[0]
                if not self._is_usable(value):
                    unusable[k, annotator] = True
                else:
                    ratings[k, annotator] = value if self.numbers else self.codes[_name_of(value)]
        if unusable.any() and self.source.config.invalid == "error":
            affected = sorted(samples[k].title for k in np.flatnonzero(unusable.any(axis=1)).tolist())
            raise unusable_labels_error([self._requirement], int(unusable.sum()), affected)
        negative = ratings < 0
        if self.numbers and self._level == "ratio" and negative.any():
            affected = sorted(samples[k].title for k in np.flatnonzero(negative.any(axis=1)).tolist())
            raise _negative_error(int(negative.sum()), affected)
        sample, who = np.nonzero(~np.isnan(ratings))
        sure = are_sure(self.source, samples, sample, who, confidence[sample, who])
        ratings[sample[~sure], who[~sure]] = np.nan
        if len(self._class_names) != self.codes.n_codes:
            # a new list, because batches that are being written use the old one
            self._class_names = self.codes.names()
        labels, none_unknown = RatingLabels(ratings, self._class_names, label_ids), np.zeros(len(rows), np.int64)
        return LabelsRead(labels, unusable[:, :n].sum(axis=1), none_unknown, none_unknown.copy())

    # ---- comparing ----

    def compute(self, labels: RatingLabels) -> RatingAgreement:
        """Score the samples."""
        ratings = labels.ratings[:, : len(self.source.annotators)]
        return compute_ratings(ratings, self.source.config.tolerance if self.numbers else 0.0)

    def record(self, labels: RatingLabels, result: RatingAgreement) -> RatingRecords:
        """The records of a batch."""
        n, source = len(self.source.annotators), self.source
        ids = labels.label_ids[:, :n] if any(kind.is_label for kind in source.kinds) else None
        records = record_ratings(result, ids, numbers=self.numbers)
        if not source.roles:
            return records
        present = ~np.isnan(labels.ratings[:, n:])
        sample, role = np.nonzero(present)
        values, ids = labels.ratings[sample, n + role], labels.label_ids[sample, n + role]
        columns = uncounted_columns(
            sample,
            n + role,
            values if self.numbers else values.astype(np.int64),
            len(present),
            label_id=ids if any(role.kind.is_label for role in source.roles) else None,
        )
        return replace(records, parts=({**records.parts[0], "role_present": packed(present), **columns},))

    def context(self, run: RunFacts) -> ReportContext:
        """The context of the report."""
        return report_context(self.source, run, self.codes.names(), details={"numbers": self.numbers})

    # ---- writing ----

    def values(self, labels: RatingLabels, agreement: RatingAgreement) -> list[dict[str, Any]]:
        """The values of every sample by path; undefined ones are None on labels and left out on samples."""
        cost = pair_costs(agreement.score, agreement.n_annotators)
        of_rated = {
            "score": agreement.score,
            "cost": cost,
            "entropy": agreement.entropy,
            "disputed": agreement.disputed,
        }
        if self.numbers:
            of_rated["mean"], of_rated["std"] = mean_and_spread(agreement.ratings)
        majority = where_rated(agreement.rated & ~np.isnan(agreement.majority), agreement.majority)
        columns = {name: where_rated(agreement.rated, column) for name, column in of_rated.items()}
        columns["majority"] = [
            None if most is None else (value_name(most) if self.numbers else labels.class_names[int(most)])
            for most in majority
        ]
        columns["n_annotators"] = agreement.n_annotators.tolist()
        updates = values_by_path(self.source.config.run_key, columns)
        verdict = verdict_names(np.where(agreement.rated, agreement.disputed.astype(np.int64), NO_VERDICT)).tolist()
        n_annotators = agreement.n_annotators.tolist()
        given, votes = agreement.given, agreement.votes
        named = agreement.rated & (agreement.n_annotators <= MOST_NAMED)
        for kind, path, annotator in zip(
            self.source.kinds, self.source.label_paths, self.source.field_annotator, strict=True
        ):
            if not kind.is_label:
                continue
            of_verdict = f"{path}.{self.source.config.run_key}"
            of_votes, of_assigned = f"{of_verdict}_votes", f"{of_verdict}_of"
            of_annotator = votes[:, annotator].tolist()
            for k in np.flatnonzero(given[:, annotator]).tolist():
                updates[k][of_verdict] = verdict[k]
                updates[k][of_votes] = of_annotator[k]
                updates[k][of_assigned] = n_annotators[k]
            differing = given & given[:, [annotator]] & ~agreement.agree[:, annotator] & named[:, None]
            for k, names in Relation(*np.nonzero(differing)).names(self.source.annotators).items():
                updates[k][of_verdict + DIFFERS_FROM] = names
        if not all(kind.is_label for kind in self.source.kinds):  # for plain fields, the sample lists who differs
            given, annotators = given & named[:, None], self.source.annotators
            differ = np.triu(given[:, :, None] & given[:, None, :] & ~agreement.agree, 1)
            for k, a, b in zip(*(axis.tolist() for axis in np.nonzero(differ)), strict=True):
                pairs = updates[k].setdefault(self.source.config.run_key + DIFFERING_PAIRS, [])
                pairs.append(pair_name(annotators[a], annotators[b]))
        return updates


def _name_of(value: object) -> str:
    return NO_LABEL if value is None else value_name(value)


def is_comparable(value: object) -> bool:
    """True for a number that can be compared."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= (LARGEST_INTEGER if isinstance(value, int) else LARGEST)  # False for nan


def _negative_error(n: int, sample_ids: list[str]) -> AgreementInputError:
    return AgreementInputError(
        f"Ratings must be at least 0 at the level 'ratio', got {n} below, on samples {shown(sample_ids)}; use the "
        "level 'interval' for numbers without a natural zero"
    )
