"""DataLoader(device=...): the batches of a loader without it, wherever they lie, also where bytes travel."""

import collections
import pathlib
import unittest
import warnings
from unittest import mock

import numpy as np

import ridgeline
from ridgeline import data
from ridgeline.data import DataLoader

from any_sample_sets import sets
from loader_support import RANDOM, equal, torch, torchvision, v1, v2
from support import Folder, jpeg, listings, run_python
from test_any_sample import difference

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
END = [v1.ToTensor(), v1.Normalize(MEAN, STD)]
# Chains whose end can run on the device, with a flip and without.
ENDS = {
    "v1": v1.Compose([v1.RandomResizedCrop(24), v1.RandomHorizontalFlip(), *END]),
    "v2": v2.Compose([v2.ToImage(), v2.RandomResizedCrop(24, antialias=True), v2.RandomHorizontalFlip(0.3),
                      v2.ToDtype(torch.float32, scale=True), v2.Normalize((0.5, 0.1, 0.9), (0.3, 1e-3, 7.0))]),
    "flipped at the end": v1.Compose([v1.RandomResizedCrop(24), *END, v1.RandomHorizontalFlip()]),
    "without a flip": v1.Compose([v1.Resize(30), v1.CenterCrop(24), *END]),
    "without Normalize": RANDOM,
    "always flipped": v1.Compose([v1.Resize((9, 13)), v1.RandomHorizontalFlip(1.0), *END]),
    "of the engine": [data.RandomResizedCrop((17, 24)), data.RandomHorizontalFlip(), data.Normalize.imagenet()],
}
OTHERS = {
    "bytes": v1.Compose([v1.Resize(30), v1.CenterCrop(24), v1.RandomHorizontalFlip(), v1.PILToTensor()]),
    "erased behind it": v1.Compose([v1.RandomResizedCrop(24), *END, v1.RandomErasing()]),
    "half": v2.Compose([v2.Resize((24, 24)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD),
                        v2.ToDtype(torch.float16)]),
}


def laid_out_alike(a, b):
    return equal(a, b) and all(x.dtype == y.dtype and x.stride() == y.stride() for (x, _), (y, _) in zip(a, b))


