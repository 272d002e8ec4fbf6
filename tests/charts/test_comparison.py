"""The text of a comparison: short for any number of annotators and classes, and without changes that are not there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.charts.filled import interval

from annotator_agreement.agreement.families.compare import AgreementComparison
from annotator_agreement.charts.reports.comparison import comparison_markdown, comparison_text


def _change(difference: float) -> dict[str, Any]:
    ends = interval(difference - 0.01, difference + 0.01)
    return {"a": 0.5, "b": 0.5 + difference, "difference": difference, "interval": ends}


def _parts(name: str, n: int, difference: float) -> list[dict[str, Any]]:
    numbers = {number: _change(difference) for number in ("alpha", "score")}
    return [{"names": [f"{name} {k}"], "numbers": numbers} for k in range(n)]


def _comparison(n: int, difference: float, **changes: Any) -> AgreementComparison:
    moved = [
        {"id": f"{k:024d}", "filepath": f"/images/{k}.png", "a": 0.5, "b": 0.6, "difference": 0.1} for k in range(10)
    ]
    return AgreementComparison.from_dict(
        {
            "a": "before", "b": "after", "family": "objects", "n_samples": 200, "n_only_a": 0, "n_only_b": 0,
            "n_unrated": 0, "n_clusters": None, "on_frames": False, "options": [], "annotators_only_a": [],
            "annotators_only_b": [],
            "numbers": {key: _change(difference) for key in ("score.mean", "alpha.pooled", "existence.f1")},
            "changes": {kind: _parts(kind, n, difference) for kind in ("pairs", "classes", "annotators")},
            "samples": {"n_better": 10, "n_worse": 10, "n_equal": 180, "n_undefined": 0, "better": moved,
                        "worse": moved},
            "resamples": 200, "seed": 51, **changes,
        }
    )  # fmt: skip


@pytest.mark.parametrize("n", [3, 10, 120])
def test_a_comparison_has_at_most_sixty_lines(n: int) -> None:
    only = [f"annotator {k}" for k in range(n)]
    text = comparison_text(_comparison(n, 0.1, annotators_only_a=only, annotators_only_b=only))
    assert len(text.splitlines()) <= 60
    for kind in ("pairs", "classes", "annotators"):
        assert f"{kind} 0" in text
    assert ("110 more" in text) == (n == 120)


def test_of_many_only_those_that_changed_clearly_are_listed() -> None:
    for show in (comparison_text, comparison_markdown):
        text = show(_comparison(120, 0.0))
        assert text.count("0 of 120 changed clearly") == 3
        assert "classes 0" not in text
    one = _comparison(120, 0.0).to_dict()
    one["changes"]["classes"][7]["numbers"]["score"] = _change(0.1)
    text = comparison_markdown(AgreementComparison.from_dict(one))
    assert "1 of 120 changed clearly (the interval of the difference excludes 0):" in text
    assert "classes 7" in text
    assert "classes 0" not in text
    assert "classes 0" in comparison_text(_comparison(3, 0.0))  # of few, all


def test_alpha_has_the_name_of_the_family() -> None:
    titles = {"objects": "alpha of objects", "pixels": "Alpha of pixels"}
    for family in ("objects", "ratings", "tags", "pixels"):
        text = comparison_text(_comparison(3, 0.1, family=family))
        found = [line for line in text.split("Numbers\n")[1].splitlines() if "lpha" in line]
        assert titles.get(family, "Krippendorff's alpha") in found[0]


def test_with_many_tables_the_text_shortens_none_below_three_rows() -> None:
    kinds = ("pairs", "classes", "annotators", *(f"{role}{part}" for role in ("reference", "models")
             for part in ("", "_classes", "_sizes", "_attributes")))  # fmt: skip
    text = comparison_text(_comparison(3, 0.1, changes={kind: _parts(kind, 5, 0.1) for kind in kinds}))
    assert text.count("5 of 5 changed clearly (the interval of the difference excludes 0), 3 of them:") == len(kinds)
    assert not any(f"{kind.capitalize()}\n" in text for kind in kinds if "_" in kind)
    assert "Models by class\n" in text
    for shown in kinds:
        assert f"{shown} 2" in text
        assert f"{shown} 3" not in text
