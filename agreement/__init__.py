"""What agreement means: options, columns, units, verdicts, scores, statistics and the report. No FiftyOne here."""

from __future__ import annotations

from .config import AgreementConfig, make_config
from .errors import AgreementInputError
from .report import AgreementReport

__all__ = ["AgreementConfig", "AgreementInputError", "AgreementReport", "make_config"]
