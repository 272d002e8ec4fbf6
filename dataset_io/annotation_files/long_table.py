"""A long table, read and written: a row for each label, with its image and annotator."""

from __future__ import annotations

import ast
import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from ...agreement.settings.errors import AgreementInputError, shown
from ..results.export import as_it_was, not_a_formula
from .annotation_set import OF_RUN, QUESTION, AnnotationSet, DrawnLabel, ImageKey, Point, StoredImage

#: how a file of a table may end, and what separates its columns; None: no text
SUFFIXES: dict[str, str | None] = {".csv": ",", ".tsv": "\t", ".parquet": None}

#: texts that stand for nothing in tables of other programs; ours have an apostrophe in front
_ABSENT = ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
           "NA", "NULL", "NaN", "None", "n/a", "nan", "null")  # fmt: skip
_LIKE_ABSENT = re.compile(f"'*({'|'.join(map(re.escape, _ABSENT))})")

#: the meanings of columns, and names that are taken for them, in lower case without "_", "-" and blanks
_NAMES = {
    "image": "image imageid imagename imagepath img imgid filename filepath file path item url",
    "annotator": "annotator annotatorid rater raterid radid reader readerid worker workerid user userid username "
    "labeler labeller completedby uid reviewer",
    "label": "label class classname classlabel category categoryname tag diagnosis finding",
    "value": "value rating score grade number",
    "x_min": "xmin x1 left xtl x0 bboxxmin",
    "y_min": "ymin y1 top ytl y0 bboxymin",
    "x_max": "xmax x2 right xbr bboxxmax",
    "y_max": "ymax y2 bottom ybr bboxymax",
    "x": "x bboxx",
    "y": "y bboxy",
    "width": "width w bboxwidth bboxw boxwidth",
    "height": "height h bboxheight bboxh boxheight",
    "image_width": "imagewidth imgwidth originalwidth widthpx imw",
    "image_height": "imageheight imgheight originalheight heightpx imh",
    "boxes": "boxes bboxes annotation annotations bbox box",
    "polygon": "polygon segmentation points vertices",
    "confidence": "confidence probability",
}
#: the meanings, the first of which every table needs
MEANINGS = tuple(_NAMES)
_CORNERS, _SIZES = ("x_min", "y_min", "x_max", "y_max"), ("x", "y", "width", "height")
#: with one corner of a box given as left and top, and its size
_MIXED = ("x_min", "y_min", "width", "height")
#: characters that are read of a file to find its columns
_MOST_OF_HEAD = 1 << 16
#: characters of a list in Python's spelling, whose reading takes a hundred times as much memory; JSON may be longer
_LONGEST_LITERAL = 1 << 20
#: cells that spell an empty list
_EMPTY = ("", "[]", "()")
#: classes of rows that mean that nothing was found
_NOTHING = {"no finding", "no findings", "nothing", "none", "empty", "no object", "no objects"}


def load_table(path: Path) -> pd.DataFrame:
    """The table in a file."""
    separator = SUFFIXES[path.suffix.lower()]
    try:
        if separator is None:
            return pd.read_parquet(path)
        names = _column_names(path, separator)
        meant = guessed_columns(list(names.values()))
        # names of images and annotators are texts, even where they look like numbers
        texts = {meant[key] for key in ("image", "annotator", "label") if key in meant}
        types = {stored: str for stored, name in names.items() if name in texts}
        absent = {"keep_default_na": False, "na_values": list(_ABSENT)}
        table = pd.read_csv(path, sep=separator, dtype=types, encoding="utf-8-sig", **absent).rename(columns=names)
        return table.map(lambda cell: _text_of(cell) if isinstance(cell, str) else cell)
    except ImportError as error:
        raise AgreementInputError(f"Reading {path.name!r} needs pyarrow: pip install pyarrow") from error
    except (ValueError, OSError) as error:
        raise AgreementInputError(f"{path.name!r} must be a table, got an error: {error}") from error


def _cell_of(text: str) -> str:
    """Escaped text of a table cell: neither a formula nor a text that reads as absent."""
    return f"'{text}" if _LIKE_ABSENT.fullmatch(text) else not_a_formula(text)


