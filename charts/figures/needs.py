"""What a figure needs of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ...agreement.errors import AgreementInputError

if TYPE_CHECKING:
    from ...agreement.objects.report import ObjectReport
    from ...agreement.report import AgreementReport


def require(found: object, what: str) -> None:
    """Refuse to draw what a report does not have.

    Raises:
        AgreementInputError: if nothing was found
    """
    if not found:
        raise AgreementInputError(f"There is nothing to draw: {what}")


def require_objects(report: AgreementReport, what: str) -> ObjectReport:
    """The report, if it is on objects: only these have that.

    Raises:
        AgreementInputError: if the report is on something else
    """
    if report.family != "objects":
        raise AgreementInputError(f"{what} can be drawn of a report on objects, got one on {report.family}")
    return cast("ObjectReport", report)
