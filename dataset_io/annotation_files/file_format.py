"""Which format a file has, and its content, read so that no file can do harm or fill the memory."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import parse as parse_xml

from ...agreement.settings.errors import AgreementInputError, shown
from . import coco_json, cvat_xml, label_studio, long_table
from .annotation_set import AnnotationSet, most_pixels_of, room_for
from .image_names import files_in

#: the formats that we read ourselves
LABEL_STUDIO, COCO, CVAT, TABLE = "label_studio", "coco", "cvat", "table"
TITLES = {
    LABEL_STUDIO: label_studio.TITLE,
    COCO: coco_json.TITLE,
    CVAT: cvat_xml.TITLE,
    TABLE: long_table.TITLE,
}
_SUFFIXES = {".json": "JSON", ".xml": "XML", **dict.fromkeys(long_table.SUFFIXES, "a table")}
#: bytes that the parts of a file take when it is read, by the signs that begin them, measured
_OF_SIGNS = {
    "JSON": {b",": 32, b"{": 200, b"[": 72},
    "XML": {b"<": 150, b"=": 110},
    "a table": {b",": 25, b"\t": 25, b"\n": 50},
}
#: larger files would fill the memory while they are read
MOST_BYTES = 1 << 30
#: names that tools give to all of their files: the folder tells whose they are
_NAMES_OF_TOOLS = {"annotations", "instances_default", "labels", "result", "result_coco", "export", "data", "coco"}


def read_annotations(
    path: Path, format: str, annotator: str | None, columns: Mapping[str, str] | None
) -> AnnotationSet:
    """What a file, or every file of a folder, says.

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
        return _read_file(path, format, annotator, columns, in_folder=False)
    files, kinds = [], set()
    for file in map(Path, files_in(path, "source")):
        kind = _SUFFIXES.get(file.suffix.lower())
        if kind is not None and file.is_file():
            files.append(file)
            kinds.add(kind)
        if len(kinds) > 1:
            break
    if len(kinds) != 1:
        raise AgreementInputError(
            "A folder must hold annotation files of one format (JSON, XML or tables), got "
            f"{shown(sorted(kinds)) or 'none'} in {str(path)!r}; for a format that FiftyOne reads, such as YOLO, say "
            "`format=fo.types.…`"
        )
    sets = [_read_file(file, format, annotator, columns, in_folder=True) for file in sorted(files)]
    for other in sets[1:]:
        if other.title != sets[0].title:
            raise AgreementInputError(
                f"A folder must hold annotation files of one format, got {sets[0].title} and {other.title} in "
                f"{str(path)!r}"
            )
        sets[0].add(other)
    return sets[0]


def _read_file(
    path: Path, format: str, annotator: str | None, columns: Mapping[str, str] | None, *, in_folder: bool
) -> AnnotationSet:
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise AgreementInputError(
            f"An annotation file must have at most {MOST_BYTES >> 20:,} MB, got {path.name!r} with {size >> 20:,} MB; "
            "split it"
        )
    kind = _SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise AgreementInputError(
            f"An annotation file must end in {shown(sorted(_SUFFIXES), 10)}, got {path.name!r}; for a format that "
            "FiftyOne reads, such as YOLO, say `format=fo.types.…`"
        )
    try:
        found = _parsed(path, kind, format, annotator, columns, in_folder=in_folder)
        found.most_pixels = most_pixels_of(size)
        return found
    except AgreementInputError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise AgreementInputError(
            f"{path.name!r} must be as the tool writes it, got content that cannot be read: {error}"
        ) from error


def _parsed(
    path: Path, kind: str, format: str, annotator: str | None, columns: Mapping[str, str] | None, *, in_folder: bool
) -> AnnotationSet:
    """What a file of a kind says."""
    own_name = path.parent.name if path.stem.lower() in _NAMES_OF_TOOLS else path.stem
    room = _room(path, kind)
    if kind == "a table":
        _check_format(path, format, TABLE)
        return long_table.read_table(long_table.load_table(path), annotator, columns, room)
    if kind == "XML":
        root = _xml(path)
        _check_format(path, format, _format_of_xml(root))
        return cvat_xml.read_cvat(root, annotator, own_name, room)
    content = _json(path)
    found = _format_of_json(content)
    _check_format(path, format, found)
    if found == LABEL_STUDIO:
        tasks = content if isinstance(content, list) else [content]
        return _of_one(label_studio.read_label_studio(tasks, room), annotator)
    return coco_json.read_coco(
        content, annotator or (own_name if in_folder and not coco_json.names_raters(content) else None), room
    )


