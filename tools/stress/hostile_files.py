"""Annotation files that try to fill the memory, or to be read for ever: an import takes them in, or says why not."""

from __future__ import annotations

import json
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fiftyone as fo

from .run import Campaign, Outcome
from .workers import PATIENCE, Answer, Command, workers

#: what an import of any file of 20 MB may take
_MOST_BYTES, _MOST_SECONDS = 1 << 30, 30.0
#: bytes of the files in `make stress`
_FULL_SIZE = 20_000_000
_SIDE = 1 << 14
_BOX = '<box frame="{}" xtl="0" ytl="0" xbr="9" ybr="9"/>'


def _coco(images: list[Any], annotations: Any, **more: Any) -> str:
    return json.dumps({"images": images, "annotations": annotations, "categories": [], **more})


def _image(**more: Any) -> dict[str, Any]:
    return {"id": 0, "file_name": "1.jpg", "width": 64, "height": 48, "rater_list": ["ann"], **more}


def _masks(side: int, stated: int, n: int) -> str:
    """Run-length masks that cover an image."""
    mask = {"size": [side, side], "counts": [0, side * side]}
    entry = {"image_id": 0, "rater_id": "ann", "bbox": [0, 0, 9, 9], "segmentation": mask}
    return _coco([_image(width=stated, height=stated)], [{"id": k, **entry} for k in range(n)])


def _label_studio(results: list[Any]) -> str:
    return json.dumps([{"data": {"image": "1.jpg"}, "annotations": [{"completed_by": "ann", "result": results}]}])


