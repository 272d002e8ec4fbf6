"""List of an annotator's overruled labels, as a table and as a page to send to them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING

from ..text.words import counted

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, slots=True)
class ListedError:
    """An overruled label in the list of an annotator."""

    image: str  #: name of the file
    sample_id: str
    frame: int | None  #: number of the frame; None on images
    given: str | None  #: what they said; None if they left it out
    right: str | None  #: what is right; None if there is nothing
    decided_by: str
    decided_at: datetime
    remark: str | None
    label_id: str | None  #: id of their label
    picture: str | None  #: data URI

    @property
    def order(self) -> tuple[str, int, str, str]:
        """By image and frame."""
        return self.image, self.frame or 0, self.sample_id, self.label_id or ""


def errors_table(listed: Sequence[ListedError]) -> DataFrame:
    """The list as a table, without pictures."""
    import pandas as pd  # a run does not need it

    columns = [field.name for field in dataclasses.fields(ListedError) if field.name != "picture"]
    rows = [[getattr(each, name) for name in columns] for each in listed]
    return pd.DataFrame(rows, columns=columns).astype({"frame": "Int64"})


def errors_page(annotator: str, dataset_name: str, unit: str, listed: Sequence[ListedError]) -> str:
    """The list as the text of an HTML file, which needs no other file and no network."""
    from .template import STYLE  # with what imports Plotly, which a run does not need

    title = f"Decided against {annotator}"
    nothing = "on which nothing is right" if unit == "image" else "that there is not"
    counts = [
        (sum(each.given is None for each in listed), "left out"),
        (sum(each.right is None for each in listed), nothing),
        (sum(None not in (each.given, each.right) for each in listed), "of which something else is right"),
    ]
    told = "; ".join(f"{counted(n, unit)} {text}" for n, text in counts if n) or "Nothing was decided against them"
    rows = "".join(map(_error_row, listed))
    head = "<tr><th>Picture</th><th>Image</th><th>You said</th><th>Right is</th><th>Decided by</th><th>Why</th></tr>"
    legend = "In pictures your label is orange, what is right green."
    body = (
        f"<header><h1>{escape(title)}</h1><p class='about'>Dataset {escape(dataset_name)}</p></header><main>"
        f"<p>{escape(told)}. {legend}</p><table>{head}{rows}</table></main>"
    )
    style = f"<meta charset='utf-8'><title>{escape(title)}</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{style}</head><body>{body}</body></html>"


def _error_row(each: ListedError) -> str:
    picture = "" if each.picture is None else f"<img src='{each.picture}' alt='' width='230'>"
    frame = "" if each.frame is None else f", frame {each.frame}"
    said = [escape(text) if text is not None else none for text, none in ((each.given, "–"), (each.right, "nothing"))]
    by = f"{escape(each.decided_by)}, {each.decided_at:%Y-%m-%d}"
    place = f"{escape(each.image)}{frame}"
    cells = (picture, place, *said, by, escape(each.remark or ""))
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