def _text_of(cell: str) -> str:
    """The text for which a cell stands."""
    return cell[1:] if cell.startswith("'") and _LIKE_ABSENT.fullmatch(cell) else as_it_was(cell)


def _column_names(path: Path | io.StringIO, separator: str) -> dict[str, str]:
    """The columns of a file of text as they are in it, and as they were before any became no formula."""
    stored = list(pd.read_csv(path, sep=separator, nrows=0, encoding="utf-8-sig").columns)
    names = list(map(as_it_was, stored))
    return dict(zip(stored, names if len(set(names)) == len(names) else stored, strict=True))


def guessed_columns(columns: list[Any]) -> dict[str, str]:
    """The column of every meaning that is found, by usual names."""
    plain = {str(name).lower().translate(str.maketrans("", "", "_- .")): str(name) for name in reversed(columns)}
    found = {}
    for meaning, names in _NAMES.items():
        usual = next((plain[name] for name in names.split() if name in plain), None)
        if usual is not None:
            found[meaning] = usual
    return found


def column_choices(path: Path) -> tuple[list[str], dict[str, str]]:
    """The columns of a file of text, and the meanings that are guessed; none for other files."""
    separator = SUFFIXES.get(path.suffix.lower())
    if separator is None or not path.is_file():
        return [], {}
    try:
        with path.open(encoding="utf-8-sig") as file:
            head = file.read(_MOST_OF_HEAD)
        columns = list(_column_names(io.StringIO(head), separator).values())
    except (ValueError, OSError):
        return [], {}  # the import says why
    return columns, guessed_columns(columns)


def read_table(
    found: AnnotationSet, table: pd.DataFrame, annotator: str | None, columns: Mapping[str, str] | None
) -> None:
    """Add all labels of a table.

    Args:
        found: what they are added to
        table: the rows
        annotator: whose labels they are; None: a column says it
        columns: which column has which meaning, where it cannot be guessed

    Raises:
        AgreementInputError: if columns are not found or do not fit together
    """
    meant = _meanings(table, columns, annotator)
    values = {meaning: [None if _is_absent(cell) else cell for cell in table[column].tolist()]
              for meaning, column in meant.items()}  # fmt: skip

    def rows() -> Iterator[dict[str, Any]]:
        """The cells of each row by their meanings; made anew each time, as they would fill the memory."""
        return (dict(zip(values, cells, strict=True)) for cells in zip(*values.values(), strict=True))

    corners = next((names for names in (_CORNERS, _SIZES, _MIXED) if set(names) <= meant.keys()), None)
    drawn = corners is not None or "boxes" in meant or "polygon" in meant
    found.notes.append(f"Columns: {'; '.join(f'{meaning}: {column}' for meaning, column in meant.items())}")
    no_attributes = {*meant.values(), *(OF_RUN if OF_RUN[0] in table.columns else ())}
    attributes = {column: table[column].tolist() for column in table.columns if column not in no_attributes}
    shapes = [_shapes(row, corners) for row in rows()] if drawn else []
    in_shares = _are_shares(chain.from_iterable(shapes))
    if drawn:
        found.notes.append(f"Coordinates are read as {'shares of the image' if in_shares else 'pixels'}")
    n_none = 0
    for number, row in enumerate(rows()):
        name, owner = row["image"], annotator if annotator is not None else row["annotator"]
        if name is None or owner is None:
            found.left_out.add("rows without an image or an annotator", f"row {number + 1}")
            continue
        page = found.page(_as_text(owner), ImageKey(_as_text(name)))
        width, height = row.get("image_width"), row.get("image_height")
        if width is not None and height is not None:
            page.size_px = (int(width), int(height))
        page.scale = (1.0, 1.0) if in_shares else None
        text = None if row.get("label") is None else _as_text(row["label"])
        if drawn and not shapes[number]:
            coordinates = (row.get(key) for key in (*(corners or ()), "boxes", "polygon"))
            has_any = any(cell is not None and not (isinstance(cell, str) and cell.strip() in _EMPTY)
                          for cell in coordinates)  # fmt: skip
            if text is not None and text.lower() not in _NOTHING and has_any:
                found.left_out.add("rows whose coordinates cannot be read", f"row {number + 1}")
            n_none += 1
            continue
        for shape in shapes[number] if drawn else ():
            shape.label = text
            shape.attributes = {key: column[number] for key, column in attributes.items()
                                if isinstance(column[number], str | int | float)
                                and not _is_absent(column[number])}  # fmt: skip
            shape.confidence = None if row.get("confidence") is None else float(row["confidence"])
            found.add_label(page, shape)
        value = row.get("value")
        if not drawn and (value is not None or text is not None):
            found.add_label(page, _answer(text, value))
    if drawn and n_none:
        found.notes.append(f"{n_none} rows say that nothing was found: their annotators looked and drew nothing")