class Batches(Folder):
    def epochs(self, transform, **options):
        loader = DataLoader(self.dir, 8, shuffle=True, seed=3, transform=transform, **options)
        return list(loader) + list(loader)

    def test_batches_are_those_without_a_device(self):
        for name, transform in {**ENDS, **OTHERS}.items():
            with self.subTest(name):
                self.assertTrue(laid_out_alike(self.epochs(transform, device="cpu"), self.epochs(transform)))

    def test_normalised_on_the_device_they_have_the_engines_bits(self):
        for name, transform in ENDS.items():
            with self.subTest(name), mock.patch("ridgeline.data._tail._AT_ONCE", 4000):  # several pieces a batch
                made = self.epochs(transform, device="cpu", normalize_on_device=True)
                self.assertTrue(laid_out_alike(made, self.epochs(transform)))

    def test_a_folder_is_listed_once(self):
        folder = torchvision.datasets.ImageFolder(self.dir, ENDS["v1"])
        for options in ({}, {"device": "cpu"}, {"device": "cpu", "normalize_on_device": True}):
            for given, transform in ((self.dir, ENDS["v1"]), (folder, None)):
                with listings(f"{self.dir}/class1") as count:
                    loader = DataLoader(given, 8, shuffle=True, transform=transform, **options)
                    self.assertEqual(len(list(loader)), 4)
                    self.assertEqual(count(), 1)

    def test_pictures_of_other_types_are_the_floats_rounded(self):
        for given, dtype in {"bf16": torch.bfloat16, torch.float16: torch.float16, "f32": torch.float32}.items():
            expected = [(x.to(dtype), y) for x, y in self.epochs(ENDS["v1"])]
            for normalize in (True, False):
                made = self.epochs(ENDS["v1"], device="cpu", dtype=given, normalize_on_device=normalize)
                self.assertTrue(laid_out_alike(made, expected), (given, normalize))

    def test_only_bytes_travel(self):
        """To a device that writes down what it gets."""
        sent = []

        class Listening:
            def __init__(self, inner):
                self.inner = inner

            def __getattr__(self, name):
                return getattr(self.inner, name)

            def copied(self, value):
                sent.append(value[0])
                return self.inner.copied(value)

        host = ridgeline.data._ahead.Host
        with mock.patch("ridgeline.data._ahead.Host", lambda device: Listening(host(device))):
            self.epochs(ENDS["v1"], device="cpu", normalize_on_device=True)
            self.epochs(ENDS["without a flip"], device="cpu", normalize_on_device=True)
        of_chains = [[[t.dtype for t in one._tensors if t is not None] for one in part] for part in (sent[:8], sent[8:])]
        self.assertEqual(of_chains, [[[torch.uint8] * 2] * 8, [[torch.uint8]] * 8])

    def test_the_last_batch_is_shorter_or_left_out(self):
        for normalize in (True, False):
            options = dict(device="cpu", normalize_on_device=normalize, transform=ENDS["v1"])
            self.assertEqual([len(x) for x, _ in DataLoader(self.dir, 8, **options)], [8, 8, 8, 6])
            self.assertEqual([len(x) for x, _ in DataLoader(self.dir, 8, drop_last=True, **options)], [8, 8, 8])

    def test_an_empty_batch_of_a_rank_is_one(self):
        for normalize in (True, False):
            loader = DataLoader(self.dir, 29, transform=ENDS["v1"], rank=1, world_size=2, device="cpu",
                                normalize_on_device=normalize)
            self.assertEqual([tuple(x.shape) for x, _ in loader], [(15, 3, 24, 24)])
            loader = DataLoader(data.ImageFolder(self.dir).take(5), 2, transform=ENDS["v1"], rank=1, world_size=2,
                                device="cpu", normalize_on_device=normalize)
            self.assertEqual([tuple(x.shape) for x, _ in loader], [(2, 3, 24, 24), (0, 3, 24, 24)])

    def test_orders_of_the_users_own(self):
        for order in (dict(sampler=[3, 3, 17, 3, 5, 29], batch_size=4), dict(batch_sampler=[[1, 2, 3], [4], [5, 6, 1, 1]])):
            with self.subTest(str(order)):
                plain = list(DataLoader(self.dir, transform=ENDS["v1"], seed=1, **order))
                for normalize in (True, False):
                    made = DataLoader(self.dir, transform=ENDS["v1"], seed=1, device="cpu", normalize_on_device=normalize,
                                      **order)
                    self.assertTrue(laid_out_alike(list(made), plain))

    def test_datasets_that_are_batched_and_grey_pictures(self):
        grey = data.Resize((8, 8)), data.Grayscale(1), data.RandomHorizontalFlip(), data.Normalize([0.3], [0.2])
        made = data.ImageFolder(self.dir).map(*grey)
        plain = list(DataLoader(made, 8))
        for normalize in (True, False):
            self.assertTrue(laid_out_alike(list(DataLoader(made, 8, device="cpu", normalize_on_device=normalize)), plain))
        self.assertTrue(laid_out_alike(list(DataLoader(made.batch(8), None, device="cpu")), plain))
        kinds = data.InMemory({"kind": np.arange(30)})
        named = data.zip([data.ImageFolder(self.dir).project(["image"]), kinds]).map(*grey)
        for normalize in (True, False):
            batch = next(iter(DataLoader(named, 8, device="cpu", normalize_on_device=normalize)))
            self.assertEqual(list(batch), ["image", "kind"])

    def test_a_state_goes_from_either_kind_of_loader_to_the_other(self):
        def loader(**options):
            return DataLoader(self.dir, 4, shuffle=True, seed=9, transform=ENDS["v1"], **options)

        kinds = ({}, {"device": "cpu"}, {"device": "cpu", "normalize_on_device": True})
        plain = list(loader()) + list(loader())
        for one in kinds:
            for other in kinds:
                first, second = loader(**one), loader(**other)
                for i, _ in enumerate(first):
                    if i == 2:
                        break
                second.load_state_dict(first.state_dict())
                self.assertTrue(laid_out_alike(list(second), plain[3:8]))
                self.assertEqual(second.state_dict(), {**first.state_dict(), "epoch": 1, "delivered": 0})

    def test_states_are_those_of_the_batches_that_were_delivered(self):
        plain, ours = (DataLoader(self.dir, 4, transform=ENDS["v1"], **options) for options in ({}, {"device": "cpu"}))
        for _ in range(2):
            for _ in zip(plain, ours, strict=True):
                self.assertEqual(ours.state_dict(), plain.state_dict())
        # An epoch that is left early is over, and nothing of it comes again.
        for loader in (plain, ours):
            next(iter(loader))
        self.assertTrue(laid_out_alike(list(ours), list(plain)))

    def test_a_second_iteration_ends_the_first_and_a_closed_loader_begins_anew(self):
        loader = DataLoader(self.dir, 4, transform=ENDS["v1"], device="cpu")
        first = iter(loader)
        next(first)
        second = iter(loader)
        next(second)
        with self.assertRaisesRegex(RuntimeError, "another iteration"):
            next(first)
        self.assertEqual(len(list(second)), 7)
        for _ in loader:
            loader.close()
            break
        self.assertEqual(len(list(loader)), 8)

    def test_loaders_beside_each_other(self):
        loaders = [DataLoader(self.dir, 4, transform=ENDS["v1"], seed=seed, device="cpu", normalize_on_device=seed == 1)
                   for seed in range(3)]
        together = list(zip(*loaders))
        for seed in range(3):
            plain = list(DataLoader(self.dir, 4, transform=ENDS["v1"], seed=seed))
            self.assertTrue(laid_out_alike([batches[seed] for batches in together], plain))


