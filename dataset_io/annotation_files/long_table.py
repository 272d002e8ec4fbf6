"""Read and write long tables, with a row for each label; find out what their columns, boxes and units mean."""

from __future__ import annotations

import ast
import codecs
import contextlib
import csv
import io
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
import shapely

from ...agreement.settings.errors import AgreementInputError, shown
from ..results.export import as_it_was, not_a_formula
from .annotation_set import OF_RUN, QUESTION, AnnotationSet, DrawnLabel, StoredImage
from .coco_json import joined_rings
from .file_values import Point, id_text, may_be_thousands, number_in, stored_size

#: endings of files with tables, and what separates the columns; None: the file is no text
SUFFIXES: dict[str, str | None] = {".csv": ",", ".tsv": "\t", ".parquet": None}

#: texts that mean no value in tables of other programs; we write values like these with an apostrophe in front
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
    "x_center": "xcenter xcentre centerx centrex xc cx xctr xmid bboxxcenter",
    "y_center": "ycenter ycentre centery centrey yc cy yctr ymid bboxycenter",
    "boxes": "boxes bboxes annotation annotations bbox box",
    "boxes_xyxy": "xyxy bboxxyxy boxxyxy bboxesxyxy boxesxyxy x1y1x2y2",
    "boxes_xywh": "xywh bboxxywh boxxywh bboxesxywh boxesxywh ltwh",
    "polygon": "polygon segmentation points vertices",
    "confidence": "confidence probability",
}
#: the meanings; every table needs a column with the first one
MEANINGS = tuple(_NAMES)
_CORNERS, _SIZES = ("x_min", "y_min", "x_max", "y_max"), ("x", "y", "width", "height")
#: columns of a box: left, top and size, or centre and size
_MIXED, _CENTRES = ("x_min", "y_min", "width", "height"), ("x_center", "y_center", "width", "height")
_POINT = ("x", "y")
#: columns of boxes, and what messages call them
_BOXES = {
    _CORNERS: "two corners",
    _CENTRES: "centre and size",
    _SIZES: "upper left corner and size",
    _MIXED: "upper left corner and size",
}
_IN_CELLS = ("boxes", "boxes_xyxy", "boxes_xywh", "polygon")
_PLACES = {*_CORNERS, *_SIZES, *_CENTRES, *_IN_CELLS}
#: plain names of columns that look like coordinates, and of columns that look like the rotation of a box
_COORDINATE = re.compile(
    r"(b?box|rect|roi)?[xy](min|max|center|centre|ctr|mid|tl|br|c|left|right|top|bottom|start|end|px|rel|norm|\d)*"
    r"|(c|mid|center|centre|centroid|start|end|min|max)[xy]|left|top|right|bottom"
    r"|(b?box|rect|roi)(left|top|right|bottom|w|h|width|height)"
)
_ANGLE = re.compile(r"(angle|rotation|rot|theta)(deg|degrees|angle|rad)?")
#: first bytes of texts in UTF-32 or UTF-16
_MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
#: bytes that are read of a file to find its columns
_MOST_OF_HEAD = 1 << 16
#: most characters of a list in Python's notation: reading takes a hundred times as much memory; JSON may be longer
_LONGEST_LITERAL = 1 << 20
#: texts of cells for an empty list
_EMPTY = ("", "[]", "()")


