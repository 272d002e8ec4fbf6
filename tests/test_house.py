"""Code layout: size of folders and modules, one meaning for every name, no import circles."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tests.test_layers import ROOT, imported, modules_and_faces

MOST_MODULES = 16
FEWEST_LINES = 30
FAMILIES = {"objects", "ratings", "tags", "pixels"}
#: the same subject in several families or layers: what is computed of it, stored, shown and asked for
SUBJECTS = {
    *("annotators", "classes", "compare", "comparison", "compute", "export", "gold", "headline", "numbers", "pairs"),
    *("objects", "parts", "pixels", "ratings", "records", "report", "tags", "thresholds"),
}
#: functions that every family has
OF_EVERY_FAMILY = {"headline_numbers", "sample_contents"}
#: the objects of the families themselves, and the table that says which labels an option concerns
FAMILY_OBJECTS = {"agreement/families/family.py", "charts/reports/families.py", "agreement/settings/options.py"}
#: short by nature: an error, and the interface of families
MAY_BE_SHORT = {
    *("agreement/settings/errors.py", "agreement/statistics/presentation.py", "dataset_io/families/protocol.py"),
}


@cache
def _modules() -> dict[str, ast.Module]:
    """The modules of the product by their path, without the faces of packages."""
    return {path: tree for path, tree in modules_and_faces().items() if not path.endswith("__init__.py")}


def _nodes(*folders: str) -> Iterator[tuple[str, ast.AST]]:
    """All nodes of the modules in some folders, or everywhere."""
    for path, tree in _modules().items():
        if path.startswith(folders or ""):
            yield from ((path, node) for node in ast.walk(tree))


def _in_several_places(named: Iterable[tuple[str, str]], but: set[str]) -> dict[str, list[str]]:
    """The names that stand in more than one place."""
    places = defaultdict(list)
    for name, path in named:
        places[name].append(path)
    return {name: found for name, found in places.items() if len(found) > 1 and name not in but}


def _lines_of_code(path: str, tree: ast.Module) -> int:
    """Lines without blanks, comments, docstrings and imports."""
    without: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            without.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                without.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines = enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1)
    return sum(1 for number, line in lines if line.strip() and line.strip()[0] != "#" and number not in without)


def test_no_module_imports_itself_through_others_also_inside_functions() -> None:
    left = {path: imported(path, tree) for path, tree in modules_and_faces().items()}
    while free := {path for path, needed in left.items() if not needed & left.keys()}:
        left = {path: needed for path, needed in left.items() if path not in free}
    assert not left


def test_computing_a_run_needs_no_picture_view_decision_file_and_setting_of_the_app() -> None:
    needed, todo = set(), {"dataset_io/jobs/compute.py"}
    while todo:
        path = todo.pop()
        needed.add(path)
        todo |= imported(path, modules_and_faces()[path]) - needed
    rooms = {path.rsplit("/", 1)[0] for path in needed}
    assert "dataset_io/run" in rooms
    assert not rooms & {f"dataset_io/{room}" for room in ("app", "views", "units", "decide", "annotation_files")}
    assert not {path.split("/")[0] for path in needed} - {"names.py", "metrics", "agreement", "dataset_io"}


def test_a_folder_shows_its_content_at_a_glance_and_a_module_is_a_room() -> None:
    sizes = Counter(Path(path).parent.as_posix() for path in _modules())
    assert {folder: n for folder, n in sizes.items() if n > MOST_MODULES} == {}
    lines = {path: _lines_of_code(path, tree) for path, tree in _modules().items() if path not in MAY_BE_SHORT}
    assert {path: n for path, n in lines.items() if n < FEWEST_LINES} == {}


def test_the_name_of_a_module_and_of_a_public_function_has_one_meaning() -> None:
    assert _in_several_places(((Path(path).stem, path) for path in _modules()), SUBJECTS) == {}
    defined = [(path, node) for path, tree in _modules().items() for node in tree.body]
    functions = [(node.name, path) for path, node in defined if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert _in_several_places((each for each in functions if each[0][0] != "_"), OF_EVERY_FAMILY) == {}


def test_only_the_family_objects_choose_by_the_name_of_a_family() -> None:
    chosen = []
    for path, node in _nodes():
        if isinstance(node, ast.Dict):
            keys = {key.value for key in node.keys if isinstance(key, ast.Constant)}
            if len(keys & FAMILIES) > 2:
                chosen.append((path, node.lineno))
        if isinstance(node, ast.Compare) and ast.unparse(node.left).endswith("family"):
            compared = {side.value for side in node.comparators if isinstance(side, ast.Constant)}
            chosen += [(path, node.lineno)] * len(compared & FAMILIES)
    assert [place for place in chosen if place[0] not in FAMILY_OBJECTS] == []


def test_types_of_extents_and_measures_are_not_told_apart() -> None:
    extents = {node.name for _, node in _nodes("metrics/geometry/") if isinstance(node, ast.ClassDef)}
    told_apart = []
    for path, node in _nodes("agreement/", "charts/"):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            told_apart += [(path, name.id) for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)]
        if isinstance(node, ast.Compare):
            constants = [side.value for side in (node.left, *node.comparators) if isinstance(side, ast.Constant)]
            told_apart += [(path, value) for value in constants if isinstance(value, str)]
    assert [(path, name) for path, name in told_apart if name in {*extents, "OKS", "temporal IoU"}] == []


#: a cross-reference in a docstring that begins at its own folder, such as a function ``~..record.run.refresh``
REFERENCE = re.compile(r":(?:class|func|mod|meth|data):`~?(\.+)([\w.]+)`")


def _names_in(tree: ast.Module) -> set[str]:
    """What is defined or imported anywhere in a module."""
    found = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    found |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return found | {alias.asname or alias.name for node in imports for alias in node.names}


def _leads_somewhere(path: str, dots: str, target: str) -> bool:
    """True if a reference from a module names a module, or something in one."""
    modules = modules_and_faces()
    folder = Path(path).parents[len(dots) - 1]
    parts = target.split(".")
    for n in range(len(parts), 0, -1):
        place = folder.joinpath(*parts[:n]).as_posix()
        module = next((found for found in (f"{place}.py", f"{place}/__init__.py") if found in modules), None)
        if module is not None:
            return set(parts[n:]) <= _names_in(modules[module])
    face = (folder / "__init__.py").as_posix()
    return face in modules and set(parts) <= _names_in(modules[face])


def test_references_in_docstrings_lead_somewhere() -> None:
    dead = [
        (path, match.group())
        for path in modules_and_faces()
        for match in REFERENCE.finditer((ROOT / path).read_text(encoding="utf-8"))
        if not _leads_somewhere(path, *match.groups())
    ]
    assert dead == []


def test_tests_name_folders_and_no_modules_in_them() -> None:
    named = {
        (node.module or "").replace(".", "/").removeprefix("annotator_agreement/")
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("annotator_agreement.")
    }
    assert {name for name in named if not (ROOT / name).is_dir()} <= {"names"}
