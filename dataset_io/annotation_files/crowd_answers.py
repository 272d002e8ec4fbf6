"""Answers as crowds give them: tables with a column for each annotator, MTurk's results, and SageMaker Ground Truth."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ...agreement.settings.errors import AgreementInputError, shown
from .annotation_set import (
    AnnotationSet,
    DrawnLabel,
    ImageKey,
    ImageLabels,
    as_number,
    refuse_others,
    stored_size,
)
from .label_studio import name_in
from .long_table import guessed_columns, read_table

#: what is said of a table that is not a long one
WIDE, MTURK = "a wide table", "MTurk results"
#: parts of the name of a column that is an annotator's: ``rater1_label`` or ``label_rater1``
_PARTS = (re.compile(r"(?P<who>.+)[_. -](?P<what>[^_. -]+)"), re.compile(r"(?P<what>[^_. -]+)[_. -](?P<who>.+)"))
#: a SageMaker job's output, relative to the folder of a worker's response to one image
_MANIFESTS = ("manifests/output/output.manifest", "output.manifest", "manifest.json", "dataset.manifest")

Answer = dict[str, Any]


def read_any_table(
    found: AnnotationSet, table: pd.DataFrame, annotator: str | None, columns: Mapping[str, Any] | None
) -> None:
    """Add what a table says: MTurk's results, a column for each annotator, or a row for each label."""
    if {"WorkerId", "AssignmentId"} <= {*map(str, table.columns)}:
        found.title = MTURK
        _read_mturk(found, table, annotator, dict(columns or {}))
        return
    long = None if annotator is not None else _as_long(table, dict(columns or {}))
    if long is None:
        read_table(found, table, annotator, columns)
        return
    found.title = WIDE
    table, raters, answers = long
    found.notes.append(f"A column is read as an annotator: {shown(raters, 20)}; an empty cell means not assigned")
    if answers == "value" and "value" not in (columns or {}):
        found.notes.append(f'Their numbers are read as numbers; columns={{"label": {raters}}} reads them as classes')
    kept = {meaning: column for meaning, column in (columns or {}).items() if isinstance(column, str)}
    read_table(found, table, None, {**kept, "annotator": "annotator", **({answers: answers} if answers else {})})


def _as_long(table: pd.DataFrame, columns: dict[str, Any]) -> tuple[pd.DataFrame, list[str], str] | None:
    """A table with a column for each annotator as one with a row for each label.

    Returns:
        the table, the columns of annotators, and what they hold (``"label"``, ``"value"``, or ``""`` where it has
        several columns for each); None if it is a long one, or does not say which columns are those of annotators
    """
    names = list(map(str, table.columns))
    table = table.set_axis(names, axis=1)
    meant = {**guessed_columns(names), **{key: value for key, value in columns.items() if isinstance(value, str)}}
    answers, given = next(
        ((key, list(columns[key])) for key in ("label", "value") if isinstance(columns.get(key), list | tuple)),
        ("", []),
    )
    missing = [repr(name) for name in given if name not in names]
    if missing:
        raise AgreementInputError(f"`columns` must name columns of the table ({shown(names, 20)}), got "
                                  f"{shown(missing)} for the annotators")  # fmt: skip
    if not given and ("annotator" in meant or "image" not in meant):
        return None
    others = [name for name in names if name not in meant.values()]
    for pattern in _PARTS if not given else ():
        parts: dict[str, dict[str, str]] = defaultdict(dict)  # columns by annotator and meaning
        for name in others:
            found = pattern.fullmatch(name)
            if found is not None and guessed_columns([found["what"]]):
                parts[found["who"]][found["what"]] = name
        if len(parts) > 1 and len({frozenset(own) for own in parts.values()}) == 1:
            used = {name for own in parts.values() for name in own.values()}
            rest = [name for name in names if name not in used]
            of_each = (table[[*rest, *own.values()]].rename(columns={name: what for what, name in own.items()})
                       .assign(annotator=who).dropna(subset=list(own), how="all")
                       for who, own in parts.items())  # fmt: skip
            return pd.concat(of_each, ignore_index=True), sorted(used), ""
    raters = given or others
    if not given and (len(raters) < 2 or meant.keys() - {"image", "image_width", "image_height"}):
        return None
    values = [table[name].dropna().tolist() for name in raters]
    kinds = {bool if isinstance(value, bool) else float if isinstance(value, int | float) else str
             for own in values for value in own}  # fmt: skip
    in_common = all(any({*own} & {*other} for other in values if other is not own) for own in values if own)
    if not given and (len(kinds) > 1 or (kinds == {str} and not in_common)):
        return None
    answers = answers or ("value" if kinds == {float} else "label")
    long = table.melt([name for name in names if name not in raters], raters, "annotator", answers)
    return long.dropna(subset=[answers]), raters, answers


