"""Who may import whom, read from the source."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: layer: (layers it may import, third-party packages it may import)
PURE = {"numpy", "scipy", "shapely", "PIL"}
LAYERS: dict[str, tuple[set[str], set[str]]] = {
    "names": (set(), set()),
    "metrics": (set(), PURE),
    "agreement": ({"metrics", "names"}, {"numpy", "yaml"}),
    "charts": ({"agreement", "names"}, {"numpy", "pandas", "plotly", "tabulate", "jinja2", "markupsafe"}),
    "dataset_io": (
        {"charts", "agreement", "metrics", "names"},
        {*PURE, "cv2", "pandas", "plotly", "fiftyone", "pymongo", "bson", "gridfs", "mongoengine", "psutil",
         "defusedxml", "yaml"},
    ),
    **{layer: ({"dataset_io", "charts", "agreement", "names"}, {"fiftyone"})
       for layer in ("operators", "panels", "command_line")},
}  # fmt: skip
#: layers that are a single module
MODULES = ("names",)
#: the rooms of the product: each imports those before it; the face of a folder (its ``__init__.py``) is its last room
ORDER = (
    "names",
    *(f"metrics/{room}" for room in ("numeric", "bootstrap", "alpha", "geometry", "matching", "consensus", "pixels")),
    "metrics",
    *(f"agreement/{room}" for room in ("settings", "evidence", "statistics", "pixels", "ratings")),
    *(f"agreement/{room}" for room in ("matching", "objects", "tags", "roles", "disputes", "families")),
    *(f"agreement/{room}" for room in ("parts", "acceptance")),
    "agreement",
    *(f"charts/{room}" for room in ("text", "objects", "reports", "figures", "page")),
    "charts",
    *(f"dataset_io/{room}" for room in ("database", "labels", "record", "families", "run", "shards", "app", "views")),
    *(f"dataset_io/{room}" for room in ("units", "decide", "results", "annotation_files", "jobs")),
    *("dataset_io", "operators", "panels", "command_line"),
)
#: what reports name in their signatures, for type checkers alone
RETURNED = {"pandas", "plotly"}


@dataclass(frozen=True)
class Import:
    """An import statement: a layer of ours (relative) or the top name of a package."""

    line: int
    name: str
    relative: bool
    function: str
    typing_only: bool


@functools.cache
def modules_and_faces() -> dict[str, ast.Module]:
    """The modules of the product by their path, with the faces of packages."""
    files = [ROOT / f"{name}.py" for name in MODULES]
    files += [file for layer in LAYERS for file in sorted((ROOT / layer).rglob("*.py"))]
    return {file.relative_to(ROOT).as_posix(): _tree(file) for file in files}


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@functools.cache
def _imports(path: str, tree: ast.Module) -> list[Import]:
    """All imports of a file, also those within functions."""
    package = Path(path).parent.parts
    found: list[Import] = []

    def visit(node: ast.AST, function: str, typing_only: bool) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node.name
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            typing_only = True
        for name, relative in _names(node, package):
            found.append(Import(node.lineno, name, relative, function, typing_only))
        for child in ast.iter_child_nodes(node):
            visit(child, function, typing_only)

    visit(tree, "", False)
    return found


def _names(node: ast.AST, package: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    if isinstance(node, ast.Import):
        yield from ((alias.name.split(".")[0], False) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level:
        yield (node.module or "").split(".")[0], False
    elif isinstance(node, ast.ImportFrom):
        above = package[: len(package) - (node.level - 1)]
        target = (*above, *(node.module or "").split(".")) if node.module else above
        if target:
            yield target[0], True
        else:  # from .. import names
            yield from ((alias.name, True) for alias in node.names)


def _layer(path: str) -> str:
    return path.split("/")[0].removesuffix(".py")


@functools.cache
def imported(path: str, tree: ast.Module) -> frozenset[str]:
    """Modules, and faces, that a module imports, wherever in it; faces name some as texts."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = Path(path).parents[node.level - 1]
            target = folder.joinpath(*(node.module or "").split(".")).as_posix()
            candidates = {f"{target}.py", *(f"{target}/{alias.name}.py" for alias in node.names)}
            face = f"{target}/__init__.py"
            if any(f"{target}/{alias.name}.py" not in modules_and_faces() for alias in node.names):
                candidates.add(face)
            found |= {candidate.removeprefix("./") for candidate in candidates} & modules_and_faces().keys()
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and path.endswith("__init__.py"):
            named = Path(path).parent.joinpath(*node.value.removeprefix(".").split(".")).as_posix()
            found |= {f"{named}.py"} & modules_and_faces().keys()
    return frozenset(found - {path})


def _wrong(is_wrong: Callable[[str, Import], bool]) -> list[str]:
    """Where the imports are that should not be."""
    found = ((path, entry) for path, tree in modules_and_faces().items() for entry in _imports(path, tree))
    return [f"{path}, line {entry.line}: {entry.name}" for path, entry in found if is_wrong(path, entry)]


