"""The photographs of the demo dataset and the true objects on them.

Every photograph is read from the installed scikit-image and scikit-learn wheels; nothing is downloaded. Coins,
galaxies and cell nuclei are found by segmentation, the objects of all other photographs were boxed by hand, and their
outlines, in ``hand_drawn.json``, were traced by hand. Those without one that are not found by a threshold and do not
fill their box are ellipses: craters, lamps, boats, wheels and the optic disc are round, or too small to tell.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import shapely
import skimage.data
import sklearn.datasets
from numpy.typing import NDArray
from PIL import Image
from shapely import affinity

from .outlines import Box, TrueObject, box_area, cut_to_box, ellipse_outline, fitted, mask_outline
from .segmentation import find_coins, find_galaxies, find_nuclei

#: the folders inside the installed wheels that hold photographs
PHOTO_DIRS = (Path(skimage.data.__file__).parent, Path(sklearn.datasets.__file__).parent / "images")

#: by photograph: its file, the magnification, and the objects with class and box (x_min, y_min, x_max, y_max) in
#: pixels of the file; some with a traced outline, x, y, x, y …, some with a hole: the tyres, which are rings, the cup
HAND_DRAWN: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "hand_drawn.json").read_text("utf-8"))
#: classes that fill their box
RECTANGLES = frozenset({"cardboard box", "heading", "text line", "code line", "tail light"})

#: source, class -> which pixels of the box are the object, where they differ clearly from those around it
THRESHOLDS: dict[tuple[str, str], Callable[[NDArray[np.int64]], NDArray[np.bool_]]] = {
    ("horse", "horse"): lambda rgb: rgb[..., 0] < 128,
    ("cell", "cell"): lambda rgb: rgb[..., 0] > 110,
    ("flower", "flower"): lambda rgb: (rgb[..., 0] > 120) & (rgb[..., 0] > rgb[..., 2] + 30),
}
#: all classes of objects in the photographs
CLASSES = tuple(
    sorted(
        {drawn["class"] for photograph in HAND_DRAWN.values() for drawn in photograph["objects"]}
        | {"coin", "elongated galaxy", "nucleus", "round galaxy", "star"}
    )
)

#: photographs of plain texture: every annotator looked at them and drew nothing
EMPTY_PHOTOS = {"grass": "grass.png", "gravel": "gravel.png"}

#: windows (x_min, y_min, x_max, y_max) that are cut out of the large photographs, chosen to cut through few objects
COIN_WINDOWS: tuple[Box, ...] = ((0, 0, 384, 151), (0, 151, 384, 303))
NUCLEUS_WINDOWS: tuple[Box, ...] = ((160, 318, 260, 512), (190, 195, 370, 310))
GALAXY_WINDOWS: tuple[Box, ...] = (
    (180, 30, 425, 240),
    (0, 155, 190, 365),
    (425, 30, 675, 240),
    (190, 260, 440, 470),
    (440, 340, 640, 550),
    (640, 420, 890, 630),
    (545, 662, 795, 872),
    (0, 365, 190, 575),
    (240, 585, 490, 795),
    (690, 90, 940, 300),
)
#: share of an object's box that must be inside a window for the object to be in the scene
MIN_VISIBLE_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Scene:
    """One image of the demo dataset: ``image`` is ``(H, W, 3)`` uint8, ``source`` names the photograph."""

    name: str
    source: str
    image: NDArray[np.uint8]
    objects: tuple[TrueObject, ...]


def photo(file_name: str) -> NDArray[np.uint8]:
    """The photograph ``file_name`` of the installed wheels, shape ``(H, W, 3)``."""
    for folder in PHOTO_DIRS:
        path = folder / file_name
        if path.is_file():
            with Image.open(path) as image:
                return np.asarray(image.convert("RGB"))
    raise FileNotFoundError(f"`file_name` must be a photograph in {PHOTO_DIRS!r}, got {file_name!r}")


def hand_drawn(source: str, image: NDArray[np.uint8], drawn: dict[str, Any]) -> TrueObject:
    """An object that was boxed by hand; without a traced outline its class, or the ellipse in its box, gives one."""
    label, box = drawn["class"], tuple(drawn["box"])
    if (source, label) in THRESHOLDS:
        x_min, y_min, x_max, y_max = (round(v) for v in box)
        outline = mask_outline(THRESHOLDS[source, label](image[y_min:y_max, x_min:x_max].astype(int)), box)
    elif label in RECTANGLES:
        outline = shapely.box(*box)
    elif "outline" in drawn:
        outline = shapely.Polygon(np.reshape(drawn["outline"], (-1, 2)))
    else:
        outline = ellipse_outline(box)
    if "hole" in drawn:
        outline = shapely.Polygon(outline.exterior, [np.reshape(drawn["hole"], (-1, 2))])
    return TrueObject(label, box, fitted(outline, box))


def scene_of_window(
    name: str, source: str, image: NDArray[np.uint8], objects: list[TrueObject], window: Box, scale: float
) -> Scene:
    """The part of a photograph inside ``window``, magnified, with the objects that are visible there."""
    x_min, y_min, x_max, y_max = window
    visible = []
    for obj in objects:
        x0, y0, x1, y1 = obj.box_xyxy
        cut = (max(x0, x_min), max(y0, y_min), min(x1, x_max), min(y1, y_max))
        if min(cut[2] - cut[0], cut[3] - cut[1]) <= 0 or box_area(cut) < MIN_VISIBLE_SHARE * box_area(obj.box_xyxy):
            continue
        box = ((cut[0] - x_min) * scale, (cut[1] - y_min) * scale, (cut[2] - x_min) * scale, (cut[3] - y_min) * scale)
        moved = affinity.translate(cut_to_box(obj.outline, window), -x_min, -y_min)
        visible.append(TrueObject(obj.label, box, affinity.scale(moved, scale, scale, origin=(0, 0))))
    part = Image.fromarray(image).crop((int(x_min), int(y_min), int(x_max), int(y_max)))
    size = (round(part.width * scale), round(part.height * scale))
    return Scene(name, source, np.asarray(part.resize(size, Image.Resampling.BICUBIC)), tuple(visible))


def demo_scenes() -> list[Scene]:
    """All scenes of the demo dataset, always in the same order."""
    scenes = []
    for source, file_name, find, windows, scale in (
        ("coins", "coins.png", find_coins, COIN_WINDOWS, 2.0),
        ("galaxies", "hubble_deep_field.jpg", find_galaxies, GALAXY_WINDOWS, 3.0),
        ("nuclei", "ihc.png", find_nuclei, NUCLEUS_WINDOWS, 4.0),
    ):
        image = photo(file_name)
        objects = find(image)
        for i, window in enumerate(windows, start=1):
            scenes.append(scene_of_window(f"{source}_{i:02d}", source, image, objects, window, scale))
    for source, drawn in HAND_DRAWN.items():
        image = photo(drawn["file"])
        objects = [hand_drawn(source, image, each) for each in drawn["objects"]]
        scenes.append(
            scene_of_window(source, source, image, objects, (0, 0, *image.shape[1::-1]), drawn["magnification"])
        )
    for source, file_name in EMPTY_PHOTOS.items():
        image = photo(file_name)
        scenes.append(Scene(source, source, image, ()))
    return scenes
