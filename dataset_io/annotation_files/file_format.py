"""Read annotation files of any format, so that no file can do harm or fill the memory."""

from __future__ import annotations

import codecs
import inspect
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
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
from .annotation_set import AnnotationSet, DrawnLabel
from .coco_json import read_coco
from .crowd_answers import is_sagemaker, read_any_table, read_sagemaker
from .cvat_xml import read_cvat
from .file_per_image import is_yolo_file, read_labelme, read_via, read_voc, read_yolo, via_entries, yolo_classes
from .file_values import stored_size
from .image_names import files_in
from .label_documents import CLASSES, DETECTIONS, LABEL_TYPES, LABEL_TYPES_OF
from .label_studio import are_records, read_label_studio
from .long_table import SUFFIXES, load_table


@dataclass(frozen=True, slots=True)
class _Format:
    """A format that is read here, not by FiftyOne."""

    title: str
    endings: tuple[str, ...]  #: the kinds of files that it has
    fits: Callable[[Any], bool]  #: whether a content is of this format
    read: Callable[[AnnotationSet, Any], None]  #: adds a content to what was read
    says_who: bool = True  #: whether its files can name annotators


def _is_mapping_with(content: Any, *keys: str) -> bool:
    return isinstance(content, dict) and content.keys() >= {*keys}


def _begins_with(content: Any, *keys: str) -> bool:
    """True for an object with these keys, or a list that begins with one."""
    return _is_mapping_with(content[0] if isinstance(content, list) and content else content, *keys)


def _is_of_label_studio(content: Any) -> bool:
    """True for tasks, and for records of JSON-MIN or CSV."""
    if isinstance(content, pd.DataFrame):
        return "annotator" in content.columns and are_records(content.head(_MOST_ROWS).to_dict("records"))
    return _begins_with(content, "data") or (isinstance(content, list) and _begins_with(content, "annotator"))


#: rows of a table that are looked at to find its format
_MOST_ROWS = 10_000
LABEL_STUDIO, COCO, CVAT, TABLE = "label_studio", "coco", "cvat", "table"
YOLO, VOC, LABELME, VIA, SAGEMAKER = "yolo", "voc", "labelme", "via", "sagemaker"
#: the formats, in the order in which a content is tested for them
_FORMATS = {
    YOLO: _Format("YOLO", ("a text",), lambda content: isinstance(content, tuple), read_yolo, says_who=False),
    CVAT: _Format("CVAT XML", ("XML",), lambda content: getattr(content, "tag", "") == "annotations", read_cvat),
    VOC: _Format("Pascal VOC", ("XML",), lambda content: getattr(content, "tag", "") == "annotation", read_voc,
                 says_who=False),
    LABELME: _Format("LabelMe JSON", ("JSON",), lambda content: _is_mapping_with(content, "shapes", "imagePath"),
                     read_labelme, says_who=False),
    SAGEMAKER: _Format("SageMaker Ground Truth", ("JSON",), is_sagemaker, read_sagemaker),
    VIA: _Format("VGG Image Annotator (VIA)", ("JSON", "a table"), lambda content: via_entries(content) is not None,
                 read_via, says_who=False),
    COCO: _Format("COCO JSON", ("JSON",), lambda content: _is_mapping_with(content, "images", "annotations"),
                  read_coco),
    LABEL_STUDIO: _Format("Label Studio JSON", ("JSON", "a table"), _is_of_label_studio, read_label_studio),
    TABLE: _Format("a long table", ("a table",), lambda content: isinstance(content, pd.DataFrame), read_any_table),
}  # fmt: skip
#: titles of the formats, in the order in which messages name them
TITLES = {name: _FORMATS[name].title for name in (LABEL_STUDIO, COCO, CVAT, TABLE, *_FORMATS)}
#: formats with a file for each image
FILE_PER_IMAGE = (YOLO, VOC, LABELME)
#: endings of files with a value of JSON on each line
_OF_LINES = (".jsonl", ".ndjson", ".manifest")
_SUFFIXES = {**dict.fromkeys((".json", *_OF_LINES), "JSON"), ".xml": "XML", **dict.fromkeys(SUFFIXES, "a table"),
             ".txt": "a text"}  # fmt: skip
