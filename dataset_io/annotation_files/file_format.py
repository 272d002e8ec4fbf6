"""Read annotation files of any format, so that no file can do harm or fill the memory."""

from __future__ import annotations

import codecs
import inspect
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import fiftyone as fo
import fiftyone.core.labels as fol
import fiftyone.types as fot
import pandas as pd
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import parse as parse_xml

from ...agreement.settings.errors import AgreementInputError, shown
from ..database.fiftyone_private import default_fields, list_of, sample_collection
from .annotation_set import AnnotationSet, DrawnLabel, ImageKey, refuse_others, stored_size
from .coco_json import names_raters, read_coco
from .crowd_answers import is_sagemaker, json_lines, read_any_table, read_sagemaker
from .cvat_xml import read_cvat
from .file_per_image import (
    VIA_COLUMNS,
    YoloClasses,
    is_yolo_file,
    read_labelme,
    read_via,
    read_voc,
    read_yolo,
    via_entries,
    via_rows,
)
from .image_names import files_in
from .label_documents import CLASSES, DETECTIONS, LABEL_TYPES, LABEL_TYPES_OF
from .label_studio import read_label_studio, tasks_of_records
from .long_table import SUFFIXES, load_table

#: the formats that we read ourselves, and what they are called
LABEL_STUDIO, COCO, CVAT, TABLE = "label_studio", "coco", "cvat", "table"
YOLO, VOC, LABELME, VIA, SAGEMAKER = "yolo", "voc", "labelme", "via", "sagemaker"
TITLES = {LABEL_STUDIO: "Label Studio JSON", COCO: "COCO JSON", CVAT: "CVAT XML", TABLE: "a long table",
          YOLO: "YOLO", VOC: "Pascal VOC", LABELME: "LabelMe JSON", VIA: "VGG Image Annotator (VIA)",
          SAGEMAKER: "SageMaker Ground Truth"}  # fmt: skip
#: formats with a file for each image
FILE_PER_IMAGE = (YOLO, VOC, LABELME)
_SUFFIXES = {
    **dict.fromkeys((".json", ".jsonl", ".manifest"), "JSON"),
    ".xml": "XML",
    **dict.fromkeys(SUFFIXES, "a table"),
    ".txt": "a text",
}
#: the endings of the files of a format
_KINDS_OF = {CVAT: {"XML"}, VOC: {"XML"}, VIA: {"JSON", "a table"}, TABLE: {"a table"}, YOLO: {"a text"},
             **{name: {"JSON"} for name in (LABEL_STUDIO, COCO, LABELME, SAGEMAKER)}}  # fmt: skip
#: bytes that the parts of a file take when it is read, by the signs that begin them, measured
_OF_SIGNS = {
    "JSON": {b",": 32, b"{": 200, b"[": 72},
    "XML": {b"<": 150, b"=": 110},
    "a table": {b",": 25, b"\t": 25, b"\n": 50},
    "a text": {b" ": 60, b"\n": 50},
}
#: larger files would fill the memory while they are read
MOST_BYTES = 1 << 30
#: names that tools give to all of their files: the folder tells whose they are
_NAMES_OF_TOOLS = {"annotations", "instances_default", "labels", "result", "result_coco", "export", "data", "coco"}
#: files beside annotations that hold none
_OF_NO_IMAGE = {"notes.json"}
#: what is read of FiftyOne's formats: labels that are exported too, and maps of pixels
_READ = {kind.__name__: kind for kind in (*LABEL_TYPES_OF, fol.Segmentation) if issubclass(kind, fol.Label)}


def read_annotations(
    path: Path, format: str, annotator: str | None, columns: Mapping[str, Any] | None
) -> AnnotationSet:
    """Annotations of a file, or of every file of a folder.

    Args:
        path: of the file or folder
        format: one of the formats, or ``"auto"``
        annotator: whose labels they are; None: the files say it, or their names do
        columns: what the columns of a table mean

    Raises:
        AgreementInputError: if something in the files must be changed
    """
    if not path.exists():
        raise AgreementInputError(f"`source` must be a file or folder, got {str(path)!r}, which does not exist")
    if path.is_file():
        return _read_file(path, format, annotator, columns, None, None)
    by_kind: dict[str, list[Path]] = defaultdict(list)
    for file in map(Path, files_in(path, "source")):
        kind = _SUFFIXES.get(file.suffix.lower())
        is_of_tool = file.name in _OF_NO_IMAGE or (kind == "a text" and not is_yolo_file(file))
        if kind is not None and not is_of_tool and kind in _KINDS_OF.get(format, {*_OF_SIGNS}) and file.is_file():
            by_kind[kind].append(file)
    if len(by_kind) > 1 and not any(map(_looks_like_yolo, by_kind.get("a text", ()))):
        by_kind.pop("a text", None)
    if len(by_kind) != 1:
        raise AgreementInputError(
            "A folder must hold annotation files of one format (JSON, XML, tables or YOLO's texts), got "
            f"{shown(sorted(by_kind)) or 'none'} in {str(path)!r}; where it holds several, say which with `format`; "
            "for other formats that FiftyOne reads say `format=fo.types.…`"
        )
    ((kind, files),) = by_kind.items()
    classes = YoloClasses(path) if kind == "a text" else None
    first, *others = [_read_file(file, format, annotator, columns, path, classes) for file in sorted(files)]
    for other in others:
        if other.title != first.title:
            raise AgreementInputError(
                f"A folder must hold annotation files of one format, got {first.title} and {other.title} in "
                f"{str(path)!r}"
            )
        first.add(other)
    return first


