"""Words, tables and sections: the parts of every text."""

from __future__ import annotations

from .advice import (
    OF_TWO,
    all_findings,
    clearly_confused,
    confusions_section,
    finding_text,
    unclear_conflicts,
    whom_to_talk_to,
)
from .headline import grade_of, interval_notes
from .sections import Cell, Column, NumberRow, Section, Table, as_markdown, as_text, plain_markdown, table
from .shortlists import shortlist_annotators
from .words import VERDICTS, counted, file_name, shown_interval, shown_number, shown_share, signed, singular
