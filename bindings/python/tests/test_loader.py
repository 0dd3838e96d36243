"""DataLoader in place of PyTorch's: the same samples, shapes and types with one import changed."""

import gc
import json
import os
import pathlib
import tempfile
import threading
import time
import unittest
from unittest import mock

import numpy as np

try:
    import torch
    import torchvision
    from torchvision import transforms as v1
    from torchvision.transforms import v2
except ImportError:
    raise unittest.SkipTest("PyTorch and torchvision are not installed")

import ridgeline
from ridgeline import data
from ridgeline.data import DataLoader

from support import PACK, Folder, run_python, threads

EXACT = v1.Compose([v1.Resize(40), v1.CenterCrop(32), v1.ToTensor()])
RANDOM = v1.Compose([v1.RandomResizedCrop(24), v1.RandomHorizontalFlip(), v1.ToTensor()])


def equal(a, b):
    return len(a) == len(b) and all(torch.equal(x, y) and torch.equal(s, t) for (x, s), (y, t) in zip(a, b))


class InPlaceOfPytorch(Folder):
    def test_the_samples_of_pytorchs_loader(self):
        folder = torchvision.datasets.ImageFolder(self.dir, EXACT)
        for options in ({"batch_size": 7}, {"batch_size": 7, "drop_last": True}, {"batch_size": 1}):
            mine, theirs = DataLoader(folder, **options), torch.utils.data.DataLoader(folder, **options)
            self.assertEqual(len(mine), len(theirs))
            got = list(mine)
            for (x, y), (a, b) in zip(got, theirs, strict=True):
                self.assertEqual((x.shape, x.dtype, y.shape, y.dtype), (a.shape, a.dtype, b.shape, b.dtype))
                self.assertTrue(torch.equal(x, a) and torch.equal(y, b))
                self.assertTrue(x.is_contiguous(memory_format=torch.channels_last))
            self.assertIsInstance(got[0], list)

    def test_contiguous_memory_and_other_types(self):
        folder = torchvision.datasets.ImageFolder(self.dir, EXACT)
        for x, _ in DataLoader(folder, 8, memory_format="contiguous"):
            self.assertTrue(x.is_contiguous())
        first = next(iter(DataLoader(folder, 8)))[0]
        self.assertTrue(torch.equal(next(iter(DataLoader(folder, 8, memory_format="contiguous")))[0], first))
        folder.transform = None
        u8 = v2.Compose([v2.ToImage(), v2.Resize((20, 20))])
        for dtype in (torch.float16, torch.bfloat16):
            for layout in ("channels_last", "contiguous"):
                t = v2.Compose([u8, v2.ToDtype(dtype, scale=True)])
                x = next(iter(DataLoader(folder, 8, transform=t, memory_format=layout)))[0]
                self.assertEqual((x.dtype, x.shape), (dtype, (8, 3, 20, 20)))
                f32 = next(iter(DataLoader(folder, 8, transform=v2.Compose([u8, v2.ToDtype(torch.float32, True)]))))[0]
                self.assertTrue(torch.equal(x, f32.to(dtype)))
        self.assertEqual(next(iter(DataLoader(folder, 8, transform=u8)))[0].dtype, torch.uint8)
        arrays = next(iter(DataLoader(folder, 8, transform=EXACT, output="numpy")))
        self.assertEqual((type(arrays[0]), arrays[0].shape), (np.ndarray, (8, 32, 32, 3)))

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

    def test_shuffled_epochs_differ_and_are_repeatable(self):
        loader = DataLoader(self.dir, 30, shuffle=True, transform=RANDOM, seed=4)
        epochs = [next(iter([b for b in loader]))[1].tolist() for _ in range(3)]
        self.assertEqual(len({tuple(e) for e in epochs}), 3)
        again = DataLoader(self.dir, 30, shuffle=True, transform=RANDOM, seed=4, num_workers=3)
        again.set_epoch(2)
        self.assertEqual([y.tolist() for _, y in again], [epochs[2]])
        self.assertNotEqual([y.tolist() for _, y in DataLoader(self.dir, 30, shuffle=True, transform=RANDOM, seed=5)],
                            [epochs[0]])
        generator = torch.Generator().manual_seed(4)
        third = DataLoader(self.dir, 30, shuffle=True, transform=RANDOM, generator=generator)
        self.assertEqual([y.tolist() for _, y in third], [epochs[0]])

    def test_an_epoch_that_is_left_early_is_over(self):
        loader = DataLoader(self.dir, 8, shuffle=True, transform=RANDOM)
        for _ in loader:
            break
        self.assertEqual(loader.state_dict()["epoch"], 0)
        whole = list(loader)
        self.assertEqual(len(whole), 4)
        other = DataLoader(self.dir, 8, shuffle=True, transform=RANDOM)
        other.set_epoch(1)
        self.assertTrue(equal(list(other), whole))

    def test_a_second_iteration_ends_the_first(self):
        loader = DataLoader(self.dir, 8, transform=RANDOM)
        first = iter(loader)
        next(first)
        next(iter(loader))
        with self.assertRaisesRegex(RuntimeError, "another iteration"):
            next(first)

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

    def test_samplers_of_torch(self):
        from torch.utils.data import (RandomSampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler)

        folder = torchvision.datasets.ImageFolder(self.dir, EXACT)

        def labels(sampler):
            return torch.cat([y for _, y in DataLoader(folder, 8, sampler=sampler)]).tolist()

        self.assertEqual(labels(SequentialSampler(folder)), folder.targets)
        self.assertEqual(sorted(labels(RandomSampler(folder))), folder.targets)
        self.assertEqual(len(labels(RandomSampler(folder, replacement=True, num_samples=50))), 50)
        self.assertEqual(labels(SubsetRandomSampler([0, 1, 2])), [0, 0, 0])
        self.assertEqual(labels(WeightedRandomSampler([0.0] * 29 + [1.0], 4)), [2, 2, 2, 2])
        self.assertEqual(labels(data.SubsetSampler([29, 0])), [2, 0])

        class Own(torch.utils.data.Sampler):
            pass

        with self.assertRaisesRegex(ridgeline.ArgumentError, "Own"):
            labels(Own())

    def test_collate_functions_get_the_samples(self):
        folder = torchvision.datasets.ImageFolder(self.dir, EXACT)
        mixup = v2.MixUp(num_classes=3)
        torch.manual_seed(0)

        def collate(samples):
            self.assertEqual(len(samples[0]), 2)
            return mixup(*torch.utils.data.default_collate(samples))

        x, y = next(iter(DataLoader(folder, 8, collate_fn=collate)))
        self.assertEqual((x.shape, y.shape), ((8, 3, 32, 32), (8, 3)))
        plain = next(iter(DataLoader(folder, 8, collate_fn=torch.utils.data.default_collate)))
        self.assertEqual(plain[0].shape, (8, 3, 32, 32))

    def test_arguments_that_have_no_meaning_here_are_refused(self):
        folder = torchvision.datasets.ImageFolder(self.dir, EXACT)
        for options, words in [({"batch_sampler": [[1]]}, "batch_sampler"),
                               ({"worker_init_fn": print}, "worker_init_fn"),
                               ({"multiprocessing_context": "fork"}, "multiprocessing_context"),
                               ({"transform": EXACT}, "transform of its own"),
                               ({"output": "jax"}, "allowed: 'torch', 'numpy'"), ({"timeout": -1}, "timeout"),
                               ({"prefetch_factor": 0}, "prefetch_factor"), ({"rank": 1}, "world_size"),
                               ({"distributed": True}, "init_process_group"), ({"batch_size": None}, "batches"),
                               ({"num_workers": -1}, "workers is -1")]:
            with self.subTest(words), self.assertRaisesRegex(ridgeline.Error, words):
                next(iter(DataLoader(folder, **{"batch_size": 4, **options})))

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
        with (mock.patch("ridgeline.data._loader._can_pin", return_value=True),
              mock.patch("ridgeline.data._loader._page_lock", return_value=(held.__setitem__, held.pop)),
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

    def test_a_loader_that_is_dropped_in_the_middle_of_an_epoch_unregisters_its_memory(self):
        held = {}
        with (mock.patch("ridgeline.data._loader._can_pin", return_value=True),
              mock.patch("ridgeline.data._loader._page_lock", return_value=(held.__setitem__, held.pop)),
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

    def test_closed_in_the_middle_of_an_epoch(self):
        loader = DataLoader(self.dir, 8, transform=EXACT)
        with self.assertRaisesRegex(RuntimeError, "closed in the middle of an epoch"):
            for _ in loader:
                loader.close()
        self.assertEqual(len(list(loader)), 4)

    def test_a_batch_that_collate_fn_refuses_counts_as_not_delivered(self):
        fail = [3]

        def collate(samples):
            fail[0] -= 1
            if fail[0] == 0:
                raise ValueError("no")
            return [int(label) for _, label in samples]

        expected = list(DataLoader(self.dir, 8, shuffle=True, transform=EXACT, collate_fn=lambda s: [int(y) for _, y in s]))
        loader = DataLoader(self.dir, 8, shuffle=True, transform=EXACT, collate_fn=collate)
        seen = []
        with self.assertRaisesRegex(ValueError, "no"):
            seen.extend(iter(loader))
        state = loader.state_dict()
        self.assertEqual((len(seen), state["delivered"]), (2, 2))
        loader.load_state_dict(state)
        self.assertEqual(seen + list(loader), expected)

    def test_timeouts_and_prefetching(self):
        class Slow:
            def __len__(self):
                return 4

            def __getitem__(self, i):
                time.sleep(1)
                return np.zeros((4, 4, 3), np.uint8), i

        with self.assertRaisesRegex(ridgeline.RunError, "timeout"):
            next(iter(DataLoader(Slow(), 4, timeout=0.3, transform=v1.CenterCrop(4))))
        loader = DataLoader(self.dir, 2, transform=EXACT, num_workers=2, prefetch_factor=3)
        next(iter(loader))
        self.assertEqual(loader._iterator.slots(), 7)


class Inputs(Folder):
    def test_folders_subsets_and_concatenations(self):
        folder = torchvision.datasets.ImageFolder(self.dir, EXACT)
        self.assertIn("image_folder", DataLoader(folder, 4).graph.to_json())
        subset = torch.utils.data.Subset(folder, [29, 3, 15, 3])
        both = torch.utils.data.ConcatDataset([subset, folder])
        for one in (subset, both):
            self.assertTrue(equal(list(DataLoader(one, 4)), list(torch.utils.data.DataLoader(one, 4))))
        folder.samples = folder.samples[::-1]
        self.assertTrue(equal(list(DataLoader(folder, 4)), list(torch.utils.data.DataLoader(folder, 4))))
        targets = torchvision.datasets.ImageFolder(self.dir, EXACT, target_transform=lambda label: 2 - label)
        self.assertTrue(equal(list(DataLoader(targets, 4)), list(torch.utils.data.DataLoader(targets, 4))))
        self.assertEqual(DataLoader(self.dir, 4, transform=EXACT).classes, ["class0", "class1", "class2"])

    def test_a_folder_class_of_the_users_own_is_asked_for_its_samples(self):
        class Doubled(torchvision.datasets.ImageFolder):
            def __getitem__(self, i):
                path, label = self.samples[i]
                return path, label * 2

        y = torch.cat([y for _, y in DataLoader(Doubled(self.dir), 8, transform=EXACT)])
        self.assertEqual(set(y.tolist()), {0, 2, 4})

    def test_a_loader_of_the_users_own_is_refused(self):
        folder = torchvision.datasets.ImageFolder(self.dir, EXACT, loader=lambda path: None)
        with self.assertRaisesRegex(ridgeline.ArgumentError, "loader"):
            DataLoader(folder, 4)

    def test_pixels_in_memory(self):
        class Small(torchvision.datasets.CIFAR10):
            def __init__(self):
                rng = np.random.default_rng(0)
                self.data = rng.integers(0, 256, (10, 32, 32, 3), dtype=np.uint8)
                self.targets = list(range(10))
                self.transform, self.target_transform, self.transforms = v1.ToTensor(), None, None
                self.classes = []

        self.assertTrue(equal(list(DataLoader(Small(), 4)), list(torch.utils.data.DataLoader(Small(), 4))))

    def test_map_style_data_sets_that_give_bytes_paths_pictures_or_pixels(self):
        folder = torchvision.datasets.ImageFolder(self.dir)
        expected = list(torch.utils.data.DataLoader(torchvision.datasets.ImageFolder(self.dir, EXACT), 8))

        class Rows:
            def __init__(self, give):
                self.give = give

            def __len__(self):
                return 30

            def __getitem__(self, i):
                path, label = folder.samples[i]
                return self.give(path), label

        def read(path):
            with open(path, "rb") as file:
                return file.read()

        for give in (read, str, folder.loader, lambda p: np.asarray(folder.loader(p)),
                     lambda p: {"bytes": read(p), "path": None}, lambda p: {"bytes": None, "path": p}):
            self.assertTrue(equal(list(DataLoader(Rows(give), 8, transform=EXACT)), expected))

        class Dicts(Rows):
            def __getitem__(self, i):
                image, label = super().__getitem__(i)
                return {"photo": image, "species": label, "other": 3}

        got = list(DataLoader(Dicts(read), 8, transform=EXACT, image="photo", label="species"))
        self.assertEqual(list(got[0]), ["photo", "species"])
        self.assertTrue(equal([(b["photo"], b["species"]) for b in got], expected))
        with self.assertRaisesRegex(ridgeline.ArgumentError, "photo, species, other"):
            DataLoader(Dicts(read), 8)
        with self.assertRaisesRegex(ridgeline.RunError, "an image must be bytes"):
            wrong = Rows(lambda p: np.zeros((3, 3, 3), np.uint8) if "000" in p else 3.5)
            next(iter(DataLoader(wrong, 8, transform=v1.CenterCrop(4))))
        with self.assertRaisesRegex(ridgeline.ArgumentError, "generator"):
            DataLoader((i for i in [1]), 8)

    def test_hugging_face(self):
        try:
            import datasets
        except ImportError:
            self.skipTest("Hugging Face's datasets is not installed")
        folder = torchvision.datasets.ImageFolder(self.dir)
        rows = datasets.Dataset.from_dict(
            {"img": [p for p, _ in folder.samples], "label": [y for _, y in folder.samples]},
            features=datasets.Features({"img": datasets.Image(), "label": datasets.ClassLabel(names=folder.classes)}))
        expected = list(torch.utils.data.DataLoader(torchvision.datasets.ImageFolder(self.dir, EXACT), 8))
        got = [(b["img"], b["label"]) for b in DataLoader(rows, 8, transform=EXACT)]
        self.assertTrue(equal(got, expected))

    def test_datasets_of_the_engine(self):
        made = data.ImageFolder(self.dir).map(data.Resize((9, 8)))
        x, y = next(iter(DataLoader(made, 5)))
        self.assertEqual((x.shape, y.shape), ((5, 3, 9, 8), (5,)))
        x, y = next(iter(DataLoader(made.batch(6), batch_size=None)))
        self.assertEqual(x.shape, (6, 3, 9, 8))
        one_hot = made.map_columns(["label"], data.OneHot(3)).batch(6, operations=[data.MixUp()])
        x, y = next(iter(DataLoader(one_hot, batch_size=None)))
        self.assertEqual((y.shape, y.dtype), ((6, 3), torch.float32))
        with self.assertRaisesRegex(ridgeline.ArgumentError, "batched already"):
            DataLoader(made.batch(6), 5)
        more = data.zip([made, data.InMemory({"name": [b"%d" % i for i in range(30)]})])
        batch = next(iter(DataLoader(more, 4)))
        self.assertEqual((sorted(batch), batch["name"]), (["image", "label", "name"], [b"0", b"1", b"2", b"3"]))

    def test_the_rest_of_a_chain_in_python(self):
        folder = torchvision.datasets.ImageFolder(
            self.dir, v1.Compose([v1.Resize((20, 22)), v1.ToTensor(), v1.Lambda(lambda x: x * 2 - 1)]))
        with self.assertRaisesRegex(ridgeline.ArgumentError, "Lambda"):
            DataLoader(folder, 4)
        got = list(DataLoader(folder, 4, untranslatable="python"))
        self.assertTrue(equal(got, list(torch.utils.data.DataLoader(folder, 4))))
        folder.transform = v1.Compose([v1.Lambda(lambda x: x), EXACT])
        got = list(DataLoader(folder, 4, untranslatable="python"))
        self.assertTrue(equal(got, list(torch.utils.data.DataLoader(folder, 4))))

    def test_bad_samples_make_batches_shorter_or_are_replaced(self):
        path = f"{self.dir}/class0/bad.jpg"
        with open(path, "wb") as file:
            file.write(b"no picture")
        try:
            loader = DataLoader(self.dir, 8, transform=EXACT)
            with self.assertRaisesRegex(ridgeline.RunError, "bad.jpg"):
                list(loader)
            loader = DataLoader(self.dir, 31, transform=EXACT, bad_samples="skip")
            ((x, y),) = loader
            self.assertEqual((len(x), y.tolist().count(0), loader.bad_samples()), (30, 9, 1))
            ((x, y),) = DataLoader(self.dir, 31, transform=EXACT, bad_samples="replace")
            self.assertEqual(len(x), 31)
        finally:
            os.remove(path)


class Resuming(Folder):
    def loader(self, ranks=1, rank=0, **options):
        return DataLoader(self.dir, 8 // ranks, shuffle=True, transform=RANDOM, rank=rank, world_size=ranks, **options)

    def test_a_state_goes_on_under_other_ranks_and_workers(self):
        whole = self.loader()
        it = iter(whole)
        next(it)
        state = json.loads(json.dumps(whole.state_dict()))
        rest = list(it) + list(whole)
        self.assertEqual(len(rest), 7)
        for ranks in (1, 2, 4):
            parts = []
            for rank in range(ranks):
                loader = self.loader(ranks, rank, num_workers=rank + 1)
                loader.load_state_dict(state)
                self.assertEqual(loader.state_dict(), state)
                parts.append(list(loader) + list(loader))
            for step, (x, y) in enumerate(rest):
                mine = [(float(a.sum()), int(b)) for p in parts for a, b in zip(*p[step])]
                self.assertEqual(sorted(mine), sorted((float(a.sum()), int(b)) for a, b in zip(x, y)))

    def test_a_killed_process_goes_on(self):
        code = ("import sys, os, json, signal\nfrom torchvision import transforms as t\n"
                "from ridgeline.data import DataLoader\n"
                "loader = DataLoader(sys.argv[1], 4, shuffle=True, rank=1, world_size=2, transform=t.Compose("
                "[t.RandomResizedCrop(24), t.RandomHorizontalFlip(), t.ToTensor()]))\n"
                "for i, _ in enumerate(loader):\n"
                "    if i == 2:\n        print(json.dumps(loader.state_dict()), flush=True)\n"
                "        os.kill(os.getpid(), signal.SIGKILL)")
        done = run_python(code, self.dir, timeout=120)
        state = json.loads(done.stdout)
        loader = self.loader()
        expected = list(loader)[3:]
        again = self.loader()
        again.load_state_dict(state)
        self.assertTrue(equal(list(again), expected))

    def test_set_epoch_of_a_distributed_sampler_is_followed(self):
        from torch.utils.data.distributed import DistributedSampler

        folder = torchvision.datasets.ImageFolder(self.dir, RANDOM)
        samplers = [DistributedSampler(folder, num_replicas=2, rank=r, shuffle=True, seed=3) for r in range(2)]
        loaders = [DataLoader(folder, 5, sampler=s) for s in samplers]
        labels = {}
        for epoch in (0, 1, 5):
            for s in samplers:
                s.set_epoch(epoch)
            parts = [list(loader) for loader in loaders]
            labels[epoch] = [y for part in parts for _, ys in part for y in ys.tolist()]
            self.assertEqual(sorted(labels[epoch]), folder.targets)
            self.assertEqual([len(p) for p in parts], [3, 3])
        self.assertNotEqual(labels[0], labels[1])
        # A restored position in the middle of an epoch survives set_epoch of that epoch.
        it = iter(loaders[0])
        next(it)
        state = loaders[0].state_dict()
        rest = list(it)
        other = DataLoader(folder, 5, sampler=samplers[0])
        other.load_state_dict(state)
        other.set_epoch(state["epoch"])
        self.assertTrue(equal(list(other), rest))

    def test_ranks_of_torch_distributed(self):
        code = ("import sys, torch.distributed as dist\nfrom torchvision import transforms as t\n"
                "from ridgeline.data import DataLoader\n"
                "dist.init_process_group('gloo', init_method='file://' + sys.argv[2], rank=int(sys.argv[3]), "
                "world_size=2)\n"
                "loader = DataLoader(sys.argv[1], 5, transform=t.CenterCrop(9), distributed=True)\n"
                "print(sum((y.tolist() for _, y in loader), []))")
        with tempfile.TemporaryDirectory() as work:
            results = [None, None]

            def run(rank):
                results[rank] = run_python(code, self.dir, f"{work}/rendezvous", rank, timeout=120)

            both = [threading.Thread(target=run, args=(rank,)) for rank in range(2)]
            [t.start() for t in both]
            [t.join() for t in both]
        labels = sum((json.loads(r.stdout.strip().split("\n")[-1]) for r in results), [])
        self.assertEqual(sorted(labels), [0] * 9 + [1] * 10 + [2] * 11)


class Examples(Folder):
    def run_example(self, name, *args):
        path = pathlib.Path(__file__).resolve().parents[1] / "examples" / name
        done = run_python("import sys, runpy\nsys.argv = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name='__main__')",
                          path, *args, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_resuming_under_other_ranks(self):
        out = self.run_example("resume_ranks.py", PACK / "imagenet-fullsize") if PACK.is_dir() else self.skipTest("packA")
        self.assertEqual(out.count("the same samples"), 3, out)

    def test_training_goes_on_where_it_stopped(self):
        with tempfile.TemporaryDirectory() as work:
            args = (self.dir, "--size", "32", "--batch_size", "6", "--epochs", "1", "--state", f"{work}/run.pt")
            self.assertIn("stopped after 2 steps", self.run_example("train_resnet.py", *args, "--steps", "2"))
            out = self.run_example("train_resnet.py", *args)
            self.assertIn("going on in epoch 0 after 2 batches", out)
            self.assertIn("epoch 0: loss", out)


if __name__ == "__main__":
    unittest.main()
