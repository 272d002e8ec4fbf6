"""Buttons and keys of FiftyOne itself work as they do without the plugin."""

from __future__ import annotations

import io
import itertools
import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fiftyone as fo
import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.app.app_page import AppPage
from tests.app.counted import address_of

from annotator_agreement.dataset_io import compute_agreement, list_decisions

pytestmark = pytest.mark.browser

_TIMES = 20
_numbers = itertools.count()
#: counts clicks on FiftyOne's buttons for the camera, and keys that reach the page
_COUNT = """() => {
    window.arrived = {clicks: [], keys: []};
    const keyOf = (part) => part.closest("button[title*='camera target']")?.getAttribute("aria-keyshortcuts");
    document.addEventListener("click", ({target}) => window.arrived.clicks.push(keyOf(target)));
    document.addEventListener("keydown", ({key}) => window.arrived.keys.push(key));
}"""


@pytest.fixture
def recordings(private_fiftyone: Any, tmp_path: Path) -> Iterator[fo.Dataset]:
    """Two recordings of a laser scanner and a camera, with a class by two annotators."""
    dataset = fo.Dataset(f"recordings-{os.getpid()}-{next(_numbers)}", persistent=True)
    samples = []
    for k, classes in enumerate((("city", "road"), ("road", "city"))):
        write_recording(path := tmp_path / f"{k}.mcap")
        labels = [fo.Classification(label=name) for name in classes]
        samples.append(fo.Sample(path, alice=labels[0], bob=labels[1]))
    dataset.add_samples(samples, progress=False)
    yield dataset
    dataset.delete()


def _open_sample(app: AppPage, address: str) -> None:
    app.page.set_viewport_size({"width": 1000, "height": 700})  # the picture is drawn without a graphics card
    app.page.goto(address, wait_until="domcontentloaded")
    tile = app.page.locator("[data-cy='grid-custom-renderer']").first
    expect(tile.locator("canvas")).to_be_visible()
    tile.click()
    expect(app.page.get_by_role("button", name="Top view")).to_be_visible()


