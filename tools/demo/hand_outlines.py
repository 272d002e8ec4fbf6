"""The outlines of the objects that were boxed by hand: traced by hand, found by a threshold, or the shape of their box.

Objects that are neither in ``HAND_TRACED`` nor in ``THRESHOLDS``, and whose class is not in ``RECTANGLES``, have the
ellipse in their box as outline: craters, lamps, boats, wheels and the optic disc are round, or too small to tell.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import shapely
from numpy.typing import NDArray

from .outlines import Box, TrueObject, ellipse_outline, fitted, mask_outline

#: classes that fill their box
RECTANGLES = frozenset({"cardboard box", "heading", "text line", "code line", "tail light"})

#: source, class -> which pixels of the box are the object, where they differ clearly from those around it
THRESHOLDS: dict[tuple[str, str], Callable[[NDArray[np.int64]], NDArray[np.bool_]]] = {
    ("horse", "horse"): lambda rgb: rgb[..., 0] < 128,
    ("cell", "cell"): lambda rgb: rgb[..., 0] > 110,
    ("flower", "flower"): lambda rgb: (rgb[..., 0] > 120) & (rgb[..., 0] > rgb[..., 2] + 30),
}

# fmt: off
#: what is inside the cup: an object, and the hole of the cup
COFFEE = (
    204, 143, 223, 112, 250, 98, 285, 95, 321, 99, 352, 118, 369, 143, 368, 165, 343, 185, 308, 193, 268, 190, 236, 178,
    214, 161,
)

#: source, class, number of the object among those of its class -> corners (x, y, x, y, ...) in pixels of the file
HAND_TRACED: dict[tuple[str, str, int], tuple[int, ...]] = {
    ("astronaut", "face", 0): (
        176, 108, 170, 122, 182, 131, 185, 160, 192, 178, 211, 187, 234, 190, 253, 184, 258, 160, 266, 136, 277, 131,
        281, 118, 271, 98, 262, 85, 234, 78, 206, 80, 188, 87, 178, 101,
    ),
    ("astronaut", "helmet", 0): (
        277, 512, 278, 450, 286, 417, 305, 387, 333, 363, 370, 347, 403, 343, 436, 349, 464, 368, 483, 398, 492, 431,
        497, 455, 512, 462, 512, 512,
    ),
    ("astronaut", "flag", 0): (
        0, 0, 41, 0, 63, 87, 45, 117, 70, 155, 89, 188, 98, 211, 70, 234, 56, 253, 42, 291, 28, 338, 19, 398, 23, 445,
        26, 469, 47, 512, 0, 512,
    ),
    ("astronaut", "space shuttle", 0): (
        398, 0, 434, 0, 438, 42, 444, 38, 452, 56, 455, 188, 454, 202, 456, 213, 454, 234, 457, 270, 472, 274, 469, 283,
        375, 283, 368, 274, 389, 234, 354, 225, 356, 211, 378, 183, 379, 108, 382, 52, 388, 41, 395, 52, 397, 19,
    ),
    ("astronaut", "badge", 1): (279, 340, 329, 346, 327, 377, 281, 372),
    ("camera", "person", 0): (
        0, 260, 23, 225, 42, 197, 66, 155, 84, 138, 131, 124, 150, 107, 162, 104, 166, 89, 183, 73, 202, 63, 230, 68,
        253, 84, 270, 110, 268, 131, 253, 141, 255, 162, 246, 171, 248, 185, 239, 197, 244, 206, 241, 225, 248, 246,
        263, 230, 265, 209, 281, 202, 309, 192, 323, 173, 331, 171, 331, 195, 319, 206, 300, 225, 304, 272, 281, 295,
        246, 313, 206, 295, 178, 328, 142, 382, 149, 422, 151, 512, 0, 512,
    ),
    ("camera", "camera", 0): (
        253, 141, 265, 140, 325, 139, 325, 154, 319, 156, 319, 180, 300, 187, 268, 186, 266, 178, 260, 176, 260, 150,
        253, 150,
    ),
    ("camera", "tripod", 0): (
        274, 188, 298, 188, 298, 206, 298, 314, 309, 319, 328, 302, 337, 301, 337, 307, 314, 319, 313, 328, 342, 389,
        394, 473, 397, 485, 406, 512, 396, 512, 382, 483, 307, 335, 300, 345, 299, 485, 288, 485, 289, 347, 281, 347,
        244, 483, 239, 512, 230, 512, 232, 483, 281, 330, 279, 319, 288, 312, 289, 206, 274, 199,
    ),
    ("camera", "building", 0): (411, 132, 424, 128, 424, 117, 432, 117, 433, 188, 411, 188),
    ("camera", "building", 1): (418, 222, 425, 210, 445, 200, 465, 198, 485, 202, 502, 212, 502, 224, 418, 224),
    ("camera", "building", 2): (341, 180, 350, 170, 372, 166, 395, 170, 406, 178, 404, 196, 345, 196),
    ("camera", "building", 3): (451, 163, 460, 159, 470, 163, 470, 188, 451, 188),
    ("cat", "cat eye", 0): (
        136, 107, 138, 95, 150, 86, 174, 85, 191, 92, 201, 104, 207, 124, 206, 137, 194, 145, 174, 146, 154, 135, 140,
        122,
    ),
    ("cat", "cat eye", 1): (
        296, 150, 298, 134, 306, 120, 321, 111, 338, 109, 343, 120, 342, 140, 334, 156, 318, 164, 303, 162,
    ),
    ("cat", "cat nose", 0): (
        239, 231, 251, 227, 274, 231, 291, 229, 292, 236, 278, 249, 269, 261, 259, 265, 252, 261, 251, 248, 246, 238,
    ),
    ("cat", "cat ear", 0): (325, 0, 398, 0, 385, 20, 378, 40, 371, 60, 360, 73, 345, 60, 331, 37),
    ("china", "pavilion", 0): (
        196, 31, 214, 31, 213, 45, 218, 64, 233, 79, 262, 98, 295, 112, 320, 125, 298, 138, 293, 162, 330, 177, 320,
        188, 320, 226, 329, 229, 329, 243, 351, 255, 340, 271, 341, 305, 349, 307, 348, 319, 371, 331, 329, 371, 305,
        381, 305, 411, 288, 411, 286, 390, 210, 381, 205, 367, 176, 355, 157, 340, 74, 340, 76, 326, 81, 286, 63, 269,
        95, 248, 94, 233, 100, 190, 84, 179, 119, 162, 119, 138, 94, 129, 98, 107, 121, 100, 176, 74, 193, 62, 194, 48,
    ),
    ("china", "tree", 0): (
        640, 150, 619, 137, 595, 140, 574, 176, 574, 200, 546, 224, 550, 257, 571, 276, 571, 333, 568, 380, 575, 427,
        640, 427,
    ),
    ("china", "tree", 1): (
        0, 144, 10, 181, 29, 190, 48, 205, 74, 224, 74, 238, 48, 248, 29, 262, 19, 279, 0, 280,
    ),
    ("china", "island", 0): (424, 236, 440, 228, 470, 227, 500, 232, 502, 238, 480, 242, 440, 240),
    ("coffee", "cup", 0): (
        173, 107, 178, 76, 196, 49, 232, 27, 285, 17, 339, 27, 379, 49, 404, 80, 409, 112, 404, 147, 393, 183, 379, 223,
        357, 254, 321, 277, 285, 284, 259, 281, 245, 290, 223, 306, 201, 299, 197, 281, 203, 259, 219, 236, 196, 210,
        181, 178, 175, 143,
    ),
    ("coffee", "saucer", 0): (
        178, 70, 147, 87, 112, 120, 87, 165, 77, 214, 85, 263, 107, 308, 147, 348, 201, 375, 268, 389, 335, 387, 397,
        366, 446, 321, 473, 272, 481, 223, 473, 178, 450, 138, 415, 107, 409, 112, 404, 147, 393, 183, 379, 223, 357,
        254, 321, 277, 285, 284, 259, 281, 245, 290, 223, 306, 201, 299, 197, 281, 203, 259, 219, 236, 196, 210, 181,
        178, 175, 143, 173, 107,
    ),
    ("coffee", "spoon", 0): (
        424, 74, 410, 67, 397, 69, 404, 89, 409, 116, 401, 165, 386, 210, 375, 223, 370, 236, 343, 250, 328, 272, 328,
        299, 341, 319, 361, 325, 388, 314, 404, 290, 404, 268, 388, 245, 383, 228, 390, 205, 407, 165, 415, 112,
    ),
    ("coffee", "coffee", 0): COFFEE,
    ("flower", "bud", 0): (574, 427, 580, 410, 592, 396, 603, 393, 614, 402, 620, 427),
    ("moon", "mountain", 0): (
        291, 77, 302, 85, 320, 115, 350, 100, 368, 105, 372, 130, 375, 165, 360, 180, 340, 188, 325, 180, 305, 150, 293,
        120,
    ),
    ("motorcycle", "motorcycle", 0): (
        91, 198, 128, 195, 140, 184, 137, 159, 151, 145, 167, 146, 173, 159, 201, 165, 229, 167, 248, 190, 273, 195,
        313, 195, 357, 187, 402, 179, 424, 162, 385, 162, 357, 173, 357, 165, 402, 131, 335, 140, 332, 129, 368, 109,
        375, 112, 363, 123, 413, 126, 463, 140, 469, 120, 491, 114, 505, 95, 497, 78, 511, 33, 516, 20, 516, 45, 505,
        78, 541, 100, 538, 120, 561, 128, 582, 118, 582, 142, 564, 145, 561, 167, 536, 187, 558, 223, 580, 262, 603,
        268, 642, 304, 664, 329, 681, 379, 684, 413, 664, 441, 636, 453, 592, 435, 547, 396, 519, 346, 505, 329, 513,
        296, 527, 285, 485, 195, 463, 240, 480, 279, 477, 329, 458, 357, 413, 379, 352, 368, 335, 374, 340, 430, 324,
        435, 324, 371, 279, 357, 246, 391, 206, 400, 162, 385, 131, 346, 123, 301, 134, 262, 162, 240, 112, 246, 100,
        240, 112, 222, 92, 220,
    ),
    ("motorcycle", "wheel", 1): (
        512, 329, 516, 307, 558, 296, 603, 301, 642, 318, 670, 352, 682, 391, 684, 418, 664, 444, 636, 453, 592, 438,
        552, 407, 525, 368,
    ),
    ("motorcycle", "headlight", 0): (
        511, 156, 519, 134, 541, 124, 558, 131, 562, 151, 558, 176, 536, 188, 519, 179,
    ),
    ("motorcycle", "bench", 0): (
        47, 112, 56, 110, 273, 106, 279, 109, 282, 162, 246, 167, 173, 159, 151, 145, 137, 159, 140, 184, 112, 190, 89,
        195, 92, 223, 117, 246, 100, 260, 64, 273, 56, 305, 47, 305, 50, 251, 42, 234, 45, 140,
    ),
    ("rocket", "rocket", 0): (
        322, 126, 329, 136, 331, 148, 332, 176, 335, 181, 333, 407, 314, 407, 310, 181, 312, 176, 312, 143, 317, 133,
    ),
    ("rocket", "tower", 0): (52, 0, 88, 0, 76, 333, 71, 427, 0, 427, 0, 324, 29, 157),
    ("rocket", "tower", 1): (200, 123, 204, 123, 204, 190, 205, 420, 163, 420, 188, 224, 190, 193, 198, 190),
    ("rocket", "tower", 2): (
        444, 123, 448, 123, 451, 190, 457, 193, 459, 224, 477, 424, 439, 424, 442, 193, 446, 190,
    ),
    ("rocket", "tower", 3): (559, 0, 598, 0, 640, 219, 640, 427, 578, 427, 569, 190),
}

#: the holes of the objects with a hole: the tyres, which are rings, and the cup
HOLES: dict[tuple[str, str, int], tuple[int, ...]] = {
    ("coffee", "cup", 0): COFFEE,
    ("motorcycle", "wheel", 0): (
        202, 264, 230, 268, 248, 285, 256, 308, 255, 335, 243, 358, 223, 372, 202, 375, 178, 371, 158, 356, 148, 333,
        147, 305, 157, 283, 177, 268,
    ),
    ("motorcycle", "wheel", 1): (
        533, 335, 550, 310, 580, 307, 619, 329, 645, 363, 650, 402, 636, 430, 608, 432, 569, 407, 541, 368,
    ),
}
# fmt: on


def hand_outlined(source: str, image: NDArray[np.uint8], boxes: dict[str, list[Box]]) -> list[TrueObject]:
    """The objects that were boxed by hand on a photograph, with outlines that touch the edges of their boxes.

    Args:
        source: name of the photograph
        image: the photograph, shape ``(H, W, 3)``
        boxes: class -> boxes in pixels of the photograph
    """
    return [
        TrueObject(label, box, fitted(outline_in_box(source, label, number, image, box), box))
        for label, found in boxes.items()
        for number, box in enumerate(found)
    ]


def outline_in_box(source: str, label: str, number: int, image: NDArray[np.uint8], box_xyxy: Box) -> shapely.Polygon:
    """The outline of one object, about where its box is."""
    if (source, label) in THRESHOLDS:
        x_min, y_min, x_max, y_max = (round(v) for v in box_xyxy)
        inside = image[y_min:y_max, x_min:x_max].astype(int)
        return mask_outline(THRESHOLDS[source, label](inside), box_xyxy)
    if label in RECTANGLES:
        return shapely.box(*box_xyxy)
    corners = HAND_TRACED.get((source, label, number))
    outer = ellipse_outline(box_xyxy) if corners is None else shapely.Polygon(points_xy(corners))
    hole = HOLES.get((source, label, number))
    return outer if hole is None else shapely.Polygon(outer.exterior, [points_xy(hole)])


def points_xy(numbers: tuple[int, ...]) -> NDArray[np.float64]:
    """The points of a row of numbers x, y, x, y, ...; shape ``(V, 2)``."""
    return np.reshape(np.asarray(numbers, float), (-1, 2))