def load_table(path: Path) -> pd.DataFrame:
    """The table in a file; its ``attrs`` have a note if separator or encoding is unusual."""
    usual = SUFFIXES[path.suffix.lower()]
    try:
        if usual is None:
            return pd.read_parquet(path)
        layout, names = _layout(path)
        meant = guessed_columns(list(names.values()))
        # names of images and annotators are texts, even where they look like numbers
        texts = {meant[key] for key in ("image", "annotator", "label") if key in meant}
        types = {stored: str for stored, name in names.items() if name in texts}
        # "None" is a class, also in the columns of annotators where there is none of classes
        classes = {meant["label"]} if "label" in meant else {*names.values()} if "annotator" not in meant else set()
        absent = {stored: [text for text in _ABSENT if text != "None" or name not in classes]
                  for stored, name in names.items()}  # fmt: skip
        table = pd.read_csv(path, dtype=types, keep_default_na=False, na_values=absent, **layout)
    except ImportError as error:
        raise AgreementInputError(f"Reading {path.name!r} needs pyarrow: pip install pyarrow") from error
    except (ValueError, OSError) as error:
        raise AgreementInputError(f"{path.name!r} must be a table, got an error: {error}") from error
    # without the apostrophe that an export puts in front of some texts
    table = table.rename(columns=names).map(
        lambda cell: cell if not isinstance(cell, str) else cell[1:] if cell.startswith("'") and
        _LIKE_ABSENT.fullmatch(cell) else as_it_was(cell))  # fmt: skip
    if layout["sep"] != usual or layout["encoding"] != "utf-8-sig":
        encoding = layout["encoding"].removesuffix("-sig")
        table.attrs["read_as"] = f"columns parted by {layout['sep']!r}, letters in {encoding}"
    return table


