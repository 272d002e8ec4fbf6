"""Serialise App events and drop duplicates; the state that the App keeps of a panel between them.

The App stores every change of a panel's state, then reads its page again and tells every panel three times that the
view changed. An answer takes a tenth of a second, and the user waits for all of them.

An event says what the state of its panel was when it was sent. Meanwhile another one may have been answered: the App
tells of an open sample a second later, when the user has pressed a button in it. The event is then handled with the
state that this answer left; otherwise its own answer would undo it. The last state wins: what the App tells by itself
is always handled with it; what the user does only for some time, as a page that was reloaded begins with the state that
was stored.
"""

from __future__ import annotations

import contextlib
import copy
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import fiftyone.operators as foo

from ..dataset_io.database.fiftyone_private import DatasetContent, content_of
from ..dataset_io.run.work_through import rare_collections
from .drawing import DECIDER
from .panel_state import hash_of, unusable_parts
from .tab_decide import WAY

T = TypeVar("T")

#: parts of the state that the App is not told of, and the way in Decide (``WAY``) where no button carries it
BEYOND = "beyond"
#: what was looked up for the event, as long as nothing else is stored
_LOOKED_UP = "looked_up"

#: parts of the panel's state that say what it shows of a run
CHOSEN = ("tab", "sort", "page", "decide", "by")
#: what the state of the panel keeps, and what an event says of the App, as far as the panel shows it
_STATE = (*CHOSEN, "run_key", "of_view", "known", "refreshed", "shown")
_APP = ("dataset_id", "dataset_name", "view", "view_name", "filters", "extended", "group_slice", "current_sample")
#: methods that the App, a button or the browser calls by name; ``on_startup`` is answered by FiftyOne
EVENTS = (
    *("on_load", "on_change_dataset", "on_change_view", "on_change_current_sample"),
    *("choose_run", "choose_samples", "choose_tab", "choose_by", "go_to_tab", "turn_page", "refresh", "back"),
    *("click_cell", "drill_down", "show_disputed", "open_object", "open_sample", "open_next", "color_annotators"),
    *("compute", "run_operator", "hear_browser", "start_deciding", "ask_name", "show_filters"),
    *("seek_verdict", "seek_annotator", "seek_label", "seek_votes", "seek_skipped"),
    *("decide_object", "previous_object", "undo_decision", "edit_object", "finish_editing", "count_decisions"),
)
#: the App sends an event twice within this time, in seconds
_AT_ONCE = 1.0
#: the App has got an answer, or never will, after this time, in seconds
_ON_THE_WAY = 30.0
#: events that the App sends by itself, in which nobody chose anything
_TOLD = ("on_change_view", "on_change_current_sample")
_MOST_PANELS, _MOST_ANSWERS = 100, 10
#: part of the state of the panel that names the answer which left it
_ANSWER = "answer"


@dataclass(slots=True)
class _Panel:
    handling: threading.Lock = field(default_factory=threading.Lock)
    event: str | None = None  # a hash of the last event that was handled
    at: float = 0.0
    shows: str | None = None  # a hash of what the panel shows since; None while the event is handled
    #: when an answer to an event was given, and the state that it left, by the name of the answer before
    later: OrderedDict[str, tuple[float, dict[str, Any]]] = field(default_factory=OrderedDict)
    #: what the panel shows beyond the state that the App keeps, and a hash of that state
    beyond: tuple[str, dict[str, Any]] | None = None


_panels: OrderedDict[str, _Panel] = OrderedDict()
_lock = threading.Lock()


def answer(
    ctx: foo.ExecutionContext, method: str, handle: Callable[[DatasetContent | None], DatasetContent | None]
) -> None:
    """Handle an event after those before it, unless the panel shows what it asks for already.

    Args:
        handle: handles it, from what is stored of the dataset to what is stored then
    """
    with rare_collections():  # one of all objects of the server takes a quarter of a second
        content = content_of(ctx)
        if _is_echo(ctx, method, content):
            return
        with _one_at_a_time(ctx, method) as has_waited:
            if has_waited:
                content = content_of(ctx)
            if _is_echo(ctx, method, content):  # of what was answered since it was sent
                return
            panel = _panel(ctx)
            panel.event, panel.at, panel.shows = _event(ctx, method, content), time.monotonic(), None
            shown = handle(content)
            _panel(ctx).shows = _shows(ctx, shown)  # looked up again: the panel may have been forgotten meanwhile


def looked_up_once(
    ctx: foo.ExecutionContext, content: DatasetContent | None, name: str | None, look: Callable[[], T]
) -> T:
    """Result of a look-up in a dataset by a name, cached while nothing else is stored."""
    key = None if content is None else (content.version, name)
    known: dict[Any, T] = ctx.params.setdefault(_LOOKED_UP, {})
    if key is None or key not in known:
        known[key] = look()
    return known[key]