def test_a_layer_imports_only_what_stands_below_it() -> None:
    def is_wrong(path: str, entry: Import) -> bool:
        return entry.relative and entry.name not in {_layer(path), *LAYERS[_layer(path)][0]}

    assert _wrong(is_wrong) == []


def test_a_room_imports_only_rooms_before_it() -> None:
    modules = modules_and_faces()
    places = {room: place for place, room in enumerate(ORDER)}
    rooms = {path: path.removesuffix(".py") if "/" not in path else path.rpartition("/")[0] for path in modules}
    assert set(rooms.values()) == set(places)
    late = [
        f"{path} imports {target}"
        for path, tree in modules.items()
        for target in imported(path, tree)
        if places[rooms[target]] > places[rooms[path]]
    ]
    assert late == []


def test_a_layer_imports_only_its_third_party_packages() -> None:
    def is_wrong(path: str, entry: Import) -> bool:
        allowed = {*LAYERS[_layer(path)][1], *sys.stdlib_module_names}
        named_only = _layer(path) == "agreement" and entry.typing_only and entry.name in RETURNED
        return not entry.relative and entry.name not in allowed and not named_only

    assert _wrong(is_wrong) == []


def test_our_own_modules_are_imported_relatively() -> None:
    own = {*LAYERS, "annotator_agreement"}
    assert _wrong(lambda path, entry: not entry.relative and entry.name in own) == []


#: the only file that may use what FiftyOne keeps for itself
PRIVATE = "dataset_io/database/fiftyone_private.py"
#: methods of named tuples
OF_TUPLES = {"_asdict", "_fields", "_replace"}


def _private_uses(tree: ast.Module) -> Iterator[str]:
    """Uses of attributes and arguments that begin with one underscore, but for those of the file's own classes."""
    nodes = list(ast.walk(tree))
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    of_names = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
    own |= {node.attr for node in of_names if node.value.id in ("self", "cls")}
    for node in nodes:
        if isinstance(node, ast.Attribute) and _is_private(node.attr) and node.attr not in own | OF_TUPLES:
            yield f"line {node.lineno}: {node.attr}"
        elif isinstance(node, ast.Call):
            given = [keyword.arg or "" for keyword in node.keywords]
            # pymongo's name of the id of a document
            yield from (f"line {node.lineno}: {name}=" for name in given if _is_private(name) and name != "_id")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fiftyone.core.odm"):
            yield f"line {node.lineno}: {node.module}"


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def test_the_private_api_of_fiftyone_is_used_in_one_file() -> None:
    uses = {path: list(_private_uses(tree)) for path, tree in modules_and_faces().items()}
    assert uses.pop(PRIVATE)
    assert {path: found for path, found in uses.items() if found} == {}


#: methods of FiftyOne's that save the schema, or lists of a dataset, without regard to what others save meanwhile
CARELESS = {
    *("add_sample_field", "add_frame_field", "add_dynamic_sample_fields", "add_dynamic_frame_fields", "save_view"),
    *("delete_sample_field", "delete_sample_fields", "delete_frame_field", "delete_frame_fields", "delete_saved_view"),
    *("rename_sample_field", "rename_sample_fields", "clone_sample_field", "clone_sample_fields", "delete_run"),
}


def test_the_schema_is_changed_by_our_own_means_alone() -> None:
    """``dataset_io/record/schema.py`` changes it in one write, which other processes cannot spoil."""
    for path, tree in modules_and_faces().items():
        used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not used & CARELESS, path


def test_the_root_imports_nothing_of_ours_before_it_is_used() -> None:
    found = _imports("__init__.py", _tree(ROOT / "__init__.py"))
    early = [entry for entry in found if not entry.function and not entry.typing_only]
    assert [entry.name for entry in early if entry.relative] == []
    assert {entry.name for entry in early} <= {*sys.stdlib_module_names}


def test_the_layers_are_all_there() -> None:
    present = {path.name for path in ROOT.iterdir() if (path / "__init__.py").is_file()} - {"tests", "tools"}
    assert present <= set(LAYERS)
    assert {"metrics", "agreement", "dataset_io", "operators"} <= present


IMPORTS = [
    ("from ..agreement import x", "metrics/a.py", ("agreement", True)),
    ("from .. import names", "metrics/a.py", ("names", True)),
    ("from .b import c", "metrics/a.py", ("metrics", True)),
    ("from . import b", "metrics/a.py", ("metrics", True)),
    ("import numpy.typing as t", "metrics/a.py", ("numpy", False)),
    ("from scipy.sparse import coo_array", "metrics/a.py", ("scipy", False)),
    ("from .metrics import a", "__init__.py", ("metrics", True)),
]


def test_imports_are_read_as_what_they_import() -> None:
    for statement, file, expected in IMPORTS:
        (node,) = ast.parse(statement).body
        assert list(_names(node, Path(file).parent.parts)) == [expected], statement
