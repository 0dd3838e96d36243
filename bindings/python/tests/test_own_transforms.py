"""Transforms that a data set brings: run as they are, in the engine as far as it goes, and what runs in Python is said."""

import unittest
import warnings

import numpy as np

from loader_support import equal, torch, torchvision, v1

import ridgeline
from ridgeline import data
from ridgeline.data import DataLoader

from support import Folder, needs_pillows_pixels

CHAIN = v1.Compose([v1.Resize((20, 22)), v1.CenterCrop(16), v1.ToTensor()])


class Preset:
    """As torchvision's reference trainers have them."""

    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, img):
        """A docstring."""
        return self.transforms(img)


class Module(torch.nn.Module):
    def __init__(self, inner, more):
        super().__init__()
        self.inner, self.more = inner, more

    def forward(self, x):
        return self.inner(x)


class Brighter(Preset):
    def __call__(self, img):
        return self.transforms(img) + 1


class Twice(Preset):
    def __call__(self, img):
        return self.transforms(self.transforms(img))


class Views:
    def __call__(self, tensor):
        return [tensor, tensor.flip(-1)]


class OwnTransforms(Folder):
    def folder(self, transform):
        return torchvision.datasets.ImageFolder(self.dir, transform)

    def as_pytorch(self, loader, folder):
        ours, theirs = list(loader), list(torch.utils.data.DataLoader(folder, 4))
        if isinstance(theirs[0][0], list):  # of views
            ours, theirs = ([(view, labels) for views, labels in batches for view in views] for batches in (ours, theirs))
        self.assertTrue(equal(ours, theirs))

    @needs_pillows_pixels
    def test_a_preset_that_only_calls_a_chain_is_that_chain(self):
        for wrapped in (Preset(CHAIN), Preset(Preset(CHAIN)), Module(CHAIN, None), v1.Compose([Preset(CHAIN)])):
            folder = self.folder(wrapped)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                loader = DataLoader(folder, 4)
            self.as_pytorch(loader, folder)
            self.assertTrue(loader.stats())  # the engine's
            self.assertEqual(loader.classes, folder.classes)

    def test_one_that_does_more_is_not(self):
        hooked = Module(CHAIN, None)
        hooked.register_forward_hook(lambda module, given, result: result + 1)
        for wrapped in (Brighter(CHAIN), Twice(CHAIN), hooked):
            with self.assertRaisesRegex(ridgeline.ArgumentError, f"the transform {type(wrapped).__name__} cannot be"):
                data.from_torchvision(wrapped)

    @needs_pillows_pixels
    def test_python_runs_what_is_behind_the_engines_part(self):
        folder = self.folder(v1.Compose([CHAIN, v1.Lambda(lambda x: x * 2 - 1)]))
        with self.assertWarnsRegex(UserWarning, "torchvision's Lambda cannot be translated.*run in Python, one sample") as met:
            loader = DataLoader(folder, 4)
        self.assertEqual(met.filename, __file__)
        self.as_pytorch(loader, folder)
        self.assertTrue(loader.stats())

    def test_python_makes_the_samples_where_the_engine_has_no_part(self):
        for transform, name in ((Brighter(CHAIN), "Brighter"), (lambda image: np.array(image.resize((8, 9))), "<lambda>"),
                                (v1.Compose([v1.Resize((20, 22)), v1.ToTensor(), Views()]), "list, which is no picture|Views")):
            folder = self.folder(transform)
            with self.assertWarnsRegex(UserWarning, f"{name}.*transform runs in Python"):
                loader = DataLoader(folder, 4, num_workers=2)
            self.as_pytorch(loader, folder)
            self.assertEqual((loader.stats(), loader.classes), ({}, folder.classes))

    def test_who_asks_for_an_error_gets_it(self):
        folder = self.folder(Brighter(CHAIN))
        with self.assertRaisesRegex(ridgeline.ArgumentError, "the transform Brighter cannot be translated"):
            DataLoader(folder, 4, untranslatable="error")
        with self.assertRaisesRegex(ridgeline.ArgumentError, "untranslatable is 'never'"):
            DataLoader(folder, 4, untranslatable="never")
        with self.assertRaisesRegex(ridgeline.ArgumentError, "untranslatable is for samples with pictures"):
            DataLoader([1, 2], 2, untranslatable="error")


if __name__ == "__main__":
    unittest.main()
