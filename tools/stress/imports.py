"""Imports at once, and imports and exports that are killed: no label is lost, and the dataset can be read."""

from __future__ import annotations

import json
import os
import random
import stat
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import fiftyone as fo

from .run import Campaign, Outcome, outcome_of
from .workers import Command, Worker, workers

_IMPORT, _EXPORT = (f"annotator_agreement.dataset_io:{name}_annotations" for name in ("import", "export"))
_N_IMAGES = 40
_ANNOTATORS = ("ann", "bob")
#: seconds within which an import or export is killed after it began
_LONGEST = 1.5

#: who drew which classes, by annotator and number of the image; nobody is there who did not look
_Labels = dict[tuple[str, int], list[str]]


def new_dataset(name: str) -> fo.Dataset:
    """Images without labels, and a field of the user."""
    dataset = fo.Dataset(name)
    dataset.add_samples([fo.Sample(f"/images/{k}.jpg", ann_being_imported="mine") for k in range(_N_IMAGES)])
    return dataset


def _drawn(rng: random.Random, mark: str) -> _Labels:
    """One to three labels by each annotator on some images, all of a class of their own."""
    images = rng.sample(range(_N_IMAGES), rng.randint(1, _N_IMAGES))
    return {(name, k): [mark] * rng.randint(1, 3) for name in _ANNOTATORS for k in images}


def _written(path: Path, drawn: _Labels) -> str:
    images = [
        {"id": k, "file_name": f"{k}.jpg", "width": 40, "height": 20, "rater_list": list(_ANNOTATORS)}
        for k in sorted({k for _, k in drawn})
    ]
    marks = sorted({mark for found in drawn.values() for mark in found})
    entries = [
        {"image_id": k, "rater_id": name, "bbox": [1, 1, 9, 9], "category_id": marks.index(mark), "depth": len(mark)}
        for (name, k), found in drawn.items()
        for mark in found
    ]
    categories = [{"id": number, "name": mark} for number, mark in enumerate(marks)]
    content = {
        "images": images,
        "categories": categories,
        "annotations": [{"id": k, **e} for k, e in enumerate(entries)],
    }
    path.write_text(json.dumps(content), "utf-8")
    return str(path)


def labels_of(dataset: fo.Dataset) -> _Labels:
    """What FiftyOne reads of every sample."""
    found: _Labels = {}
    dataset.reload()
    for sample in dataset:
        for name in _ANNOTATORS:
            if dataset.has_field(name) and sample[name] is not None:
                found[name, int(Path(sample.filepath).stem)] = [label.label for label in sample[name].detections]
    return found


def _left(dataset: fo.Dataset) -> list[str]:
    """What imports must leave alone, or not leave behind."""
    fields = [name for name in dataset.get_field_schema() if name.startswith("agreement_import_")]
    raw = [name for row in dataset._sample_collection.find({}) for name in row if name.startswith("agreement_import_")]
    wrong = [f"left behind: {sorted({*fields, *raw})}"] if fields or raw else []
    is_there = dataset.values("ann_being_imported") == ["mine"] * _N_IMAGES
    return wrong + ([] if is_there else ["the user's field is lost"])


def at_once(seed: int, rounds: int) -> Outcome:
    """Two to four imports for the same annotators at once."""
    with tempfile.TemporaryDirectory() as folder, workers(4) as team:
        numbers = range(seed, seed + rounds)
        return outcome_of((number, _on_new_dataset(number, _at_once, team, Path(folder))) for number in numbers)


def _on_new_dataset(number: int, play: Callable[..., list[str]], *given: Any) -> list[str]:
    """Play a round on a dataset of its own, with random numbers of its own."""
    dataset = new_dataset(f"imports-{os.getpid()}-{number}")
    try:
        return play(random.Random(number), dataset, *given)
    finally:
        dataset.delete()


