"""Let FiftyOne's App edit the field of decisions, by its label schema; restore the user's label schemas afterwards.

The App offers labels for editing whose fields have an active label schema. While somebody edits, the field of decisions
has a schema with the classes of the run, and the annotators' fields have read-only ones, without which the App would
not show them. The user's own schemas are remembered in the dataset's plugin settings and put back; what the user
changed meanwhile stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import fiftyone as fo

from ... import names
from ..database.fiftyone_private import list_of, replace_parts, stored_parts
from ..record.lease import writing

#: the settings of the App, in the document of a dataset
_SCHEMAS, _ACTIVE = "label_schemas", "active_label_schemas"
#: where the user's own schemas are remembered
_BEFORE = f"app_config.plugins.{names.GOLD_MARK}"
#: with more classes the App lists them in a menu
_MOST_BUTTONS = 5

Schema = dict[str, Any]


def start_editing(dataset: fo.Dataset, gold: str, fields: Sequence[str], class_names: Sequence[str]) -> None:
    """Let the App edit the field of decisions, and show the annotators' labels beside it.

    Args:
        dataset: the dataset
        gold: the field of decisions
        fields: the annotators' fields
        class_names: classes to choose from
    """
    with writing(dataset):
        while True:  # until nobody changes them between reading and writing
            stored = stored_parts(dataset, (_SCHEMAS, _ACTIVE, _BEFORE))
            schemas, active = _as_before(stored)
            # ours, made from the user's own if there are any
            declared = [name for name in (gold, *fields) if not dataset.get_field(name).read_only]
            made: dict[str, Schema] = dataset.generate_label_schemas(declared, scan_samples=False)
            stored_type: Any = dataset.get_field(gold).document_type
            _, label_type = list_of(stored_type) or ("", stored_type)
            model = next((schemas[name] for name in (gold, *fields) if name in schemas), made[gold])
            chosen = {each["name"]: each for each in model.get("attributes", [])}
            attributes = [
                chosen.get(each["name"], each)
                for each in made[gold]["attributes"]
                if each["name"] not in names.GOLD_ATTRIBUTES
                and (each["name"] not in label_type._fields or (model is not made[gold] and each["name"] in chosen))
            ]
            classes = sorted({*class_names, *model.get("classes", [])})
            component = "text" if not classes else "radio" if len(classes) <= _MOST_BUTTONS else "dropdown"
            gold_schema = {**made[gold], "attributes": attributes, "component": component, "read_only": False}
            ours: dict[str, Schema] = {gold: {**gold_schema, **({"classes": classes} if classes else {})}}
            ours |= {name: {**schemas.get(name, made[name]), "read_only": True} for name in fields if name in made}
            shown = [*ours, *(each for each in active if each not in ours)]
            memory = {
                "schemas": [[name, schemas.get(name), schema] for name, schema in ours.items()],
                "active": [active, shown],
            }
            if replace_parts(dataset, stored, {_SCHEMAS: {**schemas, **ours}, _ACTIVE: shown, _BEFORE: memory}):
                return


def end_editing(dataset: fo.Dataset) -> None:
    """Put back the label schemas as they were before; those that the user changed meanwhile stay."""
    if stored_parts(dataset, (_BEFORE,))[_BEFORE] is None:
        return
    with writing(dataset):
        while True:
            stored = stored_parts(dataset, (_SCHEMAS, _ACTIVE, _BEFORE))
            schemas, active = _as_before(stored)
            if replace_parts(dataset, stored, {_SCHEMAS: schemas, _ACTIVE: active, _BEFORE: None}):
                return


def _as_before(stored: dict[str, Any]) -> tuple[dict[str, Schema], list[str]]:
    """Label schemas of the user, and the names of the active ones."""
    schemas, active = dict(stored[_SCHEMAS] or {}), list(stored[_ACTIVE] or ())
    memory = stored[_BEFORE] or {"schemas": [], "active": [active, active]}
    for name, before, ours in memory["schemas"]:
        if schemas.get(name) == ours:  # else the user changed or deleted it
            schemas.pop(name)
            schemas |= {} if before is None else {name: before}
    were_active, shown = memory["active"]
    if active == shown:
        return schemas, [name for name in were_active if name in schemas]
    added = {name for name, *_ in memory["schemas"] if name not in were_active}
    return schemas, [name for name in active if name in schemas and name not in added]