def _read_mturk(found: AnnotationSet, table: pd.DataFrame, annotator: str | None, columns: dict[str, Any]) -> None:
    """Add a batch of assignments: the image is an input of the task, what was drawn or said the answer."""
    names = list(map(str, table.columns))
    inputs = {name.removeprefix("Input."): name for name in names if name.startswith("Input.")}
    usual = guessed_columns(list(inputs)).get("image") or (next(iter(inputs)) if len(inputs) == 1 else "")
    image = columns.get("image") or inputs.get(usual)
    if image not in names:
        raise AgreementInputError(
            f"One input of the tasks must be the image, got {shown(inputs.values(), 20) or 'none'}; say which with "
            'columns={"image": "Input.…"}'
        )
    if annotator is not None:
        refuse_others(annotator, {str(who) for who in table["WorkerId"]})
    for number, row in enumerate(table.to_dict("records"), 2):
        where = f"row {number}"
        if str(row.get("AssignmentStatus")).lower() == "rejected":
            found.left_out.add("assignments that were rejected", where)
            continue
        answer: Answer = {}
        for name in names:
            if name.startswith("Answer.") and not (isinstance(row[name], float) and row[name] != row[name]):
                *path, last = name.split(".")[1:]
                place = answer
                for part in path:
                    place = place.setdefault(part, {})
                place[last] = row[name]
        tasks = _spelt(answer.pop("taskAnswers", None))
        for each in tasks if isinstance(tasks, list) else []:
            answer |= each if isinstance(each, dict) else {}
        page = found.page(annotator or str(row["WorkerId"]), ImageKey(name_in(str(row[image]))), is_new=True)
        _add_answer(found, page, answer, where)


def _spelt(value: Any) -> Any:
    """What a text spells in JSON; other values as they are."""
    if isinstance(value, str) and value.strip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _add_answer(found: AnnotationSet, page: ImageLabels, answer: Answer, where: str) -> None:
    """Add what somebody answered by the elements of Amazon's forms: what was drawn, classes, texts and numbers."""
    for question, value in ((key, _spelt(value)) for key, value in answer.items()):
        if not isinstance(value, dict):
            if isinstance(value, list) and any(isinstance(entry, dict | list) for entry in value):
                found.not_read(page, f"answers to {question!r} that cannot be read", where)
                continue
            for entry in value if isinstance(value, list) else [value]:
                number = as_number(entry)
                text = None if number is not None else str(entry).strip()
                if text != "":
                    found.add_label(page, DrawnLabel(text, value=number, question=question))
            continue
        size = _spelt(value.get("inputImageProperties"))
        if isinstance(size, dict):
            page.size_px = stored_size(*(as_number(_number(size.get(side))) for side in ("width", "height")))
        drawn = [key for key in ("boundingBoxes", "polygons", "polylines", "keypoints") if key in value]
        for key in drawn:
            entries = _spelt(value[key])
            for entry in entries if isinstance(entries, list) else [None]:
                _add_shape(found, page, key, entry, where)
        if drawn:
            continue
        said = value.get("label", value.get("labels"))
        if said is None and value and all(str(is_on).lower() in ("true", "false") for is_on in value.values()):
            said = [name for name, is_on in value.items() if str(is_on).lower() == "true"]
        if said is None:
            found.not_read(page, f"answers to {question!r} that cannot be read ({shown(value)})", where)
            continue
        said = _spelt(said)
        for text in said if isinstance(said, list) else [said]:
            found.add_label(page, DrawnLabel(str(text), question=question))


def _add_shape(found: AnnotationSet, page: ImageLabels, key: str, entry: Any, where: str) -> None:
    try:
        found.add_label(page, _shape(key, entry))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        found.not_read(page, f"{key} that cannot be read", f"{where}: {error!r}")


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _shape(kind: str, entry: Answer) -> DrawnLabel:
    """Something drawn, in pixels.

    Raises:
        ValueError: if it cannot be read
    """
    label = DrawnLabel(None if entry.get("label") is None else str(entry["label"]))
    if kind == "boundingBoxes":
        left, top, width, height = (float(entry[key]) for key in ("left", "top", "width", "height"))
        label.box = (left, top, width, height)
    elif kind == "keypoints":
        label.points = [(float(entry["x"]), float(entry["y"]))]
    else:
        label.rings, label.closed = [[(float(p["x"]), float(p["y"])) for p in entry["vertices"]]], kind == "polygons"
    return label


