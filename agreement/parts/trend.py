"""The main numbers of several runs, in their order."""

from __future__ import annotations

from collections.abc import Sequence

from ..settings.arguments import repeated
from ..settings.errors import AgreementInputError
from ..statistics.report import AgreementReport
from .result import AgreementParts, Part, PartNumber


def trend_of(names: Sequence[str], reports: Sequence[AgreementReport]) -> AgreementParts:
    """The main numbers of runs on labels of one kind.

    Args:
        names: a name for each run
        reports: their reports, in order

    Raises:
        AgreementInputError: if there are no two runs, or they are not on labels of one kind
    """
    if len(reports) < 2:
        raise AgreementInputError(f"`runs` must be two runs or more, got {len(reports)}")
    families = list(dict.fromkeys(report.family for report in reports))
    if len(families) > 1:
        raise AgreementInputError(f"`runs` must be on labels of one kind, got {' and '.join(families)}")
    twice = repeated(names)
    if twice:
        raise AgreementInputError(f"`names` must be different, got {twice[0]!r} more than once; give `names`")
    parts = [
        Part(
            name,
            n_samples=report.n_samples,
            n_rated=report.n_rated,
            n_objects=report.n_objects,
            numbers={
                number.key: PartNumber(number.value(report), report.intervals.get(number.key))
                for number in report.main_numbers
            },
        )
        for name, report in zip(names, reports, strict=True)
    ]
    first = reports[0]
    return AgreementParts(
        by="run",
        run_key=None,
        family=first.family,
        what="images" if first.run.n_videos is None else "frames",
        measure=first.measure,
        whole=Part("all", 0, 0, 0, {}),
        parts=parts,
        ordered=True,
        main_numbers=first.main_numbers,
    )
