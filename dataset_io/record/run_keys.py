"""Check that a run key and its field names are free; which runs and annotators a view filters by; unread images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

import fiftyone as fo
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.settings.errors import AgreementInputError
from ...agreement.settings.options import OPTIONS
from ..database.fiftyone_private import pipeline_of, stages_of
from ..labels.kinds import kind_of
from ..labels.source import Source, field_schema, is_own_name
from ..labels.stored import all_fields, is_of_frames, mark_of, places
from .run import Run, list_agreements


def check_key_is_free(
    dataset: fo.Dataset, run_key: str, paths: Collection[str], *, overwrite: bool = False, argument: str = "run_key"
) -> None:
    """Refuse a run key if the schema or another run has one of its names.

    Args:
        dataset: the dataset, reloaded
        paths: everything that the run writes
        overwrite: whether a run with the same key may exist
        argument: name of the argument in messages
    """
    OPTIONS["run_key"].checked(run_key, argument)
    declared = all_fields(dataset)
    for path in paths:  # refuse names of fields and methods of labels, samples and frames: values would hide them
        parent, _, name = path.rpartition(".")
        field = declared.get(parent)
        field = field.field if isinstance(field, fo.ListField) else field
        of_samples = {"": fo.Sample, names.FRAMES_PREFIX.rstrip("."): fo.Frame}
        owner_class: Any = of_samples.get(parent) or getattr(field, "document_type", object)
        if name in ("id", "pk", "instance") or is_own_name(name, [owner_class]):
            raise _taken(run_key, f"`{name}` is a field of {owner_class.__name__}")
    if run_key in dataset.list_runs():
        run = Run(dataset, run_key)
        if not run.exists:
            raise _taken(run_key, f"{run_key!r} is a run of another kind")
        if not overwrite:
            ways = ["use another key"]
            if argument == "run_key":
                ways += ["or replace it with overwrite=True"]
                ways = ["continue it with resume=True", *ways] if run.can_be_continued else ways
            raise AgreementInputError(
                f"`{argument}` must be new, got {run_key!r}, which is a run of this dataset; {', '.join(ways)}"
            )
    else:
        # refuse the name of a label field: nobody could tell it from the attribute of that name on labels
        prefixes = {"", *(names.FRAMES_PREFIX for path in paths if is_of_frames(path))}
        for prefix in sorted(prefixes):
            kind = kind_of(dataset.get_field(prefix + run_key))
            if kind is not None and kind.is_label:
                raise _taken(run_key, f"`{prefix}{run_key}` is a label field of the dataset")
    wanted = set(_all_paths(run_key, paths))
    for other in list_agreements(dataset):
        if other == run_key and overwrite:
            continue
        theirs = {*Run(dataset, other).config["fields_written"], *names.reserved_paths(other)}
        if common := sorted(wanted & theirs):
            raise _taken(run_key, f"`{common[0]}` belongs to the run {other!r}")
    for path in _all_paths(run_key, paths):
        owner = None if path not in declared else mark_of(declared[path])
        if path not in declared or (owner == run_key and overwrite):
            continue
        if owner == run_key:
            raise AgreementInputError(
                f"`run_key` must be new, got {run_key!r}: `{path}` was left behind by a run of that name; "
                f"remove it with load(dataset, {run_key!r}).delete(), or use overwrite=True"
            )
        raise _taken(run_key, f"`{path}` is a field of the dataset")


def _all_paths(run_key: str, paths: Collection[str]) -> list[str]:
    reserved = names.reserved_paths(run_key)
    if any(map(is_of_frames, paths)):
        reserved += [names.FRAMES_PREFIX + path for path in reserved]
    return sorted({*paths, *reserved})


def _taken(run_key: str, what: str) -> AgreementInputError:
    return AgreementInputError(f"A run key must not be in use, got {run_key!r}: {what}; choose another key")


def check_not_in_database(dataset: fo.Dataset, run_key: str, paths: Collection[str]) -> None:
    """Refuse a run key if the database has undeclared values with its names that no run recorded."""
    declared = all_fields(dataset)
    known = {*declared, *Run(dataset, run_key).recorded_paths()}
    unknown = [path for path in _all_paths(run_key, paths) if path not in known]
    for place in places(dataset, unknown):
        conditions: list[dict[str, Any]] = []
        in_lists: dict[str, list[dict[str, Any]]] = {}
        for path in place.paths:
            parent, _, attribute = path.rpartition(".")
            if isinstance(declared.get(place.prefix + parent), fo.ListField):
                in_lists.setdefault(parent, []).append({attribute: {"$exists": True}})
            else:
                conditions.append({path: {"$exists": True}})
        conditions += [{parent: {"$elemMatch": {"$or": present}}} for parent, present in in_lists.items()]
        if place.collection.find_one({"$or": conditions}, {"_id": True}) is None:
            continue
        for path in place.paths:
            n = place.collection.count_documents({path: {"$exists": True}})
            if n:
                what = "frames" if place.prefix else "samples"
                raise _taken(run_key, f"`{place.prefix}{path}` exists, undeclared, in the database on {n} {what}")


def refuse_dependent_view(samples: SampleCollection, paths: Iterable[str]) -> None:
    """Refuse to overwrite a run if the new run is on a view that uses fields of the old one."""
    if not isinstance(samples, fo.DatasetView):
        return
    used = _names_used(samples)
    for path in paths:
        if path.rsplit(".", 1)[-1] in used:
            raise AgreementInputError(
                f"The view must not depend on the run to overwrite, got a view that uses `{path}`; choose "
                "another run key, or select the samples by id: dataset.select(view.values('id'))"
            )


def run_behind(samples: SampleCollection) -> str | None:
    """The run whose results a view chooses samples or labels by; None if there is none."""
    if not isinstance(samples, fo.DatasetView):
        return None
    used = _names_used(samples)
    of_runs = {key: names.own_names(Run(samples, key).field_key) for key in list_agreements(samples)}
    return next((key for key, own in of_runs.items() if own & used), None)


def filtered_annotators(source: Source) -> list[str]:
    """Annotators whose labels a view filters, if it leaves the labels of others as they are; else none."""
    filtered: set[str] = set()
    for stage in stages_of(source.samples) if isinstance(source.samples, fo.DatasetView) else ():
        if isinstance(stage, fo.SelectLabels | fo.ExcludeLabels):
            filtered.update(source.config.fields if stage.fields is None else stage.fields)
        elif isinstance(stage, fo.FilterLabels | fo.FilterField | fo.FilterKeypoints | fo.LimitLabels):
            filtered.add(stage.field)
    if filtered.issuperset(source.config.fields):
        return []
    of_fields = zip(source.config.fields, source.field_annotator, strict=False)
    return sorted({source.annotators[number] for field, number in of_fields if field in filtered})


def unread_images(source: Source) -> dict[str, int]:
    """Number of images (frames), by annotator, on which labels of the annotator could not be read at import."""
    config = source.config
    prefix = names.FRAMES_PREFIX if source.on_frames else ""
    fields = [path.removeprefix(prefix) for path, field in field_schema(source.dataset).items()
              if path.startswith(prefix) and names.UNREAD_MARK in (field.info or {})
              and (not config.attribute_mode or path.startswith(f"{config.fields[0]}_"))]  # fmt: skip
    called = source.number_of_name
    found: Counter[str] = Counter()
    for field in fields:
        stored = source.collection.find({field: {"$nin": [None, []]}}, {field: True})
        listed = {row["_id"]: row[field] for row in stored if isinstance(row[field], list)}
        chosen: list[dict[str, Any]] = [{"$match": {"_id": {"$in": list(listed)}}}, {"$group": {"_id": "$_id"}}]
        for row in source.aggregate(chosen) if listed else ():
            found.update({source.annotators[called[name]] for name in listed[row["_id"]] if name in called})
    return dict(sorted(found.items()))


def _names_used(samples: SampleCollection) -> set[str]:
    """All names of fields in the pipeline of a view."""
    return {part for text in _paths(pipeline_of(samples)) for part in text.lstrip("$").split(".")}


def _paths(value: object) -> list[str]:
    """The paths in a pipeline: keys, and texts that begin with a dollar; other texts are values."""
    if isinstance(value, str):
        return [value] if value.startswith("$") else []
    if isinstance(value, dict):
        return [text for key, entry in value.items() for text in [key, *_paths(entry)]]
    if isinstance(value, list | tuple):
        return [text for entry in value for text in _paths(entry)]
    return []
