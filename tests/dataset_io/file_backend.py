"""An annotation backend for FiftyOne's own API that puts what is sent into a file: tests have no server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fiftyone.utils.annotations as foua

_LABEL_TYPES = (
    *("detection", "detections", "instance", "instances", "polyline", "polylines", "polygon", "polygons"),
    *("keypoint", "keypoints", "classification", "classifications"),
)


class FileBackendConfig(foua.AnnotationBackendConfig):
    """Where the file goes."""

    def __init__(self, name: str, label_schema: Any, media_field: str = "filepath", folder: str = "", **kwargs: Any):
        super().__init__(name, label_schema, media_field=media_field, **kwargs)
        self.folder = folder


class FileBackend(foua.AnnotationBackend):
    """Writes ``<anno key>.json``."""

    supported_media_types = ("image", "video")
    supported_label_types = _LABEL_TYPES
    supported_scalar_types = ()
    supported_attr_types = ("text",)
    supports_keyframes = False
    supports_video_sample_fields = True
    requires_label_schema = True

    def requires_attr_values(self, attr_type: str) -> bool:
        return False

    def recommend_attr_tool(self, name: str, value: Any) -> dict[str, Any]:
        return {"type": "text"}

    def upload_annotations(self, samples: Any, anno_key: str, launch_editor: bool = False) -> Any:
        id_map: dict[str, dict[str, Any]] = {}
        for field in self.config.label_schema:
            _, path = samples._get_label_field_path(field, "id")
            id_map[field] = dict(zip(*samples.values(["id", path]), strict=True))
        sent = {"labels": id_map, "schema": self.config.label_schema}
        Path(self.config.folder, f"{anno_key}.json").write_text(json.dumps(sent), encoding="utf-8")
        return FileResults(samples, self.config, anno_key, id_map, backend=self)


class FileResults(foua.AnnotationResults):
    """What was sent."""

    @classmethod
    def _from_dict(cls, d: Any, samples: Any, config: Any, anno_key: str) -> Any:
        return cls(samples, config, anno_key, d["id_map"])