class AnySample(Folder):
    def test_sixty_kinds_of_data_sets(self):
        for name, rows, options in sets():
            for workers in (0, 2) if "0" in name or "list" in name else (0,):
                with self.subTest(name, workers=workers):
                    plain = list(DataLoader(rows, **options, num_workers=workers))
                    made = DataLoader(rows, **options, num_workers=workers, device="cpu")
                    self.assertIsNone(difference(list(made), plain))

    def test_labels_travel_with_the_picture_and_texts_stay(self):
        rng = np.random.default_rng(0)
        rows = [{"photo": jpeg(rng, 40, 50), "key": b"k",
                 "beside": {"caption": f"number {i}", "boxes": torch.rand(2, 4), "size": (i, 0.5)}} for i in range(11)]
        options = dict(image="photo", transform=ENDS["v1"], seed=2)
        plain = list(DataLoader(rows, 4, **options))
        for normalize in (True, False):
            made = list(DataLoader(rows, 4, device="cpu", normalize_on_device=normalize, **options))
            self.assertIsNone(difference(made, plain))
        self.assertEqual(made[2]["beside"]["caption"], ["number 8", "number 9", "number 10"])

    def test_boxes_follow_pictures_that_are_flipped_on_the_device(self):
        from torchvision import tv_tensors

        def sample(i):
            boxes = tv_tensors.BoundingBoxes([[5, 6, 20 + i, 25]], format="XYXY", canvas_size=(40, 50))
            return jpeg(np.random.default_rng(i), 40, 50), {"boxes": boxes, "label": i}

        rows = [sample(i) for i in range(12)]
        chain = v2.Compose([v2.Resize((20, 25)), v2.RandomHorizontalFlip(), v2.ToImage(),
                            v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)])
        plain = list(DataLoader(rows, 4, image=0, transform=chain, seed=5))
        made = list(DataLoader(rows, 4, image=0, transform=chain, seed=5, device="cpu", normalize_on_device=True))
        self.assertIsNone(difference(made, plain))

    def test_several_pictures_and_pictures_of_several_sizes(self):
        rng = np.random.default_rng(0)
        rows = [(jpeg(rng, 30 + i, 40), jpeg(rng, 30, 40 + i), i) for i in range(6)]
        crop = [data.Resize((9, 9)), data.RandomHorizontalFlip(), data.Normalize.imagenet()]
        plain = list(DataLoader(rows, 4, image=[0, 1], transform=crop))
        self.assertIsNone(difference(list(DataLoader(rows, 4, image=[0, 1], transform=crop, device="cpu")), plain))
        with self.assertRaisesRegex(ridgeline.ArgumentError, "one picture a sample"):
            DataLoader(rows, 4, image=[0, 1], transform=crop, device="cpu", normalize_on_device=True)
        rows = [(one, i) for i, (one, _, _) in enumerate(rows)]
        floats = data.Normalize.imagenet()
        apart = DataLoader(rows, 4, transform=floats, as_list=[0], device="cpu", dtype="bf16")
        plain = list(DataLoader(rows, 4, transform=floats, as_list=[0]))
        self.assertIsNone(difference(list(apart), [[[one.bfloat16() for one in x], y] for x, y in plain]))
        with self.assertRaisesRegex(ridgeline.ArgumentError, "these are u8"):
            DataLoader(rows, 4, transform=data.Decode(), as_list=[0], device="cpu", dtype="bf16")

    def test_streams(self):
        class Stream(torch.utils.data.IterableDataset):
            def __iter__(self):
                rng = np.random.default_rng(0)
                return iter([(jpeg(rng, 40, 50), i) for i in range(10)])

        plain = list(DataLoader(Stream(), 4, transform=ENDS["v1"]))
        for normalize in (True, False):
            made = DataLoader(Stream(), 4, transform=ENDS["v1"], device="cpu", normalize_on_device=normalize)
            self.assertIsNone(difference(list(made), plain))

    def test_containers_and_objects_that_know_how_they_are_moved(self):
        Edge = collections.namedtuple("Edge", "source to")

        class Held:
            def __init__(self, inner):
                self.inner, self.moved = inner, []

            def to(self, device):
                self.moved.append(device)
                return self

        def collate(samples):
            return (Edge(torch.ones(2), torch.zeros(2)), Held(samples), {"text": "a", "none": None}, 3)

        edge, held, rest, number = next(iter(DataLoader(list(range(4)), 2, collate_fn=collate, device="cpu")))
        self.assertIsInstance(edge, Edge)
        self.assertEqual([edge.to.tolist(), rest, number], [[0, 0], {"text": "a", "none": None}, 3])
        self.assertEqual(held.moved, [torch.device("cpu")])
        packed = torch.nn.utils.rnn.pack_sequence([torch.ones(3), torch.ones(2)])
        made = next(iter(DataLoader([0, 1], 2, collate_fn=lambda samples: packed, device="cpu")))
        self.assertIsInstance(made, torch.nn.utils.rnn.PackedSequence)

    def test_samples_one_by_one_and_collate_functions(self):
        one = list(DataLoader([(torch.tensor(i), "t") for i in range(3)], None, device="cpu"))
        self.assertIsNone(difference(one, [[torch.tensor(i), "t"] for i in range(3)]))
        stacked = dict(transform=ENDS["v1"], seed=1,
                       collate_fn=lambda samples: (torch.stack([x for x, _ in samples]), len(samples)))
        plain, made = (list(DataLoader(self.dir, 8, **stacked, **where)) for where in ({}, {"device": "cpu"}))
        self.assertIsNone(difference(made, plain))


