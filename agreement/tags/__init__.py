"""Agreement on tags: a set of classes (possibly empty) by every annotator on every sample."""

from __future__ import annotations

from .compute import TagAgreement, compute_tags, record_tags
from .report import TagReport, build_tag_report, tag_numbers