def _room(path: Path, kind: str) -> int:
    """Bytes that may be made of a file, without its own content.

    Raises:
        AgreementInputError: if its content alone is more
    """
    n_signs: Counter[bytes] = Counter()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            for sign in _OF_SIGNS[kind]:
                n_signs[sign] += part.count(sign)
    found = AnnotationSet("", room=room_for(path.stat().st_size))
    found.reserve(sum(n * _OF_SIGNS[kind][sign] for sign, n in n_signs.items()), "content, of many small parts")
    return found.room


def _of_one(found: AnnotationSet, annotator: str | None) -> AnnotationSet:
    """The set, under the name that was given for the only annotator in it."""
    if annotator is not None:
        if len(found.pages) > 1:
            raise AgreementInputError(
                f"A file that is given for one annotator must be that annotator's alone, got {annotator!r} for a file "
                f"of {shown(sorted(found.pages))}; give the path alone, and rename them with `annotators`"
            )
        found.pages = dict.fromkeys([annotator], next(iter(found.pages.values()), {}))
    return found


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise AgreementInputError(
            f"{path.name!r} must be JSON, got an error in line {error.lineno}: {error.msg}"
        ) from error
    except UnicodeDecodeError as error:
        raise AgreementInputError(f"{path.name!r} must be text in UTF-8, got other bytes at {error.start}") from error
    except RecursionError as error:
        raise AgreementInputError(f"{path.name!r} must be annotations, got JSON nested too deep to be any") from error


def _xml(path: Path) -> Element:
    try:
        root: Element = parse_xml(path).getroot()
    except ParseError as error:
        raise AgreementInputError(
            f"{path.name!r} must be XML, got an error in line {error.position[0]}: {error.msg}"
        ) from error
    except LookupError as error:
        raise AgreementInputError(f"{path.name!r} must be in an encoding that Python knows, got {error}") from error
    except DefusedXmlException as error:
        raise AgreementInputError(
            f"{path.name!r} must be XML without entities of its own, which annotation tools do not write, got {error}"
        ) from error
    return root


#: how files of other formats can be told, and what they are
_OTHER_JSON: dict[str, Callable[[Any], bool]] = {
    "LabelMe JSON": lambda content: isinstance(content, dict) and {"shapes", "imagePath"} <= content.keys(),
    "VGG Image Annotator JSON": lambda content: isinstance(content, dict) and "_via_img_metadata" in content,
    "GeoJSON": lambda content: isinstance(content, dict) and content.get("type") == "FeatureCollection",
    "COCO results (detections without images)": lambda content: _is_list_with(content, "image_id", "category_id"),
    "Label Studio's JSON-MIN, which lacks who drew what (export JSON)": lambda content: _is_list_with(
        content, "annotator"
    ),
    "a FiftyOne dataset": lambda content: isinstance(content, dict) and "samples" in content,
}


def _is_list_with(content: Any, *keys: str) -> bool:
    return isinstance(content, list) and bool(content) and isinstance(content[0], dict) and content[0].keys() >= {*keys}


def _format_of_json(content: Any) -> str:
    if isinstance(content, dict) and "images" in content and "annotations" in content:
        return COCO
    if _is_list_with(content if isinstance(content, list) else [content], "data"):
        return LABEL_STUDIO
    return next((title for title, fits in _OTHER_JSON.items() if fits(content)), "JSON of a tool that we do not know")


def _format_of_xml(root: Element) -> str:
    if root.tag == "annotations":
        return CVAT
    return "Pascal VOC" if root.tag == "annotation" else f"XML of <{root.tag}>"


def _check_format(path: Path, wanted: str, found: str) -> None:
    if found in TITLES and wanted in ("auto", found):
        return
    title = TITLES.get(found, found)
    must = "of a format that can be read" if wanted == "auto" else TITLES[wanted]
    raise AgreementInputError(
        f"{path.name!r} must be {must} ({shown(TITLES.values(), 9)}), got what looks like {title}; formats that "
        "FiftyOne reads are given as `format=fo.types.…`, with one path for each annotator: "
        '{"alice": path, "bob": path}'
    )
