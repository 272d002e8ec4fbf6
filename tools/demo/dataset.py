"""The demo dataset: photographs from installed wheels, with labels of three annotators with known habits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fiftyone as fo
import numpy as np
from fiftyone.core.odm import SidebarGroupDocument
from PIL import Image

from tools.dev.plugin import load_plugin

from . import labels
from .annotators import ANNOTATORS, CONFUSED_PAIR, HABITS
from .images import Scene, demo_scenes

DATASET_NAME = "annotator-agreement-demo"
SEED = 51
JPEG_QUALITY = 92

#: annotator -> scenes not assigned to them: their fields are None there, which does not mean "drew nothing"
NOT_ASSIGNED = {
    "alice": frozenset[str](),
    "bob": frozenset({"cell"}),
    "carol": frozenset({"cell", "page", "retina", "galaxies_10"}),
}

#: label type -> class of its fields (None: whole numbers), and the function that gives an annotator's label of an image
LABELLERS: dict[str, tuple[Any, Callable[[Scene, str, np.random.Generator], Any]]] = {
    "boxes": (fo.Detections, labels.boxes),
    "polygons": (fo.Polylines, labels.polygons),
    "masks": (fo.Detections, labels.instance_masks),
    "segmentation": (fo.Segmentation, labels.semantic_mask),
    "keypoints": (fo.Keypoints, labels.keypoints),
    "class": (fo.Classification, labels.scene_class),
    "tags": (fo.Classifications, labels.tags),
    "quality": (None, labels.quality),
}


def field_name(label_type: str, annotator: str) -> str:
    """The field with an annotator's labels of one type; for boxes it is just the annotator's name."""
    return annotator if label_type == "boxes" else f"{annotator}_{label_type}"


#: label type -> arguments of ``compute()``; fields in the order of ``ANNOTATORS``
LABEL_TYPES: dict[str, dict[str, Any]] = {
    label_type: {
        "fields": tuple(field_name(label_type, annotator) for annotator in ANNOTATORS),
        "annotators": {field_name(label_type, annotator): annotator for annotator in ANNOTATORS},
    }
    for label_type in LABELLERS
}
LABEL_TYPES["quality"]["categories"] = (1, 2, 3, 4, 5)

DESCRIPTION = (
    "Demo of annotator agreement: real photographs that come with scikit-image and scikit-learn, and labels of three "
    "simulated annotators whose habits are known: boxes (fields alice, bob, carol), and polygons, instance masks, "
    "semantic masks, keypoints, classes, tags and ratings (fields alice_polygons ...); see dataset.info."
)

_BOB, _CAROL = HABITS["bob"], HABITS["carol"]
_OBJECTS, _IMAGES = (" and ".join(map(repr, pair)) for pair in (CONFUSED_PAIR, labels.CONFUSED_SCENES))
HABITS_TOLD = {
    "alice": "careful: tight shapes, right classes, misses almost nothing",
    "bob": f"as careful as alice, but skips {_BOB.small_miss_rate:.0%} of the objects among the smallest "
    f"{_BOB.small_quantile:.0%} of an image; paints instance masks at half the resolution",
    "carol": f"loose boxes, {_CAROL.margin:.0%} too far out on every side, and loose outlines with few corners; gives "
    f"{_CAROL.confusion_rate:.0%} of the objects of the classes {_OBJECTS}, and of the images of the classes {_IMAGES},"
    f" the other one; now and then a shape on nothing; leaves out {_CAROL.point_skip_rate:.0%} of the points; rates "
    f"{_CAROL.generous_rate:.0%} of the images one better; keeps masks in files",
}

SOURCES_TOLD = {
    "scikit-image": (
        "skimage/data: coins, hubble_deep_field (NASA), ihc, astronaut (NASA), camera, cell, chelsea, coffee, horse, "
        "moon, motorcycle_left, page, retina, rocket (SpaceX), grass, gravel; credits in skimage.data"
    ),
    "scikit-learn": (
        "sklearn/datasets/images: china.jpg (flickr: danielbuechele) and flower.jpg (flickr: vultilion), CC BY 2.0"
    ),
    "objects": (
        "coins, galaxies and nuclei were found by segmentation, all others were boxed by hand; the outlines of the "
        "horse, the cell and the flowers were found by a threshold, the others were traced by hand or are ellipses"
    ),
}

#: colours of the annotators' labels in the App
COLORS = {"alice": "#7fe07f", "bob": "#5aa9ff", "carol": "#ff8c42"}


def build_demo_dataset(image_dir: Path, name: str = DATASET_NAME) -> fo.Dataset:
    """Create the persistent demo dataset, replacing an existing dataset of that name.

    The fields of an annotator are None on images that were not assigned to them, and hold no objects on images where
    they looked and drew nothing. Every call gives the same images and labels. The App shows the boxes at first.
    """
    image_dir = Path(image_dir).resolve()
    image_dir.mkdir(parents=True, exist_ok=True)
    if fo.dataset_exists(name):
        fo.delete_dataset(name)
    dataset = fo.Dataset(name, persistent=True)
    fields = {
        field: fo.IntField() if kind is None else fo.EmbeddedDocumentField(kind)
        for label_type, (kind, _) in LABELLERS.items()
        for field in LABEL_TYPES[label_type]["fields"]
    }
    dataset._merge_sample_field_schema(fields)  # all at once: add_sample_field() saves and reads the dataset each time
    # every label type has its own random numbers, so that none changes when another one does
    generators = {label_type: np.random.default_rng([SEED, n]) for n, label_type in enumerate(LABELLERS)}
    generators["boxes"] = np.random.default_rng(SEED)
    dataset.add_samples([scene_sample(scene, image_dir, generators) for scene in demo_scenes()], progress=False)
    dataset.default_mask_targets = labels.MASK_TARGETS
    dataset.mask_targets = dict.fromkeys(LABEL_TYPES["segmentation"]["fields"], labels.MASK_TARGETS)
    dataset.default_skeleton = fo.KeypointSkeleton(
        labels=list(labels.POINTS), edges=[list(edge) for edge in labels.EDGES]
    )
    dataset.description = DESCRIPTION
    dataset.info = {"annotators": HABITS_TOLD, "sources": SOURCES_TOLD, "seed": SEED}
    dataset.app_config.color_scheme = fo.ColorScheme(
        color_by="field",
        fields=[
            {"path": field_name(label_type, annotator), "fieldColor": color}
            for label_type in LABEL_TYPES
            for annotator, color in COLORS.items()
        ],
    )
    dataset.app_config.active_fields = fo.ActiveFields(paths=list(LABEL_TYPES["boxes"]["fields"]))
    dataset.save()
    return dataset


def scene_sample(scene: Scene, image_dir: Path, generators: dict[str, np.random.Generator]) -> fo.Sample:
    """Write a scene's image file and return its sample with the labels of the annotators assigned to it."""
    path = image_dir / f"{scene.name}.jpg"
    Image.fromarray(scene.image).save(path, quality=JPEG_QUALITY)
    sample = fo.Sample(filepath=str(path), tags=[scene.source], metadata=fo.ImageMetadata.build_for(str(path)))
    for label_type, (_, label) in LABELLERS.items():
        for annotator in ANNOTATORS:
            if scene.name in NOT_ASSIGNED[annotator]:
                continue
            field = field_name(label_type, annotator)
            sample[field] = label(scene, annotator, generators[label_type])
            if label_type in ("masks", "segmentation") and annotator in labels.MASKS_IN_FILES:
                labels.move_masks_to_files(sample[field], image_dir / field, scene.name)
    return sample