def _meanings(table: pd.DataFrame, columns: Mapping[str, str] | None, annotator: str | None) -> dict[str, str]:
    """The column of every meaning."""
    names = list(map(str, table.columns))
    table.columns = pd.Index(names)
    given = dict(columns or {})
    unknown = sorted(given.keys() - _NAMES.keys()), sorted(set(given.values()) - set(names))
    if any(unknown):
        raise AgreementInputError(
            f"`columns` must map meanings ({shown(_NAMES, 20)}) to columns of the table ({shown(names, 20)}), got "
            f"{shown(map(repr, [*unknown[0], *unknown[1]]))}"
        )
    guessed = {meaning: name for meaning, name in guessed_columns(names).items() if name not in given.values()}
    meant = {**guessed, **given}
    if annotator is not None:
        meant.pop("annotator", None)
    if not meant.keys() & {*_CORNERS, *_SIZES, "boxes", "polygon", "label", "value"}:
        missing = "label"
    else:
        missing = next((key for key in ("image", "annotator") if key not in meant), "")
    if missing and not (missing == "annotator" and annotator is not None):
        raise AgreementInputError(
            f"A table must have a column for the {missing}, got the columns {shown(names, 20)}; say which it is with "
            f'columns={{{missing!r}: …}}, or one for each annotator: columns={{"label": ["alice", "bob"]}}'
        )
    if set(_CORNERS) <= meant.keys():  # beside corners a width and a height are those of the image
        for side in ("width", "height"):
            if side in meant:
                meant.setdefault(f"image_{side}", meant.pop(side))
    if meant.keys() & {*_CORNERS, *_SIZES, "boxes", "polygon"} and "value" in meant:
        meant.setdefault("confidence", meant.pop("value"))
    return meant


def _is_absent(value: object) -> bool:
    return value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def _as_text(value: Any) -> str:
    """A text; of a number without a fraction its digits."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _shapes(row: Mapping[str, Any], corners: tuple[str, ...] | None) -> list[DrawnLabel]:
    """The boxes or the polygon of a row; none where they are empty."""
    rings = _rings(_evaluated(row.get("polygon")))
    if rings:
        return [DrawnLabel(None, rings=rings)]
    if corners is not None:
        try:
            x, y, a, b = (float(row[name]) for name in corners)
        except (TypeError, ValueError):
            return []
        return [DrawnLabel(None, box=(x, y, a - x, b - y) if corners == _CORNERS else (x, y, a, b))]
    boxes = _evaluated(row.get("boxes"))
    is_one = len(boxes) == 4 and all(isinstance(number, int | float) for number in boxes)
    found = []
    for box in [boxes] if is_one else boxes:
        flat = [float(number) for part in box for number in (part if isinstance(part, list | tuple) else [part])]
        if len(flat) == 4:
            (left, right), (top, bottom) = sorted(flat[::2]), sorted(flat[1::2])
            found.append(DrawnLabel(None, box=(left, top, right - left, bottom - top)))
    return found


def _evaluated(value: Any) -> list[Any]:
    """The list that a cell holds or spells."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            if len(value) > _LONGEST_LITERAL:
                return []
            try:
                value = ast.literal_eval(value)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                return []
    if hasattr(value, "tolist"):
        value = value.tolist()
    return list(value) if isinstance(value, list | tuple) else []


