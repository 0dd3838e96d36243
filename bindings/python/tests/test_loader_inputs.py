"""What a DataLoader takes: folders, map-style data sets, data sets of the engine, chains with parts in Python."""

import os
import shutil
import tempfile
import unittest

import numpy as np

import ridgeline
from ridgeline import data
from ridgeline.data import DataLoader

from loader_support import EXACT, equal, torch, torchvision, v1
from support import Folder, needs_pillows_pixels


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

    def test_files_that_the_user_reads_are_read_in_python(self):
        folder = torchvision.datasets.ImageFolder(self.dir, loader=lambda path: np.full((2, 3), len(path) / 7))
        for (x, y), (a, b) in zip(DataLoader(folder, 4), torch.utils.data.DataLoader(folder, 4), strict=True):
            self.assertEqual((x.dtype, x.shape), (torch.float64, a.shape))
            self.assertTrue(torch.equal(x, a) and torch.equal(y, b))

    def test_pixels_in_memory(self):
        class Small(torchvision.datasets.CIFAR10):
            def __init__(self):
                rng = np.random.default_rng(0)
                self.data = rng.integers(0, 256, (10, 32, 32, 3), dtype=np.uint8)
                self.targets = list(range(10))
                self.transform, self.target_transform, self.transforms = v1.ToTensor(), None, None
                self.classes = []

        self.assertTrue(equal(list(DataLoader(Small(), 4)), list(torch.utils.data.DataLoader(Small(), 4))))

    def test_targets_are_those_of_torchvision_whatever_they_are_made_into(self):
        for change, dtype in [(lambda y: y / 10, torch.float64), (lambda y: y - 1, torch.int64),
                              (lambda y: np.eye(3)[y], torch.float64), (lambda y: torch.tensor([y, 2]), torch.int64)]:
            folder = torchvision.datasets.ImageFolder(self.dir, EXACT, target_transform=change)
            subset = torch.utils.data.Subset(folder, [29, 0, 12])
            for one in (folder, subset):
                mine, theirs = (torch.cat([y for _, y in loader(one, 4)])
                                for loader in (DataLoader, torch.utils.data.DataLoader))
                self.assertEqual(mine.dtype, dtype)
                self.assertEqual(theirs.dtype, dtype)
                self.assertTrue(torch.equal(mine, theirs))
        named = torchvision.datasets.ImageFolder(self.dir, EXACT, target_transform=str)
        for (x, y), (a, b) in zip(DataLoader(named, 4), torch.utils.data.DataLoader(named, 4), strict=True):
            self.assertTrue(torch.equal(x, a))
            self.assertEqual(y, b)

    def test_imagenet_whose_classes_are_tuples_of_names(self):
        with tempfile.TemporaryDirectory() as root:
            shutil.copytree(self.dir, f"{root}/val")
            names = {"class0": ("tench", "Tinca tinca"), "class1": ("goldfish", "Carassius auratus"), "class2": ("shark",)}
            torch.save((names, []), f"{root}/meta.bin")
            imagenet = torchvision.datasets.ImageNet(root, "val", transform=EXACT)
            loader = DataLoader(imagenet, 8)
            self.assertEqual(loader.classes, list(names.values()))
            self.assertIn("image_folder", loader.graph.to_json())
            self.assertTrue(equal(list(loader), list(torch.utils.data.DataLoader(imagenet, 8))))

    def test_qmnist_gives_classes_or_all_its_numbers(self):
        rng = np.random.default_rng(2)

        def qmnist(compat):
            made = torchvision.datasets.QMNIST.__new__(torchvision.datasets.QMNIST)
            made.data = torch.from_numpy(rng.integers(0, 256, (10, 28, 28), dtype=np.uint8))
            made.targets = torch.from_numpy(rng.integers(0, 10, (10, 8)))
            made.transform, made.target_transform, made.compat = v1.ToTensor(), None, compat
            return made

        for compat, shape in [(True, (4,)), (False, (4, 8))]:
            one = qmnist(compat)
            got = list(DataLoader(one, 4))
            self.assertEqual(got[0][1].shape, shape)
            self.assertTrue(equal(got, list(torch.utils.data.DataLoader(one, 4))))

    def test_targets_that_were_changed_are_not_cut(self):
        made = torchvision.datasets.CIFAR10.__new__(torchvision.datasets.CIFAR10)
        made.data, made.targets = np.zeros((4, 32, 32, 3), np.uint8), [0.25, 1.0, 0.73, 2.5]
        made.transform, made.target_transform = v1.ToTensor(), None
        ((_, y),) = DataLoader(made, 4)
        self.assertTrue(torch.equal(y, torch.tensor(made.targets, dtype=torch.float64)))
        made.targets[2] = "cat"
        with self.assertRaisesRegex(ridgeline.ArgumentError, "the label of sample 2 is str 'cat'"):
            DataLoader(made, 4)

    def test_a_samplers_own_generator_is_its_seed(self):
        def order(seed):
            sampler = torch.utils.data.RandomSampler(range(30), generator=torch.Generator().manual_seed(seed))
            return [y.tolist() for _, y in DataLoader(self.dir, 30, sampler=sampler, transform=EXACT)]

        self.assertEqual(order(5), order(5))
        self.assertNotEqual(order(5), order(6))

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
            DataLoader(Dicts(read), 8, transform=EXACT)
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

    @needs_pillows_pixels
    def test_the_rest_of_a_chain_in_python(self):
        folder = torchvision.datasets.ImageFolder(
            self.dir, v1.Compose([v1.Resize((20, 22)), v1.ToTensor(), v1.Lambda(lambda x: x * 2 - 1)]))
        with self.assertRaisesRegex(ridgeline.ArgumentError, "Lambda"):
            DataLoader(folder, 4, untranslatable="error")
        with self.assertRaisesRegex(ridgeline.ArgumentError, "Lambda"):
            DataLoader(self.dir, 4, transform=folder.transform)
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


if __name__ == "__main__":
    unittest.main()
