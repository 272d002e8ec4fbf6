"""Read answers of crowd workers: MTurk's results, SageMaker Ground Truth, tables with a column for each annotator."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import Any

import pandas as pd

from ...agreement.settings.errors import AgreementInputError, shown
from .annotation_set import AnnotationSet, DrawnLabel, ImageLabels
from .file_values import as_number, stored_size
from .label_studio import decoded, name_in
from .long_table import guessed_columns, read_table

#: titles of tables that are not long ones
WIDE, MTURK = "a wide table", "MTurk results"
#: names of columns with annotator and meaning: ``rater1_label`` or ``label_rater1``
_PARTS = (re.compile(r"(?P<who>.+)[_. -](?P<what>[^_. -]+)"), re.compile(r"(?P<what>[^_. -]+)[_. -](?P<who>.+)"))
#: paths of a SageMaker job's list of images, relative to a folder above the responses of workers
_MANIFESTS = ("manifests/output/output.manifest", "output.manifest", "manifest.json", "dataset.manifest")
#: keys of shapes that are drawn in Amazon's forms
_DRAWN = ("boundingBoxes", "polygons", "polylines", "keypoints")

Answer = dict[str, Any]


def read_any_table(found: AnnotationSet, table: pd.DataFrame) -> None:
    """Add the labels of a table: MTurk's results, a column for each annotator, or a row for each label."""
    given = dict(found.columns)
    if {"WorkerId", "AssignmentId"} <= {*map(str, table.columns)}:
        found.title = MTURK
        names = list(map(str, table.columns))
        inputs = {name.removeprefix("Input."): name for name in names if name.startswith("Input.")}
        usual = guessed_columns(list(inputs)).get("image") or (next(iter(inputs)) if len(inputs) == 1 else "")
        image = given.get("image") or inputs.get(usual)
        if image not in names:
            raise AgreementInputError(
                f"One input of the tasks must be the image, got {shown(inputs.values(), 20) or 'none'}; say which with "
                'columns={"image": "Input.…"}'
            )
        for number, row in enumerate(table.to_dict("records"), 2):
            where = f"row {number}"
            if str(row.get("AssignmentStatus")).lower() == "rejected":
                found.left_out.add("assignments that were rejected", where)
                continue
            answer: Answer = {}
            for name in names:
                if name.startswith("Answer.") and row[name] == row[name]:
                    *path, last = name.split(".")[1:]
                    place = answer
                    for part in path:
                        place = place.setdefault(part, {})
                    place[last] = row[name]
            tasks = decoded(answer.pop("taskAnswers", None))
            for each in tasks if isinstance(tasks, list) else []:
                answer |= each if isinstance(each, dict) else {}
            page = found.page(str(row["WorkerId"]), name_in(str(row[image])), is_new=True)
            _add_answer(found, page, answer, where)
        return
    long = None if found.annotator is not None else _as_long(table, given)
    if long is not None:
        found.title = WIDE
        table, raters, answers = long
        found.notes.append(f"A column is read as an annotator: {shown(raters, 20)}; an empty cell means not assigned")
        if answers == "value" and "value" not in given:
            found.notes.append(
                f'Their numbers are read as numbers; columns={{"label": {raters}}} reads them as classes'
            )
        given = {meaning: column for meaning, column in given.items() if isinstance(column, str)}
        given |= {"annotator": "annotator", **({answers: answers} if answers else {})}
    read_table(found, table, found.annotator, given)


def _as_long(table: pd.DataFrame, columns: dict[str, Any]) -> tuple[pd.DataFrame, list[str], str] | None:
    """A table with a column for each annotator as one with a row for each label.

    Returns:
        the table, the columns of annotators, and what they hold (``"label"``, ``"value"``, or ``""`` where it has
        several columns for each); None if it is a long one, or does not say which columns are those of annotators
    """
    names = list(map(str, table.columns))
    table = table.set_axis(names, axis=1)
    meant = {**guessed_columns(names), **{key: value for key, value in columns.items() if isinstance(value, str)}}
    lists = [(key, list(columns[key])) for key in ("label", "value") if isinstance(columns.get(key), list | tuple)]
    answers, given = (*lists, ("", []))[0]
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