class Faults(Folder):
    def broken(self):
        picture = pathlib.Path(self.dir, "class1", "004.jpg")
        self.addCleanup(picture.write_bytes, picture.read_bytes())
        picture.write_bytes(b"no picture")

    def until_it_fails(self, dataset, count, **options):
        """(batches of an epoch, the exception, the state)"""
        loader, batches = DataLoader(dataset, count, **options), []
        try:
            for batch in loader:
                batches.append(batch)
        except Exception as error:
            return batches, (type(error), str(error)), loader.state_dict()
        return batches, None, loader.state_dict()

    def test_a_bad_sample_is_an_exception_behind_the_batches_before_it(self):
        self.broken()
        plain = self.until_it_fails(self.dir, 3, transform=ENDS["v1"])
        self.assertEqual((len(plain[0]), plain[1][0]), (4, ridgeline.RunError))
        for normalize in (True, False):
            made = self.until_it_fails(self.dir, 3, transform=ENDS["v1"], device="cpu", normalize_on_device=normalize)
            self.assertEqual(made[1:], plain[1:])
            self.assertTrue(laid_out_alike(made[0], plain[0]))

    def test_bad_samples_are_left_out_or_replaced(self):
        self.broken()
        for what in ("skip", "replace"):
            plain = self.until_it_fails(self.dir, 8, transform=ENDS["v1"], bad_samples=what)
            made = self.until_it_fails(self.dir, 8, transform=ENDS["v1"], bad_samples=what, device="cpu",
                                       normalize_on_device=True)
            self.assertTrue(laid_out_alike(made[0], plain[0]))

    def test_what_python_raises_comes_in_its_turn(self):
        class Rows(torch.utils.data.Dataset):
            def __len__(self):
                return 20

            def __getitem__(self, index):
                if index == 13:
                    raise LookupError("thirteen")
                return index

        for workers in (0, 2):
            plain, made = (self.until_it_fails(Rows(), 2, num_workers=workers, **where) for where in ({}, {"device": "cpu"}))
            self.assertEqual(len(made[0]), 6)
            self.assertIn("thirteen", made[1][1])
            self.assertIsNone(difference(list(made), list(plain)))

        def collate(samples):
            if 9 in samples:
                raise KeyError("nine")
            return torch.tensor(samples)

        plain, made = (self.until_it_fails(list(range(20)), 2, collate_fn=collate, **where)
                       for where in ({}, {"device": "cpu"}))
        self.assertIsNone(difference(list(made), list(plain)))
        self.assertEqual((len(made[0]), made[1][0]), (4, KeyError))

    def test_the_consumers_own_exception_ends_the_epoch(self):
        loader = DataLoader(self.dir, 4, transform=ENDS["v1"], device="cpu", normalize_on_device=True)
        for _ in range(2):
            with self.assertRaises(LookupError):
                for i, _ in enumerate(loader):
                    if i == 2:
                        raise LookupError
        self.assertEqual(len(list(loader)), 8)