def _layout(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """How pandas must read a text file with a table, as spreadsheets write it, and the names of its columns.

    Returns:
        encoding, separator, and number of lines before the columns; and the names of columns by those in the file
    """
    with path.open("rb") as file:
        head = file.read(_MOST_OF_HEAD)
        encoding = next((name for mark, name in _MARKS.items() if head.startswith(mark)), "utf-8-sig")
        if encoding == "utf-8-sig" and b"\0" in head:
            # of most letters in UTF-16 one of the two bytes is 0
            zeros = {"utf-16-le": head[1::2].count(0), "utf-16-be": head[::2].count(0)}
            encoding = max(zeros, key=zeros.__getitem__)
            if not 4 * zeros[encoding] > len(head) // 2 > 3 * min(zeros.values()):
                raise ValueError("it holds bytes that are no text")
        elif encoding == "utf-8-sig":
            decoder = codecs.getincrementaldecoder("utf-8")()
            try:
                decoder.decode(head)
                for part in iter(lambda: file.read(1 << 20), b""):
                    decoder.decode(part)
            except UnicodeDecodeError:
                encoding = "cp1252"
    first = head.decode(encoding, "ignore").lstrip().partition("\n")[0]
    said, outside = re.fullmatch(r"sep=(.)", first.strip()), re.sub(r'"[^"]*"', "", first)
    separator = said[1] if said else max((SUFFIXES[path.suffix.lower()] or ",", *",;\t|"), key=outside.count)
    layout = {"encoding": encoding, "sep": separator, "skiprows": int(bool(said))}
    stored = [*pd.read_csv(path, nrows=0, **layout).columns]
    names = [*map(as_it_was, stored)]
    return layout, dict(zip(stored, names if len(set(names)) == len(names) else stored, strict=True))


def guessed_columns(columns: list[Any]) -> dict[str, str]:
    """The columns by meaning, as far as they have usual names."""
    plain = {_plain(name): str(name) for name in reversed(columns)}
    found = {meaning: [plain[name] for name in names.split() if name in plain] for meaning, names in _NAMES.items()}
    return {meaning: names[0] for meaning, names in found.items() if names}


def column_choices(path: Path) -> tuple[list[str], dict[str, str]]:
    """The columns of a file of text, and the meanings that are guessed; none for other files."""
    if SUFFIXES.get(path.suffix.lower()) is None or not path.is_file():
        return [], {}
    try:
        columns = list(_layout(path)[1].values())
    except (ValueError, OSError):
        return [], {}  # the import says why
    return columns, guessed_columns(columns)


def read_table(
    found: AnnotationSet, table: pd.DataFrame, annotator: str | None, columns: Mapping[str, str] | None
) -> None:
    """Add all labels of a table.

    Args:
        found: the annotation set that they are added to
        table: the rows
        annotator: the annotator of all labels; None: a column names the annotators
        columns: which column has which meaning, where it cannot be guessed

    Raises:
        AgreementInputError: if columns are not found or do not fit together
    """
    if "read_as" in table.attrs:
        found.notes.append(f"The table is read with {table.attrs['read_as']}")
    meant = _meanings(table, columns, annotator)
    is_in_cells = bool(meant.keys() & {*_IN_CELLS})
    kinds: list[tuple[str, ...]] = [*_BOXES] if is_in_cells else [*_BOXES, _POINT]
    of_box = next((names for names in kinds if set(names) <= meant.keys()), ())
    drawn = bool(of_box) or is_in_cells
    meant = {key: column for key, column in meant.items() if key in {*of_box, *_IN_CELLS} or key not in _PLACES}
    values = {meaning: _cells(table, column) for meaning, column in meant.items()}
    _spell_with_points(values)
    numbers = [number_in(cell) for cell in values.get("value", ())]
    if numbers and numbers.count(None) == values["value"].count(None):
        values["value"] = numbers  # also where they are spelt with a comma
    if any(number_in(cell) is None for cell in values.get("confidence", ()) if cell is not None):
        del values["confidence"], meant["confidence"]  # words are no confidence, but an attribute

    def rows() -> Iterator[dict[str, Any]]:
        """The cells of each row by their meanings; made anew each time, as they would fill the memory."""
        return (dict(zip(values, cells, strict=True)) for cells in zip(*values.values(), strict=True))

    found.notes.append(f"Columns: {'; '.join(f'{meaning}: {column}' for meaning, column in meant.items())}")
    _check_coordinates(found, table, meant, drawn=drawn, upright=of_box not in ((), _POINT))
    if of_box in _BOXES:
        found.notes.append(f"Boxes are read as {_BOXES[of_box]}")
    of_cells = _meaning_of_cells(found, values) if "boxes" in meant else _CORNERS if "boxes_xyxy" in meant else _SIZES
    no_attributes = {*meant.values(), *(OF_RUN if OF_RUN[0] in table.columns else ())}
    attributes = {column: _cells(table, column) for column in table.columns if column not in no_attributes}
    if not drawn:
        found.unused["rows"].update(dict.fromkeys(attributes, len(table)))
    shapes = [_shapes(row, of_box, of_cells) for row in rows()] if drawn else []
    in_shares = _are_shares(chain.from_iterable(shape or () for shape in shapes))
    if drawn:
        found.notes.append(f"Coordinates are read as {'shares of the image' if in_shares else 'pixels'}")
        by_owner: dict[Any, list[DrawnLabel]] = defaultdict(list)
        for owner, own in zip(values["annotator"], shapes, strict=True) if not in_shares and annotator is None else ():
            by_owner[owner] += own or ()
        in_both = {owner for owner, own in by_owner.items()
                   if _are_shares(own) and any(value % 1 for shape in own for value in _numbers(shape))}  # fmt: skip
        if in_both:
            others = shown(repr(owner) for owner in by_owner.keys() - in_both)
            raise AgreementInputError(
                "Coordinates must have one unit, got shares of the image of "
                f"{shown(map(repr, sorted(in_both, key=str)))}, and pixels of {others}; give each annotator a table of "
                "their own"
            )
    n_none = 0
    for number, row in enumerate(rows()):
        name, owner = row["image"], annotator if annotator is not None else row["annotator"]
        if name is None or owner is None:
            found.left_out.add("rows without an image or an annotator", f"row {number + 1}")
            continue
        page = found.page(id_text(owner), id_text(name))
        size = stored_size(row.get("image_width"), row.get("image_height"))
        if page.size_px is not None and size not in (None, page.size_px):
            raise AgreementInputError(
                f"An image must have one size, got {page.size_px} and {size} for {id_text(name)!r} in the columns "
                f"{meant['image_width']!r} and {meant['image_height']!r}; are they sizes of boxes?"
            )
        page.size_px = page.size_px or size
        page.scale = (1.0, 1.0) if in_shares else None
        text, value = None if row.get("label") is None else id_text(row["label"]), row.get("value")
        made = shapes[number] if drawn else []
        if made is None:
            has_comma = any(may_be_thousands(row[name]) for name in of_box)
            why = " (a comma before three digits may separate thousands)" if has_comma else ""
            found.not_read(page, f"rows whose coordinates cannot be read{why}", f"row {number + 1}")
            continue
        n_none += drawn and not made
        for shape in made:
            shape.label = text
            said = ((key, column[number]) for key, column in attributes.items())
            shape.attributes = {key: value.isoformat() if hasattr(value, "isoformat") else value for key, value in said
                                if isinstance(value, str | int | float) or hasattr(value, "isoformat")}  # fmt: skip
            shape.confidence = number_in(row.get("confidence"))
            found.add_label(page, shape)
        if not drawn and isinstance(value, int | float) and not isinstance(value, bool):
            found.add_label(page, DrawnLabel(None, value=float(value), question=text or QUESTION))
        elif not drawn and value is not None:  # beside a value, the class is the question
            found.add_label(page, DrawnLabel(id_text(value), question=text or QUESTION))
        elif not drawn and text is not None:
            found.add_label(page, DrawnLabel(text, question=QUESTION))
    if n_none:
        found.notes.append(f"{n_none} rows say that nothing was found: their annotators looked and drew nothing")


def _meanings(table: pd.DataFrame, columns: Mapping[str, str] | None, annotator: str | None) -> dict[str, str]:
    """The column of every meaning."""
    names = list(map(str, table.columns))
    table.columns = pd.Index(names)
    given = dict(columns or {})
    unknown = [*sorted(given.keys() - _NAMES.keys()), *sorted(set(given.values()) - set(names))]
    if unknown:
        raise AgreementInputError(
            f"`columns` must map meanings ({shown(_NAMES, 20)}) to columns of the table ({shown(names, 20)}), got "
            f"{shown(map(repr, unknown))}"
        )
    guessed = {meaning: name for meaning, name in guessed_columns(names).items() if name not in given.values()}
    meant = {**guessed, **given}
    if annotator is not None:
        meant.pop("annotator", None)
    needed = ("image", "annotator") if annotator is None else ("image",)
    is_said = bool(meant.keys() & {*_PLACES, "label", "value"})
    missing = next((key for key in needed if key not in meant), "") if is_said else "label"
    if missing:
        raise AgreementInputError(
            f"A table must have a column for the {missing}, got the columns {shown(names, 20)}; say which it is with "
            f'columns={{{missing!r}: …}}, or one for each annotator: columns={{"label": ["alice", "bob"]}}'
        )
    if set(_CORNERS) <= meant.keys():  # beside corners a width and a height are those of the image
        for side, axis in (("width", "x"), ("height", "y")):
            if side in meant:
                size = meant.pop(side)
                span = _column(table, meant[f"{axis}_max"]) - _column(table, meant[f"{axis}_min"])
                if not ((span - _column(table, size)).dropna().abs() <= 1).all():  # else of the box
                    meant.setdefault(f"image_{side}", size)
    if meant.keys() & _PLACES - {"width", "height"} and "value" in meant:
        meant.setdefault("confidence", meant.pop("value"))
    return meant


def _plain(name: Any) -> str:
    """A name in lower case, without the characters between its words."""
    return str(name).lower().translate(str.maketrans("", "", "_- ."))


def _cells(table: pd.DataFrame, name: str) -> list[Any]:
    """The cells of a column, None where there is nothing."""
    cells: list[Any] = table[name].astype(object).where(table[name].notna(), None).tolist()
    return cells


def _spell_with_points(values: dict[str, list[Any]]) -> None:
    """Replace decimal commas by points in columns of numbers, if the table shows that its commas are decimal.

    It does if one is not before three digits, where it may separate thousands, and no number has a point.
    """
    columns = {name: cells for name, cells in values.items() if name not in ("image", "annotator", "label", *_IN_CELLS)}
    pointed = {name: [cell.replace(",", ".") if isinstance(cell, str) else cell for cell in cells]
               for name, cells in columns.items()}  # fmt: skip
    if any(number_in(new) is None for new in pointed.get("value", ()) if new is not None):
        del columns["value"]  # words are no numbers
    cells = list(chain.from_iterable(columns.values()))
    if any(isinstance(cell, str) and "," in cell and number_in(cell) is not None for cell in cells) and not any(
        "." in cell if isinstance(cell, str) else isinstance(cell, float) and cell % 1 for cell in cells
    ):
        values |= {name: pointed[name] for name in columns}


def _column(table: pd.DataFrame, name: str) -> pd.Series[float]:
    """The numbers of a column, nan for everything else."""
    return pd.Series([number_in(cell) for cell in table[name].tolist()], dtype=float)


def _check_coordinates(
    found: AnnotationSet, table: pd.DataFrame, meant: Mapping[str, str], *, drawn: bool, upright: bool
) -> None:
    """Note or refuse columns that look like coordinates but are not read; refuse boxes turned or off the image."""
    others = [name for name in table.columns if name not in meant.values()]
    strange = [name for name in others if _COORDINATE.fullmatch(_plain(name))]
    if strange and not drawn:
        raise AgreementInputError(
            f"Columns that look like coordinates must be those of a box ({'; '.join(map(', '.join, _BOXES))}), got "
            f"{shown(map(repr, strange))}; name what is missing with `columns`, or leave these columns out"
        )
    if strange:
        found.notes.append(f"Columns that look like coordinates, beside those that are read: {shown(strange, 12)}")
    for name in (name for name in others if upright and _ANGLE.fullmatch(_plain(name))):
        if _column(table, name).fillna(0).any():
            raise AgreementInputError(
                f"Boxes in columns must be upright, got other values than 0 in {name!r}; give turned boxes as polygons "
                "(a column `polygon`), or leave this column out"
            )
    for side, end in (("image_width", "x_max"), ("image_height", "y_max")):
        if {side, *_CORNERS} <= meant.keys():
            beyond = int((_column(table, meant[end]) > _column(table, meant[side]) + 1).sum())
            if 2 * beyond > len(table):
                raise AgreementInputError(
                    f"{meant[side]!r} beside corners must be the size of the image, got corners beyond it in {beyond} "
                    f"of {len(table)} rows; leave it out if it is not"
                )


def _meaning_of_cells(found: AnnotationSet, values: Mapping[str, list[Any]]) -> tuple[str, ...]:
    """Whether four numbers in a cell are two corners, or a corner and a size: one of these must be impossible."""
    n_flat, no_corners, no_sizes = 0, False, False
    sizes = (values.get(name) or [None] * len(values["boxes"]) for name in ("image_width", "image_height"))
    for cell, *size in zip(values["boxes"], *sizes, strict=True):
        width, height = (number_in(side) or math.inf for side in size)
        with contextlib.suppress(ValueError, TypeError):  # such a row is not read
            for x, y, a, b in (box for box in _boxes_in(cell) if len(box) == 4):
                n_flat += 1
                no_corners |= a < x or b < y
                no_sizes |= a < 0 or b < 0 or x + a > width + 1 or y + b > height + 1
    if n_flat and no_corners == no_sizes:
        which = "neither" if no_corners else "either"
        raise AgreementInputError(
            f"Four numbers in a cell must be two corners or a corner and a size, got some that may be {which}; say "
            'columns={"boxes_xyxy": …} or columns={"boxes_xywh": …}'
        )
    how = _SIZES if no_corners else _CORNERS
    if n_flat:
        found.notes.append(f"Four numbers in a cell are read as {_BOXES[how]}")
    return how


def _shapes(row: Mapping[str, Any], of_box: tuple[str, ...], of_cells: tuple[str, ...]) -> list[DrawnLabel] | None:
    """The boxes, polygon or point of a row; an empty list if its cells are empty; None if they cannot be read.

    The functions that read a cell raise a ValueError if they cannot.
    """
    made: list[DrawnLabel] = []
    try:
        outline = row.get("polygon")
        if not _is_empty(outline):
            closed = not (isinstance(outline, str) and outline.lstrip().upper().startswith("LINESTRING"))
            rings = _rings(_evaluated(outline))
            if not rings or any(len(ring) < 2 + closed for ring in rings):
                return None
            return [DrawnLabel(None, rings=joined_rings(rings) if closed else rings, closed=closed)]
        cells = [row[name] for name in of_box]
        if all(cell is None or cell == "" for cell in cells) and of_box:
            return []
        numbers = tuple(number for cell in cells if (number := number_in(cell)) is not None)
        if of_box == _POINT:
            x, y = numbers
            return [DrawnLabel(None, points=[(x, y)])]
        cell = next((row[name] for name in _IN_CELLS[:3] if row.get(name) is not None), None)
        for how, box in [(of_box, numbers)] if of_box else [(of_cells, box) for box in _boxes_in(cell)]:
            label, (x, y, a, b) = DrawnLabel(None), box[:4]
            if how == _CORNERS or len(box) == 5:
                label.set_corners(x, y, a, b)
            elif min(a, b) < 0:
                return None
            else:
                label.box = (x - a / 2, y - b / 2, a, b) if how == _CENTRES else (x, y, a, b)
            made.append(label)
    except (TypeError, ValueError):
        return None
    return made


def _is_empty(cell: Any) -> bool:
    """True for a cell that means that nothing was drawn."""
    return cell is None or (cell.strip() in _EMPTY or cell.upper().endswith("EMPTY") if isinstance(cell, str)
                            else hasattr(cell, "__len__") and not len(cell))  # fmt: skip


def _boxes_in(cell: Any) -> list[tuple[float, ...]]:
    """Boxes of four numbers each; a fifth number marks boxes given as two points, which are corners for sure."""
    value = [] if _is_empty(cell) else _evaluated(cell)
    if len(value) == 4 and not any(isinstance(each, list | tuple) for each in value):
        value = [value]
    elif len(value) == 2 and all(isinstance(each, list | tuple) and len(each) == 2 for each in value):
        value = value if isinstance(value[0][0], list | tuple) else [value]
    found = list[tuple[float, ...]]()
    for box in value:
        is_pair = len(box) == 2
        numbers = (number_in(each) for part in box for each in (part if is_pair else [part]))
        x, y, a, b = (math.nan if number is None else number for number in numbers)
        if math.isnan(x + y + a + b):
            raise ValueError(f"no box: {box!r}")
        found.append((min(x, a), min(y, b), max(x, a), max(y, b), 1.0) if is_pair else (x, y, a, b))
    return found


def _evaluated(value: Any) -> list[Any]:
    """The list that a cell holds or spells: as JSON, as Python or numpy write it, as plain numbers, or as WKT."""
    text = value.strip() if isinstance(value, str) else ""
    if text[:1].isalpha():
        try:
            shape = shapely.from_wkt(text)
        except shapely.errors.GEOSException as error:
            raise ValueError("no WKT") from error
        if shape.geom_type not in ("Polygon", "MultiPolygon", "LineString"):
            raise ValueError(f"a {shape.geom_type}")
        is_line = shape.geom_type == "LineString"
        lines = shapely.get_parts(shape) if is_line else shapely.get_rings(shapely.get_parts(shape))
        lines = [shapely.get_coordinates(line).tolist() for line in lines if not line.is_empty]
        return lines if is_line else [ring[:-1] for ring in lines]
    if text and text[:1] not in ("[", "("):
        # as in "10,10 60,10", "10,10;60,10", "10 10, 60 10"; beside both blanks and semicolons, commas are decimal
        text = re.sub(r"\s*([;,])\s*", r"\1", text.strip(" ;,"))
        is_decimal = ";" in text and bool(re.search(r"\s", text))
        numbers = [number_in(word) for word in re.split(r"[\s;]+" if is_decimal else r"[\s;,]+", text)]
        if None in numbers:
            raise ValueError("no numbers")
        if not is_decimal and "," in text and len(numbers) > 4 and 1 in (len({*numbers[::2]}), len({*numbers[1::2]})):
            raise ValueError("points on a line, as decimal commas are read as pairs")
        return numbers
    if text:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            if len(text) > _LONGEST_LITERAL or "..." in text:
                raise ValueError("no list") from None
            with_commas = re.sub(r"(?<=[\d.\])])\s+(?=[-+.\d\[(])", ", ", text)  # as numpy prints arrays
            try:
                value = ast.literal_eval(with_commas)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                raise ValueError("no list") from None
    value = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(value, list | tuple):
        raise ValueError("no list")
    return [each.tolist() if hasattr(each, "tolist") else each for each in value]


def _rings(value: list[Any]) -> list[list[Point]]:
    """Rings from a flat list of coordinates, a list of points, or a list of either."""
    if not value:
        return []
    if not isinstance(value[0], list | tuple):
        value = list(zip(value[::2], value[1::2], strict=True))
    if len(value[0]) == 2 and not isinstance(value[0][0], list | tuple):
        points = [[number for part in pair if (number := number_in(part)) is not None] for pair in value]
        return [[(x, y) for x, y in points]]
    return [ring for part in value for ring in _rings(list(part))]


def _numbers(shape: DrawnLabel) -> Iterator[float]:
    """The coordinates of a box, a polygon or a point."""
    return chain(shape.box or (), *chain.from_iterable(shape.rings or ()), *(shape.points or ()))


def _are_shares(shapes: Iterable[DrawnLabel]) -> bool:
    """True if all coordinates are shares of the image: there are some, and none is beyond 1."""
    are_shares = (all(abs(value) <= 1.0 + 1e-6 for value in _numbers(shape)) for shape in shapes)
    return next(are_shares, False) and all(are_shares)


def not_in_table(label: DrawnLabel) -> str:
    """Reason why a table cannot hold a label; empty if it can."""
    if label.points is not None:
        return "keypoints, which a table does not have"
    return "" if label.closed else "open lines, which a table does not have"


def table_text(images: Sequence[StoredImage], found: AnnotationSet) -> str:
    """All labels as CSV, without texts that spreadsheets would run as formulas.

    A row without a class and coordinates means that the annotator looked at the image and drew nothing.

    Args:
        images: the images; the sizes of those with regions are known
        found: the labels on them, in shares of the image; only labels that a table can hold
    """
    image_at = {image.path: image for image in images}
    drawn = [(image_at[key.name], owner, label) for owner, pages in found.pages.items()
             for key, page in pages.items() for label in page.labels or [DrawnLabel(None)]]  # fmt: skip
    shapes = [label.scaled(*(image.size_px or (1, 1))) for image, _, label in drawn]
    if _are_shares(shapes):  # a table without a number beyond 1 is read as one of shares
        shapes = [label for _, _, label in drawn]
    rows = []
    for (image, owner, label), shape in zip(drawn, shapes, strict=True):
        row: dict[str, Any] = {"image": image.name, "annotator": owner, "label": label.label}
        if label.value is not None:
            row["value"] = label.value
        if shape.rings:
            row["polygon"] = json.dumps(shape.rings)
        elif shape.box is not None:
            x, y, a, b = shape.box
            row |= dict(zip(_CORNERS, (x, y, x + a, y + b), strict=True))
        if label.confidence is not None:
            row["confidence"] = label.confidence
        if image.size_px is not None:
            row |= dict(zip(("image_width", "image_height"), image.size_px, strict=True))
        for name, value in label.attributes.items():  # a column whose name has a meaning for tables is read as that
            row[f"attribute_{name}" if guessed_columns([name]) else name] = value
        rows.append(row | label.of_run)
    order = {name: number for number, name in enumerate(_NAMES)}
    columns = sorted({name: None for row in rows for name in row}, key=lambda name: order.get(name, len(order)))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")  # quotes texts with "\r" or "\n"
    writer.writerow(map(not_a_formula, columns))
    for row in rows:  # so that no text is read as a formula, or as no value
        writer.writerow(cell if not isinstance(cell, str) else f"'{cell}" if _LIKE_ABSENT.fullmatch(cell) else
                        not_a_formula(cell) for cell in map(row.get, columns))  # fmt: skip
    if "\0" in text.getvalue():
        cells = chain(columns, chain.from_iterable(map(dict.values, rows)))
        found_in = next(cell for cell in cells if isinstance(cell, str) and "\0" in cell)
        raise AgreementInputError(f"Texts in a table must have no NUL character, got {found_in!r}; say format='coco', "
                                  "or give it another name")  # fmt: skip
    return text.getvalue()
