"""DataLoader in place of PyTorch's: the same samples, shapes and types with one import changed."""

import time
import unittest

import numpy as np

import ridgeline
from ridgeline import data
from ridgeline.data import DataLoader

from loader_support import EXACT, RANDOM, equal, torch, torchvision, v1, v2
from support import Folder


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
            def __iter__(self):
                return iter([29, 0, 0, 12])

            def __len__(self):
                return 4

        self.assertEqual(labels(Own()), [2, 0, 0, 1])
        with self.assertRaisesRegex(ridgeline.ArgumentError, "list_iterator, which runs once"):
            labels(iter([1, 2]))

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
        for options, words in [({"batch_sampler": [[1]]}, "give one of batch_sampler and batch_size"),
                               ({"pin_memory_device": "xpu"}, "pin_memory_device is 'xpu'"),
                               ({"transform": EXACT}, "transform of its own"),
                               ({"output": "jax"}, "allowed: 'torch', 'numpy'"), ({"timeout": -1}, "timeout"),
                               ({"prefetch_factor": 0}, "prefetch_factor"), ({"rank": 1}, "world_size"),
                               ({"distributed": True}, "init_process_group"),
                               ({"num_workers": -1}, "workers is -1")]:
            with self.subTest(words), self.assertRaisesRegex(ridgeline.Error, words):
                next(iter(DataLoader(folder, **{"batch_size": 4, **options})))

    def test_what_is_for_processes_has_no_effect_which_is_said(self):
        for options, words in [({"worker_init_fn": print}, "worker_init_fn has no effect: workers are threads"),
                               ({"multiprocessing_context": "spawn"}, "multiprocessing_context has no effect")]:
            with self.subTest(words), self.assertWarnsRegex(UserWarning, words) as met:
                loader = DataLoader(self.dir, 8, transform=EXACT, num_workers=2, **options)
            self.assertEqual((len(list(loader)), met.filename), (4, __file__))

    def test_arguments_and_annotations_of_pytorch(self):
        def train(loader: DataLoader[tuple[torch.Tensor, torch.Tensor]]) -> int:
            return len(list(loader))

        self.assertEqual(train(DataLoader(self.dir, 8, transform=EXACT, in_order=False, pin_memory_device="")), 4)

    def test_another_transform_of_the_data_set_is_not_passed_over(self):
        folder = torchvision.datasets.ImageFolder(self.dir, EXACT)
        loaders = [DataLoader(data, 8) for data in (folder, torch.utils.data.Subset(folder, range(20)),
                                                   torch.utils.data.ConcatDataset([folder, folder]))]
        for loader in loaders:
            list(loader)
        folder.transform = v1.Compose(EXACT.transforms)  # the same steps
        for loader in loaders:
            list(loader)
        folder.transform = v1.Compose([v1.Resize((8, 8)), *EXACT.transforms])
        for loader in loaders:
            with self.assertRaisesRegex(ridgeline.ArgumentError, "another transform since this DataLoader was made"):
                list(loader)

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
        self.assertEqual(loader._work.iterator.slots(), 7)


if __name__ == "__main__":
    unittest.main()