def is_sagemaker(content: Any) -> bool:
    """True if JSON is a SageMaker job's manifest, its request for consolidation, or a response of workers."""
    entries = content if isinstance(content, list) else [content]
    first = entries[0] if entries and isinstance(entries[0], dict) else {}
    is_response = isinstance(first.get("answers"), list) and all("answerContent" in each for each in first["answers"])
    return is_response or "source-ref" in first or {"dataObject", "annotations"} <= first.keys()


def read_sagemaker(found: AnnotationSet, content: Any, annotator: str | None, file: Path) -> None:
    """Add the answers of a job, of each worker, or the labels of each job where a manifest holds what it decided.

    Args:
        file: responses of workers do not name their image; its number is the folder of the file
    """
    for number, entry in enumerate(content if isinstance(content, list) else [content], 1):
        where = f"{file.name}, entry {number}"
        if "source-ref" in entry:
            image = ImageKey(name_in(str(entry["source-ref"])))
            for job in [key for key in entry if f"{key}-metadata" in entry]:
                page = found.page(annotator or job.removesuffix("-ref"), image, is_new=True)
                _add_decided(found, page, job, entry[job], entry[f"{job}-metadata"], where)
            continue
        source = entry.get("dataObject") or _data_object(file)
        image = ImageKey(name_in(str(source.get("s3Uri") or source.get("source-ref"))))
        answers = entry.get("annotations") or entry.get("answers") or []
        if annotator is not None:
            refuse_others(annotator, {str(answer["workerId"]) for answer in answers})
        for answer in answers:
            said = answer.get("answerContent") or _spelt((answer.get("annotationData") or {}).get("content"))
            page = found.page(annotator or str(answer["workerId"]), image, is_new=True)
            if isinstance(said, dict):
                _add_answer(found, page, said, where)
            else:
                found.not_read(page, "answers without a content that can be read", where)


def _data_object(file: Path) -> Answer:
    """The line of the job's manifest that a worker's response is about."""
    manifests = (folder / name for folder in file.parents[:6] for name in _MANIFESTS)
    manifest = next((path for path in manifests if path.is_file()), None)
    if manifest is None or not file.parent.name.isdecimal():
        raise AgreementInputError(
            "Responses of workers must lie in the folders of their SageMaker job, with its output.manifest above, "
            f"which names the images, got {file.name!r} without; or give the files of its consolidation-request"
        )
    lines = manifest.read_text("utf-8-sig").splitlines()
    number = int(file.parent.name)
    if number >= len(lines):
        raise AgreementInputError(f"{str(manifest)!r} must have an image number {number}, got {len(lines)} lines")
    line: Answer = json.loads(lines[number])
    return line


def _add_decided(found: AnnotationSet, page: ImageLabels, job: str, value: Any, metadata: Answer, where: str) -> None:
    """Add what a job decided of an image."""
    names = metadata.get("class-map") or {}
    scores = metadata.get("confidence-map") or {}
    if isinstance(value, dict) and isinstance(value.get("annotations"), list):
        for size in value.get("image_size") or ():
            page.size_px = stored_size(size.get("width"), size.get("height"))
        objects = metadata.get("objects") or [{}] * len(value["annotations"])
        for entry, more in zip(value["annotations"], objects, strict=True):
            label = _shape("polygons" if "vertices" in entry else "boundingBoxes", entry)
            label.label = str(names.get(str(entry.get("class_id")), entry.get("class_id")))
            label.confidence = as_number(more.get("confidence"))
            found.add_label(page, label)
    elif "class-name" in metadata:
        found.add_label(page, DrawnLabel(str(metadata["class-name"]), question=job,
                                         confidence=as_number(metadata.get("confidence"))))  # fmt: skip
    elif isinstance(value, list):
        for code in value:
            found.add_label(page, DrawnLabel(str(names.get(str(code), code)), question=job,
                                             confidence=as_number(scores.get(str(code)))))  # fmt: skip
    else:
        why = metadata.get("failure-reason") or metadata.get("type") or "unknown"
        found.not_read(page, f"labels of {job!r} that cannot be read", f"{where}: {why}")


def json_lines(text: str) -> Iterator[Any]:
    """The values of a file with one on each line."""
    return (json.loads(line) for line in text.splitlines() if line.strip())
