"""Peak memory and time per sample as the dataset grows, each size in a separate process."""

from __future__ import annotations

import contextlib
import json
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .generated import ANNOTATORS
from .output import Limit, Row, at_most, in_process, say, timed

SIZES = (10_000, 100_000)
_MIB = 1024.0


def measure() -> list[Row]:
    """Run the main job on datasets of two sizes."""
    say(f"memory: the main job on {' and '.join(map(str, SIZES))} samples")
    found = [in_process("tools.bench.memory", size) for size in SIZES]
    peaks = [each["peak"] - each["idle"] for each in found]
    seconds = [1000 * each["seconds"] / size for each, size in zip(found, SIZES, strict=True)]
    more = (peaks[1] - peaks[0]) * _MIB**2 / (SIZES[1] - SIZES[0])
    few, many = (f"at {size} samples" for size in SIZES)
    return [
        Row(f"peak memory above idle {few}, MiB", peaks[0], at_most(300)),
        Row(f"peak memory above idle {many}, MiB", peaks[1], at_most(300)),
        Row("bytes for each additional sample", more, at_most(2_900)),
        Row(f"seconds per 1,000 samples {many} / {few}", seconds[1], Limit(0.8, 1.2), seconds[0]),
    ]


def measured_run(name: str, annotators: Sequence[str], **options: Any) -> dict[str, Any]:
    """Compute a run of a dataset: its seconds and report, and the memory of this process in MiB, idle and at most."""
    import fiftyone as fo
    import psutil

    from tools.dev.plugin import load_plugin

    dataset, plugin = fo.load_dataset(name), load_plugin()
    plugin.compute(dataset.limit(50), list(annotators), run_key="warm_up", progress=False)
    plugin.load(dataset, "warm_up").delete()
    idle = psutil.Process().memory_info().rss / _MIB**2
    seconds, run = timed(lambda: plugin.compute(dataset, list(annotators), progress=False, **options))
    return {"seconds": seconds, "idle": idle, "peak": peak_mib(), "report": run.report}


def peak_mib(process: int | str = "self") -> float:
    """Peak memory of a process in MiB, without memory of its parent before the fork; 0 where it is gone."""
    status = Path(f"/proc/{process}/status")
    if status.exists():
        with contextlib.suppress(OSError):
            lines = status.read_text(encoding="ascii").splitlines()
            return next((int(line.split()[1]) / _MIB for line in lines if line.startswith("VmHWM")), 0.0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MIB if process == "self" else 0.0


def _one_size(n_samples: int) -> None:
    """Make a dataset in another process, then run the main job here and print peak memory and seconds."""
    in_process("tools.bench.memory", "make", n_samples)
    found = measured_run(f"bench-{n_samples}", ANNOTATORS)
    import fiftyone as fo

    fo.delete_dataset(f"bench-{n_samples}")
    say(json.dumps({name: value for name, value in found.items() if name != "report"}))


def _make(n_samples: int) -> None:
    from .database import make_dataset

    make_dataset(f"bench-{n_samples}", n_samples)
    say("true")


if __name__ == "__main__":
    _make(int(sys.argv[2])) if sys.argv[1] == "make" else _one_size(int(sys.argv[1]))
