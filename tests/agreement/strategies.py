"""Samples and options for hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.agreement.agreement_oracle import Sample

OPTIONS = st.fixed_dictionaries(
    {
        "missing": st.sampled_from(["category", "ignore"]),
        "undefined": st.sampled_from(["none", "one"]),
        "empty": st.sampled_from(["skip", "agree"]),
        "classes": st.sampled_from(["prefer", "ignore", "require"]),
        "similarity": st.sampled_from(["iou", "dice"]),
        "method": st.sampled_from(["optimal", "optimal", "recursive", "mutual_best"]),
        "iou": st.sampled_from([0.3, 0.5, 0.7]),
    }
)


@st.composite
def _labels(draw: st.DrawFn) -> tuple[int, float, float, float, float]:
    category, x, y = draw(st.tuples(st.integers(1, 3), st.integers(0, 3), st.integers(0, 2)))
    width, height = draw(st.tuples(st.integers(1, 5), st.integers(1, 3)))
    return category, x / 20, y / 11, (x + width) / 20, (y + height) / 11


@st.composite
def sample_lists(draw: st.DrawFn) -> tuple[int, list[Sample]]:
    """Number of annotators, and some samples; an annotator can be missing, drawn nothing or up to 3 labels."""
    n_annotators = draw(st.integers(2, 4))
    of_annotator = st.one_of(st.none(), st.lists(_labels(), max_size=3))
    lists = draw(st.lists(st.lists(of_annotator, min_size=n_annotators, max_size=n_annotators), max_size=4))
    return n_annotators, [{r: labels for r, labels in enumerate(entry) if labels is not None} for entry in lists]