def _expect_all_to_arrive(app: AppPage) -> None:
    """Press FiftyOne's two buttons for the camera, and their keys, and count what arrives there."""
    page, expected = app.page, ["T", "E"] * (_TIMES // 2)
    page.evaluate(_COUNT)
    buttons = {"T": page.get_by_role("button", name="Top view"), "E": page.get_by_role("button", name="Ego view")}
    for key in expected:
        buttons[key].click(force=True)  # without waiting until the picture, which turns, is at rest
    for key in expected:
        page.keyboard.press(key.lower())
    assert page.evaluate("window.arrived.clicks") == expected
    assert page.evaluate("window.arrived.keys") == [key.lower() for key in expected]
    expect(page.get_by_text("Not answered yet")).to_have_count(0)


def test_buttons_and_keys_of_the_camera_arrive_without_a_run(
    page: Page, demo_address: str, recordings: fo.Dataset
) -> None:
    app, errors = AppPage(page), list[str]()
    page.on("pageerror", lambda error: errors.append(str(error)))
    _open_sample(app, address_of(recordings, demo_address))
    _expect_all_to_arrive(app)
    assert not errors


def test_buttons_and_keys_of_the_camera_arrive_beside_the_panel_and_its_own_work_inside(
    page: Page, demo_address: str, recordings: fo.Dataset
) -> None:
    compute_agreement(recordings, ["alice", "bob"], progress=False)
    app, errors = AppPage(page), list[str]()
    page.on("pageerror", lambda error: errors.append(str(error)))
    _open_sample(app, address_of(recordings, demo_address))
    app.modal.locator("[data-cy='panel-tab-decide_panel']").click()
    beside = page.locator("[data-cy='panel-content-decide_panel']")
    app.modal.locator("[title='Split horizontally']").first.click()
    beside.get_by_role("textbox").fill("mia")
    page.keyboard.press("Enter")
    expect(beside).to_contain_text("0 of 2 decided")
    _expect_all_to_arrive(app)
    assert not list_decisions(recordings)

    page.keyboard.press("1")  # the last click was on the camera
    beside.get_by_text("0 of 2 decided").click()
    page.keyboard.press("1")
    expect(beside).to_contain_text(re.compile("1 of 2 decided"))
    assert [(each.choice, each.annotator) for each in list_decisions(recordings)] == [("version", "alice")]
    assert not errors


_MAGIC = b"\x89MCAP0\r\n"
_SECOND = 1_000_000_000
_LINE = "\n" + 80 * "=" + "\nMSG: "
_HEADER = (
    f"{_LINE}std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id"
    f"{_LINE}builtin_interfaces/Time\nint32 sec\nuint32 nanosec"
)
_CLOUD = (
    "std_msgs/Header header\nuint32 height\nuint32 width\nsensor_msgs/PointField[] fields\nbool is_bigendian\n"
    f"uint32 point_step\nuint32 row_step\nuint8[] data\nbool is_dense{_HEADER}"
    f"{_LINE}sensor_msgs/PointField\nstring name\nuint32 offset\nuint8 datatype\nuint32 count"
)
_PICTURE = f"std_msgs/Header header\nstring format\nuint8[] data{_HEADER}"


class _Message:
    """A message in the encoding of ROS 2, in which numbers stand at multiples of their size."""

    def __init__(self, second: int) -> None:
        self._content = bytearray()
        self.number("i", second).number("I", 0).text("lidar")

    def number(self, kind: str, value: int) -> _Message:
        self._content += bytes(-len(self._content) % struct.calcsize(kind)) + struct.pack(f"<{kind}", value)
        return self

    def text(self, text: str) -> _Message:
        return self.raw(text.encode() + b"\0")

    def raw(self, content: bytes) -> _Message:
        self.number("I", len(content))
        self._content += content
        return self

    def __bytes__(self) -> bytes:
        return b"\0\1\0\0" + bytes(self._content)


def _cloud(second: int, n: int = 300) -> bytes:
    message = _Message(second).number("I", 1).number("I", n).number("I", 3)
    for k, axis in enumerate("xyz"):
        message.text(axis).number("I", 4 * k).number("B", 7).number("I", 1)
    points = np.random.default_rng(second).normal(0.0, 3.0, (n, 3)).astype("<f4")
    return bytes(message.number("B", 0).number("I", 12).number("I", 12 * n).raw(points.tobytes()).number("B", 1))


def _picture(second: int) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", (160, 120), (60 + 40 * second, 80, 120)).save(written, "JPEG")
    return bytes(_Message(second).text("jpeg").raw(written.getvalue()))


def _text(text: str) -> bytes:
    return _block(text.encode())


def _block(content: bytes) -> bytes:
    return struct.pack("<I", len(content)) + content


def _record(kind: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return struct.pack("<BQ", kind, len(content)) + content


def write_recording(path: Path, seconds: int = 2) -> None:
    """Write a recording of a message of each in every second, with the index by which it is read."""
    channels = {
        "/lidar": ("sensor_msgs/msg/PointCloud2", _CLOUD),
        "/camera": ("sensor_msgs/msg/CompressedImage", _PICTURE),
    }
    described, chunk, index = b"", b"", dict[int, list[tuple[int, int]]]()
    for k, (topic, (name, definition)) in enumerate(channels.items(), 1):
        described += _record(3, struct.pack("<H", k), _text(name), _text("ros2msg"), _text(definition))
        described += _record(4, struct.pack("<HH", k, k), _text(topic), _text("cdr"), _block(b""))
    chunk = described
    for second in range(seconds):
        for k, message in enumerate((_cloud(second), _picture(second)), 1):
            index.setdefault(k, []).append((second * _SECOND, len(chunk)))
            chunk += _record(5, struct.pack("<HIQQ", k, second, second * _SECOND, second * _SECOND), message)
    last = (seconds - 1) * _SECOND
    content = _MAGIC + _record(1, _text("ros2"), _text(""))
    begins = len(content)
    packed = _record(6, struct.pack("<QQQI", 0, last, len(chunk), 0), _text(""), struct.pack("<Q", len(chunk)), chunk)
    content += packed
    indexed, places = len(content), b""
    for k, entries in index.items():
        places += struct.pack("<HQ", k, len(content))
        content += _record(7, struct.pack("<H", k), _block(b"".join(struct.pack("<QQ", *entry) for entry in entries)))
    size = struct.pack("<Q", len(content) - indexed)
    content += _record(15, struct.pack("<I", 0))
    summary, n = len(content), len(channels)
    content += described
    lengths = struct.pack("<QQ", len(chunk), len(chunk))
    content += _record(8, struct.pack("<QQQQ", 0, last, begins, len(packed)), _block(places), size, _text(""), lengths)
    counts = _block(b"".join(struct.pack("<HQ", k, seconds) for k in index))
    content += _record(11, struct.pack("<QHIIIIQQ", n * seconds, n, n, 0, 0, 1, 0, last), counts)
    path.write_bytes(content + _record(2, struct.pack("<QQI", summary, 0, 0)) + _MAGIC)