def _looks_like_yolo(path: Path) -> bool:
    """True if the first line of a text is one of numbers."""
    with path.open("rb") as file:
        first = file.readline(10_000).split()
    return len(first) > 4 and all(word.strip(b"+-.eE0123456789") == b"" for word in first)


def _read_file(
    path: Path,
    format: str,
    annotator: str | None,
    columns: Mapping[str, Any] | None,
    folder: Path | None,
    classes: YoloClasses | None,
) -> AnnotationSet:
    """Annotations of one file.

    Args:
        folder: the folder that is read as a whole; None: the file alone
        classes: of a folder of YOLO
    """
    size, root = path.stat().st_size, folder or path.parent
    shown_name = str(path.relative_to(root))
    if size > MOST_BYTES:
        raise AgreementInputError(
            f"An annotation file must have at most {MOST_BYTES >> 20:,} MB, got {shown_name!r} with {size >> 20:,} MB; "
            "split it"
        )
    kind = _SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise AgreementInputError(
            f"An annotation file must end in {shown(sorted(_SUFFIXES), 10)}, got {shown_name!r}; for a format that "
            "FiftyOne reads, such as KITTI, say `format=fo.types.…`"
        )
    own_name = path.parent.name if path.stem.lower() in _NAMES_OF_TOOLS else path.stem
    found = AnnotationSet.of_size("", size)
    with path.open("rb") as file:
        n_bytes = sum(part.count(sign) * n for part in iter(lambda: file.read(1 << 20), b"")
                      for sign, n in _OF_SIGNS[kind].items())  # fmt: skip
    found.reserve(n_bytes, "content, of many small parts")
    try:
        content: Any = load_table(path) if kind == "a table" else _content(path, kind, shown_name)
        is_of = _format_of(content)
        title = TITLES.get(is_of, is_of)
        if is_of not in TITLES or format not in ("auto", is_of):
            must = "of a format that can be read" if format == "auto" else TITLES[format]
            raise AgreementInputError(
                f"{shown_name!r} must be {must} ({shown(TITLES.values(), 9)}), got what looks like {title}; "
                + (_INSTEAD if title in _TOOLS else _WITH_FIFTYONE)
            )
        found.title = title
        if is_of in (*FILE_PER_IMAGE, VIA) and annotator is None:
            below = sorted(each.name for each in path.parent.iterdir() if each.is_dir()) if folder is None else sorted(
                each.name for each in folder.iterdir() if each.is_dir())  # fmt: skip
            raise AgreementInputError(
                f"{title} does not say who drew what: give the folder or file of each annotator, "
                '{"alice": path, "bob": path}, got '
                f"{str(folder or path)!r}" + (f", in which there are {shown(below)}" if below else "")
            )
        if is_of == TABLE:
            read_any_table(found, content, annotator, columns)
        elif is_of == CVAT:
            read_cvat(found, content, annotator, own_name)
        elif is_of == COCO:
            is_of_one = annotator is None and folder is not None and not names_raters(content)
            read_coco(found, content, own_name if is_of_one else annotator)
        elif is_of == YOLO:
            read_yolo(found, content, str(annotator), path, root, classes or YoloClasses(root))
        elif is_of == VOC:
            read_voc(found, content, str(annotator), path, root)
        elif is_of == LABELME:
            read_labelme(found, content, str(annotator), path, root)
        elif is_of == SAGEMAKER:
            read_sagemaker(found, content, annotator, path)
        elif is_of == VIA:
            entries = via_rows(content) if kind == "a table" else via_entries(content)
            read_via(found, entries or {}, str(annotator), (columns or {}).get("label"))
        else:
            tasks = content if isinstance(content, list) else [content]
            tasks = tasks if _is_list_with(tasks, "data") else tasks_of_records(tasks)
            read_label_studio(found, tasks, (columns or {}).get("image"))
            if annotator is not None:
                refuse_others(annotator, found.pages)
                found.pages = {annotator: next(iter(found.pages.values()), {})}
    except AgreementInputError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise AgreementInputError(
            f"{shown_name!r} must be as the tool writes it, got content that cannot be read: {error}"
        ) from error
    return found