def _add_answer(found: AnnotationSet, page: ImageLabels, answer: Answer, where: str) -> None:
    """Add the answers of a worker in Amazon's forms, by element: shapes, classes, texts and numbers."""
    for question, value in ((key, decoded(value)) for key, value in answer.items()):
        said, is_set = value, isinstance(value, list)
        if isinstance(value, dict):
            size = decoded(value.get("inputImageProperties"))
            if isinstance(size, dict):
                page.size_px = stored_size(size.get("width"), size.get("height"))
            drawn = [(key, decoded(value[key])) for key in _DRAWN if key in value]
            for kind, shapes in drawn:
                of_kind: list[Any] = shapes if isinstance(shapes, list) else [None]
                for entry in of_kind:
                    with found.reading(page, kind, where):
                        label = DrawnLabel(None if entry.get("label") is None else str(entry["label"]))
                        if kind == "boundingBoxes":
                            left, top, width, height = (float(entry[key]) for key in ("left", "top", "width", "height"))
                            label.box = (left, top, width, height)
                        elif kind == "keypoints":
                            label.points = [(float(entry["x"]), float(entry["y"]))]
                        else:
                            label.rings = [[(float(p["x"]), float(p["y"])) for p in entry["vertices"]]]
                            label.closed = kind == "polygons"
                        found.add_label(page, label)
            if drawn:
                continue
            said = decoded(value.get("label", value.get("labels")))
            is_set = isinstance(said, list)
            if said is None and value and all(str(is_on).lower() in ("true", "false") for is_on in value.values()):
                said = [name for name, is_on in value.items() if str(is_on).lower() == "true"]
                if not said and [*value] == ["on"]:  # a box that was not ticked
                    said = "off"
                is_set = not said  # with one, they may be buttons of which one is pressed
        entries = said if isinstance(said, list) else [said]
        if any(entry is None or isinstance(entry, dict | list) for entry in entries):
            found.not_read(page, f"answers to {question!r} that cannot be read", where)
            continue
        if is_set:
            found.several.add(question)
        for entry in entries:
            number = as_number(entry)
            text = None if number is not None else str(entry).strip()
            if text != "":
                found.add_label(page, DrawnLabel(text, value=number, question=question))


def is_sagemaker(content: Any) -> bool:
    """True if JSON is a SageMaker job's manifest, its request for consolidation, or a response of workers."""
    entries = content if isinstance(content, list) else [content]
    first = entries[0] if entries and isinstance(entries[0], dict) else {}
    is_response = isinstance(first.get("answers"), list) and all("answerContent" in each for each in first["answers"])
    return is_response or "source-ref" in first or {"dataObject", "annotations"} <= first.keys()


def read_sagemaker(found: AnnotationSet, content: Any) -> None:
    """Add the answers of each worker of a job."""
    for number, entry in enumerate(content if isinstance(content, list) else [content], 1):
        if "source-ref" in entry:
            raise AgreementInputError(
                f"Answers of SageMaker Ground Truth must be those of workers, got {found.place!r}, a manifest with "
                "what a job decided; give the job's folder `annotations/worker-response`, or `consolidation-request`"
            )
        source = entry.get("dataObject")
        if not source:  # a line of the job's manifest, whose number is the name of the response's folder
            manifests = (folder / name for folder in found.path.parents[:6] for name in _MANIFESTS)
            manifest = next((path for path in manifests if path.is_file()), None)
            if manifest is None or not found.path.parent.name.isdecimal():
                raise AgreementInputError(
                    "Responses of workers must lie in the folders of their SageMaker job, with its output.manifest "
                    f"above, which names the images, got {found.path.name!r} without; or give the files of its "
                    "consolidation-request"
                )
            lines, line = manifest.read_text("utf-8-sig").splitlines(), int(found.path.parent.name)
            if line >= len(lines):
                raise AgreementInputError(f"{str(manifest)!r} must have an image number {line}, got {len(lines)} lines")
            source = json.loads(lines[line])
        image = name_in(str(source.get("s3Uri") or source.get("source-ref")))
        for answer in entry.get("annotations") or entry.get("answers") or []:
            said = answer.get("answerContent") or decoded((answer.get("annotationData") or {}).get("content"))
            page, where = found.page(str(answer["workerId"]), image, is_new=True), f"{found.place}, entry {number}"
            if isinstance(said, dict):
                _add_answer(found, page, said, where)
            else:
                found.not_read(page, "answers without a content that can be read", where)