#: bytes of memory that the parts of a file take when it is read, by the sign that begins each part, as measured
_OF_SIGNS = {
    "JSON": {b",": 32, b"{": 200, b"[": 72},
    "XML": {b"<": 150, b"=": 110},
    "a table": {b",": 25, b"\t": 25, b"\n": 50},
    "a text": {b" ": 60, b"\n": 50},
}
#: larger files would fill the memory while they are read
MOST_BYTES = 1 << 30
#: names of files beside annotation files that hold no annotations
_OF_NO_IMAGE = {"notes.json"}
#: label types that are read through FiftyOne's importers: those that can be exported, and segmentation masks
_READ = {kind.__name__: kind for kind in (*LABEL_TYPES_OF, fol.Segmentation) if issubclass(kind, fol.Label)}


def read_annotations(
    path: Path, format: str, annotator: str | None, columns: Mapping[str, Any] | None
) -> AnnotationSet:
    """Annotations of a file, or of every file of a folder.

    Args:
        path: of the file or folder
        format: one of the formats, or ``"auto"``
        annotator: the annotator of all labels; None: the files name annotators, or are named after them
        columns: what the columns of a table mean

    Raises:
        AgreementInputError: if something in the files must be changed
    """
    if not path.exists():
        raise AgreementInputError(f"`source` must be a file or folder, got {str(path)!r}, which does not exist")
    given: dict[str, Any] = {"annotator": annotator, "columns": columns or {}}
    if path.is_file():
        return _read_file(path, format, root=path.parent, **given)
    kinds = _FORMATS[format].endings if format in _FORMATS else _OF_SIGNS
    by_kind: dict[str, list[Path]] = defaultdict(list)
    for file in map(Path, files_in(path, "source")):
        kind = _SUFFIXES.get(file.suffix.lower(), "")
        is_of_tool = file.name in _OF_NO_IMAGE or (kind == "a text" and not is_yolo_file(file))
        if not is_of_tool and kind in kinds and file.is_file():
            by_kind[kind].append(file)
    if len(by_kind) > 1:  # texts whose first lines are no numbers are not YOLO's
        firsts = []
        for file in by_kind.get("a text", ()):
            with file.open("rb") as opened:
                firsts.append(opened.readline(10_000).split())
        if not any(len(first) > 4 and all(word.strip(b"+-.eE0123456789") == b"" for word in first) for first in firsts):
            by_kind.pop("a text", None)
    if len(by_kind) != 1:
        raise AgreementInputError(
            "A folder must hold annotation files of one format (JSON, XML, tables or YOLO's texts), got "
            f"{shown(sorted(by_kind)) or 'none'} in {str(path)!r}; where it holds several, say which with `format`; "
            "for other formats that FiftyOne reads say `format=fo.types.…`"
        )
    ((kind, files),) = by_kind.items()
    given |= {"root": path, "is_of_folder": True, "classes": yolo_classes(path) if kind == "a text" else None}
    first, *others = [_read_file(file, format, **given) for file in sorted(files)]
    for other in others:
        if other.title != first.title:
            raise AgreementInputError(
                f"A folder must hold annotation files of one format, got {first.title} and {other.title} in "
                f"{str(path)!r}"
            )
        first.add(other)
    return first


def _read_file(path: Path, format: str, **given: Any) -> AnnotationSet:
    """Annotations of one file; ``given`` is what the annotation set knows of it beside its content."""
    size, kind = path.stat().st_size, _SUFFIXES.get(path.suffix.lower())
    found = AnnotationSet(path=path, n_bytes=size, **given)
    if size > MOST_BYTES:
        raise AgreementInputError(
            f"An annotation file must have at most {MOST_BYTES >> 20:,} MB, got {found.place!r} with {size >> 20:,} "
            "MB; split it"
        )
    with path.open("rb") as opened:
        first = opened.read(1 << 20)
        if first.startswith(b"PK\x03\x04"):
            raise AgreementInputError(
                f"{found.place!r} must be a text, got a ZIP archive or a workbook; unpack it, or save the sheet as CSV"
            )
        if kind is None:
            raise AgreementInputError(
                f"An annotation file must end in {shown(sorted(_SUFFIXES), 10)}, got {found.place!r}; for a format "
                "that FiftyOne reads, such as KITTI, say `format=fo.types.…`"
            )
        parts = chain([first], iter(lambda: opened.read(1 << 20), b""))
        n_bytes = sum(part.count(sign) * n for part in parts for sign, n in _OF_SIGNS[kind].items())
    found.reserve(n_bytes, "content, of many small parts")
    read_content(found, load_table(path) if kind == "a table" else _content(found, kind), format)
    return found