#: what a file must be that cannot be read, and what it has instead
_UNREADABLE: dict[type[Exception], Callable[[Any], str]] = {
    json.JSONDecodeError: lambda error: f"JSON, got an error in line {error.lineno}: {error.msg}",
    UnicodeDecodeError: lambda error: f"text in UTF-8, got other bytes at {error.start}",
    RecursionError: lambda error: "annotations, got JSON nested too deep to be any",
    ParseError: lambda error: f"XML, got an error in line {error.position[0]}: {error.msg}",
    LookupError: lambda error: f"in an encoding that Python knows, got {error}",
    DefusedXmlException: lambda error: (
        f"XML without entities of its own, which annotation tools do not write, got {error}"
    ),
}


def _content(path: Path, kind: str, shown_name: str) -> Any:
    """Value in a file of JSON, the first element of one of XML, or a text.

    Raises:
        AgreementInputError: if the file cannot be read
    """
    try:
        if kind == "XML":
            return parse_xml(path).getroot()
        content = path.read_bytes()
        text = content.decode("utf-8-sig" if content.startswith(codecs.BOM_UTF8) else json.detect_encoding(content))
        if kind != "JSON":
            return text
        has_lines = path.suffix.lower() != ".json" or (text.count("\n") and _is_line_of_json(text))
        return list(json_lines(text)) if has_lines else json.loads(text)
    except tuple(_UNREADABLE) as error:
        told = next(told for kind_of_error, told in _UNREADABLE.items() if isinstance(error, kind_of_error))
        raise AgreementInputError(f"{shown_name!r} must be {told(error)}") from error


def _is_line_of_json(text: str) -> bool:
    """True if the first line of a text is an object of JSON, followed by others."""
    first, _, rest = text.strip().partition("\n")
    return first.rstrip().endswith("}") and first.startswith("{") and rest.lstrip().startswith("{")


#: how files of tools can be told that cannot be read, and what they are
_TOOLS: dict[str, Callable[[Any], bool]] = {
    "Labelbox's export": lambda content: (
        _has_keys(content, "data_row", "projects") or _has_keys(content, "Labeled Data")
    ),
    "V7 Darwin JSON": lambda content: _has_keys(content, "item", "annotations"),
    "Supervisely's JSON": lambda content: _has_keys(content, "objects", "size"),
    "Prodigy's JSON": lambda content: _has_keys(content, "_input_hash"),
    "Zooniverse's JSON": lambda content: _has_keys(content, "subject_ids") or _has_keys(content, "task", "value"),
    "GeoJSON (as of QuPath)": lambda content: isinstance(content, dict) and content.get("type") == "FeatureCollection",
}
#: and of other formats
_OTHER_JSON: dict[str, Callable[[Any], bool]] = {
    **_TOOLS,
    "COCO results (detections without images)": lambda content: _is_list_with(content, "image_id", "category_id"),
    "a FiftyOne dataset": lambda content: isinstance(content, dict) and "samples" in content,
}


_WITH_FIFTYONE = (
    "formats that FiftyOne reads are given as `format=fo.types.…`, with one path for each annotator: "
    '{"alice": path, "bob": path}'
)
#: what to do with files of other tools
_INSTEAD = (
    "export COCO JSON or Pascal VOC for each annotator from there, or write a long table: a row for each label, with "
    "image, annotator, class, and a box or polygon"
)


def _has_keys(content: Any, *keys: str) -> bool:
    """True for an object with these keys, or a list that begins with one."""
    first = content[0] if isinstance(content, list) and content else content
    return isinstance(first, dict) and first.keys() >= {*keys}


def _is_list_with(content: Any, *keys: str) -> bool:
    return isinstance(content, list) and bool(content) and isinstance(content[0], dict) and content[0].keys() >= {*keys}


def _format_of(content: Any) -> str:
    """One of our formats, or the title of another one, of the content of a file."""
    if isinstance(content, str):
        return YOLO
    if isinstance(content, pd.DataFrame):
        return VIA if {str(name).lstrip("#") for name in content.columns} >= VIA_COLUMNS else TABLE
    if hasattr(content, "tag"):
        return {"annotations": CVAT, "annotation": VOC}.get(content.tag, f"XML of <{content.tag}>")
    if isinstance(content, dict) and {"shapes", "imagePath"} <= content.keys():
        return LABELME
    if is_sagemaker(content):
        return SAGEMAKER
    if via_entries(content) is not None:
        return VIA
    if isinstance(content, dict) and "images" in content and "annotations" in content:
        return COCO
    if _is_list_with(content if isinstance(content, list) else [content], "data"):
        return LABEL_STUDIO
    if _is_list_with(content, "annotator"):  # JSON-MIN
        return LABEL_STUDIO
    return next((title for title, fits in _OTHER_JSON.items() if fits(content)), "JSON of a tool that we do not know")


