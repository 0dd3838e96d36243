"""Memory, threads and pinning of the DataLoader: whose they are, and that nothing is left behind."""

import gc
import os
import unittest
from unittest import mock

from ridgeline.data import DataLoader

from loader_support import EXACT, RANDOM, torch
from support import Folder, threads


class MemoryAndThreads(Folder):
    def test_tensors_are_the_engines_memory_and_stay_valid(self):
        loader = DataLoader(self.dir, 8, shuffle=True, transform=RANDOM)
        kept = []
        for _ in range(5):
            for x, y in loader:
                kept.append((x, x.clone()))
        del loader, x, y
        self.assertTrue(all(torch.equal(a, b) for a, b in kept))
        x = kept[0][0]
        x += 1  # the batch is the user's

    def test_threads_end_with_the_loader_and_with_every_epoch_where_asked(self):
        before = threads()
        loader = DataLoader(self.dir, 8, transform=RANDOM, persistent_workers=False, num_workers=2)
        for _ in range(2):
            self.assertEqual(len(list(loader)), 4)
            self.assertEqual(threads(), before)
        for i in range(1000):
            loader = DataLoader(self.dir, 8, transform=RANDOM, num_workers=2, memory_limit=1 << 20)
            if i % 10 == 0:
                next(iter(loader))
            else:
                loader.state_dict()  # starts the threads
        del loader
        self.assertEqual(threads(), before)

    def test_a_loader_that_is_dropped_in_the_middle_of_an_epoch_unregisters_its_memory(self):
        held = {}
        with (mock.patch("ridgeline.data._loader.can_pin", return_value=True),
              mock.patch("ridgeline.data._loader.page_lock", return_value=(held.__setitem__, held.pop)),
              mock.patch.object(torch.Tensor, "is_pinned", lambda t: True)):
            for end in ("dropped", "closed", "an exception", "every epoch"):
                loader = DataLoader(self.dir, 8, transform=EXACT, pin_memory=True,
                                    persistent_workers=end != "every epoch")
                try:
                    for x, _ in loader:
                        self.assertGreater(len(held), 0)
                        if end == "closed":
                            loader.close()
                            break
                        if end == "an exception":
                            raise LookupError
                        if end == "dropped":
                            break
                except LookupError:
                    pass
                del x, _
                if end != "every epoch":
                    del loader
                gc.collect()
                self.assertEqual(held, {}, end)

    def test_a_thousand_loaders_leave_no_thread_no_descriptor_and_no_memory(self):
        def once(i):
            loader = DataLoader(self.dir, 8, transform=EXACT, num_workers=2, shuffle=True)
            for x, _ in loader if i % 4 == 0 else ():
                break

        def now():
            gc.collect()
            with open("/proc/self/statm") as file:
                return threads(), len(os.listdir("/proc/self/fd")), int(file.read().split()[1]) * 4096

        for i in range(60):
            once(i)
        before = now()
        for i in range(1000):
            once(i)
        after = now()
        self.assertEqual(after[:2], before[:2])
        self.assertLess(after[2] - before[2], 20 << 20)

    def test_pinning_without_an_accelerator_warns(self):
        if torch.cuda.is_available():
            x, _ = next(iter(DataLoader(self.dir, 8, transform=EXACT, pin_memory=True)))
            self.assertTrue(x.is_pinned())
            return
        with self.assertWarnsRegex(UserWarning, "pin_memory"):
            next(iter(DataLoader(self.dir, 8, transform=EXACT, pin_memory=True)))

    @unittest.skipUnless(torch.cuda.is_available(), "no GPU: pinned images are tested with a stand-in only")
    def test_pinned_images_are_copied_to_a_gpu_beside_other_work(self):
        plain = [x for x, _ in DataLoader(self.dir, 8, transform=EXACT)]
        loader = DataLoader(self.dir, 8, transform=EXACT, pin_memory=True)
        self.assertTrue(loader.pin_memory)
        for _ in range(2):  # an epoch later the slots come again
            copied = []
            for images, labels in loader:
                self.assertTrue(images.is_pinned() and labels.is_pinned())
                copied.append(images.to("cuda", non_blocking=True))
                torch.cuda.current_stream().synchronize()  # the slot goes back when the next batch is asked for
            self.assertEqual(len(copied), len(plain))
            for ours, expected in zip(copied, plain):
                self.assertTrue(torch.equal(ours.cpu(), expected))
        del images, loader

    def test_pinned_images_are_the_engines_memory(self):
        """What PyTorch with an accelerator does, with memory that is only written down as pinned."""
        held = {}

        def is_pinned(tensor):
            first, last = tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes
            return any(a <= first and last <= a + size for a, size in held.items())

        copies = []
        with (mock.patch("ridgeline.data._loader.can_pin", return_value=True),
              mock.patch("ridgeline.data._loader.page_lock", return_value=(held.__setitem__, held.pop)),
              mock.patch.object(torch.Tensor, "is_pinned", is_pinned),
              mock.patch.object(torch.Tensor, "pin_memory", lambda t: copies.append(t.dtype) or t.clone())):
            loader = DataLoader(self.dir, 8, transform=EXACT, pin_memory=True)
            expected = list(DataLoader(self.dir, 8, transform=EXACT))
            for (x, y), (a, b) in zip(loader, expected, strict=True):
                self.assertTrue(is_pinned(x))
                self.assertTrue(torch.equal(x, a) and torch.equal(y, b))
        self.assertEqual(set(copies), {torch.int64})  # labels are converted, so they are copied
        # Tensors keep the memory of the run; with the last of them it is unregistered, whole run at once.
        pinned = len(held)
        self.assertGreater(pinned, 0)
        del loader
        gc.collect()
        self.assertEqual(len(held), pinned)
        del x
        gc.collect()
        self.assertEqual(held, {})


if __name__ == "__main__":
    unittest.main()
