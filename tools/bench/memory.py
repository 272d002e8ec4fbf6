"""Peak memory and time per sample as the dataset grows, each size in a separate process."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from .output import Limit, Row, at_most, say

SIZES = (10_000, 100_000)
_MIB = 1024.0


def measure() -> list[Row]:
    """Run the main job on datasets of two sizes."""
    say(f"memory: the main job on {' and '.join(map(str, SIZES))} samples")
    peaks, seconds = [], []
    for size in SIZES:
        answer = subprocess.run(
            [sys.executable, "-m", "tools.bench.memory", str(size)], check=True, capture_output=True, text=True
        ).stdout.splitlines()[-1]
        above_idle, duration = json.loads(answer)
        say(f"  {size} samples: {above_idle:.0f} MiB above the idle process, {duration:.1f} s")
        peaks.append(above_idle)
        seconds.append(duration / size)
    more = (peaks[1] - peaks[0]) * _MIB**2 / (SIZES[1] - SIZES[0])
    return [
        Row(f"peak memory above idle at {SIZES[0]} samples, MiB", peaks[0], None, None, at_most(300)),
        Row(f"peak memory above idle at {SIZES[1]} samples, MiB", peaks[1], None, None, at_most(300)),
        Row("bytes for each additional sample", more, None, None, at_most(2_900)),
        Row(
            f"seconds per 1,000 samples at {SIZES[1]} / at {SIZES[0]}",
            1000 * seconds[1],
            1000 * seconds[0],
            seconds[1] / seconds[0],
            Limit(0.8, 1.2),
        ),
    ]


def _one_size(n_samples: int) -> None:
    """Make a dataset in another process, then run the main job here and print peak memory and seconds."""
    subprocess.run(
        [sys.executable, "-m", "tools.bench.memory", "make", str(n_samples)], check=True, capture_output=True
    )
    import fiftyone as fo
    import psutil

    from tools.dev.plugin import load_plugin

    from .generated import ANNOTATORS

    dataset = fo.load_dataset(f"bench-{n_samples}")
    plugin = load_plugin()
    plugin.compute(dataset.limit(50), list(ANNOTATORS), run_key="warm_up", progress=False)
    plugin.load(dataset, "warm_up").delete()
    idle = psutil.Process().memory_info().rss / _MIB**2
    started = time.perf_counter()
    plugin.compute(dataset, list(ANNOTATORS), progress=False)
    seconds = time.perf_counter() - started
    peak = peak_mib()
    dataset.delete()
    say(json.dumps([max(peak - idle, 0.0), seconds]))


def peak_mib() -> float:
    """Peak memory of this process in MiB, without memory of its parent before the fork."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / _MIB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MIB


def _make(n_samples: int) -> None:
    from .database import make_dataset

    make_dataset(f"bench-{n_samples}", n_samples)


if __name__ == "__main__":
    _make(int(sys.argv[2])) if sys.argv[1] == "make" else _one_size(int(sys.argv[1]))