def read_content(found: AnnotationSet, content: Any, format: str) -> None:
    """Add the content of a file, whose format is recognised by the content.

    Raises:
        AgreementInputError: if it is of no format that is read, or not as its tool writes it
    """
    try:
        tool = next((title for title, fits in _TOOLS.items() if fits(content)), None)
        fitting = [name for name, known in _FORMATS.items() if tool is None and known.fits(content)]
        is_of = format if format in fitting else next(iter(fitting), None)
        if is_of is None or format not in ("auto", is_of):
            must = "of a format that can be read" if format == "auto" else TITLES[format]
            others = (title for title, fits in _OTHERS.items() if fits(content))
            like = tool or (next(others) if is_of is None else TITLES[is_of])
            raise AgreementInputError(
                f"{found.place!r} must be {must} ({shown(TITLES.values(), len(TITLES))}), got what looks like {like}; "
                + (_WITH_FIFTYONE if tool is None else _OF_ZOONIVERSE if tool == _ZOONIVERSE else _INSTEAD)
            )
        found.title = TITLES[is_of]
        if found.annotator is None and not _FORMATS[is_of].says_who:
            below = sorted(each.name for each in found.root.iterdir() if each.is_dir())
            raise AgreementInputError(
                f"{found.title} does not say who drew what: give the folder or file of each annotator, "
                '{"alice": path, "bob": path}, got '
                f"{str(found.root if found.is_of_folder else found.path)!r}"
                + (f", in which there are {shown(below)}" if below else "")
            )
        _FORMATS[is_of].read(found, content)
        found.order_named_points()
        if found.annotator is not None and len(found.pages) > 1:
            raise AgreementInputError(
                f"A file that is given for one annotator must be that annotator's alone, got {found.annotator!r} for a "
                f"file of {shown(sorted(found.pages))}; give the path alone, and rename them with `annotators`"
            )
        if found.annotator is not None:
            found.pages = {found.annotator: next(iter(found.pages.values()), {})}
    except AgreementInputError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise AgreementInputError(
            f"{found.place!r} must be as the tool writes it, got content that cannot be read: {error}"
        ) from error


#: the end of the message on a file that cannot be read, by error: what the file must be, and what it is
_UNREADABLE: dict[type[Exception], Callable[[Any], str]] = {
    json.JSONDecodeError: lambda error: f"JSON, got an error in line {error.lineno}: {error.msg}",
    UnicodeDecodeError: lambda error: f"text in UTF-8, got other bytes at {error.start}",
    RecursionError: lambda error: "annotations, got JSON nested too deep to be any",
    ParseError: lambda error: f"XML, got an error in line {error.position[0]}: {error.msg}",
    LookupError: lambda error: f"in an encoding that Python knows, got {error}",
    DefusedXmlException: lambda error: (
        f"XML without entities of its own, which annotation tools do not write, got {error}"
    ),
    ValueError: lambda error: f"as the tool writes it, got content that cannot be read: {error}",
}


def _content(found: AnnotationSet, kind: str) -> Any:
    """The value in a JSON file, the root element of an XML file, or the lines of a text."""
    try:
        if kind == "XML":
            return parse_xml(found.path).getroot()
        content = found.path.read_bytes()
        text = content.decode("utf-8-sig" if content.startswith(codecs.BOM_UTF8) else json.detect_encoding(content))
        if kind != "JSON":
            return tuple(text.splitlines())
        first, _, rest = text.strip().partition("\n")  # an object on each line
        has_lines = first.startswith("{") and first.rstrip().endswith("}") and rest.lstrip().startswith("{")
        if has_lines or found.path.suffix.lower() in _OF_LINES:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        return json.loads(text)
    except tuple(_UNREADABLE) as error:
        told = next(told for kind_of_error, told in _UNREADABLE.items() if isinstance(error, kind_of_error))
        raise AgreementInputError(f"{found.place!r} must be {told(error)}") from error