def _rings(value: list[Any]) -> list[list[Point]]:
    """Rings from a flat list of coordinates, a list of points, or a list of either."""
    if not value:
        return []
    if not isinstance(value[0], list | tuple):
        return [[(float(x), float(y)) for x, y in zip(value[::2], value[1::2], strict=False)]]
    if len(value[0]) == 2 and not isinstance(value[0][0], list | tuple):
        return [[(float(point[0]), float(point[1])) for point in value]]
    return [ring for part in value for ring in _rings(list(part))]


def _are_shares(shapes: Iterable[DrawnLabel]) -> bool:
    """True if all coordinates are shares of the image: none is beyond 1."""
    is_any = False
    for shape in shapes:
        is_any = True
        ring_values = (value for ring in shape.rings or () for point in ring for value in point)
        if not all(abs(value) <= 1.0 + 1e-6 for value in chain(shape.box or (), ring_values)):
            return False
    return is_any


def _answer(text: str | None, value: Any) -> DrawnLabel:
    """The class or number of a row without coordinates; beside a value the text is the question."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return DrawnLabel(None, value=float(value), question=text or QUESTION)
    if value is not None:
        return DrawnLabel(_as_text(value), question=text or QUESTION)
    return DrawnLabel(text, question=QUESTION)


def not_in_table(label: DrawnLabel) -> str:
    """Reason why a table cannot hold a label; empty if it can."""
    if label.points is not None:
        return "keypoints, which a table does not have"
    return "" if label.closed else "open lines, which a table does not have"


def table_text(images: Sequence[StoredImage], found: AnnotationSet) -> str:
    """All annotations as CSV without formulas.

    A row without a class and coordinates says that somebody looked and found nothing.

    Args:
        images: the images; the sizes of those with regions are known
        found: what was drawn on them, as shares of the image; labels that a table can hold
    """
    image_at = {image.path: image for image in images}
    drawn = [(image_at[key.name], owner, label) for owner, pages in found.pages.items()
             for key, page in pages.items() for label in page.labels or [DrawnLabel(None)]]  # fmt: skip
    shapes = [_in_pixels(label, image.size_px) for image, _, label in drawn]
    if _are_shares(shapes):  # a table without a number beyond 1 is read as one of shares
        shapes = [label for _, _, label in drawn]
    rows = [
        {"image": image.name, "annotator": owner, **_row(label, shape, image)}
        for (image, owner, label), shape in zip(drawn, shapes, strict=True)
    ]
    order = {name: number for number, name in enumerate(_NAMES)}
    columns = sorted({name: None for row in rows for name in row}, key=lambda name: order.get(name, len(order)))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")  # texts with either of its characters are quoted
    writer.writerow(map(not_a_formula, columns))
    for row in rows:
        cells = map(row.get, columns)
        writer.writerow(_cell_of(cell) if isinstance(cell, str) else cell for cell in cells)
    return text.getvalue()


def _in_pixels(label: DrawnLabel, size_px: tuple[int, int] | None) -> DrawnLabel:
    """Drawn labels, in pixels."""
    width, height = size_px or (1, 1)
    rings = [[(x * width, y * height) for x, y in ring] for ring in label.rings or ()]
    x, y, a, b = label.box or (0.0,) * 4
    return DrawnLabel(None, label.box and (x * width, y * height, a * width, b * height), rings or None)


def _row(label: DrawnLabel, shape: DrawnLabel, image: StoredImage) -> dict[str, Any]:
    """The cells of a label."""
    row: dict[str, Any] = {"label": label.label}
    if label.value is not None:
        row["value"] = label.value
    if shape.rings:
        row["polygon"] = json.dumps(shape.rings)
    elif shape.box is not None:
        x, y, width, height = shape.box
        row |= dict(zip(_CORNERS, (x, y, x + width, y + height), strict=True))
    if label.confidence is not None:
        row["confidence"] = label.confidence
    if image.size_px is not None:
        row |= dict(zip(("image_width", "image_height"), image.size_px, strict=True))
    # a column whose name has a meaning for tables is read as that
    attributes = {f"attribute_{name}" if guessed_columns([name]) else name: value
                  for name, value in label.attributes.items()}  # fmt: skip
    return {**row, **attributes, **label.of_run}
