"""The photographs of the demo dataset and the true objects on them.

Every photograph is read from the installed scikit-image and scikit-learn wheels; nothing is downloaded. Coins,
galaxies and cell nuclei are found by segmentation, the objects of all other photographs were boxed by hand, and their
outlines are in ``hand_outlines.py``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import skimage.data
import sklearn.datasets
from numpy.typing import NDArray
from PIL import Image
from shapely import affinity

from .hand_outlines import hand_outlined
from .outlines import Box, TrueObject, box_area, cut_to_box
from .segmentation import find_coins, find_galaxies, find_nuclei

#: the folders inside the installed wheels that hold photographs
PHOTO_DIRS = (
    os.path.dirname(skimage.data.__file__),
    os.path.join(os.path.dirname(sklearn.datasets.__file__), "images"),
)

# fmt: off
#: source -> (file, magnification, class -> boxes (x_min, y_min, x_max, y_max) in pixels of the file)
HAND_BOXED: dict[str, tuple[str, float, dict[str, list[Box]]]] = {
    "astronaut": ("astronaut.png", 1, {
        "face": [(170, 77, 281, 190)],
        "helmet": [(277, 343, 512, 512)],
        "flag": [(0, 0, 98, 512)],
        "space shuttle": [(354, 0, 472, 284)],
        "badge": [(134, 348, 208, 423), (278, 339, 329, 377)],
    }),
    "camera": ("camera.png", 1, {
        "person": [(0, 63, 332, 512)],
        "camera": [(253, 139, 325, 187)],
        "tripod": [(230, 187, 406, 512)],
        "building": [(411, 116, 433, 188), (418, 198, 502, 224), (341, 166, 406, 196), (451, 159, 470, 188)],
    }),
    "cat": ("chelsea.png", 1.5, {
        "cat eye": [(136, 85, 208, 147), (295, 109, 344, 165)],
        "cat nose": [(239, 226, 293, 265)],
        "cat ear": [(325, 0, 399, 73)],
    }),
    "cell": ("cell.png", 1, {
        "cell": [(364, 310, 492, 439)],
    }),
    "china": ("china.jpg", 1.25, {
        "pavilion": [(62, 29, 373, 412)],
        "tree": [(546, 135, 640, 427), (0, 144, 76, 280)],
        "island": [(424, 227, 502, 242.4)],
        "boat": [(382.4, 284.8, 387.6, 289.6), (405.6, 282.6, 411, 286.8), (423.6, 276.4, 426.4, 281),
            (464.6, 273.2, 469.6, 276), (483.4, 268.4, 488, 271.6), (371, 297.6, 374.2, 303)],
    }),
    "coffee": ("coffee.png", 1, {
        "cup": [(173, 17, 409, 308)],
        "saucer": [(76, 66, 481, 391)],
        "spoon": [(326, 66, 425, 326)],
        "coffee": [(204, 94, 371, 194)],
    }),
    "flower": ("flower.jpg", 1, {
        "flower": [(169, 85, 447, 360), (287, 374, 476, 427)],
        "bud": [(574, 393, 620, 427)],
    }),
    "horse": ("horse.png", 1, {
        "horse": [(17, 8, 390, 314)],
    }),
    "moon": ("moon.png", 1.5, {
        "crater": [(95, 62, 147, 113), (41, 27, 58, 42), (174, 178, 191, 192), (38, 287, 51, 299),
            (113, 457, 125, 469), (129, 458, 139, 468), (474, 22, 483, 29), (481, 75, 489, 82),
            (13, 383, 25, 396), (24, 268, 31, 274)],
        "mountain": [(291, 77, 375, 188)],
    }),
    "motorcycle": ("motorcycle_left.png", 1, {
        "motorcycle": [(92, 20, 684, 453)],
        "wheel": [(121, 235, 284, 400), (511, 296, 684, 453)],
        "headlight": [(509, 122, 564, 190)],
        "turn signal": [(562, 118, 582, 143), (463, 175, 488, 200), (147, 222, 167, 246)],
        "tail light": [(91, 194, 132, 222)],
        "bench": [(42, 105, 283, 308)],
        "cardboard box": [(529, 29, 593, 100), (591, 62, 637, 100), (616, 192, 682, 274)],
    }),
    "page": ("page.png", 2, {
        "heading": [(6, 13, 292, 31)],
        "text line": [(6, 49, 376, 65), (6, 67, 376, 83), (6, 85, 376, 101), (6, 101, 377, 118),
            (6, 118, 171, 135)],
        "code line": [(18, 169, 240, 189)],
    }),
    "retina": ("retina.jpg", 0.5, {
        "optic disc": [(116, 549, 316, 762)],
        "macula": [(630, 625, 790, 785)],
    }),
    "rocket": ("rocket.jpg", 1.2, {
        "rocket": [(310, 126, 335, 407)],
        "tower": [(0, 0, 89, 427), (163, 123, 205, 420), (439, 123, 477, 424), (559, 0, 640, 427)],
        "lamp": [(70, 338, 95, 362), (132, 357, 170, 397), (172, 375, 214, 416), (341, 372, 388, 420),
            (413, 376, 452, 413), (92, 397, 132, 427), (431, 400, 470, 427)],
    }),
}
# fmt: on

#: all classes of objects in the photographs
CLASSES = tuple(
    sorted(
        {label for _, _, boxes in HAND_BOXED.values() for label in boxes}
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
    """The photograph ``file_name`` of the installed wheels, shape ``(H, W, 3)``.

    Raises:
        FileNotFoundError: if no installed wheel holds the file
    """
    for folder in PHOTO_DIRS:
        path = os.path.join(folder, file_name)
        if os.path.exists(path):
            with Image.open(path) as image:
                return np.asarray(image.convert("RGB"))
    raise FileNotFoundError(f"`file_name` must be a photograph in {PHOTO_DIRS!r}, got {file_name!r}")


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
    for source, (file_name, scale, boxes) in HAND_BOXED.items():
        image = photo(file_name)
        objects = hand_outlined(source, image, boxes)
        scenes.append(scene_of_window(source, source, image, objects, (0, 0, *image.shape[1::-1]), scale))
    for source, file_name in EMPTY_PHOTOS.items():
        image = photo(file_name)
        scenes.append(Scene(source, source, image, ()))
    return scenes