_ZOONIVERSE = "Zooniverse's export of classifications"
#: formats of tools that are not read, and how their content is recognised
_TOOLS: dict[str, Callable[[Any], bool]] = {
    "Labelbox's export": lambda content: (
        _begins_with(content, "data_row", "projects") or _begins_with(content, "Labeled Data")
    ),
    "V7 Darwin JSON": lambda content: _begins_with(content, "item", "annotations"),
    "Supervisely's JSON": lambda content: _begins_with(content, "objects", "size"),
    "Prodigy's JSON": lambda content: _begins_with(content, "_input_hash"),
    _ZOONIVERSE: lambda content: (
        {"classification_id", "annotations", "subject_ids"} <= {*map(str, content.columns)}
        if isinstance(content, pd.DataFrame)
        else _begins_with(content, "subject_ids") or _begins_with(content, "task", "value")
    ),
    "GeoJSON (as of QuPath)": lambda content: isinstance(content, dict) and content.get("type") == "FeatureCollection",
}
#: other contents that are not read, and how they are recognised, in this order
_OTHERS: dict[str, Callable[[Any], bool]] = {
    "COCO results (detections without images)": lambda content: _begins_with(content, "image_id", "category_id"),
    "a FiftyOne dataset": lambda content: _is_mapping_with(content, "samples"),
    "XML of another tool": lambda content: hasattr(content, "tag"),
    "JSON of a tool that we do not know": lambda content: True,
}
_WITH_FIFTYONE = (
    "formats that FiftyOne reads are given as `format=fo.types.…`, with one path for each annotator: "
    '{"alice": path, "bob": path}'
)
#: what to do with files of tools whose formats are not read
_INSTEAD = (
    "export COCO JSON or Pascal VOC for each annotator from there, or write a long table: a row for each label, with "
    "image, annotator, class, and a box or polygon"
)
_OF_ZOONIVERSE = (
    "make a long table of it: a row for each answer or drawing in its `annotations`, with image (of `subject_data`), "
    "annotator (`user_name`), class, and a box or polygon"
)


def read_with_fiftyone(
    paths: Mapping[str, Path], dataset_type: type, media_dir: Path | None, label_types: str | Iterable[str] | None
) -> AnnotationSet:
    """The labels of every annotator, from FiftyOne's importers.

    Args:
        paths: the folder, or the file with the labels, of each annotator
        dataset_type: FiftyOne's type of the format
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
        options: dict[str, Any] = {"labels_path": str(path)} if path.is_file() else {"dataset_dir": str(path)}
        if media_dir is not None:
            options["data_path"] = str(media_dir)
        made: Any = dataset_type()
        if "label_types" in inspect.signature(made.get_dataset_importer_cls()).parameters:
            options["label_types"] = [label_types] if isinstance(label_types, str) else [*(label_types or [DETECTIONS])]
        dataset = fo.Dataset()
        try:
            dataset.add_dir(dataset_type=dataset_type, progress=False, **options)
            if not dataset.count():
                raise AgreementInputError(
                    f"The path of {annotator!r} must hold images with their labels, got none in {str(path)!r}"
                    + ("" if media_dir else "; say `media_dir=` if the images are elsewhere")
                )
            if dataset.media_type != "image":
                raise AgreementInputError(f"Labels must be of images, got {dataset.media_type}s in {str(path)!r}")
            fields = [name for name in dataset.get_field_schema() if name not in default_fields(dataset)]
            for document in sample_collection(dataset).find({}):
                # the annotator looked at every image of the set, also at those without labels
                page, metadata = found.page(annotator, document["filepath"]), document.get("metadata") or {}
                page.scale = (1.0, 1.0)
                page.size_px = stored_size(metadata.get("width"), metadata.get("height"))
                for name, value in ((name, document.get(name)) for name in fields):
                    stored = _READ.get(value.get("_cls")) if isinstance(value, dict) else None
                    if value is None or stored is None:
                        continue
                    drawn_as, list_field = LABEL_TYPES_OF.get(stored, CLASSES), list_of(stored)
                    question = name if drawn_as == CLASSES else ""
                    if name in LABEL_TYPES:  # an importer of several label types names its fields after them
                        drawn_as = name
                    for each in (value.get(list_field[0]) or ()) if list_field else (value,):
                        label = DrawnLabel(each.get("label"), document=each, document_type=drawn_as, question=question)
                        page.labels.append(label)
        except AgreementInputError:
            raise
        except Exception as error:  # errors of importers come from the user's files
            raise AgreementInputError(
                f"The path of {annotator!r} must hold a {dataset_type.__name__}, got {str(path)!r}, which FiftyOne "
                f"cannot read: {error or type(error).__name__}"
            ) from error
        finally:
            dataset.delete()
    return found


def type_names() -> list[str]:
    """Names of the types of labelled images that FiftyOne reads."""
    kinds = [kind for kind in vars(fot).values() if inspect.isclass(kind) and issubclass(kind, fot.LabeledImageDataset)]
    return sorted(kind.__name__ for kind in kinds if kind is not fot.LabeledImageDataset)
