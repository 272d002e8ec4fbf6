"""Whole reports, comparisons and decisions as sections, Markdown and data frames."""

from __future__ import annotations

from .comparison import comparison_frame, comparison_markdown, comparison_text
from .dataframes import report_frame, sensitivity_frame, table_names
from .document import (
    computation_markdown,
    overview_markdown,
    report_head,
    report_markdown,
    report_text,
    sensitivity_sections,
)
from .families import family_of, object_reasons, reasons
from .other_results import finding_sentences
from .ratings import RATING_PHRASES, rating_outcome
from .role_sections import person_sentence, test_sentences
from .tags import tag_outcome