class Arguments(Folder):
    def test_what_is_missing_or_wrong_is_said_in_one_line(self):
        for options, text in (
                ({"device": "mps"}, r"device is 'mps' \(allowed: 'cpu', 'cuda', 'cuda:N'\)"),
                ({"device": "card"}, r"device is 'card' \(allowed"),
                ({"device": "cpu", "output": "numpy"}, "device is for output='torch'"),
                ({"dtype": "bf16"}, "dtype is for device="),
                ({"device": "cpu", "dtype": "i8"}, "dtype is 'i8' .allowed: 'f32', 'bf16', 'f16', torch.float32"),
                ({"device": "cpu", "dtype": torch.float64}, "dtype is torch.float64"),
                ({"normalize_on_device": True}, "normalize_on_device is for device="),
                ({"device": "cpu", "normalize_on_device": True, "collate_fn": list}, "needs the usual collate_fn"),
                ({"device": "cpu", "normalize_on_device": True, "memory_format": "contiguous"}, "channels_last"),
                ({"device": "cpu", "dtype": "bf16", "collate_fn": list}, "let collate_fn convert them")):
            with self.subTest(str(options)), self.assertRaisesRegex(ridgeline.ArgumentError, text) as raised:
                DataLoader(self.dir, 8, transform=ENDS["v1"], **options)
            self.assertEqual(str(raised.exception).count("\n"), 0)
        for name, chain in OTHERS.items():
            with self.subTest(name), self.assertRaisesRegex(ridgeline.ArgumentError, "end in Normalize"):
                DataLoader(self.dir, 8, transform=chain, device="cpu", normalize_on_device=True)
        with self.assertRaisesRegex(ridgeline.ArgumentError, "dtype is for pictures that are floats, these are u8"):
            DataLoader(self.dir, 8, transform=OTHERS["bytes"], device="cpu", dtype="bf16")
        for option in ({"dtype": "bf16"}, {"normalize_on_device": True}):
            with self.assertRaisesRegex(ridgeline.ArgumentError, f"{list(option)[0]} is for samples with pictures"):
                DataLoader(list(range(4)), 2, device="cpu", **option)
        batched = data.ImageFolder(self.dir).map(data.Resize((9, 9)), data.Normalize.imagenet()).batch(4)
        with self.assertRaisesRegex(ridgeline.ArgumentError, "needs a batch_size"):
            DataLoader(batched, None, device="cpu", normalize_on_device=True)

    @unittest.skipIf(torch.cuda.is_available(), "there is a card")
    def test_without_a_card(self):
        with self.assertRaisesRegex(ridgeline.ArgumentError, "^device='cuda' needs a ") as raised:
            DataLoader(self.dir, 8, transform=ENDS["v1"], device="cuda")
        self.assertEqual(str(raised.exception).count("\n"), 0)
        with mock.patch("torch.backends.cuda.is_built", return_value=True), \
                mock.patch("torch.cuda.init", side_effect=RuntimeError("Found no driver. Get\none.")):
            with self.assertRaisesRegex(ridgeline.ArgumentError, "needs a card, PyTorch finds none: Found no driver$"):
                DataLoader(self.dir, 8, transform=ENDS["v1"], device=torch.device("cuda", 1))

    def test_with_a_pytorch_without_cuda_or_too_few_cards(self):
        with mock.patch("torch.backends.cuda.is_built", return_value=False):
            with self.assertRaisesRegex(ridgeline.ArgumentError, "needs a PyTorch with CUDA, PyTorch .* was built without"):
                DataLoader(self.dir, 8, transform=ENDS["v1"], device="cuda")
        with mock.patch("torch.backends.cuda.is_built", return_value=True), \
                mock.patch("torch.cuda.is_available", return_value=True), \
                mock.patch("torch.cuda.device_count", return_value=2):
            with self.assertRaisesRegex(ridgeline.ArgumentError, r"is 'cuda:2', PyTorch finds 2 cards .*'cuda:0', 'cuda:1'"):
                DataLoader(self.dir, 8, transform=ENDS["v1"], device="cuda:2")

    def test_without_pytorch(self):
        done = run_python("import sys\nsys.modules['torch'] = None\nfrom ridgeline.data import DataLoader\n"
                          "try:\n    DataLoader([0], device='cuda', output='numpy')\nexcept Exception as error:\n"
                          "    print(type(error).__name__, error)")
        told = "ArgumentError device='cuda' needs PyTorch, which is not installed"
        self.assertEqual(done.stdout.strip(), told, done.stderr)

    def test_a_host_that_is_named_says_nothing(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            loader = DataLoader(self.dir, 8, transform=ENDS["v1"], device="cpu", normalize_on_device=True)
        self.assertEqual((loader.device, loader.pin_memory), (torch.device("cpu"), False))


if __name__ == "__main__":
    unittest.main()
