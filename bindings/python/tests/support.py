"""What several tests share: a folder of pictures made here, digests, the command line beside the package."""

import contextlib
import ctypes
import io
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy as np

from ridgeline import data

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACK = pathlib.Path(os.environ.get("RIDGELINE_TEST_DATA", "/nowhere")) / "packA"


def needs_pack(test):
    return unittest.skipUnless(PACK.is_dir(), "RIDGELINE_TEST_DATA does not hold packA/")(test)


def needs_pillows_pixels(test):
    """Tests that compare resized pixels: the engine's are those of Pillow up to 12, and 13 rounds some otherwise."""
    try:
        import PIL
    except ImportError:
        return test  # it skips by itself
    return unittest.skipIf(int(PIL.__version__.split(".")[0]) >= 13,
                           f"Pillow {PIL.__version__} rounds some resized pixels otherwise (allowed: below 13)")(test)


def binary():
    """The command-line program of this checkout, or a skip."""
    for candidate in (os.environ.get("RIDGELINE_BINARY"), ROOT / "build" / "ridgeline", shutil.which("ridgeline")):
        if candidate and pathlib.Path(candidate).is_file():
            return str(candidate)
    raise unittest.SkipTest("no build/ridgeline (RIDGELINE_BINARY names another)")


def jpeg(rng, height, width):
    from PIL import Image

    small = rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)
    picture = Image.fromarray(small).resize((width, height), Image.BICUBIC)
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=90, subsampling=int(rng.integers(0, 3)))
    return out.getvalue()


class Folder(unittest.TestCase):
    """Tests over class folders of JPEGs of different sizes: 3 classes of 9, 10 and 11."""

    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="ridgeline-python-")
        rng = np.random.default_rng(1)
        for label in range(3):
            os.mkdir(f"{cls.dir}/class{label}")
            for i in range(9 + label):
                with open(f"{cls.dir}/class{label}/{i:03}.jpg", "wb") as file:
                    file.write(jpeg(rng, int(rng.integers(30, 90)), int(rng.integers(30, 90))))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def pipeline(self, size=24, batch=8):
        return (data.ImageFolder(self.dir).shuffle()
                .map(data.RandomResizedCrop(size), data.RandomHorizontalFlip(), data.Normalize.imagenet())
                .batch(batch).with_seed(5))


def digest_of(batches):
    """As `ridgeline dataset bench --hash`: the bytes of every column, byte strings after their length."""
    digest = 0
    for batch in batches:
        for name in batch.keys():
            values = batch[name]
            if isinstance(values, list):
                for text in values:
                    digest = hash64(text, hash64(struct.pack("<Q", len(text)), digest))
            else:
                digest = hash64(np.ascontiguousarray(values).tobytes(), digest)
    return f"{digest:016x}"


def hash64(content, seed):
    """As core/random.h: FNV-1a, then the end of splitmix64."""
    mask = 2**64 - 1
    h = 0xcbf29ce484222325 ^ seed
    for byte in content:
        h = (h ^ byte) * 0x100000001b3 & mask
    h = h + 0x9e3779b97f4a7c15 & mask
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9 & mask
    h = (h ^ h >> 27) * 0x94d049bb133111eb & mask
    return h ^ h >> 31


def run_python(code, *args, timeout=60, **kwargs):
    """Another interpreter with the same path."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.run([sys.executable, "-c", code, *map(str, args)], env=env, timeout=timeout, text=True,
                          capture_output=True, **kwargs)


def started_from(module, main):
    """A program for run_python whose functions and classes are a module's, so that processes that are started anew find
    them. main: lines that call them"""
    return f"""
import multiprocessing, os, sys, tempfile

if __name__ == "__main__":
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "squares.py"), "w") as file:
        file.write({module!r})
    sys.path.insert(0, folder)
    from squares import *
    {main.strip()}
"""


@contextlib.contextmanager
def listings(folder):
    """count(): how often the folder was opened to be listed since the `with`, by any code."""
    libc = ctypes.CDLL(None, use_errno=True)
    open_, is_folder = 0x20, 0x40000000
    watch = libc.inotify_init1(os.O_NONBLOCK)
    if watch < 0 or libc.inotify_add_watch(watch, os.fsencode(folder), open_) < 0:
        raise OSError(ctypes.get_errno(), "inotify")

    def count():
        found = 0
        with contextlib.suppress(BlockingIOError):
            events = os.read(watch, 1 << 16)
            while events:
                _, mask, _, length = struct.unpack_from("iIII", events)
                found += bool(mask & is_folder) and length == 0  # the folder itself
                events = events[16 + length:]
        return found

    try:
        yield count
    finally:
        os.close(watch)


def threads():
    return len(os.listdir("/proc/self/task"))
