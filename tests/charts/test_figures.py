"""Figures draw the numbers of the report, and raise an error for numbers that it lacks."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from tests.charts.filled import (
    ALONE,
    ALPHA_OF_CLASSES,
    ANNOTATORS,
    BIAS,
    CLASSES,
    IOU_HISTOGRAM,
    PAIR_NUMBERS,
    THRESHOLDS,
    around,
    filled_report,
    filled_sensitivity,
    filled_values,
    interval,
    unfilled_report,
)
from tests.charts.other_families import OTHERS

from annotator_agreement.agreement import AgreementInputError
from annotator_agreement.agreement.families import report_from_dict
from annotator_agreement.charts import figures
from annotator_agreement.charts.figures import annotator_order, free_places, safe, shortened

PLACES = {"score": 0, "alpha": 1, "f1": 2, "mean_iou": 3, "kappa": 4}
#: names as Plotly gets them
SAFE = {'<b>carol</b> "c"': '&lt;b&gt;carol&lt;/b&gt; "c"', "bob & co": "bob &amp; co"}


def _safe(name: str) -> str:
    return SAFE.get(name, name)


def _cell(figure: go.Figure, row: str, column: str) -> float | None:
    (heatmap,) = figure.data
    return heatmap.z[heatmap.y.index(_safe(row))][heatmap.x.index(_safe(column))]


def test_the_matrix_of_pairs_has_the_numbers_and_similar_annotators_side_by_side() -> None:
    for value, place in PLACES.items():
        figure = filled_report().plot_pairs(value)
        for a, b in itertools.permutations(range(4), 2):
            expected = None if {a, b} == set(ALONE) else PAIR_NUMBERS[min(a, b), max(a, b)][place]
            assert _cell(figure, ANNOTATORS[a], ANNOTATORS[b]) == expected
        for name in ANNOTATORS:
            assert _cell(figure, name, name) is None
    (heatmap,) = filled_report().plot_pairs().data
    row, column = heatmap.y.index("alice"), heatmap.x.index("dan|d")
    assert heatmap.text[row][column] == "0.47<br><sub>n = 103</sub>"
    assert heatmap.hovertext[row][column] == "alice – dan|d<br>alpha 0.470<br>103 shared samples"
    assert (heatmap.customdata[row][column], heatmap.customdata[row][row]) == (["alice", "dan|d"], None)
    alone = heatmap.y.index(_safe(ANNOTATORS[ALONE[0]])), heatmap.x.index(ANNOTATORS[ALONE[1]])
    assert heatmap.text[alone[0]][alone[1]] == ""
    # carol comes first by name, but alice and bob join first, and dan last
    assert annotator_order(filled_report()) == ["alice", "bob & co", '<b>carol</b> "c"', "dan|d"]
    assert annotator_order(filled_report(clusters=[])) == sorted(ANNOTATORS)
    joins = [["alice", "dan|d"], ["bob & co", '<b>carol</b> "c"'], ANNOTATORS]
    clusters = [{"members": members, "similarity": 0.5} for members in joins]
    order = annotator_order(filled_report(clusters=clusters))
    assert {frozenset(order[:2]), frozenset(order[2:])} == {frozenset(joins[0]), frozenset(joins[1])}
    values = filled_values()
    turned = filled_report(pairs=values["pairs"][::-1], annotators=values["annotators"][::-1])
    assert turned.plot_pairs().to_json() == filled_report().plot_pairs().to_json()
    assert turned.plot_confusion().to_json() == filled_report().plot_confusion().to_json()


def test_the_title_of_the_matrix_names_pairs_only_if_they_clearly_differ() -> None:
    title = _title(filled_report().plot_pairs())
    assert title == "bob &amp; co and dan|d agree least (alpha 0.43), alice and bob &amp; co most (0.84)"
    pairs = [{**pair, "alpha": 1.0, "intervals": {}} for pair in filled_values()["pairs"]]
    assert _title(filled_report(pairs=pairs).plot_pairs()) == "All pairs agree equally (alpha 1.00)"
    # a pair with few labels, too few to be named, has a lower number in the same figure
    few = filled_values()["pairs"]
    few[1] |= {"alpha": 0.1, "n_a": 9, "n_b": 9}
    assert _title(filled_report(pairs=few).plot_pairs()) == "Alpha of two annotators: 0.10 to 0.84"
    one, rng = filled_values()["pairs"][0], np.random.default_rng(2)
    pairs = []
    for k, value in enumerate(rng.normal(0.7, 0.04, 90).tolist()):
        pairs.append({**one, "a": "a", "b": f"b {k}", "alpha": value, "intervals": {"alpha": around(value, 0.08)}})
    values = sorted(pair["alpha"] for pair in pairs)
    assert values[0] + 0.08 < values[-1] - 0.08
    title = _title(filled_report(pairs=pairs, clusters=[]).plot_pairs())
    assert title == f"Alpha of two annotators: {values[0]:.2f} to {values[-1]:.2f}"


def test_nobody_is_said_to_be_the_worst_where_others_are_as_bad() -> None:
    def title(values: dict[str, Any]) -> str:
        return report_from_dict(values).plot_annotators().layout.title.text

    alike = {"intervals": {"miss_rate": interval(0.2, 0.3)}}
    missed = [{**entry, "n_missed": 150 - k, **alike} for k, entry in enumerate(filled_values()["annotators"])]
    assert title({**filled_report(annotators=missed).to_dict()}) == (
        "Annotators miss 24.5 % to 25.0 % of what two others<br>drew"
    )
    # of two annotators who rated the same samples both differ equally often from the other one
    ratings = OTHERS["ratings"]().to_dict()
    ratings["annotators"] = [{**entry, "n_other_class": 10} for entry in ratings["annotators"][:2]]
    assert title(ratings) == "Other class: 20.0 % of their ratings"
    for too_few in ({"n_objects": 19}, {"intervals": {"miss_rate": interval(0.8, 0.9, n=9)}}, {"intervals": {}}):
        few = filled_values()["annotators"]
        few[3] |= too_few
        assert "misses most" not in title(filled_report(annotators=few).to_dict())
    everybody = filled_values()["annotators"]
    assert title(filled_report(annotators=everybody).to_dict()).startswith("dan|d misses most: 25.0 %")
    everybody[0] |= {"n_objects": 15, "n_missed": 14, "n_could_miss": 15, "miss_rate": 14 / 15}
    assert title(filled_report(annotators=everybody).to_dict()).startswith("Annotators miss 5.0 % to 93.3 % of what")


def _title(figure: go.Figure) -> str:
    text: str = figure.layout.title.text.replace("<br>", " ")
    return text


def test_confusions_are_symmetric_the_surest_first_and_those_of_a_pair_as_each_said() -> None:
    figure = filled_report().plot_confusion()
    (heatmap,) = figure.data
    assert list(heatmap.x) == list(heatmap.y) == ["bus", "coach", "Car ", "car", "person &lt;far&gt;"]
    for a, b, n in [("bus", "coach", 57), ("car", "Car ", 21), ("bus", "car", 4), ("car", "person &lt;far&gt;", 9)]:
        assert _cell(figure, a, b) == _cell(figure, b, a) == n
    assert _cell(figure, "bus", "bus") is _cell(figure, "coach", "car") is None
    assert "bus and coach are 57.0 % of the 91 confusions, 8.0 % by chance" in _title(figure)
    # fewer, but on enough images, come before what met more often on a few; nothing is said without an interval
    rare = {**filled_values()["confused"][1], "n_images": 10}
    turned = filled_report(confused=[rare]).plot_confusion()
    assert list(turned.data[0].x)[:2] == ["Car ", "car"]
    assert "57 of 91 are between 'bus' and 'coach' (on fewer than 10 images, too few for a test)" in _title(turned)
    assert list(filled_report().plot_confusion(top=2).data[0].x) == ["bus", "coach"]
    figure = filled_report().plot_classes(top=2)
    assert sorted(figure.data[0].y) == ["bus", "car"]
    assert "the 2 most frequent of 6" in _title(figure)
    # alice and bob: bus/coach 9 times, coach/bus 5 times
    figure = filled_report().plot_confusion(pair=("alice", "bob & co"))
    assert (_cell(figure, "bus", "coach"), _cell(figure, "coach", "bus")) == (9, 5)
    assert figure.layout.yaxis.title.text == "as alice said"
    turned = filled_report().plot_confusion(pair=("bob & co", "alice"))
    assert (_cell(turned, "bus", "coach"), _cell(turned, "coach", "bus")) == (5, 9)


def test_overlaps_votes_thresholds_and_misses_have_their_counts_and_shares() -> None:
    figure = filled_report().plot_iou()
    (bars,) = figure.data
    assert (list(bars.y), list(bars.x)) == (IOU_HISTOGRAM, pytest.approx([0.05 * k + 0.025 for k in range(20)]))
    assert figure.layout.title.text == "IoU is 0.87 or more for half of the 1,400 pairs of<br>labels"
    assert [shape.x0 for shape in figure.layout.shapes] == [0.836]
    figure = filled_report().plot_votes()
    assert _title(figure) == "590 of 1,000 objects (59.0 %) drawn by everybody who was assigned"
    (bars,) = figure.data
    assert (list(bars.x), list(bars.y)) == (["1 of 2", "2 of 2", "1 of 3", "2 of 3", "3 of 3"], [10, 20, 150, 250, 570])
    assert list(bars.text) == ["1 %", "2 %", "15 %", "25 %", "57 %"]
    figure = figures.plot_thresholds(filled_report(), filled_sensitivity())
    f1, score, alpha, units = figure.data
    expected = [round(0.72 - 0.5 * (t - 0.1) ** 2, 4) for t in THRESHOLDS[:-1]]
    assert (list(alpha.x), list(alpha.y)[:-1], alpha.y[-1]) == (THRESHOLDS, expected, None)
    assert list(score.y) == [round(0.65 - 0.3 * (t - 0.1) ** 2, 4) for t in THRESHOLDS]
    assert list(f1.y) == [round(0.9 - 0.6 * (t - 0.1) ** 2, 4) for t in THRESHOLDS]
    assert list(units.y) == [900 + 40 * k for k in range(18)]
    assert sorted(shape.x0 for shape in figure.layout.shapes) == [0.37, 0.5]
    assert sorted(note.text for note in figure.layout.annotations) == ["from the data: 0.37", "this run: 0.50"]
    figure = filled_report().plot_annotators()
    shares = {trace.name: list(trace.x) for trace in figure.data}
    assert shares["missed"] == pytest.approx([20 / 600, 30 / 600, 40 / 600, 150 / 600])
    judged = [500 + 40 + k + 20 + 100 + 30 + 10 * k + 4 + (6 if k == 3 else 0) for k in range(4)]
    assert shares["lone"] == pytest.approx([(30 + 10 * k) / judged[k] for k in range(4)])
    assert shares["duplicate"] == pytest.approx([0, 0, 0, 6 / judged[3]])
    assert figure.layout.title.text == "dan|d misses most: 25.0 % of what two others drew"


def test_bias_is_drawn_with_its_intervals_and_who_draws_elsewhere_is_named() -> None:
    figure = filled_report().plot_bias()
    assert [trace.name for trace in figure.data] == ["size", "left edge", "upper edge", "right edge", "lower edge"]
    for trace, side in zip(figure.data, ("size", "left", "top", "right", "bottom"), strict=True):
        assert list(trace.x) == [BIAS[name][side] for name in ANNOTATORS]
        assert list(trace.error_x.array) == pytest.approx([0.6] * 4)
        assert list(trace.error_x.arrayminus) == pytest.approx([0.6] * 4)
    assert figure.layout.title.text == "dan|d: 12 % larger, lower edge 9 % lower than the<br>median box"
    nothing = dict.fromkeys(("size", "left", "top", "right", "bottom"), 0.0)
    for order in (ANNOTATORS, ANNOTATORS[::-1]):
        for n_labels, expected in ((20, ": left edge 5 % further right than the median box"),
                                   (19, "whether anybody draws otherwise")):  # fmt: skip
            annotators = []
            for k, (name, entry) in enumerate(zip(order, filled_values()["annotators"], strict=True)):
                mean = {**nothing, "size": 1e-12 * k, "left": 5.0 * (name == order[0])}
                intervals = {side: around(value) for side, value in mean.items()}
                bias = {"n": n_labels, "mean": mean, "std": {}, "intervals": intervals}
                annotators.append({**entry, "name": name, "bias": bias})
            title = _title(filled_report(annotators=annotators).plot_bias())
            assert title.endswith(expected)
            assert title.startswith("Too few labels to say") == (n_labels == 19)
    # eight per cent that chance may have made are no evidence of drawing alike
    bias = {"n": 22, "mean": {**nothing, "size": 3.5}, "std": {}, "intervals": {"size": interval(-0.9, 8.8)}}
    unclear = [{**entry, "bias": bias} for entry in filled_values()["annotators"]]
    title = _title(filled_report(annotators=unclear).plot_bias())
    assert title == "No annotator's boxes clearly differ on average from the median boxes"


def test_classes_are_drawn_with_intervals_the_surely_hardest_first() -> None:
    figure = filled_report().plot_classes()
    (dots,) = figure.data
    defined = {_safe(name).replace("<", "&lt;").replace(">", "&gt;"): (alpha, 0.02 + 0.02 * k)
               for k, (name, alpha) in enumerate(zip(CLASSES, ALPHA_OF_CLASSES, strict=True)) if alpha}  # fmt: skip
    # by the end of the interval that is nearer to all classes together
    expected = sorted(((alpha, name) for name, (alpha, _) in defined.items()), key=lambda row: sum(defined[row[1]]))
    assert list(zip(dots.x, dots.y, strict=True)) == expected
    assert list(dots.error_x.array) == pytest.approx([defined[name][1] for name in dots.y])
    assert figure.layout.title.text == "coach is the hardest class of the 5 with enough<br>labels: 0.44 on 133 objects"
    # a lower number, however uncertain, is drawn beside it
    classes = filled_values()["classes"]
    classes[1] |= {"alpha": 0.43, "intervals": {"alpha": interval(0.1, 0.76)}}
    assert _title(filled_report(classes=classes).plot_classes()) == "Alpha (this class against all others)"


def test_the_figures_of_ratings_tags_and_masks() -> None:
    report = OTHERS["ratings"]()
    assert _cell(report.plot_pairs(), "alice", "carol") == 0.55
    assert _cell(report.plot_pairs("score"), "bob", "carol") == 0.8
    assert _cell(report.plot_pairs("kappa"), "alice", "bob") == 0.81
    confusion = report.plot_confusion()
    assert _cell(confusion, "cat", "dog") == _cell(confusion, "dog", "cat") == 4 + 9
    assert _cell(confusion, "dog", "owl") == 2
    (other_class,) = report.plot_annotators().data
    assert list(other_class.x) == [3 / 50, 1 / 50, 18 / 50]
    assert report.plot_annotators().layout.title.text == "Other class: 2.0 % to 36.0 % of their ratings"
    tags, pixels = OTHERS["tags"](), OTHERS["pixels"]()
    assert tags.plot_annotators().layout.title.text == "Lone: 16.7 % to 25.0 % of their tags"
    assert (_cell(tags.plot_pairs(), "alice", "bob"), _cell(tags.plot_pairs("same_tags"), "alice", "bob")) == (0.7, 0.5)
    assert dict(zip(tags.plot_classes().data[0].y, tags.plot_classes().data[0].x, strict=True)) == {
        "rain": 0.5, "snow &amp; ice": 0.9}  # fmt: skip
    assert _cell(pixels.plot_pairs("accuracy"), "alice", "bob") == 0.9
    assert list(pixels.plot_classes().data[0].y) == ["pole", "road"]  # the background is left out


NOTHING = [
    ("plot_pairs", "no two annotators have a defined alpha"),
    ("plot_confusion", "nobody confused two classes"),
    ("plot_classes", "no class has a defined agreement"),
    ("plot_annotators", "no annotator has labels that were compared"),
    ("plot_votes", "there is no object that two annotators could have drawn"),
    ("plot_iou", "no object was drawn by two annotators"),
    ("plot_thresholds", "thresholds need a report that was loaded from a dataset"),
    ("plot_bias", "no annotator has boxes"),
    ("plot_models", "the run has no model; compute it with models="),
]


def test_figures_that_make_no_sense_and_what_a_report_does_not_have_are_refused() -> None:
    for name, expected in NOTHING:
        with pytest.raises(AgreementInputError, match=f"There is nothing to draw: {expected}"):
            getattr(unfilled_report(), name)()
    with pytest.raises(AgreementInputError, match="There is nothing to draw: no sample has a score"):
        filled_report().plot_scores(pd.DataFrame({"score": [math.nan]}))
    drawn = {f"plot_{name}" for name in (*figures.FIGURES, "scores")}
    assert {name for name, _ in NOTHING} | {"plot_scores"} == drawn
    assert drawn | {"FIGURES", "plot_parts"} == set(figures.__all__)  # of parts, not of a report
    for family, name, chosen, expected in REFUSED:
        with pytest.raises(AgreementInputError, match=expected):
            getattr({"objects": filled_report, **OTHERS}[family](), name)(**chosen)


def test_scores_are_counted_in_bins_of_a_twentieth() -> None:
    # 0.15 and 0.3 begin their bins also where adding up made them a bit less; 1 is in the last bin
    scores = [0.0, 0.049, 0.55, 0.1 + 0.2 - 0.15, 3 * 0.1, 0.3 - 1e-12, 1.0, 0.97, math.nan]
    figure = filled_report().plot_scores(pd.DataFrame({"score": scores}))
    (bars,) = figure.data
    expected = [0] * 20
    for place in (0, 0, 11, 3, 6, 6, 19, 19):
        expected[place] += 1
    assert (list(bars.y), list(bars.x)) == (expected, pytest.approx([0.025 + 0.05 * k for k in range(20)]))
    assert figure.layout.title.text == "Half of 8 samples score 0.30 or more"
    nearly = filled_report().plot_scores(pd.DataFrame({"score": [0.997, 0.997]}))
    assert nearly.layout.title.text == "Half of 2 samples score 0.99 or more"
    assert [shape.x0 for shape in figure.layout.shapes] == [0.612]


OF_OBJECTS = ("plot_votes", "plot_iou", "plot_thresholds", "plot_bias")
#: a report, its figure, what is chosen, and why it is refused
REFUSED = [
    *((family, name, {}, f"can be drawn only for a report on objects, got one on {family}")
      for family in OTHERS for name in OF_OBJECTS),
    ("tags", "plot_confusion", {}, "on tags has no confusion of classes"),
    ("pixels", "plot_confusion", {}, "on pixels has no confusion of classes"),
    ("ratings", "plot_classes", {}, "on ratings has no agreement of classes"),
    ("pixels", "plot_annotators", {}, "on pixels has no verdicts"),
    ("objects", "plot_pairs", {"value": "pq"}, "`value` must be one of alpha, score, kappa, f1, mean_iou, got 'pq'"),
    ("objects", "plot_confusion", {"pair": ("alice", "eve")}, r"`pair` must be two annotators with shared samples "
     r".*'eve'"),
    ("objects", "plot_confusion", {"top": 1}, "`top` must be a whole number of at least 2"),
    ("objects", "plot_classes", {"top": 0}, "`top` must be a whole number of at least 1"),
]  # fmt: skip


def test_figures_are_for_light_and_dark_with_a_title_and_names_are_no_markup() -> None:
    for name in (name for name, _ in NOTHING if name != "plot_models"):
        more = [filled_sensitivity()] if name == "plot_thresholds" else []
        figure = getattr(figures, name)(filled_report(), *more)
        assert figure.layout.title.text
        template = figure.layout.template.layout
        assert template.paper_bgcolor == template.plot_bgcolor == "rgba(0, 0, 0, 0)"
        grey = [int(template.font.color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        # contrast by WCAG with white and with black, at least 3 for large text
        luminance = float(np.dot([0.2126, 0.7152, 0.0722], [((c + 0.055) / 1.055) ** 2.4 for c in grey]))
        assert 1.05 / (luminance + 0.05) > 3.5
        assert (luminance + 0.05) / 0.05 > 3.5
        assert "NaN" not in figure.to_json()
    assert safe("<b>a</b> & b\nc") == "&lt;b&gt;a&lt;/b&gt; &amp; b c"
    assert shortened("heavy articulated vehicle, rear view") == "heavy articu…, rear view"
    assert (shortened("x" * 30), shortened("x" * 24)) == (f"{12 * 'x'}…{11 * 'x'}", "x" * 24)


def test_skill_is_drawn_against_volume_with_names_on_different_sides() -> None:
    one = filled_values()["annotators"][0]
    ends = {f"w {k}": (0.5, 0.7) for k in range(12)} | {"low": (0.1, 0.3), "high": (0.8, 0.9), "few": (0.0, 0.1)}
    annotators = [
        {**one, "name": name, "score": (low + high) / 2, "n_objects": 100, "intervals": {"score": interval(low, high)}}
        for name, (low, high) in ends.items()
    ]
    annotators[-1]["n_objects"] = 19
    figure = filled_report(annotators=annotators).plot_annotators()
    (points,) = figure.data
    assert (list(points.customdata), {text for text in points.text if text}) == (list(ends), {"low", "high"})
    assert (points.x[-1], points.y[-1]) == (19, 0.05)
    assert [symbol for symbol in points.marker.symbol if symbol == "circle-open"] == ["circle-open"]
    assert (len(set(points.marker.color)), points.error_y.array[12]) == (3, pytest.approx(0.1))
    assert "Of 15 annotators 1 clearly agree less" in figure.layout.title.text.replace("<br>", " ")
    close = [{**one, "name": f"w{k}", "score": 0.5 + k / 1_000} for k in range(3)]
    report = filled_report(annotators=[*close, {**one, "name": "far", "score": 0.9}], clusters=[])
    places = free_places(report.annotators, {"w0", "w1", "w2", "far"})
    assert len(set(places[:3])) == 3
