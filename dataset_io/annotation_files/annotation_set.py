"""Content of annotation files of any format: the images that each annotator saw, and the labels drawn there."""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from ...agreement.settings.errors import AgreementInputError, shown
from .file_values import ABSENT, Point, turned, whole_characters
from .run_length import Mask

#: keys of a label in an export of a run: the id of its object, and its verdict; an import reads no attributes from them
OF_RUN = ("unit_id", "verdict")
#: the question that classes or numbers of whole images answer where a file does not name it
QUESTION = "classes"
#: names that tools give to all of their files; then the folder is named after the annotator
_NAMES_OF_TOOLS = {"annotations", "instances_default", "labels", "result", "result_coco", "export", "data", "coco"}
#: most bytes of memory for the content of a file and all that is made of it, or, if that is more, for each of its bytes
_MOST_MADE, _MOST_MADE_OF_A_BYTE = 640 << 20, 32
#: most pixels in the boxes of all masks of a file, or, if that is more, for each of its bytes
_MOST_PIXELS, _MOST_PIXELS_OF_A_BYTE = 1 << 29, 25
#: bytes that a page (labels of an annotator on an image), a label and a point take, measured on hundreds of thousands
_OF_PAGE, OF_LABEL, OF_POINT = 900, 800, 250


class ImageKey(NamedTuple):
    """An image as a file names it, or a frame of a video."""

    name: str
    frame: int = 0  #: number of the frame, from 1; 0 where it is an image


@dataclass(slots=True)
class DrawnLabel:
    """A label in a file: a class, and what was drawn, with coordinates in the unit of its :class:`ImageLabels`."""

    label: str | None
    box: tuple[float, float, float, float] | None = None  #: x, y, width, height
    rings: list[list[Point]] | None = None  #: of a polygon; a ring in a ring is a hole
    closed: bool = True  #: whether the rings enclose an area
    rotated: bool = False  #: whether the rings are the corners of a rotated box
    mask: Callable[[], Mask] | None = None  #: in pixels of the image
    points: list[Point] | None = None  #: keypoints, nan where one is not labelled
    named_points: dict[str, Point] | None = None  #: keypoints that have names instead of an order
    value: float | None = None  #: a number that was given instead of a class
    question: str = ""  #: the question that a class or number of the whole image answers
    attributes: dict[str, Any] = field(default_factory=dict)
    confidence: float | None = None
    index: int | None = None  #: number of the track in a video
    document: dict[str, Any] | None = None  #: the label as FiftyOne stores it, if it comes from FiftyOne
    document_type: str = ""  #: label type of ``document``
    of_run: dict[str, str] = field(default_factory=dict)  #: object and verdict by a run, see :data:`OF_RUN`

    def set_corners(self, left: float, top: float, right: float, bottom: float, degrees: float = 0.0) -> None:
        """Set the box of the label by its corners, turned clockwise about its centre.

        Raises:
            ValueError: if the second corner is left of the first, or above it
        """
        if not (right >= left and bottom >= top):
            raise ValueError("the second corner must not be left of the first or above it")
        self.box = (left, top, right - left, bottom - top)
        if degrees % 360.0:
            x, y, a, b = (left + right) / 2, (top + bottom) / 2, self.box[2] / 2, self.box[3] / 2
            corners = turned(((-a, -b), (a, -b), (a, b), (-a, b)), x, y, degrees)
            self.box, self.rings, self.rotated = None, [corners], True

    def scaled(self, across: float, down: float) -> DrawnLabel:
        """The label with all coordinates but those of its mask multiplied."""
        x, y, width, height = self.box or (0.0,) * 4
        box = self.box and (x * across, y * down, width * across, height * down)
        rings = self.rings and [[(x * across, y * down) for x, y in ring] for ring in self.rings]
        points = self.points and [(x * across, y * down) for x, y in self.points]
        return replace(self, box=box, rings=rings, points=points)


class NotReadError(ValueError):
    """Something was drawn of a kind that is not read; the text of the error names the kind, in the plural."""


@dataclass(slots=True)
class ImageLabels:
    """Labels of one annotator on one image; an empty entry marks the image as reviewed."""

    labels: list[DrawnLabel] = field(default_factory=list)
    scale: tuple[float, float] | None = None  #: width and height of the image in the unit of coordinates; None: pixels
    size_px: tuple[int, int] | None = None  #: width and height of the image in pixels, if they are known
    n_unread: int = 0  #: labels that are there, but cannot be read


