"""What ``make bench`` says of a number and its limit."""

from __future__ import annotations

from tools.bench.output import Limit, Row, at_least, at_most, print_rows

#: value and reference of a row, its limit, what is said of it, and how the limit reads
ROWS = [
    ((0.9, None), at_most(1), "ok", "at most 1"),
    ((1.0, None), at_most(1), "ok", "at most 1"),
    ((1.1, None), at_most(1), "over", "at most 1"),
    ((9.0, 10.0), at_most(1), "ok", "at most 1"),
    ((0.5, 0.1), at_most(1), "over", "at most 1"),
    ((60.0, 1.0), at_least(50), "ok", "at least 50"),
    ((40.0, 1.0), at_least(50), "over", "at least 50"),
    ((5.0, 3.0), Limit(high=1.5, of_difference=True), "over", "at most 1.5 more"),
    ((5.0, 4.0), Limit(high=1.5, of_difference=True), "ok", "at most 1.5 more"),
    ((2.0, 1.0), Limit(0.8, 1.2), "over", "0.8 to 1.2"),
    ((float("nan"), None), at_most(2_900), "over", "at most 2,900"),
    ((3.0, None), None, "", ""),
]


def test_every_number_is_ok_or_over(capsys):
    for (value, reference), limit, verdict, words in ROWS:
        row = Row("seconds", value, limit, reference)
        assert row.verdict == verdict, row
        assert ("" if limit is None else str(limit)) == words, row
        print_rows([row])
        table, over = capsys.readouterr().out.split("\n\n")
        assert table.splitlines()[-1].endswith(f"{verdict:<4}  {words}".rstrip())
        n, of = verdict.count("over"), int(bool(verdict))
        assert over.splitlines() == [f"{n} of {of} over their limits", *["  seconds"] * n]
