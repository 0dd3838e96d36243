"""Samples with pictures for the engine and whatever else for Python; samplers of one's own before the engine."""

import collections
import contextlib
import dataclasses
import unittest

import numpy as np

import ridgeline
from ridgeline import data
from ridgeline.data import DataLoader

from any_sample_sets import Rows, Stream
from loader_support import EXACT, RANDOM, equal, torch, torchvision, v1
from support import Folder, run_python, threads
from test_any_sample import difference

Named = collections.namedtuple("Named", "photo name")


@dataclasses.dataclass
class Captioned:
    photo: object
    caption: str
    boxes: np.ndarray


class PicturesAndMore(Folder):
    def setUp(self):
        self.folder = torchvision.datasets.ImageFolder(self.dir)

    def encoded(self, i):
        with open(self.folder.samples[i][0], "rb") as file:
            return file.read()

    def rows(self, make, count=10):
        return Rows(lambda i: make(i * 3, self.encoded(i * 3)), count)

    def theirs(self, make, place):
        """PyTorch's batches of the same samples, their pictures made by torchvision."""
        return list(torch.utils.data.DataLoader(Rows(lambda i: make(i * 3, EXACT(self.folder.loader(
            self.folder.samples[i * 3][0]))), 10), 4))

    def test_all_of_a_sample_is_what_pytorch_makes_of_it_and_pictures_are_the_engines(self):
        boxes = lambda i: np.full((2, 4), i / 7, np.float32)  # noqa: E731
        for make, image in [
            (lambda i, p: {"image": p, "caption": f"c{i}", "boxes": boxes(i), "id": i, "ok": i > 3}, None),
            (lambda i, p: {"id": np.int16(i), "photo": p}, "photo"), (lambda i, p: (i / 7, f"c{i}", p, [i, b"b"]), 2),
            (lambda i, p: (p, f"c{i}"), None), (lambda i, p: (p, {"a": (i, np.uint16(i))}), None), (lambda i, p: Named(p, i), "photo"),
            (lambda i, p: {"in": {"photo": p, "n": i}, "t": (torch.full((3,), i).bfloat16(),)}, ("in", "photo")),
            (lambda i, p: p, None), (lambda i, p: collections.OrderedDict(n=i, image=p), None),
            (lambda i, p: (p, np.int32(i)), None), (lambda i, p: (p, i / 3), None), (lambda i, p: [p, i], 0),
        ]:
            image = 0 if image == "photo" and isinstance(make(0, b""), tuple) else image
            with self.subTest(make(0, b"")):
                mine = list(DataLoader(self.rows(make), 4, transform=EXACT, image=image))
                self.assertIsNone(difference(mine, self.theirs(make, image)))

    def test_tensors_of_all_of_pytorchs_types_beside_a_picture(self):
        types = {kind for kind in vars(torch).values() if isinstance(kind, torch.dtype)}
        made = {}
        for kind in sorted(types, key=str):
            with contextlib.suppress(NotImplementedError, RuntimeError):  # quantized ones and parts of bytes
                made[str(kind)] = torch.arange(6.0).reshape(2, 3).t().to(kind)
        self.assertGreater(len(made), 12)
        own = {"turned": torch.tensor([1 + 2j]).conj(), "negative": torch.tensor([1 + 2j]).conj().imag,
               "none": torch.zeros(0, 3, dtype=torch.bfloat16), "one": torch.tensor(3, dtype=torch.int16),
               "with a gap": torch.arange(2).to(torch.uint16)[::2]}
        for options in ({}, {"num_workers": 2, "multiprocessing_context": "fork"}):
            rows = self.rows(lambda i, p: (p, {**made, **own, "n": i}), 2)
            (_, rest), = DataLoader(rows, 2, transform=EXACT, collate_fn=lambda samples: samples[1], **options)
            for name, tensor in {**made, **own}.items():
                with self.subTest(name, **options):
                    self.assertEqual((rest[name].dtype, rest[name].shape), (tensor.dtype, tensor.shape))
                    mine, given = (t.resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format).view(-1)
                                   .view(torch.uint8) for t in (rest[name], tensor))
                    self.assertTrue(torch.equal(mine, given))

    def test_collate_fn_gets_labels_of_the_type_that_the_data_set_gives(self):
        for target in (None, lambda y: y / 3, np.float32, lambda y: np.array([y]), bool, lambda y: torch.tensor(y), str):
            folder = torchvision.datasets.ImageFolder(self.dir, EXACT, target)
            with self.subTest(type(target and target(1))):
                mine, theirs = (list(loader(folder, 4, collate_fn=list))
                                for loader in (DataLoader, torch.utils.data.DataLoader))
                self.assertIsNone(difference(mine, theirs))

    def test_several_pictures_draw_alike(self):
        make = lambda i, p: {"left": p, "right": p, "n": i}  # noqa: E731
        for batch in DataLoader(self.rows(make), 4, transform=RANDOM, image=["left", "right"]):
            self.assertEqual((batch["left"].shape[1:], batch["left"].dtype), ((3, 24, 24), torch.float32))
            self.assertTrue(torch.equal(batch["left"], batch["right"]))

    def test_decode_can_be_named_and_gives_pixels_alone(self):
        same = {i: self.folder.samples[i][0] for i in range(30)}
        for transform in (data.Decode(), [data.Decode(), data.Resize((20, 30))]):
            for batch in DataLoader(self.rows(lambda i, p: (p, f"{i}"), 3), 1, transform=transform):
                pixels, (name,) = batch
                image = self.folder.loader(same[int(name)])
                expected = v1.PILToTensor()(image if transform is not None and not isinstance(transform, list)
                                            else v1.Resize((20, 30))(image))
                self.assertTrue(torch.equal(pixels[0], expected))
        (pixels, _), *_ = DataLoader(self.dir, 1, transform=data.Decode(), output="numpy")
        self.assertEqual((pixels.dtype, pixels.ndim), (np.uint8, 4))

    def test_pictures_of_different_sizes_are_told_or_kept_apart(self):
        make = lambda i, p: (p, f"c{i}")  # noqa: E731
        with self.assertRaisesRegex(ridgeline.RunError, r"sample 1: its picture has the shape \[\d+, \d+, 3\], the first .*as_list"):
            next(iter(DataLoader(self.rows(make), 4, transform=data.Decode())))
        for one, made in ((self.rows(make), {}), (self.folder, {}), (self.dir, {"transform": data.Decode()})):
            transform = made or {"transform": data.Decode()} if one is not self.folder else {}
            images, _ = next(iter(DataLoader(one, 4, as_list=[0], **transform)))
            paths = [self.folder.samples[i * (3 if isinstance(one, Rows) else 1)][0] for i in range(4)]
            for image, path in zip(images, paths, strict=True):
                self.assertTrue(torch.equal(image, v1.PILToTensor()(self.folder.loader(path))))
        floats = v1.Compose([v1.RandomHorizontalFlip(1.0), v1.ToTensor()])
        (images, names), *_ = DataLoader(self.rows(make), 4, transform=floats, as_list=[0], memory_format="contiguous")
        self.assertTrue(torch.equal(images[3], floats(self.folder.loader(self.folder.samples[9][0]))))
        (images, names), *_ = DataLoader(self.rows(make), 4, transform=floats, collate_fn=lambda s: tuple(zip(*s)))
        self.assertTrue(torch.equal(images[3], floats(self.folder.loader(self.folder.samples[9][0]))))
        with self.assertRaisesRegex(ridgeline.ArgumentError, r"1 is neither"):
            DataLoader(self.folder, 4, as_list=[1])

    def test_ops_of_pytorch_in_samples_take_one_thread_and_elsewhere_as_many_as_before(self):
        program = f"""
import sys
import torch
from ridgeline import data
if len(sys.argv) > 1:
    torch.set_num_threads(int(sys.argv[1]))
class Threads(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        torch.ones(100_000).add_(1)
        with open({self.folder.samples[0][0]!r}, "rb") as file:
            return file.read(), torch.get_num_threads()
loader = data.DataLoader(Threads(), 4, transform=data.Decode(), num_workers=2, as_list=[0])
print([labels.tolist() for _, labels in loader], torch.get_num_threads())
"""
        usual = run_python("import torch; print(torch.get_num_threads())").stdout
        for given, here in (([], usual), ([4], "4\n")):
            done = run_python(program, *given)
            self.assertEqual(done.stdout, f"[[1, 1, 1, 1], [1, 1, 1, 1]] {here}", done.stderr)

    def test_a_loader_that_is_let_go_ends_its_threads_at_once(self):
        import gc

        running = threads()
        gc.disable()
        try:
            for made in (self.dir, self.rows(lambda i, p: (p, f"{i}"))):
                for options in ({}, {"sampler": [1, 2, 3]}):
                    loader = DataLoader(made, 2, transform=EXACT, **options)
                    it = iter(loader)
                    next(it)
                    self.assertGreater(threads(), running)
                    del loader, it
                    self.assertEqual(threads(), running)
        finally:
            gc.enable()

    def test_without_a_transform_bytes_are_bytes(self):
        (photos, labels), *_ = DataLoader(self.rows(lambda i, p: (p, i)), 4)
        self.assertEqual((photos, labels.tolist()), (tuple(self.encoded(i) for i in (0, 3, 6, 9)), [0, 3, 6, 9]))

    def test_dataclasses_with_pictures_and_boxes_of_different_number(self):
        make = lambda i, p: Captioned(p, f"c{i}", np.full((i % 4, 4), i))  # noqa: E731
        batch, *_ = DataLoader(self.rows(make), 4, transform=EXACT, image="photo", as_list=["boxes"])
        self.assertIs(type(batch), Captioned)
        self.assertEqual((batch.photo.shape, [len(b) for b in batch.boxes]), ((4, 3, 32, 32), [0, 3, 2, 1]))
        batch, *_ = DataLoader(self.rows(make), 4, transform=EXACT, image="photo", pad={"boxes": -1})
        self.assertEqual((batch.boxes.shape, batch.boxes[0].unique().tolist()), ((4, 3, 4), [-1]))

    def test_collate_functions_get_samples_of_any_kind_with_their_pictures(self):
        make = lambda i, p: (p, {"boxes": None, "n": i})  # noqa: E731
        (images, targets), *_ = DataLoader(self.rows(make), 4, transform=EXACT, collate_fn=lambda s: tuple(zip(*s)))
        self.assertEqual(([i.shape for i in images], targets[1]), ([(3, 32, 32)] * 4, {"boxes": None, "n": 3}))

    def test_what_does_not_fit_names_sample_and_place(self):
        for make, words in [(lambda i, p: {"image": p, "n": i if i < 9 else "x"}, r"sample 3: label \('n'\) is str 'x'"),
                            (lambda i, p: (p, [1] * (i // 9 + 1)), r"sample 3: \[1\] is list \[1, 1\]"),
                            (lambda i, p: (p, {"a": np.zeros(i)}), r"sample 1: \['a'\] has the shape \[3\]|sample 1: \[1\]\['a'\] has the shape"),
                            (lambda i, p: (p if i < 9 else np.zeros((4, 4, 3), np.uint8), "t"), r"sample 3: image \(0\) is pixels, the first was encoded")]:
            with self.subTest(words), self.assertRaisesRegex(ridgeline.RunError, words):
                list(DataLoader(self.rows(make), 4, transform=EXACT))

    def test_boxes_and_masks_of_tv_tensors_are_not_left_behind(self):
        def rows(make):
            return self.rows(lambda i, p: {"image": p, "t": make(self.folder.loader(self.folder.samples[i][0]).size)})

        def boxes(size):
            return {"boxes": torchvision.tv_tensors.BoundingBoxes(torch.ones(1, 4), format="XYXY", canvas_size=size[::-1])}

        for make, moved in [(boxes, lambda t: t["boxes"]),
                            (lambda size: [1, torchvision.tv_tensors.Mask(torch.ones(size[::-1]))], lambda t: t[1])]:
            for batch in DataLoader(rows(make), 2, transform=v1.Compose([v1.Resize((8, 8)), v1.ToTensor()])):
                self.assertEqual(moved(batch["t"]).shape[1:], (8, 8) if moved(batch["t"]).shape[-1] == 8 else (1, 4))
                self.assertLess(float(moved(batch["t"]).max()), 1.01)
            self.assertEqual(len(list(DataLoader(rows(make), 1, transform=v1.Compose([v1.ColorJitter(0.3), v1.ToTensor()])))), 10)

    def test_a_state_goes_on_in_the_middle_of_an_epoch(self):
        make = lambda i, p: {"image": p, "caption": f"c{i}"}  # noqa: E731

        def loader(**options):
            return DataLoader(self.rows(make), 3, True, transform=RANDOM, **options)

        whole = list(loader())
        first = loader()
        it = iter(first)
        seen, state = [next(it), next(it)], first.state_dict()
        del first, it  # another loader in this process would have another name for its data set
        again = loader(num_workers=3)
        again.load_state_dict(state)
        self.assertIsNone(difference(seen + list(again), whole))


class Encoded(Folder):
    """Streams of encoded pictures, as WebDataset's before it decodes."""

    def stream(self, count=11, bad=None):
        folder = torchvision.datasets.ImageFolder(self.dir)

        def make(i):
            if i == bad:
                raise ValueError("a torn archive")
            with open(folder.samples[i][0], "rb") as file:
                return {"__key__": f"k{i}", "jpg": file.read(), "json": {"label": i}}

        return Stream(make, count)

    def test_pictures_of_a_stream_are_the_engines_in_the_streams_order(self):
        folder = torchvision.datasets.ImageFolder(self.dir, EXACT)
        for workers in (1, 3):
            for count, drop, sizes in ((11, False, [4, 4, 3]), (11, True, [4, 4]), (8, False, [4, 4]), (2, False, [2]), (0, False, [])):
                loader = DataLoader(self.stream(count), 4, image="jpg", transform=EXACT, drop_last=drop, num_workers=workers)
                for _ in range(2):
                    got = list(loader)
                    self.assertEqual([len(b["jpg"]) for b in got], sizes)
                    for i, (image, key, label) in enumerate((x, k, y) for b in got for x, k, y in zip(
                            b["jpg"], b["__key__"], b["json"]["label"].tolist())):
                        self.assertTrue(torch.equal(image, folder[i][0]))
                        self.assertEqual((key, label), (f"k{i}", i))

    def test_an_error_of_the_stream_is_told_after_the_batches_before_it(self):
        loader, seen = DataLoader(self.stream(bad=6), 4, image="jpg", transform=EXACT), []
        with self.assertRaisesRegex(ridgeline.RunError, "sample 6: ValueError: a torn archive"):
            seen.extend(iter(loader))
        self.assertEqual(len(seen), 1)

    def test_random_transforms_differ_from_epoch_to_epoch_and_a_state_goes_on(self):
        def loader(workers=0):
            return DataLoader(self.stream(), 4, image="jpg", transform=RANDOM, num_workers=workers)

        one = loader()
        epochs = [list(one), list(one)]
        self.assertFalse(torch.equal(epochs[0][0]["jpg"], epochs[1][0]["jpg"]))
        other = loader(2)
        for number, batch in enumerate(other):
            if number == 1:
                break
        again = loader(3)
        again.load_state_dict(other.state_dict())
        self.assertIsNone(difference(list(again), epochs[0][2:]))
        self.assertIsNone(difference(list(again), epochs[1]))


class OwnOrders(Folder):
    def labels(self, **options):
        return [y.tolist() for _, y in DataLoader(self.dir, transform=EXACT, **options)]

    def test_samplers_and_batch_samplers_of_ones_own_choose_what_the_engine_makes(self):
        folder = torchvision.datasets.ImageFolder(self.dir, EXACT)
        for options in ({"sampler": [29, 0, 0, 12, 3], "batch_size": 2}, {"batch_sampler": [[3, 1], [29, 28, 27], [0]]},
                        {"sampler": np.arange(30)[::-1], "batch_size": 8, "drop_last": True},
                        {"batch_sampler": torch.utils.data.BatchSampler(range(20), 6, False)}):
            with self.subTest(options):
                for workers in (1, 3):
                    mine, theirs = DataLoader(folder, **options, num_workers=workers), torch.utils.data.DataLoader(folder, **options)
                    self.assertEqual(len(mine), len(theirs))
                    self.assertTrue(equal(list(mine), list(theirs)))

    def test_repeated_samples_draw_anew_and_epochs_differ(self):
        loader = DataLoader(self.dir, 4, sampler=[5, 5, 5, 5], transform=RANDOM)
        ((x, _),), ((z, _),) = list(loader), list(loader)
        self.assertEqual(len({p.numpy().tobytes() for p in (*x, *z)}), 8)
        again = DataLoader(self.dir, 4, sampler=[5, 5, 5, 5], transform=RANDOM, num_workers=2)
        again.set_epoch(1)
        self.assertTrue(torch.equal(next(iter(again))[0], z))

    def test_the_seed_of_a_graph_holds_before_a_sampler_of_ones_own(self):
        made = data.ImageFolder(self.dir).map(data.RandomResizedCrop(8))
        one, two, three = (next(iter(DataLoader(d, 2, sampler=[3, 4], **o)))[0] for d, o in (
            (made.with_seed(5), {}), (made, {"seed": 5}), (made, {})))
        self.assertTrue(torch.equal(one, two) and not torch.equal(one, three))

    def test_an_endless_batch_sampler_is_asked_as_far_as_the_loop_goes(self):
        class Endless:
            def __iter__(self):
                i = 0
                while True:
                    i += 1
                    yield [i % 30] * (i % 3 + 1)

        seen = []
        for _, y in DataLoader(torchvision.datasets.ImageFolder(self.dir, v1.Compose([v1.Resize((4, 4)), v1.ToTensor()])),
                               batch_sampler=Endless()):
            seen.append(len(y))
            if len(seen) == 50:
                break
        self.assertEqual(seen, [i % 3 + 1 for i in range(1, 51)])

    def test_a_state_goes_on_in_the_middle_of_an_order_of_ones_own(self):
        options = {"sampler": [(7 * i) % 30 for i in range(30)], "batch_size": 4, "transform": RANDOM, "seed": 3}
        whole = list(DataLoader(self.dir, **options))
        first = DataLoader(self.dir, **options)
        it = iter(first)
        seen = [next(it), next(it)]
        again = DataLoader(self.dir, num_workers=2, **options)
        again.load_state_dict(first.state_dict())
        self.assertTrue(equal(seen + list(again), whole))

    def test_indices_that_are_not_there_are_told(self):
        for sampler, words in [([30], "gave 30, the data set has 30 samples"), (["a"], "gave 'a', a str"), ([0.5], "gave 0.5")]:
            with self.assertRaisesRegex(ridgeline.RunError, words):
                self.labels(sampler=sampler, batch_size=2)
        with self.assertRaisesRegex(ridgeline.RunError, "empty batch"):
            self.labels(batch_sampler=[[1], []])


class HuggingFace(Folder):
    def setUp(self):
        try:
            import datasets
        except ImportError:
            self.skipTest("Hugging Face's datasets is not installed")
        self.datasets = datasets

    def compare(self, made, **options):
        theirs = list(torch.utils.data.DataLoader(made, 4))
        for workers in (0, 2):
            self.assertIsNone(difference(list(DataLoader(made, 4, num_workers=workers, **options)), theirs))

    def test_features_of_any_kind(self):
        d = self.datasets
        made = d.Dataset.from_dict(
            {"text": [f"t{i}" for i in range(10)], "label": [i % 2 for i in range(10)], "score": [i / 7 for i in range(10)],
             "ids": [[i, 2, 3] for i in range(10)], "nested": [{"a": i, "b": [str(i)]} for i in range(10)],
             "grid": [[[i, 1], [2, 3]] for i in range(10)]},
            features=d.Features({"text": d.Value("string"), "label": d.ClassLabel(names=["no", "yes"]),
                                 "score": d.Value("float32"), "ids": d.Sequence(d.Value("int64")),
                                 "nested": {"a": d.Value("int32"), "b": d.Sequence(d.Value("string"))},
                                 "grid": d.Array2D((2, 2), "int64")}))
        self.compare(made)
        self.compare(made.with_format("torch"))
        self.compare(made.remove_columns("nested").with_format("numpy"))
        self.compare(made.to_iterable_dataset())

    def test_images_stay_encoded_and_all_features_beside_them_are_delivered(self):
        d = self.datasets
        folder = torchvision.datasets.ImageFolder(self.dir)
        made = d.Dataset.from_dict({"img": [p for p, _ in folder.samples[:8]], "caption": [f"c{i}" for i in range(8)],
                                    "objects": [{"bbox": [[0.0, 1, 2, 3]] * (i % 3)} for i in range(8)]},
                                   features=d.Features({"img": d.Image(), "caption": d.Value("string"),
                                                        "objects": {"bbox": d.Sequence(d.Sequence(d.Value("float32")))}}))
        batch, *_ = DataLoader(made, 4, transform=EXACT, as_list=[("objects", "bbox")])
        self.assertEqual((list(batch), batch["caption"]), (["img", "caption", "objects"], ["c0", "c1", "c2", "c3"]))
        self.assertTrue(torch.equal(batch["img"][2], EXACT(folder.loader(folder.samples[2][0]))))
        self.assertEqual([len(b) for b in batch["objects"]["bbox"]], [0, 1, 2, 0])


if __name__ == "__main__":
    unittest.main()