@dataclass(frozen=True, slots=True)
class StoredImage:
    """An image of a dataset that is exported."""

    path: str
    name: str  #: its name in the file
    size_px: tuple[int, int] | None  #: width and height, if they are known
    numbers: dict[str, float]  #: its numbers from a run, such as the score


class Tally(defaultdict[str, list[str]]):
    """Examples of what happened, all of them, by what it is."""

    def __init__(self) -> None:
        super().__init__(list)

    def add(self, what: str, example: object) -> None:
        """Count one more, with an example."""
        self[whole_characters(what)].append(whole_characters(str(example)))

    def lines(self) -> list[str]:
        """A line for each: what, how often, and the first examples."""
        return [f"{what}: {len(found)} ({shown(dict.fromkeys(found), 3)})" for what, found in self.items()]


@dataclass(slots=True)
class AnnotationSet:
    """The content of an annotation file, and what is known of the file; the first also gets that of all others."""

    title: str = ""  #: name of the format
    path: Path = Path()
    root: Path = Path()  #: the folder that is read as a whole, or the folder of the file
    is_of_folder: bool = False  #: whether a folder is read as a whole
    annotator: str | None = None  #: the annotator for whom the user gave it
    columns: Mapping[str, Any] = field(default_factory=dict)  #: its columns by meaning, as the user gave them
    #: the classes of a folder of YOLO, and the file that has them
    classes: tuple[dict[int, str] | None, str] | None = None
    n_bytes: int = 0  #: size of the file
    pages: dict[str, dict[ImageKey, ImageLabels]] = field(default_factory=dict)  #: reviewed images, by annotator
    #: labels of no annotator, such as predictions, by the name of their field
    separate: dict[str, dict[ImageKey, ImageLabels]] = field(default_factory=dict)
    #: names under which an image may be found if it is not found under its own
    other_names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    several: set[str] = field(default_factory=set)  #: questions with any number of answers, also none
    unnamed: set[str] = field(default_factory=set)  #: names made up for videos whose file does not name them
    #: whether a label is imported as every label type that suits it, as from COCO; else as it was drawn
    every_type: bool = False
    persons: dict[str, str] = field(default_factory=dict)  #: the person of each session, by name of the session
    left_out: Tally = field(default_factory=Tally)
    notes: list[str] = field(default_factory=list)
    numbered: set[bool] = field(default_factory=set)  #: whether classes are numbers because no file names them
    #: keys in the files that are not used, and how often they are there, by kind of entry
    unused: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    room: int = field(init=False)  #: bytes of memory that may still be used
    most_pixels: int = field(init=False)  #: pixels that the boxes of all masks may have

    def __post_init__(self) -> None:
        self.room = max(_MOST_MADE, _MOST_MADE_OF_A_BYTE * self.n_bytes)
        self.most_pixels = max(_MOST_PIXELS, _MOST_PIXELS_OF_A_BYTE * self.n_bytes)

    @property
    def place(self) -> str:
        """Path of the file within the folder."""
        return str(self.path.relative_to(self.root))

    @property
    def owner(self) -> str:
        """The annotator for whom the file was given, or the name of the file or its folder."""
        own_name = self.path.parent.name if self.path.stem.lower() in _NAMES_OF_TOOLS else self.path.stem
        return own_name if self.annotator is None else self.annotator

    def reserve(self, n_bytes: int, what: str, *, n_points: int = 0) -> None:
        """Account for the memory that something and its points take, before it is made.

        Raises:
            AgreementInputError: if all together takes too much
        """
        self.room -= n_bytes + OF_POINT * n_points
        if self.room < 0:
            raise AgreementInputError(
                f"What a file holds must fit into the memory ({_MOST_MADE >> 20} MB, or {_MOST_MADE_OF_A_BYTE} "
                f"times its size), got more with its {what}; split the file, and import one part after the other"
            )

    def page(
        self, owner: str, name: str, frame: int = 0, *, is_new: bool = False, is_separate: bool = False
    ) -> ImageLabels:
        """Labels of an annotator on an image, a new entry if there is none, which marks the image as reviewed.

        Raises:
            AgreementInputError: if it must be new and is not
        """
        image, pages = ImageKey(name, frame), (self.separate if is_separate else self.pages).setdefault(owner, {})
        if image not in pages:
            self.reserve(_OF_PAGE, "images and their annotators")
            pages[image] = ImageLabels()
        elif is_new:
            refuse_repeated(owner, [image])
        return pages[image]

    def add_pages(self, annotator: str, pages: dict[ImageKey, ImageLabels]) -> None:
        """Add images of an annotator.

        Raises:
            AgreementInputError: if some of them are there already
        """
        merged = self.pages.setdefault(annotator, {})
        refuse_repeated(annotator, merged.keys() & pages.keys())
        merged.update(pages)

    def add_label(self, page: ImageLabels, label: DrawnLabel) -> None:
        """Add a label to an image, within the limits of the file."""
        points = sum(map(len, label.rings or ())) + len(label.points or ()) + len(label.named_points or ())
        self.reserve(OF_LABEL, "labels and their points", n_points=points)
        if label.box is not None and label.box[2:] == (0.0, 0.0):
            label.box = None
            if not (label.rings or label.mask or label.points):
                self.left_out.add("boxes without a width and height, which hold nothing", label.label)
                return
        page.labels.append(label)

    @contextlib.contextmanager
    def reading(self, page: ImageLabels, what: str, where: object) -> Iterator[None]:
        """Read something drawn: what cannot be read, as a ValueError, such as :class:`NotReadError`, says, is counted.

        Args:
            page: the labels of the image
            what: what is read, in the plural, such as "shapes"
            where: its place in the file
        """
        try:
            yield
        except AgreementInputError:
            raise
        except NotReadError as error:
            self.not_read(page, f"{error}, which are not read", where)
        except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            why = f"{error} is missing" if isinstance(error, KeyError) else error
            self.not_read(page, f"{what} that cannot be read", f"{where}: {why}")

    def not_read(self, page: ImageLabels, what: str, where: object) -> None:
        """Count a label that cannot be read, so that its image does not count as one with nothing drawn."""
        self.left_out.add(what, where)
        page.n_unread += 1

    def every_page(self) -> Iterator[tuple[ImageKey, ImageLabels]]:
        """All images with their labels, also with labels of no annotator."""
        return chain.from_iterable(pages.items() for pages in (*self.pages.values(), *self.separate.values()))

    def labels(self) -> Iterator[DrawnLabel]:
        """All labels."""
        return (label for _, page in self.every_page() for label in page.labels)

    def add(self, other: AnnotationSet) -> None:
        """Add the content of another file.

        Raises:
            AgreementInputError: if both have labels of one annotator on one image
        """
        for owner, pages in other.pages.items():
            self.add_pages(owner, pages)
        for owner, pages in other.separate.items():  # every annotator's file has the predictions
            self.separate[owner] = pages | self.separate.get(owner, {})
        for name in ("numbered", "several", "unnamed", "every_type", "other_names", "persons"):
            setattr(self, name, getattr(self, name) | getattr(other, name))
        self.room, self.most_pixels = self.room + other.room, self.most_pixels + other.most_pixels
        for what, examples in other.left_out.items():
            self.left_out[what] += examples
        for thing, counts in other.unused.items():
            self.unused[thing].update(counts)
        self.notes += [note for note in other.notes if note not in self.notes]

    def say_unused(self, thing: str, keys: Iterable[object], used: Collection[object] = ()) -> None:
        """Count the keys of an entry of a kind (``thing``) that are not used."""
        for key in keys:
            if key not in used:
                self.unused[thing][str(key)] += 1

    def order_named_points(self) -> None:
        """Order keypoints that have names by the sorted names in their class; nan where one is absent."""
        names: dict[str | None, set[str]] = defaultdict(set)
        for label in self.labels():
            names[label.label].update(label.named_points or ())
        for label in self.labels():
            if label.named_points is not None:
                self.reserve(0, "names of keypoints", n_points=len(names[label.label]))
                label.points = [label.named_points.get(name, ABSENT) for name in sorted(names[label.label])]
        for owner, found in sorted((str(owner), found) for owner, found in names.items() if found):
            self.notes.append(f"Points of {owner!r}, in this order: {shown(sorted(found), 40)}")


def refuse_repeated(owner: str, images: Iterable[ImageKey]) -> None:
    """Refuse several sets of labels of one annotator on one image."""
    names = sorted({image.name for image in images})
    if names:
        raise AgreementInputError(
            f"Every annotator must have one set of labels for an image, got more than one of {owner!r} for "
            f"{shown(map(repr, names))}; give each set a name of its own ({{name: path}}), or leave all but one out"
        )