def _brush(_: int) -> str:
    """A brush of one run over a large image, transparent; 80 bytes of stream for each 2^18 values."""
    size = {"original_width": _SIDE, "original_height": _SIDE}
    bits = f"{4 * _SIDE * _SIDE:032b}{7:05b}" + "".join(f"{width - 1:04b}" for width in (3, 4, 8, 16))
    bits += ("1" + "11" + "1" * 16 + "1" * 8) * (4 * _SIDE * _SIDE >> 16)
    rle = list(int(bits + "0" * (-len(bits) % 8), 2).to_bytes((len(bits) + 7) // 8, "big"))
    value = {"format": "rle", "rle": rle, "brushlabels": ["x"]}
    return _label_studio([{"id": "r", "type": "brushlabels", "value": value, **size}])


def _keypoints(n: int, parts: int) -> str:
    """Keypoints of one skeleton each, all of other names, or with very many parts."""
    found: list[Any] = []
    for k in range(n):
        point = {"id": f"p{k}", "type": "keypointlabels", "original_width": 9, "original_height": 9}
        value = {"x": 1, "y": 1, "keypointlabels": [f"n{k}"]}
        meta = {"meta": {"part_of": f"w{k}", "part": 0, "parts": parts}} if parts else {"parentID": f"b{k % 2}"}
        found.append({**point, "value": value, **meta})
    return _label_studio(found)


def _one_region(n: int) -> str:
    shape = {"id": "r", "type": "rectangle", "value": {"x": 1, "y": 1, "width": 1, "height": 1}}
    return _label_studio([shape] * n + [{"id": "r", "type": "choices", "value": {"choices": ["x"]}}] * n)


def _tracks(n: int, last: int) -> str:
    track = "<track id='{}' label='x'>" + _BOX.format(0) + _BOX.format(last) + "</track>"
    return "<annotations>" + "".join(map(track.format, range(n))) + "</annotations>"


def _frames(last: int) -> str:
    job = f"<mode>interpolation</mode><start_frame>0</start_frame><stop_frame>{last}</stop_frame>"
    return f"<annotations><meta><job>{job}</job></meta></annotations>"


def _everybody(n: int) -> str:
    entries = [{"id": k, "image_id": k, "rater_id": f"r{k}", "bbox": [0, 0, 9, 9]} for k in range(n)]
    return _coco([{"id": k, "file_name": f"{k}.jpg", "width": 9, "height": 9} for k in range(n)], entries)


def _polygon(n: int, side: int) -> str:
    ring = [0, 0, side, 0, side, side, 0, side] + [0] * n
    entry = {"id": 1, "image_id": 0, "rater_id": "ann", "segmentation": [ring]}
    return _coco([_image(width=side, height=side)], [entry])


def _dense_labels(n: int) -> str:
    entries = ",".join('{"image_id":0,"rater_id":"ann","bbox":[0,0,1,1]}' for _ in range(n // 50))
    return f'{{"images":[{json.dumps(_image())}],"categories":[],"annotations":[{entries}]}}'


def _ellipses(n: int) -> str:
    shape = '<ellipse cx="9" cy="9" rx="9" ry="9"/>'
    return f'<annotations><image name="1.jpg" width="64" height="48">{shape * (n // len(shape))}</image></annotations>'


#: by name: the ending and the content of a file, of about so many bytes where it is not small anyway
FILES: dict[str, tuple[str, Callable[[int], str]]] = {
    "track of a million frames": ("xml", lambda n: _tracks(1, 999_999)),
    "30 tracks of a million frames": ("xml", lambda n: _tracks(30, 999_999)),
    "brush on a large image": ("json", _brush),
    "40 large masks on a small image": ("json", lambda n: _masks(_SIDE, 64, 40)),
    "40 large masks on a large image": ("json", lambda n: _masks(_SIDE, _SIDE, 40)),
    "polygon on an image of 2^31 pixels a side": ("json", lambda n: _polygon(0, (1 << 31) - 1)),
    "labels of 100,000 parts": ("json", lambda n: _keypoints(min(n // 250, 40_000), 100_000)),
    "keypoints of other names": ("json", lambda n: _keypoints(n // 200, 0)),
    "results of one region": ("json", lambda n: _one_region(n // 150)),
    "run length without an end": ("json", lambda n: _masks(64, 64, 1).replace("[0, 4096]", f'"{"o" * n}"')),
    "JSON of empty objects": ("json", lambda n: '{"images":[' + "{}," * (n // 3) + '{}],"annotations":[]}'),
    "JSON of empty lists": ("json", lambda n: '{"images":[' + "[]," * (n // 3) + '[]],"annotations":[]}'),
    "XML of empty elements": ("xml", lambda n: "<annotations>" + "<a/>" * (n // 4) + "</annotations>"),
    "polygon of zeros": ("json", lambda n: _polygon(n // 3, 60)),
    "dense boxes": ("json", _dense_labels),
    "ellipses": ("xml", _ellipses),
    "table of short rows": ("csv", lambda n: "image,rater,label\n" + "1.jpg,a,x\n" * (n // 10)),
    "table with a long polygon": (
        "csv",
        lambda n: 'image,rater,label,polygon\n1.jpg,a,x,"(' + "1," * (n // 2) + ')"\n',
    ),
    # these take seconds whatever their size
    "a million frames without labels": ("xml", lambda n: _frames(1_000_000)),
    "many masks of 2^26 pixels": ("json", lambda n: _masks(1 << 13, 1 << 13, 200)),
    "8 masks of 2^26 pixels": ("json", lambda n: _masks(1 << 13, 1 << 13, 8)),
    "everybody on every image": ("json", lambda n: _everybody(min(n // 120, 20_000))),
}


def take_in(dataset: fo.Dataset, path: str, label_types: str | None) -> dict[str, Any]:
    """Import a file; the seconds of the processor, and the most memory that this process ever had."""
    from annotator_agreement import AgreementInputError
    from annotator_agreement.dataset_io import import_annotations

    with open("/proc/self/statm", encoding="ascii") as file:
        virtual = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (virtual + 2 * _MOST_BYTES, resource.RLIM_INFINITY))
    started = time.process_time()
    try:
        said = str(import_annotations(dataset, path, label_types=label_types).n_images)
    except AgreementInputError as error:
        said = str(error)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": time.process_time() - started, "bytes": memory, "said": said}


def hostile_files(seed: int, rounds: int, size: int = _FULL_SIZE) -> Outcome:
    """Import files of the list, each in a process of its own; the number of rounds is that of the files."""
    names = [list(FILES)[(seed + number) % len(FILES)] for number in range(rounds)]
    examples: list[str] = []
    with tempfile.TemporaryDirectory() as folder, workers(len(names)) as team:
        for worker, name in zip(team, names, strict=True):
            ending, content = FILES[name]
            path = Path(folder) / f"file.{ending}"
            path.write_text(content(size), "utf-8")
            dataset = fo.Dataset()
            video = name.endswith(("frames", "labels"))
            dataset.add_sample(fo.Sample("/videos/file.mp4") if video else fo.Sample("/images/1.jpg"))
            types = "segmentations" if "mask" in name or "2^31" in name else None
            options = [{"dataset": dataset.name}, str(path), types]
            try:
                answer = worker.do(Command(f"{__name__}:take_in", options))
            finally:
                dataset.delete()
            wrong = _wrong(answer)
            examples += [f"{name} ({os.path.getsize(path):,} bytes): {wrong}"] if wrong else []
    return Outcome(len(names), len(examples), examples)


def _wrong(answer: Answer) -> str:
    if answer.error is not None:
        return f"{answer.told} (within {PATIENCE} s)"
    found = answer.value
    if found["bytes"] > _MOST_BYTES or found["seconds"] > _MOST_SECONDS:
        return f"{found['bytes'] >> 20} MB, {found['seconds']:.1f} s of the processor: {found['said'][:100]}"
    return ""


CAMPAIGNS = (
    Campaign(
        "files", "hostile annotation files of up to 20 MB: within 1 GiB and 30 s of the processor, or a sentence",
        hostile_files, len(FILES),
    ),
)  # fmt: skip