def read_with_fiftyone(
    paths: Mapping[str, Path],
    dataset_type: type,
    media_dir: Path | None,
    label_types: str | Iterable[str] | None,
) -> AnnotationSet:
    """The labels of every annotator, from FiftyOne's importers.

    Args:
        paths: the folder, or the file with the labels, of each
        dataset_type: FiftyOne's name of the format
        media_dir: folder with the images, where they are not beside the labels
        label_types: which label types to read, where the importer has several

    Raises:
        AgreementInputError: if FiftyOne cannot read a path
    """
    if not (inspect.isclass(dataset_type) and issubclass(dataset_type, fot.Dataset)):
        raise AgreementInputError(f"`format` must be a type of fiftyone.types, got {dataset_type!r}")
    found = AnnotationSet(dataset_type.__name__)
    for annotator, path in paths.items():
        if not path.exists():
            raise AgreementInputError(f"The path of {annotator!r} must exist, got {str(path)!r}")
        with _dataset_of(path, dataset_type, media_dir, annotator, label_types) as dataset:
            fields = [name for name in dataset.get_field_schema() if name not in default_fields(dataset)]
            for document in sample_collection(dataset).find({}):
                # every image of the annotator's set was looked at, also those for which the importer says nothing
                page = found.page(annotator, ImageKey(document["filepath"]))
                page.scale = (1.0, 1.0)
                metadata = document.get("metadata") or {}
                page.size_px = stored_size(metadata.get("width"), metadata.get("height"))
                for name in fields:
                    page.labels += _labels_in(name, document.get(name))
    return found


@contextmanager
def _dataset_of(
    path: Path,
    dataset_type: type,
    media_dir: Path | None,
    annotator: str,
    label_types: str | Iterable[str] | None,
) -> Iterator[fo.Dataset]:
    """A temporary dataset of what FiftyOne reads from a path."""
    options: dict[str, Any] = {"labels_path": str(path)} if path.is_file() else {"dataset_dir": str(path)}
    if media_dir is not None:
        options["data_path"] = str(media_dir)
    if "label_types" in inspect.signature(dataset_type().get_dataset_importer_cls()).parameters:
        kinds = [label_types] if isinstance(label_types, str) else list(label_types or [DETECTIONS])
        options["label_types"] = kinds
    dataset = fo.Dataset()
    try:
        try:
            dataset.add_dir(dataset_type=dataset_type, progress=False, **options)
        except Exception as error:  # whatever the importer stumbles over is in the user's files
            raise AgreementInputError(
                f"The path of {annotator!r} must hold a {dataset_type.__name__}, got {str(path)!r}, which FiftyOne "
                f"cannot read: {error or type(error).__name__}"
            ) from error
        if not dataset.count():
            raise AgreementInputError(
                f"The path of {annotator!r} must hold images with their labels, got none in {str(path)!r}"
                + ("" if media_dir else "; say `media_dir=` if the images are elsewhere")
            )
        if dataset.media_type != "image":
            raise AgreementInputError(f"Labels must be of images, got {dataset.media_type}s in {str(path)!r}")
        yield dataset
    finally:
        dataset.delete()


def _labels_in(name: str, value: Any) -> Iterator[DrawnLabel]:
    """The labels in a field of a document."""
    stored = _READ.get(value.get("_cls")) if isinstance(value, dict) else None
    if stored is None:
        return
    drawn_as, list_field = LABEL_TYPES_OF.get(stored, CLASSES), list_of(stored)
    for label in (value.get(list_field[0]) or ()) if list_field else (value,):
        if drawn_as == CLASSES:
            yield DrawnLabel(label.get("label"), document=label, question=name)
        else:  # where an importer gives several label types, its fields have their names
            drawn_as = name if name in LABEL_TYPES else drawn_as
            yield DrawnLabel(label.get("label"), document=label, document_type=drawn_as)


def type_names() -> list[str]:
    """Names of the types of labelled images that FiftyOne reads."""
    kinds = [kind for kind in vars(fot).values() if inspect.isclass(kind) and issubclass(kind, fot.LabeledImageDataset)]
    return sorted(kind.__name__ for kind in kinds if kind is not fot.LabeledImageDataset)
