"""What people try first with their own data: a clear answer where it cannot be, and copies and forks of a loader."""

import os
import pathlib
import pickle
import tempfile
import unittest
import warnings

import numpy as np
from PIL import Image

from ridgeline import ArgumentError, RunError, data
from ridgeline.data import DataLoader

from loader_support import RANDOM, equal, torch, torchvision, v1
from support import Folder, needs_pillows_pixels


class Numbers:
    """Samples that are their own numbers."""

    def __len__(self):
        return 20

    def __getitem__(self, index):
        return range(20)[index]


class Flow:
    def __iter__(self):
        return iter(range(20))


class Backwards:
    def __len__(self):
        return 20

    def __iter__(self):
        return reversed(range(20))


class Answers(unittest.TestCase):
    def test_what_has_no_samples_by_number_is_told_what_to_give(self):
        for given, told in ((Flow, "not the class Flow: give an object of it"),
                            (lambda: iter(()), "not the function <lambda>: give an object whose __iter__ calls it"),
                            ({"image": np.zeros(4), "label": np.zeros(4)}, r"is a dict with the keys 'image', 'label': .*data.InMemory"),
                            (5, "not a int"), (None, "not a NoneType"), (object(), "not a object")):
            with self.assertRaisesRegex(ArgumentError, told):
                DataLoader(given, 2)
        self.assertEqual([b.tolist() for b in DataLoader({0: 5, 1: 6}, 2)], [[5, 6]])

    def test_a_file_is_told_what_reads_it(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, told in (("a.tar", "data.Tar reads"), ("a.csv", "data.Csv reads"), ("a.png", r"Parquet files$")):
                path = pathlib.Path(folder, name)
                path.touch()
                with self.assertRaisesRegex(ArgumentError, f"{name} is a file, .*{told}"):
                    DataLoader(path, 2)

    def test_pixels_whose_channels_come_first_are_refused(self):
        class Pictures(Numbers):
            def __getitem__(self, index):
                return torch.zeros(3, 40, 50, dtype=torch.uint8), index

        with self.assertRaisesRegex(ArgumentError, r"\[height, width, channels\], and these Tensor uint8 \[3, 40, 50\]: move"):
            DataLoader(Pictures(), 2, transform=data.Resize((8, 8)))
        digits = data.InMemory({"image": np.zeros((6, 1, 28, 28), np.uint8), "label": np.arange(6)})
        with self.assertRaisesRegex(ArgumentError, r"'image' is \[1, 28, 28\]: pictures are \[height, width, channels\]"):
            DataLoader(digits, 2)

    def test_pixels_of_many_channels_are_not_resized(self):
        scenes = data.InMemory({"image": np.zeros((2, 9, 8, 5), np.uint8), "label": np.arange(2)})
        with self.assertRaisesRegex(data.Error, r"pixels of 5 channels cannot be resized \(at most 4\)"):
            list(scenes.map(data.Resize((4, 4))).batch(2))

    def test_a_mask_of_pil_is_told_how_it_can_follow_its_picture(self):
        from PIL import Image

        class Masks(Numbers):
            def __getitem__(self, index):
                return Image.new("RGB", (9, 8)), Image.new("L", (9, 8))

        with self.assertRaisesRegex(ArgumentError, r"\[1\] is a picture of PIL: .*a Mask of tv_tensors"):
            DataLoader(Masks(), 2, transform=data.Resize((8, 8)))

    def test_what_worker_processes_would_do_is_refused_where_there_are_none(self):
        with self.assertRaisesRegex(ArgumentError, "timeout is not supported: with num_workers=0"):
            DataLoader(Numbers(), 4, timeout=5)
        for loader in (Numbers(), data.InMemory({"x": np.arange(4)})):
            with self.assertRaisesRegex(ArgumentError, "num_workers is -1"):
                DataLoader(loader, 4, num_workers=-1)

    def test_what_cannot_go_to_spawned_workers_is_told(self):
        with self.assertRaisesRegex(ArgumentError, "'spawn' get the data set, .* by pickle, .*multiprocessing_context='fork'"):
            list(DataLoader(Numbers(), 4, collate_fn=lambda batch: batch, num_workers=1, multiprocessing_context="spawn"))

    def test_a_state_is_a_dict_and_counts_batches_of_its_own_size(self):
        for given in (None, "state", [1]):
            with self.assertRaisesRegex(ArgumentError, "a state is the dict that state_dict"):
                DataLoader(Numbers(), 4).load_state_dict(given)
        for make in (lambda size: DataLoader(Numbers(), size, sampler=Backwards()), lambda size: DataLoader(Flow(), size)):
            loader = make(4)
            next(iter(loader))
            state = loader.state_dict()
            with self.assertRaisesRegex(ArgumentError, "counts batches of 4, this loader's have 5"):
                make(5).load_state_dict(state)
            same = make(4)
            same.load_state_dict(state)
            self.assertEqual(len(list(same)), 4)

    def test_a_loader_has_the_attributes_of_pytorchs(self):
        generator = torch.Generator().manual_seed(3)
        theirs = torch.utils.data.DataLoader(Numbers(), 4, num_workers=2, timeout=9, prefetch_factor=3, generator=generator)
        ours = DataLoader(Numbers(), 4, num_workers=2, timeout=9, prefetch_factor=3, generator=generator)
        for name in ("batch_size", "num_workers", "timeout", "prefetch_factor", "generator", "worker_init_fn", "drop_last",
                     "multiprocessing_context", "persistent_workers", "pin_memory", "pin_memory_device", "in_order"):
            self.assertEqual(getattr(ours, name), getattr(theirs, name), name)


    def test_what_a_loader_is_made_of_cannot_change(self):
        loader = DataLoader(Numbers(), 4)
        for name in ("batch_size", "dataset", "sampler", "batch_sampler", "drop_last"):
            with self.assertRaisesRegex(ArgumentError, f"{name} is settled when a DataLoader is made"):
                setattr(loader, name, 3)
        loader.note = 3  # of the user's own
        self.assertEqual((loader.note, loader.batch_size, len(pickle.loads(pickle.dumps(loader)))), (3, 4, 5))

    def test_a_way_to_start_processes_that_there_is_not_is_told_at_once(self):
        with self.assertRaisesRegex(ArgumentError, "multiprocessing_context is 'spaw' .allowed: .*'spawn'"):
            DataLoader(Numbers(), 4, num_workers=1, multiprocessing_context="spaw")

    def test_columns_without_a_picture_are_delivered_by_name(self):
        columns = {"x": np.arange(10), "y": np.arange(10) / 4}
        rows = data.InMemory(columns)
        for options in ({}, {"sampler": list(range(10))}):
            batches = list(DataLoader(rows, 4, **options))
            self.assertEqual(len(batches), 3)
            for name, values in columns.items():
                self.assertTrue(np.array_equal(torch.cat([batch[name] for batch in batches]).numpy(), values))
        self.assertEqual(next(iter(DataLoader(rows, 2, collate_fn=lambda samples: samples)))[1], {"x": 1, "y": 0.25})
        with self.assertRaisesRegex(ArgumentError, "transform= is for a picture, name its column with image=, among x, y"):
            DataLoader(rows, 4, transform=data.Resize(8))

    def test_a_sample_that_is_none_is_told_where_a_picture_was_meant(self):
        samples = [(np.zeros((8, 8, 3), np.uint8), 0), None, ({}, 1)]
        loader = DataLoader(samples, 2, transform=data.Resize((4, 4)))
        with self.assertRaisesRegex(RunError, r"TypeError: sample 1: there is no image \(0\) in NoneType None, which the first sample has$"):
            list(loader)


class OwnFolders(Folder):
    def test_pictures_that_pillow_alone_reads_are_read_by_it(self):
        with tempfile.TemporaryDirectory() as root:
            for name in ("a/0.tif", "a/1.png", "b/0.ppm"):
                path = pathlib.Path(root, name)
                path.parent.mkdir(exist_ok=True)
                Image.fromarray(np.random.default_rng(len(name)).integers(0, 256, (9, 9, 3), np.uint8)).save(path)
            for transform in (v1.ToTensor(), v1.Compose([v1.CenterCrop(8), v1.ToTensor()])):
                folder = torchvision.datasets.ImageFolder(root, transform)
                theirs = list(torch.utils.data.DataLoader(folder, 2))
                said = r"0\.tif: the engine does not decode such files"
                with self.assertWarnsRegex(UserWarning, said):
                    self.assertTrue(equal(list(DataLoader(folder, 2)), theirs))
                bare = torchvision.datasets.ImageFolder(root)
                with self.assertWarnsRegex(UserWarning, said):
                    self.assertTrue(equal(list(DataLoader(bare, 2, transform=transform)), theirs))

    def test_samples_one_by_one_are_those_of_the_data_set(self):
        folder = torchvision.datasets.ImageFolder(self.dir, v1.Compose([v1.CenterCrop(24), v1.ToTensor()]))
        for given in (folder, torch.utils.data.Subset(folder, [3, 1, 2])):
            loader = DataLoader(given, None)
            self.assertEqual((len(loader), loader.classes), (len(given), folder.classes))
            for (x, y), (a, b) in zip(loader, torch.utils.data.DataLoader(given, None), strict=True):
                self.assertTrue(torch.equal(x, a) and type(y) is type(b) and y == b)
        with self.assertRaisesRegex(ArgumentError, "batch_size=None needs a dataset that ends in batches"):
            DataLoader(self.dir, None)

    def test_arrays_at_the_end_of_a_chain_keep_their_axes(self):
        ends = (lambda x: x.numpy(), lambda x: x.numpy()[0], lambda x: x.permute(1, 2, 0).numpy(), lambda x: x.sum((1, 2)).numpy())
        for end in ends:
            folder = torchvision.datasets.ImageFolder(self.dir, v1.Compose([v1.Resize((9, 7)), v1.ToTensor(), end]))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                loader = DataLoader(folder, 8)
            for (x, y), (a, b) in zip(loader, torch.utils.data.DataLoader(folder, 8), strict=True):
                self.assertEqual((x.dtype, x.shape), (a.dtype, a.shape))
                self.assertLess(float((x - a).abs().max()), 1e-4 * float(a.abs().max()) + 1.1 / 255)


class Copies(Folder):
    def loaders(self):
        folder = torchvision.datasets.ImageFolder(self.dir, RANDOM)
        yield "of the engine", DataLoader(folder, 4, shuffle=True, seed=3)
        yield "in an order of the user's", DataLoader(folder, 4, sampler=Backwards())
        yield "by the engine's transforms", DataLoader(self.dir, 4, transform=[data.Resize((8, 8)), data.Normalize.imagenet()])
        yield "of Python", DataLoader(Numbers(), 4, shuffle=True, generator=torch.Generator().manual_seed(4))
        yield "in processes", DataLoader(Numbers(), 4, shuffle=True, num_workers=1)
        yield "of a stream", DataLoader(Flow(), 4)

    def same(self, a, b):
        return equal(a, b) if isinstance(a[0], list) else [x.tolist() for x in a] == [x.tolist() for x in b]

    def test_a_pickled_loader_gives_the_same_batches_from_the_same_place(self):
        for name, loader in self.loaders():
            with self.subTest(name):
                self.assertTrue(self.same(list(pickle.loads(pickle.dumps(loader))), list(loader)))
                for _ in loader:
                    copy = pickle.loads(pickle.dumps(loader))
                    break
                self.assertEqual(copy.state_dict(), loader.state_dict())
                self.assertTrue(self.same(list(copy), list(loader)))

    def test_a_fork_begins_epochs_of_its_own_and_takes_nothing_from_its_parent(self):
        for name, loader in self.loaders():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # 3.12: threads and fork
                expected = len(list(loader))
                batches = iter(loader)
                next(batches)
                child = os.fork()
                if child == 0:
                    code = 1
                    try:
                        if not name.startswith(("of a stream", "of Python")):  # which this thread makes
                            with self.assertRaisesRegex(ArgumentError, "fork"):
                                next(batches)
                        code = 0 if len(list(loader)) == expected else 2
                    finally:
                        os._exit(code)
                self.assertEqual(os.waitpid(child, 0)[1], 0)
                self.assertEqual(len(list(batches)), expected - 1)
                loader.close()

    def test_transforms_are_pickled_where_no_python_code_would_be_lost(self):
        chain = data.RandomApply([data.Resize((8, 8)), data.ColorJitter(0.3)], p=0.5)
        self.assertEqual(pickle.loads(pickle.dumps(chain)), chain)
        with self.assertRaisesRegex(TypeError, "a Function cannot be pickled"):
            pickle.dumps(data.Function(np.copy))


@needs_pillows_pixels
class Presets(Folder):
    def test_the_preset_that_weights_bring_has_torchvisions_pixels(self):
        from torchvision.transforms._presets import ImageClassification

        preset = ImageClassification(crop_size=24, resize_size=32)
        steps = v1.Compose([v1.Resize(32), v1.CenterCrop(24), v1.ToTensor(), v1.Normalize(preset.mean, preset.std)])
        folder = torchvision.datasets.ImageFolder(self.dir, preset)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made = list(DataLoader(folder, 8))
        self.assertTrue(equal(made, list(DataLoader(self.dir, 8, transform=steps))))
        for (pixels, _), (theirs, _) in zip(made, torch.utils.data.DataLoader(folder, 8), strict=True):
            self.assertTrue(torch.allclose(pixels, theirs, atol=1e-6))


if __name__ == "__main__":
    unittest.main()
