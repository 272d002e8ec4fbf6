"""Paths of Windows and macOS, and what only some systems have. What runs on those systems itself was not tried."""

from __future__ import annotations

import ast
from pathlib import Path, PureWindowsPath

import pytest

from tools.dev.private_fiftyone import ROOT

from annotator_agreement.charts.text import file_name
from annotator_agreement.dataset_io.annotation_files import _Names, address_of, name_in, short_names
from annotator_agreement.dataset_io.record import lease

ON_WINDOWS = [r"C:\Users\Ann Lee\images\one.jpg", r"C:\Users\Ann Lee\images\two.jpg"]
#: modules of the standard library that Windows does not have
UNIX_ALONE = {"curses", "fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}


def test_images_are_found_under_names_of_any_system_and_a_folder_of_another_name_is_not_meant():
    for match, name in (
        ("filename", "two.jpg"),
        ("filename", "/home/ann/two.jpg"),
        ("filename", r"D:\other\two.jpg"),
        ("stem", r"images\two.png"),
        ("path", "images/two.jpg"),
        ("path", r"images\two.jpg"),
        ("path", ON_WINDOWS[1]),
        ("path", PureWindowsPath(ON_WINDOWS[1]).as_posix()),
    ):
        assert _Names(ON_WINDOWS, match).find(name) == [ON_WINDOWS[1]], name
    assert _Names(ON_WINDOWS, "path").find(r"other\two.jpg") == []
    # names in exported files have the same separator everywhere
    assert list(short_names(ON_WINDOWS).values()) == ["one.jpg", "two.jpg"]
    alike = [r"C:\a\1.jpg", r"C:\b\1.jpg", "/a/c/1.jpg"]
    assert short_names(alike) == dict(zip(alike, ["a/1.jpg", "b/1.jpg", "c/1.jpg"], strict=True))
    assert [_Names(alike, "path").find(name) for name in ("a/1.jpg", "b/1.jpg", "c/1.jpg")] == [
        [each] for each in alike
    ]


def test_an_image_has_an_address_in_label_studio_that_leads_back_to_it_and_is_shown_by_its_name():
    for path, name in (
        (ON_WINDOWS[0], "Users/Ann Lee/images/one.jpg"),
        ("/Users/Ann Lee/images/one.jpg", "Users/Ann Lee/images/one.jpg"),
        (r"\\server\share\images\one.jpg", "server/share/images/one.jpg"),
        ("https://x.org/images/one.jpg", "/images/one.jpg"),
        ("s3://bucket/one.jpg", "/one.jpg"),
    ):
        assert name_in(address_of(path)) == name
        assert _Names([path], "filename").find(name) == [path]
    assert file_name(ON_WINDOWS[0]) == file_name("/Users/Ann/one.jpg") == "one.jpg"


def test_a_machine_without_proc_is_known_by_its_name(monkeypatch):
    def not_there(*_: object, **__: object) -> str:
        raise FileNotFoundError("/proc")

    monkeypatch.setattr(Path, "read_text", not_there)
    monkeypatch.setattr(lease.platform, "node", lambda: "Ann's MacBook")
    lease._machine.cache_clear()
    try:
        assert lease._machine() == "Ann's-MacBook"
    finally:
        monkeypatch.undo()
        lease._machine.cache_clear()


@pytest.mark.long
def test_nothing_is_imported_that_windows_does_not_have():
    folders = ("metrics", "agreement", "charts", "dataset_io", "operators", "panels")
    files = [*ROOT.glob("*.py"), *(path for folder in folders for path in (ROOT / folder).rglob("*.py"))]
    assert len(files) > 100
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert not {entry.name.partition(".")[0] for entry in node.names} & UNIX_ALONE, path
            elif isinstance(node, ast.ImportFrom) and not node.level:
                assert str(node.module).partition(".")[0] not in UNIX_ALONE, path
