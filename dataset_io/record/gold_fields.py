"""Fields of decisions of a dataset: their names, marks and collections, and the steps applied to annotators' labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection as Several
from collections.abc import Sequence
from typing import Any, TypeVar

import fiftyone as fo
from bson import ObjectId
from fiftyone.core.collections import SampleCollection
from pymongo.collection import Collection

from ... import names
from ...agreement.settings.arguments import text_of
from ...agreement.settings.errors import AgreementInputError
from ..database.fiftyone_private import frame_collection, has_frame_fields, reload_dataset, sample_collection
from ..labels.stored import all_fields, gold_of, is_of_frames
from .run import dataset_of

#: entry of a decision with the changes of labels that applied it, one part for every step
APPLIED = "applied"

Field = TypeVar("Field", bound="GoldField")


class GoldField:
    """A field of decisions of a dataset, opened for one call: others may write or delete it at any time.

    Attributes:
        dataset: the dataset
        name: name of the field on a sample, or frame
        prefix: of paths in the schema of the dataset
        path: its path in the schema
        decisions: name of the log, a field beside it with who decided what
        paths: the paths of both
        collection: the collection of the samples, or frames
        with_decisions: query for the documents with decisions
    """

    def __init__(self, dataset: fo.Dataset, name: str, *, on_frames: bool) -> None:
        self.dataset = dataset
        self.name = text_of("gold", name)
        self.on_frames = on_frames
        self.prefix = names.FRAMES_PREFIX if on_frames else ""
        self.path = self.prefix + name
        self.decisions = self.name + names.DECISIONS_SUFFIX
        self.paths = [self.path, self.path + names.DECISIONS_SUFFIX]
        self.collection: Collection[dict[str, Any]] = (frame_collection if on_frames else sample_collection)(dataset)
        self.with_decisions: dict[str, Any] = {f"{self.decisions}.id": {"$exists": True}}

    @classmethod
    def left_in(cls: type[Field], samples: SampleCollection, name: str) -> Field | None:
        """The field of decisions of samples or frames of a dataset, or what is left of it; None if there is none."""
        dataset = dataset_of(samples)
        reload_dataset(dataset)
        places = (False, True) if has_frame_fields(dataset) else (False,)
        return next((gold for on in places if (gold := cls(dataset, name, on_frames=on)).left), None)

    @classmethod
    def open(cls: type[Field], samples: SampleCollection, name: str) -> Field:
        """The field of decisions of a dataset, on its samples or on its frames.

        Raises:
            AgreementInputError: if there is none of that name
        """
        found = cls.left_in(samples, name)
        if found is not None and found.exists:
            return found
        if found is not None:
            raise AgreementInputError(found.what_is_missing())
        known, dataset = gold_fields(samples), dataset_of(samples)
        if not known and name == names.DEFAULT_GOLD_FIELD:
            raise AgreementInputError(
                f"{dataset.name!r} must have decisions, but there are none; run.decisions.decide() makes some"
            )
        raise AgreementInputError(
            f"`gold` must be a field of decisions of {dataset.name!r}, got {name!r}; there "
            + (f"are {', '.join(known)}" if known else "is none: run.decisions.decide() makes it")
        )

    @classmethod
    def open_if_any(cls: type[Field], samples: SampleCollection, name: str) -> Field | None:
        """The field of decisions, as :meth:`open` gives it; None while the dataset has no decisions at all."""
        return cls.open(samples, name) if gold_fields(samples) or cls.left_in(samples, name) else None

    @property
    def exists(self) -> bool:
        """True if the field and its log exist, as from the first decision on."""
        return self.left == self.paths

    @property
    def left(self) -> list[str]:
        """Those of the two fields that exist under their own names."""
        return [path for path in self.paths if gold_of(self.dataset.get_field(path)) == self.name]

    def what_is_missing(self) -> str:
        """Message that one of the two fields is missing, and what to do."""
        (left,), (missing,) = self.left, set(self.paths) - set(self.left)
        is_list = missing != self.path
        others = [
            path
            for path, field in all_fields(self.dataset).items()
            if gold_of(field) == self.name and path != left and isinstance(field, fo.ListField) == is_list
        ]
        renamed = f", or renamed to {others[0]!r}" if others else ""
        advice = f"rename {others[0]!r} to {missing!r}" if others else f"bring {missing!r} back"
        return (
            f"`gold` must be a field of decisions with its two fields, got {left!r} alone: {missing!r} was deleted"
            f"{renamed}; {advice}, or delete what is left with run.decisions.delete(gold={self.name!r})"
        )

    def has_more_than(self, n: int) -> bool:
        """True if more than so many samples, or frames, have decisions."""
        return self.collection.count_documents(self.with_decisions, limit=n + 1) > n


def gold_fields(samples: SampleCollection) -> list[str]:
    """Names of the fields of decisions of a dataset; the default name first."""
    marks = {path: gold_of(field) for path, field in all_fields(dataset_of(samples)).items()}
    names_of = {path: path.removeprefix(names.FRAMES_PREFIX) for path in marks}
    found = {name for path, name in names_of.items() if name == marks[path] == marks.get(path + names.DECISIONS_SUFFIX)}
    return sorted(found, key=lambda name: (name != names.DEFAULT_GOLD_FIELD, name))


def applied_steps(samples: SampleCollection) -> list[str]:
    """The steps of decisions that are applied to annotators' labels."""
    opened = [GoldField.open(samples, name) for name in gold_fields(samples)]
    found = {step for gold in opened
             for step in gold.collection.distinct(f"{gold.decisions}.{APPLIED}.step", gold.with_decisions)}  # fmt: skip
    return sorted(found)


def labels_of_steps(
    samples: SampleCollection, steps: Several[str], fields: Sequence[str]
) -> tuple[dict[tuple[ObjectId, int | None], int], set[str]]:
    """Number of labels of some fields that some steps set, by sample and frame number; and the steps found.

    Args:
        samples: the dataset, or a view of it
        steps: steps of ``run.decisions.apply``
        fields: label fields of samples, or of frames
    """
    keys: dict[tuple[ObjectId, int | None], set[tuple[str, str]]] = defaultdict(set)
    found = set()
    on_frames, wanted = is_of_frames(fields[0]), {name.removeprefix(names.FRAMES_PREFIX) for name in fields}
    for gold in (GoldField.open(samples, name) for name in gold_fields(samples)):
        part = f"{gold.decisions}.{APPLIED}"
        of_steps = {f"{part}.step": {"$in": list(steps)}}
        stages: list[dict[str, Any]] = [
            {"$match": {**gold.with_decisions, **of_steps}},
            {"$project": dict.fromkeys(("_sample_id", "frame_number", f"{part}.step", f"{part}.changes.key"), True)},
            {"$unwind": f"${gold.decisions}"},
            {"$unwind": f"${part}"},
            {"$match": of_steps},
        ]
        for row in gold.collection.aggregate(stages):
            applied = row[gold.decisions][APPLIED]
            found.add(applied["step"])
            if gold.on_frames == on_frames:
                place = (row["_sample_id"], row["frame_number"]) if on_frames else (row["_id"], None)
                changed = {str(each.get("key")) for each in applied.get("changes", ())}
                keys[place] |= {(gold.name, key) for key in changed if key.rpartition(" ")[0] in wanted}
    return {place: len(changed) for place, changed in keys.items() if changed}, found
