"""Continue a run that was shared out and did not complete."""

from __future__ import annotations

from ...agreement.settings.config import AgreementConfig
from ...agreement.settings.errors import AgreementInputError
from ..labels.source import Source
from ..record.lease import this_process
from ..record.run import FAILED, RUNNING, Run, versions
from ..record.stored_records import read_part
from .share import PLAN


def continued_run(source: Source) -> Run:
    """The run to continue, which is running again; the dataset's lease is held.

    What was edited since it was read is found by time stamps, as after any run.

    Raises:
        AgreementInputError: if there is no such run, it is being computed, or it is not the same
    """
    config = source.config
    run = Run(source.dataset, config.run_key)
    run.require()
    record = run.config
    run_id = record["results_id"]
    if record.get("status") not in (RUNNING, FAILED) or read_part(run_id, PLAN) is None:
        raise AgreementInputError(
            f"`resume` needs a run that was shared out among workers and did not complete, got {config.run_key!r} with "
            f"the status {record.get('status')!r}; compute it with overwrite=True"
        )
    if record.get("status") == RUNNING and not run.was_killed:
        machine, process = str(record.get("process")).split(" ")[:2]
        raise AgreementInputError(
            f"`resume` needs a run that nobody computes, got {config.run_key!r}, which the process {process} on "
            f"{machine.partition('/')[0]} computes; wait for it, or end it"
        )
    before = AgreementConfig.from_dict(record["options"])
    same = before == config and tuple(record["annotators"]) == source.annotators
    if not same or record.get("versions") != versions():
        differs = "other software" if same else "other options or annotators"
        raise AgreementInputError(
            f"`resume` needs the same options, annotators and software as before, got {differs} for the run "
            f"{config.run_key!r}; compute it with overwrite=True"
        )
    run = Run(source.dataset, config.run_key, run_id)
    run.update(status=RUNNING, process=this_process(), error=None)
    return run
