"""What the App shows when an operator is called: the current view, which may have to be left."""

from __future__ import annotations

import json
import time
from typing import Any

import fiftyone.operators as foo

from .. import names
from ..dataset_io.database.fiftyone_private import is_part, serialized_stages, view_in_app
from ..dataset_io.labels.paths import all_fields
from ..dataset_io.record.run import Run

#: parameter of an operator that the App calls again because it has left the view
_LEFT = "view_left"
#: the longest that an operator waits for the App, in seconds
_MAX_SECONDS = 10.0


def is_from_app(ctx: foo.ExecutionContext) -> bool:
    """True if the App asks for a form or sends one, not a caller in Python."""
    # of a form that is sent only the rest of the request tells it: only the App says which panels it shows
    return ctx.prompt_id is not None or "spaces" in ctx.request_params


def shows_part(ctx: foo.ExecutionContext) -> bool:
    """True if the App shows something other than the whole dataset."""
    return is_part(ctx.view)


def must_leave_view(ctx: foo.ExecutionContext, operator_uri: str, run_key: str) -> bool:
    """True if the App must first leave a view of a run's own fields, which it cannot draw without them.

    If so, it is told to leave the view and to call the operator again. The App gets the requests of an operator only
    when that ends, and asks for its old view until the server has the new one. So an operator that removes fields ends
    at once if this is true, and is called a second time; then this waits until the server has the new view.

    Args:
        ctx: what the user sees
        operator_uri: the operator that removes the fields
        run_key: the run whose fields it removes

    Returns:
        whether to end now and do nothing; always False for calls that do not come from the App
    """
    own = names.own_names(Run(ctx.dataset, run_key).field_key)
    if ctx.params.get(_LEFT):
        end = time.monotonic() + _MAX_SECONDS
        while _shows(serialized_stages(view_in_app()), own) and time.monotonic() < end:
            time.sleep(0.05)
        return False
    if not is_from_app(ctx) or not _shows(ctx.request_params.get("view"), own):
        return False
    ctx.ops.clear_view()
    ctx.trigger(operator_uri, {**ctx.params, _LEFT: True})
    return True


def shows_what_is_gone(ctx: foo.ExecutionContext, run_key: str) -> bool:
    """True if the App shows a view of a run's own fields that the run, computed again, does not have."""
    there = {path.rsplit(".", 1)[-1] for path in all_fields(ctx.dataset)}
    return _shows(ctx.request_params.get("view"), names.own_names(Run(ctx.dataset, run_key).field_key) - there)


def _shows(stages: Any, fields: set[str]) -> bool:
    text = json.dumps(stages, default=str)
    return any(name in text for name in fields)
