"""What DataLoader(device="cuda") does on a card, by hand on a machine that has one: a line a check, exit 1 if any failed.

    PYTHON card_check.py [DEVICE] [--seconds 20]

PYTHON has PyTorch for CUDA, NumPy, Pillow and this package. Pictures are made here; batches are compared bit by bit with
those of a loader without a device. A check that the seconds do not allow is left out, which its line says.
"""

import argparse
import contextlib
import gc
import pathlib
import sys
import tempfile
import time
import traceback
import warnings
from unittest import mock

import numpy as np
import torch

import ridgeline
from ridgeline import data
from ridgeline.data import DataLoader

from support import jpeg

PICTURES, SIZE, BATCH = 160, 96, 16
CROP = data.RandomResizedCrop(SIZE)
CHAIN = [CROP, data.RandomHorizontalFlip(), data.Normalize.imagenet()]
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


class Checks:
    def __init__(self, directory, device):
        self.directory, self.device = directory, device

    def plain(self, **options):
        return DataLoader(self.directory, BATCH, **{"shuffle": True, "seed": 1, "transform": CHAIN, **options})

    def card(self, **options):
        return self.plain(device=self.device, **options)

    def same(self, ours, plain, dtype=torch.float32):
        """Compares bit by bit; the number of batches."""
        count = 0
        for (x, y), (a, b) in zip(ours, plain, strict=True):
            a = a.to(dtype) if a.is_floating_point() else a
            assert x.device == y.device == torch.device(self.device), (x.device, y.device)
            assert x.dtype == a.dtype and x.stride() == a.stride(), (x.dtype, x.stride(), a.dtype, a.stride())
            assert torch.equal(x.cpu(), a) and torch.equal(y.cpu(), b), f"batch {count} differs"
            count += 1
        return count

    # ---- checks, in their order

    def batches_of_every_type_are_the_engines_with_bytes_on_the_bus_and_without(self):
        plain = list(self.plain())
        for normalize in (True, False):
            for name, dtype in TYPES.items():
                self.same(self.card(dtype=name, normalize_on_device=normalize), plain, dtype)

    def they_are_so_in_the_second_epoch_and_without_a_flip_and_with_a_shorter_last_batch(self):
        for size, chain in ((BATCH, CHAIN), (BATCH, [CROP, data.Normalize.imagenet()]), (23, CHAIN)):
            for normalize in (True, False):
                ours = DataLoader(self.directory, size, shuffle=True, transform=chain, device=self.device,
                                  normalize_on_device=normalize)
                plain = DataLoader(self.directory, size, shuffle=True, transform=chain)
                for _ in range(2):
                    assert self.same(ours, plain) == -(-PICTURES // size)

    def bytes_and_contiguous_and_python_made_batches_arrive(self):
        bytes_alone = [CROP, data.RandomHorizontalFlip()]
        self.same(self.card(transform=bytes_alone), self.plain(transform=bytes_alone))
        self.same(self.card(memory_format="contiguous"), self.plain(memory_format="contiguous"))
        rows = [{"x": torch.arange(i, i + 1000.0), "deep": (i, f"text {i}")} for i in range(40)]
        for workers in (0, 2):
            for batch in DataLoader(rows, 8, device=self.device, num_workers=workers):
                numbers, texts = batch["deep"]
                assert list(texts) == [f"text {i}" for i in numbers.tolist()] and numbers.device == batch["x"].device
                assert torch.equal(batch["x"][:, 0].cpu(), numbers.cpu().float())

    def a_step_that_reads_late_reads_its_own_batch(self):
        """200 batches; a long kernel before each read, and the batch is let go before the card has come to it."""
        for normalize in (True, False):
            for late in ("same stream", "another stream"):
                expected = [_sum(x, y) for x, y in _first(self.plain(), 50)]
                sums = torch.zeros(len(expected), dtype=torch.int64, device=self.device)
                stream = torch.cuda.current_stream(self.device) if late == "same stream" else torch.cuda.Stream(self.device)
                with torch.cuda.stream(stream):
                    for i, (x, y) in enumerate(_first(self.card(normalize_on_device=normalize), 50)):
                        torch.cuda._sleep(2_000_000)
                        sums[i] = _sum(x, y)
                        del x, y
                stream.synchronize()
                assert sums.tolist() == [int(s) for s in expected], f"{late}, normalize_on_device={normalize}"

    def what_is_kept_stays_as_it_was(self):
        for normalize in (True, False):
            self.same(list(self.card(normalize_on_device=normalize, memory_limit=1 << 23)), self.plain())

    def few_slots_are_not_written_before_their_copy(self):
        """Slots for two or three batches, and a card that is busy copying."""
        busy = torch.empty(1 << 26, dtype=torch.uint8).pin_memory()
        there, plain = torch.empty_like(busy, device=self.device), list(self.plain())
        for normalize, bytes_each in ((True, 1), (False, 4)):
            slot = BATCH * SIZE * SIZE * 3 * bytes_each
            loader = self.card(normalize_on_device=normalize, memory_limit=3 * slot + 65536)
            batches, made = iter(loader), []
            made.append(next(batches))
            for _ in range(len(plain) - 1):
                with torch.cuda.stream(loader._lane._stream):  # before the next copy
                    there.copy_(busy, non_blocking=True)
                made.append(next(batches))
            self.same(made, plain)

    def an_epoch_that_is_left_early_leaves_nothing(self):
        held = {}
        lock = ridgeline.data._device.page_lock

        def counted(device):
            register, unregister = lock(device)
            return (lambda a, n: (register(a, n), held.__setitem__(a, n))), (lambda a: (unregister(a), held.pop(a)))

        with mock.patch("ridgeline.data._loader.page_lock", counted):
            for i in range(30):
                loader = self.card(num_workers=4)
                try:
                    for j, _ in enumerate(loader):
                        assert held
                        if j == i % 5:
                            if i % 2:
                                raise LookupError
                            break
                except LookupError:
                    pass
                del loader, _
            gc.collect()
            assert held == {}, held

    def states_go_on_from_either_side(self):
        plain = list(self.plain())
        for one, other in ((self.card, self.plain), (self.plain, self.card), (self.card, self.card)):
            first, second = one(), other()
            for i, _ in enumerate(first):
                if i == 3:
                    break
            second.load_state_dict(first.state_dict())
            rest = [(x.to(self.device), y.to(self.device)) for x, y in second]
            assert self.same(rest, plain[4:]) == len(plain) - 4

    def exceptions_come_in_their_turn(self):
        with tempfile.TemporaryDirectory() as folder:
            made = pictures(pathlib.Path(folder), 40)
            (made / "b" / "035.jpg").write_bytes(b"no picture")
            told = []
            for where in ({}, {"device": self.device}):
                count = 0
                try:
                    for _ in DataLoader(made, 4, transform=CHAIN, **where):
                        count += 1
                except ridgeline.RunError as error:
                    told.append((count, str(error)))
            assert len(told) == 2 and told[0] == told[1] and told[0][0] > 3, told
        loader = self.card()
        for _ in range(2):
            with contextlib.suppress(LookupError):
                for _ in loader:
                    raise LookupError
        assert sum(1 for _ in loader) == -(-PICTURES // BATCH)

    def loaders_and_streams_beside_each_other(self):
        plain = list(self.plain())
        streams = [torch.cuda.Stream(self.device) for _ in range(3)]
        made = [[] for _ in streams]
        loaders = [iter(self.card(normalize_on_device=i != 1)) for i in range(3)]
        for _ in plain:
            for stream, loader, into in zip(streams, loaders, made):
                with torch.cuda.stream(stream):
                    x, y = next(loader)
                    torch.cuda._sleep(300_000)
                    into.append((x + 0, y + 0))
        torch.cuda.synchronize(self.device)
        for batches in made:
            for (x, y), (a, b) in zip(batches, plain, strict=True):
                assert torch.equal(x.cpu(), a) and torch.equal(y.cpu(), b)

    def a_batch_that_is_asked_for_without_gradients_can_be_trained_on_later(self):
        loader = iter(self.card())
        with torch.inference_mode():
            next(loader)
        weight = torch.ones(1, device=self.device, requires_grad=True)
        (next(loader)[0] * weight).sum().backward()

    def memory_on_the_card_does_not_grow_where_the_host_is_faster(self):
        torch.cuda.synchronize(self.device)
        gc.collect()
        before = torch.cuda.memory_allocated(self.device)
        torch.cuda.reset_peak_memory_stats(self.device)
        for x, _ in _first(self.card(), 60):
            torch.cuda._sleep(5_000_000)
            x.sum()
        peak = torch.cuda.max_memory_allocated(self.device) - before
        batch = BATCH * SIZE * SIZE * 3 * 4
        assert peak < 16 * batch, f"{peak / batch:.1f} batches"
        del x, _
        gc.collect()
        assert torch.cuda.memory_allocated(self.device) - before < batch

    def what_the_end_of_the_transforms_takes(self):
        """No check: milliseconds for 256 pictures of 224, by the card's clock, of the copy and of what is behind it."""
        pixels = torch.randint(0, 256, (256, 224, 224, 3), dtype=torch.uint8).pin_memory()
        flip = torch.randint(0, 2, (256,), dtype=torch.uint8).to(self.device)
        floats = torch.empty(256, 224, 224, 3).pin_memory()
        there = pixels.to(self.device)
        told = [f"copy of f32 {_milliseconds(lambda: floats.to(self.device, non_blocking=True)):.2f}",
                f"of u8 {_milliseconds(lambda: pixels.to(self.device, non_blocking=True)):.2f}"]
        for name, dtype in TYPES.items():
            end = ridgeline.data._tail.Normalized([0.485, 0.456, 0.406], [0.229, 0.224, 0.225], dtype)
            told.append(f"to {name} {_milliseconds(lambda: end(there, flip)):.2f}")
        return ", ".join(told)


def _sum(x, y):
    """Whole numbers, so in any order the same."""
    return x.permute(0, 2, 3, 1).contiguous().view(torch.int32).sum(dtype=torch.int64) + y.sum()


def _first(loader, count):
    while True:
        for batch in loader:
            if count == 0:
                return
            count -= 1
            yield batch
            del batch


def _milliseconds(call):
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    call()
    events[0].record()
    for _ in range(10):
        call()
    events[1].record()
    events[1].synchronize()
    return events[0].elapsed_time(events[1]) / 10


def pictures(into, count):
    rng = np.random.default_rng(3)
    for i in range(count):
        place = into / "ab"[i % 2]
        place.mkdir(exist_ok=True)
        (place / f"{i:03}.jpg").write_bytes(jpeg(rng, int(rng.integers(100, 200)), int(rng.integers(100, 200))))
    return into


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device", nargs="?", default="cuda:0")
    parser.add_argument("--seconds", type=float, default=20)
    given = parser.parse_args()
    begin, failed = time.perf_counter(), 0
    warnings.filterwarnings("ignore", message="pictures travel")
    device = torch.zeros(1, device=given.device).device  # with its number
    print(f"{torch.cuda.get_device_name(device)}, PyTorch {torch.__version__}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(pictures(pathlib.Path(folder), PICTURES), str(device))
        for name in [n for n in vars(Checks) if n[:2] != "__" and n not in ("plain", "card", "same")]:
            at = time.perf_counter()
            if at - begin > given.seconds:
                print(f"left out, no time: {name.replace('_', ' ')}", flush=True)
                continue
            try:
                what, note = "passed", getattr(checks, name)()
            except Exception as error:
                what, note, failed = "FAILED", f"{type(error).__name__}: {error}", failed + 1
                traceback.print_exc()
            line = f"{what} {time.perf_counter() - at:5.1f} s: {name.replace('_', ' ')}"
            print(f"{line}: {note}" if note else line, flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