@contextlib.contextmanager
def _one_at_a_time(ctx: foo.ExecutionContext, method: str) -> Iterator[bool]:
    """Handle one event of a panel at a time, with the state that the answer before left; whether it had to wait."""
    panel = _panel(ctx)
    waits = panel.handling.locked()
    with panel.handling:
        state: dict[str, Any] = ctx.panel_state
        at, left = 0.0, state
        while isinstance(answer := left.get(_ANSWER), str) and answer in panel.later:
            at, left = panel.later[answer]
        if left is not state and method not in _TOLD and time.monotonic() - at >= _ON_THE_WAY:
            del panel.later[state[_ANSWER]]  # the App has this state, and no later one
        elif left is not state:
            typed = {DECIDER: state[DECIDER]} if DECIDER in state else {}  # no answer knows what was typed since
            state.clear()
            state.update(copy.deepcopy(left), **typed)
        before = copy.deepcopy(state)
        yield waits
        if state != before:
            ctx.panel.set_state(_ANSWER, secrets.token_hex(4))
            if before.get(_ANSWER) is not None:
                panel.later[before[_ANSWER]] = time.monotonic(), copy.deepcopy(state)
                if len(panel.later) > _MOST_ANSWERS:
                    panel.later.popitem(last=False)


def _panel(ctx: foo.ExecutionContext) -> _Panel:
    with _lock:
        panel = _panels.setdefault(ctx.panel_id, _Panel())
        _panels.move_to_end(ctx.panel_id)
        if len(_panels) > _MOST_PANELS:
            _panels.popitem(last=False)
    return panel


def note_beyond(ctx: foo.ExecutionContext, beyond: dict[str, Any]) -> None:
    """Note what the panel shows beyond its state, which the App is not told."""
    _panel(ctx).beyond = _kept(ctx), beyond


def noted_beyond(ctx: foo.ExecutionContext) -> dict[str, Any]:
    """Last noted values, while the App keeps the same state; nothing else."""
    kept = _panel(ctx).beyond
    return {} if kept is None or kept[0] != _kept(ctx) else copy.deepcopy(kept[1])


def _kept(ctx: foo.ExecutionContext) -> str:
    return hash_of(sorted((name, value) for name, value in (ctx.panel_state or {}).items() if name != DECIDER))


def _is_echo(ctx: foo.ExecutionContext, method: str, content: DatasetContent | None) -> bool:
    """True if an event needs no answer; one after an edit does, which is then recorded.

    Args:
        content: what is stored of the dataset
    """
    state, panel = ctx.panel_state or {}, _panel(ctx)
    if method != "on_change_view" or (state.get("decide") or {}).get("watched"):
        return False
    is_again = panel.event == _event(ctx, method, content) and time.monotonic() - panel.at < _AT_ONCE
    return is_again or panel.shows == _shows(ctx, content)


def _event(ctx: foo.ExecutionContext, method: str, content: DatasetContent | None) -> str:
    """A hash of an event, and of what was shown when it was sent."""
    value = ctx.params.get("value")
    return hash_of(method, isinstance(value, list) if method == "on_change_view" else value, _shows(ctx, content))


def _shows(ctx: foo.ExecutionContext, content: DatasetContent | None) -> str:
    """A hash of all that the content of the panel follows from."""
    state = ctx.panel_state or {}
    app = [ctx.request_params.get(name) for name in _APP]
    return hash_of(content.version if content else None, app, [state.get(name) for name in _STATE])


# ---- what the App keeps of a panel ----


def state_part(ctx: foo.ExecutionContext, name: str) -> Any:
    """A part of the state of the panel, as the App keeps it or as it was noted since."""
    beyond = ctx.params.get(BEYOND) or {}
    return beyond[name] if name in beyond else (ctx.panel_state or {}).get(name)


def note(ctx: foo.ExecutionContext, name: str, value: Any) -> None:
    """Change a part of the state without telling the App."""
    ctx.params.setdefault(BEYOND, {})[name] = value


def tell_noted(ctx: foo.ExecutionContext) -> None:
    """Tell the App what was noted, as another part of the state has changed."""
    if ctx.params.get(WAY) or ctx.params[BEYOND].get(WAY):
        keep(ctx, deciding(ctx))
    ctx.panel.set_state(ctx.params.pop(BEYOND))


def mend_state(ctx: foo.ExecutionContext) -> None:
    """Begin anew where the App kept something else than the panel left, and say so."""
    unusable = unusable_parts(ctx.panel_state)
    if unusable:
        ctx.panel.set_state(dict.fromkeys(unusable))
        parts = ", ".join(f"`{name}`" for name in unusable)
        ctx.ops.notify(f"What the browser kept of this panel cannot be used; {parts} begins anew", variant="warning")


def deciding(ctx: foo.ExecutionContext) -> dict[str, Any]:
    """State of the tab Decide: the person, the filters of objects, and the way back."""
    way = ctx.params.get(WAY) or (ctx.params.get(BEYOND) or {}).get(WAY)
    return {**(state_part(ctx, "decide") or {}), **(way if way and not unusable_parts({"decide": way}) else {})}


def keep(ctx: foo.ExecutionContext, chosen: dict[str, Any]) -> None:
    """Leave with the App what :func:`deciding` has."""
    for known in (ctx.params, ctx.params.get(BEYOND) or {}):
        known.pop(WAY, None)
    ctx.panel.set_state("decide", chosen)