def _at_once(rng: random.Random, dataset: fo.Dataset, team: Sequence[Worker], folder: Path) -> list[str]:
    before: _Labels = _drawn(rng, "before") if rng.random() < 0.8 else {}
    if before:
        team[0].do(Command(_IMPORT, [{"dataset": dataset.name}, _written(folder / "0.json", before)]))
    working = team[: rng.randint(2, len(team))]
    files = [_drawn(rng, f"import{k}") for k in range(len(working))]
    overwrite = [rng.random() < 0.6 for _ in files]
    for k, (worker, drawn) in enumerate(zip(working, files, strict=True)):
        path = _written(folder / f"{k + 1}.json", drawn)
        worker.send(Command(_IMPORT, [{"dataset": dataset.name}, path], {"overwrite": overwrite[k]}))
        time.sleep(rng.choice([0.0, 0.0, 0.2]))
    answers = [worker.answer() for worker in working]
    wrong = [answer.told for answer in answers if answer.error not in (None, "AgreementInputError")]
    done = [k for k, answer in enumerate(answers) if answer.error is None]
    wrong += [f"overwrite=True was refused: {answers[k].message}" for k in range(len(files))
              if overwrite[k] and k not in done]  # fmt: skip
    found = labels_of(dataset)
    for key in {*before, *found, *(key for k in done for key in files[k])}:
        written = [k for k in done if key in files[k]]
        # the first may add; every other one replaces, and so the last is one of those
        last = [files[k][key] for k in written if overwrite[k] or (len(written) == 1 and key not in before)]
        allowed = last if written else [before[key]]
        if found.get(key) not in allowed:
            wrong.append(f"{key} has {found.get(key)}, must have one of {allowed}")
    return wrong[:5] + _left(dataset)


def killed(seed: int, rounds: int) -> Outcome:
    """Kill imports and exports at random times; then all labels, or the file, are the old ones or the new ones."""
    with tempfile.TemporaryDirectory() as folder, workers(rounds) as team:
        return outcome_of(
            (number, _on_new_dataset(number, _killed, worker, Path(folder))) for number, worker in enumerate(team, seed)
        )


def _killed(rng: random.Random, *given: Any) -> list[str]:
    return (_export if rng.random() < 0.3 else _import)(rng, *given)


def _import(rng: random.Random, dataset: fo.Dataset, worker: Worker, folder: Path) -> list[str]:
    from annotator_agreement.dataset_io import import_annotations

    old, new = _drawn(rng, "before"), _drawn(rng, "new")
    import_annotations(dataset, _written(folder / "old.json", old))
    path = _written(folder / "new.json", new)
    worker.kill(Command(_IMPORT, [{"dataset": dataset.name}, path], {"overwrite": True}), rng.uniform(0.0, _LONGEST))
    found = labels_of(dataset)
    wrong = [] if found in (old, {**old, **new}) else ["neither the old nor the new labels"]
    import_annotations(dataset, path, overwrite=True)
    if labels_of(dataset) != {**old, **new}:
        wrong.append("another import does not give the new labels")
    return wrong + _left(dataset)


def _export(rng: random.Random, dataset: fo.Dataset, worker: Worker, folder: Path) -> list[str]:
    from annotator_agreement.dataset_io import import_annotations

    import_annotations(dataset, _written(folder / "old.json", _drawn(rng, "before")))
    path = folder / "exported.json"
    path.write_text('"old"', "utf-8")
    path.chmod(0o600)
    options = {"format": "coco", "overwrite": True}
    arguments = [{"dataset": dataset.name}, list(_ANNOTATORS), str(path)]
    worker.kill(Command(_EXPORT, arguments, options), rng.uniform(0.0, _LONGEST))
    content: Any = json.loads(path.read_text("utf-8"))
    wrong = [] if content == "old" or content["annotations"] else ["neither the old file nor the new one"]
    return wrong + ([] if stat.S_IMODE(path.stat().st_mode) == 0o600 else ["the mode of the file changed"])


CAMPAIGNS = (
    Campaign("imports", "2 to 4 imports for the same annotators at once; all labels are there, none is mixed", at_once,
             40),
    Campaign("killed-imports", "SIGKILL during imports and exports; all is old or new, and it works again", killed, 40),
)  # fmt: skip
