"""The domain, without FiftyOne: options, records of samples, verdicts, scores, statistics and reports."""

from __future__ import annotations

from .config import AgreementConfig, make_config
from .errors import AgreementInputError
from .report import AgreementReport

__all__ = ["AgreementConfig", "AgreementInputError", "AgreementReport", "make_config"]
