"""Settings of a run and their checks: options, annotators, messages."""

from __future__ import annotations

from .annotators import spelt_alike
from .config import make_config
from .errors import AgreementInputError, printable, shown
from .options import GROUPS, OPTIONS, TOGETHER, value_name
