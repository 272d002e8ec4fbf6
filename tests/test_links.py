"""Links between the pages lead somewhere, also to headings; messages that the documentation explains exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from tools.dev.private_fiftyone import ROOT

FOLDERS = ("agreement", "charts", "dataset_io", "docs", "metrics", "operators", "panels", "tests", "tools")
_FILES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "skills").rglob("*.md"),
]
PAGES = {page: page.read_text(encoding="utf-8") for page in sorted(_FILES)}
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)


@cache
def _anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as MkDocs and code hosts make them."""
    headings = re.findall(r"^#+ (.*)$", PAGES[page], re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower())).strip("-") for heading in headings}


def test_links_lead_somewhere_also_to_headings():
    links = [(page, link) for page, text in PAGES.items() for link in _LINK.findall(_CODE.sub("", text))]
    for page, link in links:
        if link.startswith(("https://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link} in {page.name}"
        shown_in_one_theme = target.suffix == ".jpg" and anchor in ("gh-light-mode-only", "gh-dark-mode-only")
        assert not anchor or shown_in_one_theme or anchor in _anchors(target), f"{link} in {page.name}"
    # those out are few and to known places; they are not followed, so that the test needs no network
    found = {link for text in PAGES.values() for link in _LINK.findall(text) if "://" in link}
    assert all(re.match(r"https://(docs\.voxel51|github)\.com(/|$)", link) for link in found)


def test_the_messages_that_troubleshooting_explains_exist():
    folders = ("agreement", "charts", "dataset_io", "operators", "tools")
    sources = [ROOT / "unavailable.py", *(path for folder in folders for path in (ROOT / folder).rglob("*.py"))]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    # as printed: with the values of the message left out, and texts over several lines joined
    code = re.sub(r'"\s*\n\s*f?"', "", code)
    rows = re.findall(r"^\| (.*?) \|", (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8"), re.MULTILINE)
    quoted = [text for row in rows for text in re.findall(r"``\s(.+?)\s``|`([^`]+)`", row)]
    texts = [one or other for one, other in quoted]
    assert len(texts) > 20
    ours = [text for text in texts if text not in ("ModuleNotFoundError: annotator_agreement", "-")]
    found = [text.strip("'") in code or text.replace("`run_key`", "`{argument}`") in code for text in ours]
    assert [text for text, is_found in zip(ours, found, strict=True) if not is_found] == []


def _files_named(path: str) -> list[Path]:
    """The files that a page means by a path, which may leave out folders."""
    deeper = [] if "/" in path else [file for folder in FOLDERS for file in (ROOT / folder).rglob(path)]
    return [file for file in [ROOT / path, *deeper] if file.exists()]


def test_the_files_and_names_that_contributing_tells_to_change_exist():
    text = PAGES[ROOT / "CONTRIBUTING.md"]
    paths = re.findall(r"`([\w/.-]+\.(?:py|md|yml|toml|cff|ipynb|txt|sh)|[\w/]+/)`", text)
    assert len(paths) > 30
    assert [path for path in paths if not _files_named(path)] == []
    named = re.findall(r"((?:`\w+`[,\s]*(?:and\s)?)+)\s*(?:in\s|\()`([\w/]+\.py)`", text)
    pairs = [(name, path) for names, path in named for name in re.findall(r"`(\w+)`", names)]
    assert ("LABEL_TYPES_OF", "dataset_io/annotation_files/label_documents.py") in pairs
    assert len(pairs) > 15
    for name, path in pairs:
        defined = re.compile(rf"^(?:class |def )?{name}\b", re.MULTILINE)
        assert any(defined.search(file.read_text(encoding="utf-8")) for file in _files_named(path)), (name, path)


def test_the_sections_of_the_report_that_the_issue_forms_ask_for_exist():
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "charts").rglob("*.py"))
    forms = (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")
    asked = [title for form in forms for title in re.findall(r"section “(.+?)”", form.read_text(encoding="utf-8"))]
    assert len(asked) == 2
    assert [title for title in asked if f'"{title}"' not in code] == []


def test_every_picture_is_shown_and_there_in_both_themes():
    shown = set(re.findall(r"images/([\w-]+\.jpg)#gh-(light|dark)-mode-only", "".join(PAGES.values())))
    assert all(name.endswith(f"-{theme}.jpg") for name, theme in shown)
    assert {name for name, _ in shown} == {path.name for path in (ROOT / "docs" / "images").glob("*.jpg")}
    assert len({name.rpartition("-")[0] for name, _ in shown}) == len(shown) / 2
