"""Mean and pooled alpha of every matching of the other programs, against ours under the same rules."""

from __future__ import annotations

from typing import Any

from tools.dev.other_programs import KALOS, OtherProgram

from .annotations import Annotations, changed
from .explain import TIE, Place, differing_places, example, kinds_of, pairs_within_units, why
from .ours import Answer, OurDataset, our_alphas, reliability_tables, units_from_ids
from .table import EQUAL, Row, Section

THRESHOLD = 0.5
#: our options with the meaning of a sequential matching
SEQUENTIAL = {"method": "recursive", "classes": "ignore"}
#: method and cost function of kalos, and our options with the same meaning
KALOS_METHODS: tuple[tuple[str, str, dict[str, str]], ...] = tuple(
    (method, cost, {"method": "recursive" if method == "shm" else "optimal", "classes": classes})
    for method in ("greedy", "ahc", "mgm", "shm")
    for cost, classes in (
        ("negative_score", "ignore"),
        ("category_lenient", "require" if method == "ahc" else "prefer"),
    )
)
#: kalphacv rounds the alpha of every image to this many digits
KALPHACV_DECIMALS = 4
#: another order of Python's sets than that of the comparison
OTHER_HASH_SEED = "2"


class Comparison:
    """All comparisons on one data set; our runs are computed once."""

    def __init__(self, ours: OurDataset, kalos: OtherProgram, kalphacv: OtherProgram) -> None:
        self.ours = ours
        self.kalos = kalos
        self.kalphacv = kalphacv
        self._runs: dict[tuple[tuple[str, str], ...], Answer] = {}

    @property
    def annotations(self) -> Annotations:
        """The data set."""
        return self.ours.annotations

    def run(self, options: dict[str, str]) -> Answer:
        """Our numbers and units."""
        key = tuple(sorted(options.items()))
        if key not in self._runs:
            self._runs[key] = self.ours.run(**options)
        return self._runs[key]

    def section(self) -> Section:
        """The table, with an example of every kind of difference."""
        data = self.annotations
        notes: list[str] = []
        rows = [self._kalos_row(*method, notes) for method in KALOS_METHODS]
        if len(data.annotators) > 2:
            rows.append(self._other_order())
        rounds = f"kalphacv rounds the alpha of every image to {KALPHACV_DECIMALS} digits"
        rows.append(self._kalphacv_row("kalphacv", data, rounds))
        if min(data.category) == 1:
            from_zero = changed(
                *(data, "from_zero"),
                categories=lambda category: {"id": category["id"] - 1},
                annotations=lambda entry: {"category_id": entry["category_id"] - 1},
            )
            zero = "kalphacv writes 0 for a missed object, so that class 0 and a miss count as agreement"
            rows.append(self._kalphacv_row("kalphacv, category ids from 0", from_zero, zero))
        return Section(
            title=data.name,
            intro=f"{data.n_samples} images, {len(data.annotators)} annotators, {len(data.ids)} boxes, "
            f"IoU {THRESHOLD}; our other options: `empty='agree'`, `undefined='one'`.",
            measures=("mean alpha", "pooled alpha"),
            rows=rows,
            notes=notes,
        )

    def _kalos_row(self, method: str, cost: str, options: dict[str, str], notes: list[str]) -> Row:
        theirs = answer_of(
            self.annotations, self.kalos.ask("alphas", str(self.annotations.path), method, cost, THRESHOLD)
        )
        places = self._places(theirs, options)
        for kind, found in kinds_of(places, cost).items():
            smallest = min(found, key=lambda place: (len(place.rows), place.rows.tolist()))
            notes.append(f"`{method}`, `{cost}`, {kind}: {example(smallest, self.annotations)}")
        text = why(places, method, cost, self.annotations)
        iou, same_class = pairs_within_units(self.annotations, theirs.unit)
        if method in ("ahc", "mgm") and (iou < THRESHOLD - TIE).any():
            text += f" (NOT SO: {int((iou < THRESHOLD - TIE).sum())} of its pairs are below the threshold)"
        if (method, cost) == ("ahc", "category_lenient"):
            mixed = int((~same_class).sum())
            text += (
                "; the lenient clustering of kalos cuts at the cost of a pair of one class, so it never joins two "
                f"classes ({mixed} of {len(same_class)} pairs), as our `require`"
            )
        return self._row(f"kalos `{method}`, `{cost}`", options, theirs, text)

    def _other_order(self) -> Row:
        """The sequential matching of kalos where Python orders sets of names differently."""
        path, number = self.annotations.path, {name: k for k, name in enumerate(self.annotations.annotators)}
        numbered = changed(
            *(self.annotations, "numbered"),
            images=lambda image: {"rater_list": [number[name] for name in image["rater_list"]]},
            annotations=lambda entry: {"rater_id": number[entry["rater_id"]]},
        ).path
        other = OtherProgram(KALOS, "tools.compare.kalos_side", environment={"PYTHONHASHSEED": OTHER_HASH_SEED})
        request = ("shm", "negative_score", THRESHOLD)
        theirs = answer_of(self.annotations, other.ask("alphas", str(path), *request))
        in_order = other.ask("alphas", str(numbered), *request)
        other.close()
        return self._row(
            f"kalos `shm`, `negative_score`, PYTHONHASHSEED={OTHER_HASH_SEED}",
            SEQUENTIAL,
            theirs,
            f"the units differ in {len(self._places(theirs, SEQUENTIAL))} places: kalos goes through the earlier "
            "annotators in the order of a Python set of names, which differs between processes; with annotators named "
            "0, 1, 2 …, which a set keeps in order, the same process gives "
            f"{in_order['mean']:.6f} and {in_order['pooled']:.6f}",
        )

    def _kalphacv_row(self, title: str, data: Annotations, why_else: str) -> Row:
        """A row of kalphacv, on these annotations or the same in another file."""
        theirs = answer_of(data, self.kalphacv.ask("alphas", str(data.path), THRESHOLD))
        places = self._places(theirs, SEQUENTIAL)
        text = f"{f'other units in {len(places)} places' if places else 'the same units'}; {why_else}"
        return self._row(title, SEQUENTIAL, theirs, text, decimals=KALPHACV_DECIMALS, counted=data)

    def _places(self, theirs: Answer, options: dict[str, str]) -> list[Place]:
        return differing_places(self.annotations, theirs.unit, self.run(options).unit, THRESHOLD)

    def _row(
        self,
        name: str,
        options: dict[str, str],
        theirs: Answer,
        text: str,
        *,
        decimals: int | None = None,
        counted: Annotations | None = None,
    ) -> Row:
        """The row; the explanation is complete if our formula gives their numbers on their units, as they count."""
        ours = self.run(options)
        formula = our_alphas(reliability_tables(counted or self.annotations, theirs.unit), decimals)
        rest = max(abs(a - b) for a, b in zip((theirs.mean, theirs.pooled), formula, strict=True) if a is not None)
        if rest >= EQUAL:
            text += f" (NOT ALL: our formula on its units differs by {rest:.6f})"
        values = ((theirs.mean, ours.mean), (theirs.pooled, None if theirs.pooled is None else ours.pooled))
        return Row(name, ", ".join(f"`{value}`" for value in options.values()), values, text)


def answer_of(annotations: Annotations, answer: dict[str, Any]) -> Answer:
    """The answer of another program, with its units as a column."""
    return Answer(answer["mean"], answer["pooled"], units_from_ids(annotations, answer["units"]))
