"""The database is killed while a run on frames is on its way, and started again."""

from __future__ import annotations

import os
import random
import tempfile
import time
from pathlib import Path

from tools.dev.private_fiftyone import PrivateFiftyOne

from .campaign import Campaign, Outcome, outcome_of
from .workers import Command, Worker, workers

OURS = f"{__package__}.on_dataset"
_FIELDS = ["frames.alice", "frames.bob", "frames.carol"]
#: errors by which a run may end whose database is gone
_OF_DATABASE = {"AutoReconnect", "ConnectionFailure", "NetworkTimeout", "ServerSelectionTimeoutError", "BulkWriteError"}
#: seconds within which the database is killed after a run began
_LONGEST = 0.8


def kill_database(seed: int, rounds: int) -> Outcome:
    """Kill a database of the campaign's own during runs; afterwards everything works, and users lost nothing."""
    environment = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        private = PrivateFiftyOne(Path(folder))
        private.start()
        try:
            with workers(2) as (runner, opener):
                numbers = range(seed, seed + rounds)
                return outcome_of((number, _one_round(number, private, runner, opener)) for number in numbers)
        finally:
            os.environ.clear()
            os.environ.update(environment)
            private.stop()


def _one_round(seed: int, private: PrivateFiftyOne, runner: Worker, opener: Worker) -> list[str]:
    name = f"crash-{seed}"
    made = opener.do(Command(f"{OURS}:make_videos", [name, seed]))
    dataset = {"dataset": name}
    before = opener.do(Command(f"{OURS}:values_of_user", [dataset]))
    options = {"run_key": "k0", "resamples": 0}
    runner.send(Command("annotator_agreement.dataset_io:compute_agreement", [dataset, _FIELDS], options))
    time.sleep(random.Random(seed).uniform(0.0, _LONGEST))
    private.crash()
    private.start()
    first = runner.answer()
    again = opener.do(
        Command("annotator_agreement.dataset_io:compute_agreement", [dataset, _FIELDS], {**options, "overwrite": True})
    )
    opened = opener.do(Command(f"{OURS}:open_and_list", [dataset]))
    deleted = opener.do(Command(f"{OURS}:delete_everything", [dataset, ["k0"]]))
    after = opener.do(Command(f"{OURS}:values_of_user", [dataset]))
    wrong = [answer.told for answer in (made, before, again, opened, deleted, after) if answer.error is not None]
    if first.error is not None and first.error not in _OF_DATABASE:
        wrong.append(first.told)
    if before.value != after.value:
        wrong.append("values of the user differ, or values of the run are left")
    return wrong


CAMPAIGNS = (Campaign("crash", "kill the database while frames are compared; then all works again", kill_database, 8),)
