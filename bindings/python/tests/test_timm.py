"""timm's create_loader with this package's loader inside, and timm's transforms, samplers and collate functions."""

import unittest
import warnings

import numpy as np

from loader_support import torch, v1

try:
    import timm.data
    from timm.data.distributed_sampler import RepeatAugSampler
    from timm.data.mixup import FastCollateMixup
    from timm.data.random_erasing import RandomErasing
    from timm.data.transforms import RandomResizedCropAndInterpolation, ToNumpy
except ImportError:
    raise unittest.SkipTest("timm is not installed")

import ridgeline
from ridgeline import data
from ridgeline.data import DataLoader
from ridgeline.data.timm import create_loader

from PIL import Image
from support import Folder, needs_pillows_pixels
from torchvision.transforms import functional as F

CPU = torch.device("cpu")


class Loaders(Folder):
    def dataset(self):
        return timm.data.create_dataset("", self.dir)

    def made(self, *args, **options):
        return create_loader(self.dataset(), *args, device=CPU, **options)

    @needs_pillows_pixels
    def test_evaluation_has_timms_batches(self):
        for options in ({}, {"use_prefetcher": False}, {"interpolation": "bicubic", "crop_pct": 0.8},
                        {"img_dtype": torch.float16}):
            mine = list(self.made((3, 32, 32), 8, **options))
            theirs = list(timm.data.create_loader(self.dataset(), (3, 32, 32), 8, device=CPU, num_workers=0, **options))
            self.assertEqual(len(mine), len(theirs))
            for (a, labels_a), (b, labels_b) in zip(mine, theirs):
                self.assertEqual((a.shape, a.dtype, labels_a.dtype), (b.shape, b.dtype, labels_b.dtype))
                self.assertLess(float((a.float() - b.float()).abs().max()), 1e-5)
                self.assertTrue(torch.equal(labels_a, labels_b))

    def test_training_is_the_engines_with_all_that_has_an_equal(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # nothing runs in Python
            loader = self.made((3, 24, 24), 8, is_training=True, interpolation="random", vflip=0.3, color_jitter=0.4,
                               re_prob=0.5, re_mode="pixel", re_count=2, num_workers=2, seed=3)
        batches = list(loader)
        self.assertEqual([tuple(images.shape) for images, _ in batches], [(8, 3, 24, 24)] * 3)
        self.assertTrue(loader.loader.stats())
        self.assertEqual((len(loader), loader.mixup_enabled), (3, False))
        plain = self.made(24, 8, is_training=True, use_prefetcher=False, re_prob=1.0, seed=3)
        images, _ = next(iter(plain))
        self.assertTrue(all(bool((image == 0).all(0).any()) for image in images))  # erased behind Normalize

    def test_augmentations_of_timm_run_in_python_which_is_said(self):
        for config in ("rand-m9-mstd0.5-inc1", "original-mstd0.5", "augmix-m3-w3"):
            with self.assertWarnsRegex(UserWarning, "timm's (RandAugment|AutoAugment|AugMixAugment) runs in Python"):
                loader = self.made(24, 8, is_training=True, auto_augment=config, hflip=0, seed=3)
            images, _ = next(iter(loader))
            self.assertEqual((images.shape, images.dtype), ((8, 3, 24, 24), torch.float32))

    def test_mixup_collates(self):
        for mode in ("batch", "pair", "elem"):
            collate = FastCollateMixup(mixup_alpha=0.8, cutmix_alpha=1.0, mode=mode, num_classes=3, label_smoothing=0.1)
            loader = self.made(24, 6, is_training=True, collate_fn=collate, color_jitter=0)
            self.assertTrue(loader.mixup_enabled)
            images, targets = next(iter(loader))
            self.assertEqual((images.shape, targets.shape), ((6, 3, 24, 24), (6, 3)))
            self.assertTrue(torch.allclose(targets.sum(1), torch.ones(6)))
            loader.mixup_enabled = False
            _, targets = next(iter(loader))
            self.assertEqual(set(targets.max(1)[0].tolist()), {targets.max().item()})

    def test_splits_of_the_batch_are_timms_own(self):
        dataset = timm.data.AugMixDataset(self.dataset(), num_splits=2)
        loader = create_loader(dataset, 24, 4, is_training=True, num_aug_splits=2, device=CPU, num_workers=0,
                               auto_augment="rand-m3")
        images, targets = next(iter(loader))
        self.assertEqual((images.shape, targets.shape), ((8, 3, 24, 24), (8,)))
        self.assertTrue(torch.equal(targets[:4], targets[4:]))

    def test_repeated_augmentation_draws_anew_for_every_copy(self):
        sampler = RepeatAugSampler(self.dataset(), num_replicas=1, rank=0, num_repeats=3, selected_round=0)
        loader = DataLoader(self.dataset(), 15, sampler=sampler, transform=v1.Compose([
            RandomResizedCropAndInterpolation(20), ToNumpy()]))
        images, labels = next(iter(loader))
        for k in range(5):
            self.assertEqual(len(set(labels[3 * k:3 * k + 3].tolist())), 1)
            self.assertFalse(torch.equal(images[3 * k], images[3 * k + 1]))
        sampler.set_epoch(1)
        self.assertFalse(torch.equal(next(iter(loader))[1], labels))

    def test_data_sets_that_are_not_timms(self):
        import torchvision

        loader = create_loader(torchvision.datasets.ImageFolder(self.dir), 24, 8, device=CPU)
        self.assertEqual(sum(len(labels) for _, labels in loader), 30)
        self.assertTrue(loader.loader.stats())
        with self.assertRaisesRegex(ridgeline.ArgumentError, "worker_seeding"):
            self.made(24, 8, is_training=True, worker_seeding="part")


class Transforms(Folder):
    @needs_pillows_pixels
    def test_crops_of_random_interpolation_have_timms_pixels(self):
        paths = sorted(path for path in data.ImageFolder(self.dir).class_names())
        rows = data.ImageFolder(self.dir)
        crop = RandomResizedCropAndInterpolation((20, 28), scale=(0.2, 0.9), interpolation="random")
        replayer = data.Replayer(rows.map(data.RecordGeometry(), *data.from_torchvision(crop)))
        whole = data.Replayer(rows.map(data.Decode()))
        seen = set()
        for i in range(30):
            sample = replayer.sample(0, i)
            (_, (top, left, height, width)), (_, size) = [
                (line.split()[0], [int(n) for n in line.split()[1:]])
                for line in bytes(sample["image_geometry"]).decode().splitlines()[1:]]
            self.assertEqual(size, [20, 28])
            image = Image.fromarray(whole.sample(0, i)["image"])
            made = [np.asarray(F.resized_crop(image, top, left, height, width, size, way)) for way in crop.interpolation]
            equal = [np.array_equal(sample["image"], one) for one in made]
            self.assertIn(True, equal)
            seen.add(equal.index(True))
        self.assertEqual((seen, len(paths)), ({0, 1}, 3))

    def test_what_erasing_cannot_be_is_named(self):
        for step, words in [(RandomErasing(0.5, mode="rand", device="cpu"), "one random colour"),
                            (RandomErasing(0.5, max_count=3, device="cpu"), "several parts"),
                            (RandomErasing(0.5, device="cpu"), "before Normalize")]:
            with self.assertRaisesRegex(ridgeline.ArgumentError, f"RandomErasing cannot be translated: .*{words}"):
                data.from_torchvision(step)


if __name__ == "__main__":
    unittest.main()