# ---- its runs, and the App ----

MAIN_RUN = "agreement"
#: the label types in the order in which their runs are computed: the App opens on the run that was computed last
IN_ORDER = (*(label_type for label_type in LABEL_TYPES if label_type != "boxes"), "boxes")
#: saved view of the disputed objects, in addition to the usual ones
DISPUTED = f"{MAIN_RUN}: disputed objects"
WORST = f"{MAIN_RUN}: lowest score"
#: saved workspace with the panel beside the grid
WORKSPACE = "agreement"


def run_key_of(label_type: str) -> str:
    """The key of the run on a label type."""
    return MAIN_RUN if label_type == "boxes" else f"{label_type}_agreement"


def compute_run(dataset: fo.Dataset, label_type: str) -> Any:
    """Compute agreement on a label type; on boxes with a label for every object."""
    run = load_plugin().compute(dataset, run_key=run_key_of(label_type), progress=False, **LABEL_TYPES[label_type])
    if label_type == "boxes":
        run.objects.write(progress=False)
    return run


def set_up_app(dataset: fo.Dataset) -> None:
    """Save the usual views of the main run, its disputed objects and a workspace with the panel, and order the sidebar.

    The views and the run's group in the sidebar are removed with the run.
    """
    plugin = load_plugin()
    from annotator_agreement.dataset_io.views.agreement_view import marked

    plugin.load(dataset, MAIN_RUN).app(sidebar=True, indexes=True)
    plugin.load(dataset, MAIN_RUN).save_views()
    description = marked("One patch for every object that annotators disagree about, the worst first", MAIN_RUN)
    dataset.save_view(DISPUTED, plugin.load(dataset, MAIN_RUN).objects.patches(), description=description)
    _order_sidebar(dataset)
    dataset.app_config.active_fields = fo.ActiveFields(paths=[*LABEL_TYPES["boxes"]["fields"], f"{MAIN_RUN}_score"])
    dataset.save()
    dataset.save_workspace(WORKSPACE, workspace(), description="The grid, and the panel on agreement beside it")


def _order_sidebar(dataset: fo.Dataset) -> None:
    """Show the boxes and their run; collapse the groups of the other label types and their runs."""
    boxes = set(LABEL_TYPES["boxes"]["fields"])
    labels = [field for entry in LABEL_TYPES.values() for field in entry["fields"] if field not in boxes]
    runs = tuple(f"{run_key_of(label_type)}_" for label_type in LABEL_TYPES if label_type != "boxes")
    found = [path for path in dataset.get_field_schema() if path.startswith(runs)]
    groups = []
    for group in dataset.app_config.sidebar_groups:
        paths = [path for path in group.paths if path not in {*labels, *found}]
        expanded = False if group.name in ("metadata", "other", "primitives") else group.expanded
        groups.append(SidebarGroupDocument(name=group.name, paths=paths, expanded=expanded))
    after = next(k for k, group in enumerate(groups) if group.name == MAIN_RUN) + 1
    others = {"other labels": labels, "agreement on other labels": found}
    groups[after:after] = [SidebarGroupDocument(name=name, paths=paths, expanded=False)
                           for name, paths in others.items()]  # fmt: skip
    dataset.app_config.sidebar_groups = groups


def workspace() -> fo.Space:
    """The grid with the panel beside it."""
    samples, panel = fo.Panel(type="Samples", pinned=True), fo.Panel(type="agreement_panel")
    spaces = [fo.Space(children=[child], active_child=child.component_id) for child in (samples, panel)]
    return fo.Space(children=spaces, orientation="horizontal", sizes=[0.5, 0.5])
