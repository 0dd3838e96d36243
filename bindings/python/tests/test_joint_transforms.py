"""Pictures with boxes, masks and key points: joint transforms of torchvision's v2, by the engine and by torchvision."""

import io
import os
import random
import struct
import unittest
import warnings
import zlib
from unittest import mock

import numpy as np

import ridgeline
from ridgeline import data
from ridgeline.data import DataLoader
from ridgeline.data._follow import Follow

from any_sample_sets import Rows
from joint_chains import Chain, lines_of, theirs
from loader_support import torch, torchvision, v2
from support import jpeg, needs_pillows_pixels

from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms.v2 import functional as F

CHAINS = int(os.environ.get("RIDGELINE_RANDOM_CHAINS", "60"))
SEED = int(os.environ.get("RIDGELINE_RANDOM_SEED", "1"))


def picture(rng, height, width):
    return jpeg(rng, height, width)


def target(rng, height, width, count=3, form="XYXY", dtype=torch.float32, masks=torch.uint8):
    top, left = rng.integers(0, height // 2, count), rng.integers(0, width // 2, count)
    corners = np.stack([left, top, left + rng.integers(8, width // 2, count), top + rng.integers(8, height // 2, count)], 1)
    boxes = F.convert_bounding_box_format(torch.from_numpy(corners.astype(np.float32)), tv_tensors.BoundingBoxFormat.XYXY,
                                          tv_tensors.BoundingBoxFormat[form])
    return {"boxes": tv_tensors.BoundingBoxes(boxes.to(dtype), format=form, canvas_size=(height, width)),
            "masks": tv_tensors.Mask(torch.from_numpy(rng.integers(0, 9, (count, height, width), dtype=np.uint8)).to(masks)),
            "semantic": tv_tensors.Mask(torch.from_numpy(rng.integers(0, 99, (height, width)))),
            "points": tv_tensors.KeyPoints(torch.from_numpy(corners[:, :2].astype(np.float32)), canvas_size=(height, width)),
            "labels": torch.arange(count), "name": f"{height}x{width}"}


def samples(seed=0, count=4, **kinds):
    """[(encoded picture, target)]"""
    made = []
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        height, width = (int(side) for side in rng.integers(40, 90, 2))
        made.append((picture(rng, height, width), target(rng, height, width, **kinds)))
    return made


def decoded(encoded):
    return Image.open(io.BytesIO(encoded)).convert("RGB")


def as_listed(batch):
    return batch


class Recorded:
    """A loader's samples, one by one, and the engine's lines for each."""

    def __init__(self, rows, transform, **options):
        self.lines, follow = [], Follow.__call__

        def noted(this, sample, geometry, name, put):
            self.lines.append(lines_of(geometry))
            return follow(this, sample, geometry, name, put)

        with mock.patch.object(Follow, "__call__", noted):
            loader = DataLoader(Rows(lambda i: rows[i], len(rows)), 2, transform=transform, collate_fn=as_listed, **options)
            self.samples = [sample for batch in loader for sample in batch]


class Moved(unittest.TestCase):
    def assert_same_rest(self, mine, expected, message):
        self.assertEqual(mine.keys(), expected.keys(), message)
        for key, value in expected.items():
            self.assertIs(type(mine[key]), type(value), f"{key} {message}")
            if isinstance(value, torch.Tensor):
                self.assertEqual((mine[key].dtype, mine[key].shape), (value.dtype, value.shape), f"{key} {message}")
                self.assertTrue(torch.equal(mine[key], value), f"{key} {message}\n{mine[key]}\n{value}")
                for name in ("canvas_size", "format"):
                    self.assertEqual(getattr(mine[key], name, None), getattr(value, name, None), f"{key} {message}")
            else:
                self.assertEqual(mine[key], value)

    def compare(self, rows, chain, blended=False, **options):
        """Our samples, and torchvision's own transforms with the numbers that were drawn for ours."""
        recorded = Recorded(rows, v2.Compose(chain), **options)
        self.assertEqual(len(recorded.samples), len(rows))
        for (encoded, beside), (pixels, rest), lines in zip(rows, recorded.samples, recorded.lines):
            message = f"{chain} {lines}"
            image, expected = theirs(chain, lines, (decoded(encoded), beside))
            self.assert_same_rest(rest, expected, message)
            expected_pixels = F.pil_to_tensor(image) if isinstance(image, Image.Image) else image
            self.assertEqual((pixels.shape, pixels.dtype), (expected_pixels.shape, expected_pixels.dtype), message)
            differ = (pixels.float() - expected_pixels.float()).abs()
            # Floats are one rounding apart at most; sums of a warp that end near a whole number may round otherwise.
            differing = int((differ > (1e-6 if pixels.is_floating_point() else 0)).sum())
            self.assertLessEqual(differing, max(9, differ.numel() // 500) if blended else 0, message)
        return recorded


class RandomChains(Moved):
    @needs_pillows_pixels
    def test_pixels_boxes_and_masks_are_torchvisions_for_the_numbers_that_were_drawn(self):
        for i in range(CHAINS):
            draw = random.Random(SEED * 100003 + i)
            chain = Chain(draw)
            form, dtype = draw.choice(["XYXY", "XYWH", "CXCYWH"]), draw.choice([torch.float32, torch.float64])
            with self.subTest(seed=SEED, chain=i):
                self.compare(samples(i, form=form, dtype=dtype), chain.steps, chain.blended, seed=i)


class Kinds(Moved):
    @needs_pillows_pixels
    def test_boxes_points_and_masks_of_any_type_and_format(self):
        fill = {tv_tensors.Image: 9, tv_tensors.Mask: 1, "others": 0}
        chain = [v2.Pad([3, 1, 4, 2], fill=fill), v2.RandomHorizontalFlip(1.0), v2.Resize((47, 61)), v2.CenterCrop((60, 50)),
                 v2.RandomVerticalFlip(1.0), v2.Resize((33, 35)), v2.Pad(2), v2.CenterCrop((20, 44)), v2.Resize((40, 88))]
        boxes = [torch.float32, torch.float64, torch.float16, torch.int64, torch.int32]
        masks = [torch.bool, torch.int64, torch.float32, torch.float64, torch.bfloat16, torch.int16]
        ends = [[], [v2.ClampBoundingBoxes(), v2.SanitizeBoundingBoxes(3.0, 20.0), v2.ToImage(), v2.ToPureTensor()],
                [v2.SetClampingMode(None), v2.Pad(1), v2.ClampBoundingBoxes(), v2.ClampBoundingBoxes("hard"),
                 v2.ConvertBoundingBoxFormat("CXCYWH"), v2.ConvertBoundingBoxFormat("XYWH"),
                 v2.SanitizeBoundingBoxes(9.0, labels_getter=lambda sample: sample[1]["labels"])]]
        for i, kinds in enumerate([{"dtype": dtype} for dtype in boxes] + [{"masks": dtype} for dtype in masks]):
            with self.subTest(**kinds):
                form = ("XYXY", "XYWH", "CXCYWH")[i % 3]
                self.compare(samples(i, form=form, **kinds), chain + ends[i // 2 % 3])

    def test_whole_numbers_that_floats_do_not_hold_are_resized_as_torchvision_does(self):
        encoded, beside = samples(count=1)[0]
        large = tv_tensors.Mask(beside["semantic"] + (1 << 40) + 1)
        for chain in ([v2.Resize((20, 30))], [v2.RandomVerticalFlip(1.0)], [v2.Pad(3), v2.Resize((20, 30))]):
            (_, mask), = next(iter(DataLoader(Rows(lambda i: (encoded, large), 1), transform=v2.Compose(chain),
                                              collate_fn=as_listed)))
            self.assertTrue(torch.equal(mask, v2.Compose(chain)(large)))

    def test_the_samples_of_the_data_set_stay_as_they_are(self):
        encoded, beside = samples(count=1)[0]
        before = {key: value.clone() for key, value in beside.items() if isinstance(value, torch.Tensor)}
        chain = v2.Compose([v2.RandomHorizontalFlip(1.0), v2.ClampBoundingBoxes(), v2.SanitizeBoundingBoxes()])
        for (_, rest), in DataLoader(Rows(lambda i: (encoded, beside), 2), transform=chain, collate_fn=as_listed):
            for value in rest.values():
                if isinstance(value, torch.Tensor):
                    value.zero_()
        for key, value in before.items():
            self.assertTrue(torch.equal(beside[key], value), key)


class Recipes(Moved):
    def to_end(self, *steps):
        return [*steps, v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.SanitizeBoundingBoxes(), v2.ToPureTensor()]

    @needs_pillows_pixels
    def test_torchvisions_recipes_for_detection(self):
        mean = {tv_tensors.Image: (123, 117, 104), "others": 0}
        self.compare(samples(), self.to_end(v2.RandomHorizontalFlip()))
        self.compare(samples(), self.to_end(v2.RandomZoomOut(fill=mean), v2.RandomIoUCrop(), v2.RandomHorizontalFlip()))
        self.compare(samples(), self.to_end(v2.RandomShortestSize((48, 64, 80), max_size=96), v2.RandomHorizontalFlip()))
        self.compare(samples(), self.to_end(v2.ScaleJitter((96, 96)), v2.RandomCrop(64, pad_if_needed=True, fill=mean),
                                            v2.RandomHorizontalFlip()))

    @needs_pillows_pixels
    def test_torchvisions_recipe_for_segmentation(self):
        ignored = {tv_tensors.Image: 0, tv_tensors.Mask: 255, "others": 0}
        chain = [v2.RandomResize(40, 90), v2.RandomHorizontalFlip(), v2.RandomCrop(48, pad_if_needed=True, fill=ignored),
                 v2.ToImage(), v2.ToDtype({tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None},
                                          scale=True)]
        recorded = self.compare(samples(), chain)
        self.assertTrue(any((rest["semantic"] == 255).any() for _, rest in recorded.samples))
        self.assertIs(recorded.samples[0][1]["semantic"].dtype, torch.int64)

    def test_crops_go_by_the_boxes_as_torchvision_has_them_there(self):
        turned = v2.RandomOrder([v2.RandomRotation(40), v2.RandomAffine(9, (0.3, 0.3))])
        # Boxes end at a picture's borders; the margin around it then holds none of what was cut off.
        for before in ([v2.RandomCrop(30, pad_if_needed=True), v2.Pad(30)], [v2.RandomRotation(40), v2.Pad(20)],
                       [v2.RandomApply([turned], 1.0), v2.Pad(30)]):
            chain = [*before, v2.RandomIoUCrop(min_scale=0.2, sampler_options=[0.3, 1.0])]
            recorded = Recorded(samples(count=12), v2.Compose(chain), seed=1)
            overlaps = []
            for (_, beside), lines in zip(samples(count=12), recorded.lines, strict=True):
                overlap = 1.0
                if lines[-1][0] == "iou_crop":
                    boxes = self.moved_by(lines[:-1], beside["boxes"])
                    top, left, height, width = lines[-1][1]
                    middles = (boxes[:, :2] + boxes[:, 2:]) / 2
                    low, high = torch.tensor([left, top]), torch.tensor([left + width, top + height])
                    inside = boxes[((low < middles) & (middles < high)).all(1)]
                    overlap = float(torchvision.ops.box_iou(inside, torch.cat([low, high])[None]).max())
                overlaps.append(overlap)
            self.assertGreater(min(overlaps), 0.3 - 1e-5, before)
            self.assertLess(min(overlaps), 1, before)

    def moved_by(self, lines, boxes):
        """Corners of boxes after the engine's lines."""
        moves = {"crop": F.crop, "pad": lambda leaf, *sides: F.pad(leaf, list(sides)),
                 "rotate": lambda leaf, angle, expand: F.rotate(leaf, angle),
                 "affine": lambda leaf, angle, x, y, scale, *shear: F.affine(leaf, angle, [x, y], scale, list(shear))}
        for word, numbers in lines:
            boxes = moves[word](boxes, *(int(n) if n == int(n) else n for n in numbers))
        return boxes.as_subclass(torch.Tensor)

    def test_default_collate_makes_batches_of_what_was_moved(self):
        rows = [(encoded, {"mask": beside["semantic"], "n": i}) for i, (encoded, beside) in enumerate(samples())]
        chain = v2.Compose([v2.Resize((32, 40)), v2.RandomHorizontalFlip(0.5), v2.ToImage(),
                            v2.ToDtype(torch.float32, scale=True)])
        (pixels, rest), = DataLoader(Rows(lambda i: rows[i], 4), 4, transform=chain)
        self.assertEqual((pixels.shape, rest["mask"].shape, rest["n"].tolist()),
                         ((4, 3, 32, 40), (4, 32, 40), [0, 1, 2, 3]))
        apart, = DataLoader(Rows(lambda i: samples()[i], 4), 4, transform=chain, as_list=[(1, k) for k in (
            "boxes", "masks", "points", "labels")])
        self.assertEqual([boxes.canvas_size for boxes in apart[1]["boxes"]], [(32, 40)] * 4)

    def test_a_sample_may_be_a_dict_or_a_mask_beside_a_picture(self):
        chain = v2.Compose([v2.Resize((20, 30)), v2.RandomVerticalFlip(1.0)])
        encoded, beside = samples()[0]
        for rows, mask in [([{"image": encoded, "in": [{"mask": beside["semantic"]}]}], lambda b: b["in"][0]["mask"]),
                           ([(encoded, beside["semantic"])], lambda b: b[1])]:
            batch = next(iter(DataLoader(Rows(lambda i: rows[i], 1), 1, transform=chain)))
            expected = F.vertical_flip(F.resize(beside["semantic"], [20, 30]))
            self.assertTrue(torch.equal(mask(batch)[0], expected.as_subclass(torch.Tensor)))

    def test_a_picture_may_be_an_image_of_tv_tensors(self):
        encoded, beside = samples(count=1)[0]
        chain = v2.Compose([v2.RandomIoUCrop(), v2.Resize((20, 30)), v2.ToImage()])
        for mode in ("RGB", "L"):
            pixels = F.pil_to_tensor(decoded(encoded).convert(mode))
            made = []
            for given in (tv_tensors.Image(pixels), pixels.permute(1, 2, 0).numpy()):
                rows = Rows(lambda i: (given, {"boxes": beside["boxes"]}), 2)
                made.append(list(DataLoader(rows, 2, transform=chain, collate_fn=as_listed))[0])
            for mine, expected in zip(*made, strict=True):
                self.assertTrue(torch.equal(mine[0], expected[0]))
                self.assertEqual(mine[0].shape, (len(mode), 20, 30))
                self.assertTrue(torch.equal(mine[1]["boxes"], expected[1]["boxes"]))

    def test_transforms_of_the_engine_move_boxes_too_and_exif_turns_them(self):
        encoded, beside = samples(count=1)[0]
        size = beside["boxes"].canvas_size
        turned = decoded(encoded)
        exif = Image.Exif()
        for orientation in range(1, 9):
            exif[0x0112] = orientation
            out = io.BytesIO()
            turned.save(out, "JPEG", exif=exif)
            transform = [data.Decode(exif_orientation="apply"), data.Pad([1, 2, 3, 4])]
            rows = Rows(lambda i: (out.getvalue(), {"mask": beside["semantic"], "boxes": beside["boxes"]}), 1)
            pixels, rest = next(iter(DataLoader(rows, 1, transform=transform, collate_fn=lambda batch: batch[0])))
            way = {2: lambda m: m[:, ::-1], 3: lambda m: m[::-1, ::-1], 4: lambda m: m[::-1], 5: lambda m: m.T,
                   6: lambda m: np.rot90(m, -1), 7: lambda m: m.T[::-1, ::-1], 8: lambda m: np.rot90(m)}
            expected = np.pad(way.get(orientation, lambda m: m)(beside["semantic"].numpy()), ((2, 4), (1, 3)))
            self.assertTrue((rest["mask"].numpy() == expected).all(), orientation)
            self.assertEqual(tuple(pixels.shape[-2:]), rest["boxes"].canvas_size)
            # A mask that is a box shows where the box goes.
            x0, y0, x1, y1 = (int(v) for v in beside["boxes"][0])
            drawn = np.zeros(size, np.uint8)
            drawn[y0:y1, x0:x1] = 1
            at = np.argwhere(np.pad(way.get(orientation, lambda m: m)(drawn), ((2, 4), (1, 3))))
            (top, left), (bottom, right) = at.min(0), at.max(0) + 1
            self.assertEqual(rest["boxes"][0].tolist(), [left, top, right, bottom], orientation)

    def test_what_was_drawn_does_not_depend_on_workers_and_goes_on_from_a_state(self):
        chain = v2.Compose([v2.RandomIoUCrop(), v2.RandomHorizontalFlip(), v2.Resize((24, 24)), v2.SanitizeBoundingBoxes()])
        rows = samples(count=8)

        def made(loader):
            return [(pixels, rest["boxes"]) for batch in loader for pixels, rest in batch]

        def loader(workers):
            return DataLoader(Rows(lambda i: rows[i], 8), 2, shuffle=True, seed=3, transform=chain, num_workers=workers,
                              collate_fn=as_listed)

        one = loader(1)
        whole = made(one)
        del one
        first = loader(3)
        stopped = iter(first)
        seen = [sample for _ in range(2) for sample in next(stopped)]
        state = first.state_dict()
        del first, stopped  # another loader in this process would have another name for its data set
        again = loader(2)
        again.load_state_dict(state)
        both = [(pixels, rest["boxes"]) for pixels, rest in seen] + made(again)
        for (a, boxes_a), (b, boxes_b) in zip(whole, both, strict=True):
            self.assertTrue(torch.equal(a, b) and torch.equal(boxes_a, boxes_b))


def grey_of_two_bits(values):
    """A PNG that Pillow scales to 0 to 255, of values from 0 to 3."""
    height, width = values.shape
    rows = [np.packbits(np.stack([row >> 1 & 1, row & 1], 1).reshape(-1)).tobytes() for row in values]

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 2, 0, 0, 0, 0)) + \
        chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))) + chunk(b"IEND", b"")


class OwnTransforms(unittest.TestCase):
    """Data sets of torchvision's that bring joint transforms."""

    @classmethod
    def setUpClass(cls):
        import tempfile

        cls.folder = tempfile.TemporaryDirectory(prefix="ridgeline-voc-")
        cls.addClassCleanup(cls.folder.cleanup)
        root = f"{cls.folder.name}/VOCdevkit/VOC2012"
        for part in ("JPEGImages", "SegmentationClass", "Annotations", "ImageSets/Segmentation", "ImageSets/Main"):
            os.makedirs(f"{root}/{part}")
        names = []
        for i in range(5):
            rng = np.random.default_rng(i)
            names.append(f"photo{i}")
            with open(f"{root}/JPEGImages/{names[-1]}.jpg", "wb") as file:
                file.write(picture(rng, 50, 60 + i))
            mask = Image.fromarray(rng.integers(0, 21, (50, 60 + i), dtype=np.uint8))
            if i % 2:  # as VOC has them
                mask.putpalette(rng.bytes(768))
            mask.save(f"{root}/SegmentationClass/{names[-1]}.png")
            with open(f"{root}/Annotations/{names[-1]}.xml", "w") as file:
                file.write(f"<annotation><size><width>{60 + i}</width><height>50</height></size><object><name>dog</name>"
                           f"<bndbox><xmin>{5 + i}</xmin><ymin>7</ymin><xmax>40</xmax><ymax>44</ymax></bndbox></object>"
                           "</annotation>")
        for part in ("Segmentation", "Main"):
            with open(f"{root}/ImageSets/{part}/train.txt", "w") as file:
                file.write("\n".join(names))

    def wrapped(self, kind, chain):
        return torchvision.datasets.wrap_dataset_for_transforms_v2(
            getattr(torchvision.datasets, kind)(self.folder.name, "2012", "train", transforms=chain))

    @needs_pillows_pixels
    def test_the_engine_runs_them_and_gives_what_the_data_set_would(self):
        chain = v2.Compose([v2.Resize((32, 40)), v2.RandomHorizontalFlip(1.0), v2.ToImage(),
                            v2.ToDtype(torch.float32, scale=True)])
        for kind in ("VOCSegmentation", "VOCDetection"):
            dataset = self.wrapped(kind, chain)
            for given, count in ((dataset, 5), (torch.utils.data.Subset(dataset, [3, 1]), 2)):
                loader = DataLoader(given, 2, collate_fn=as_listed)
                mine = [sample for batch in loader for sample in batch]
                self.assertTrue(loader.stats())  # the engine made them
                self.assertEqual(len(mine), count)
                for i, (pixels, rest) in enumerate(mine):
                    image, expected = given[i]
                    self.assertIs(type(pixels), type(image))
                    self.assertLess(float((pixels - image).abs().max()), 0.01)  # tensors and PIL resize apart
                    for a, b in [(rest, expected)] if kind == "VOCSegmentation" else [
                            (rest[key], expected[key]) for key in ("boxes", "labels")]:
                        self.assertTrue(torch.equal(a, b) and type(a) is type(b))

    def test_masks_are_pils_however_a_file_stores_them(self):
        random = np.random.default_rng(7)
        values = random.integers(0, 2, (50, 60), np.uint8)
        chain = v2.Compose([v2.Resize((25, 30)), v2.ToImage()])
        indices = Image.fromarray(values)
        indices.putpalette(random.bytes(768))
        kinds = {"grey": Image.fromarray(values), "palette": indices, "bits": Image.fromarray(values * 255).convert("1"),
                 "wide": Image.fromarray(values.astype(np.uint16) * 40000), "two bits": grey_of_two_bits(values),
                 "jpeg": Image.fromarray(values * 255)}
        for name, mask in kinds.items():
            dataset = self.wrapped("VOCSegmentation", chain)
            path = os.path.join(self.folder.name, "mask.png")
            if isinstance(mask, bytes):
                with open(path, "wb") as file:
                    file.write(mask)
            else:
                mask.save(path, "JPEG" if name == "jpeg" else "PNG", **({"bits": 1} if name == "palette" else {}))
            part = torch.utils.data.Subset(dataset, [0])
            with self.subTest(name), mock.patch.object(type(dataset._dataset), "masks", [path] * 5):
                (_, got), = (sample for batch in DataLoader(part, 1, collate_fn=as_listed) for sample in batch)
                _, expected = part[0]
                self.assertEqual((got.dtype, type(got)), (expected.dtype, type(expected)))
                self.assertTrue(torch.equal(got, expected))

    @needs_pillows_pixels
    def test_of_coco_too_whose_files_the_engine_reads(self):
        class Annotations:  # of pycocotools, as much as torchvision asks for
            def __init__(self, file):
                self.imgs = {7 + i: f"JPEGImages/photo{i}.jpg" for i in range(5)}

            def loadImgs(self, number):
                return [{"file_name": self.imgs[number]}]

            def getAnnIds(self, number):
                return [number]

            def loadAnns(self, numbers):
                return [{"bbox": [3, 4, 20, 30], "category_id": number, "image_id": number} for number in numbers]

        modules = {"pycocotools": mock.Mock(), "pycocotools.coco": mock.Mock(COCO=Annotations)}
        with mock.patch.dict("sys.modules", modules):
            coco = torchvision.datasets.CocoDetection(f"{self.folder.name}/VOCdevkit/VOC2012", "", transforms=v2.Compose([
                v2.Resize((25, 30)), v2.RandomHorizontalFlip(1.0), v2.ToImage()]))
            dataset = torchvision.datasets.wrap_dataset_for_transforms_v2(coco, target_keys=["boxes", "labels"])
        with mock.patch.object(Image.Image, "convert", side_effect=AssertionError("decoded by PIL")):
            loader = DataLoader(dataset, 5, collate_fn=as_listed)
            made, = loader
        self.assertTrue(loader.stats())
        for i, (pixels, rest) in enumerate(made):
            image, expected = dataset[i]
            self.assertEqual(int((pixels.int() - image.int()).abs().max()) // 4, 0)  # tensors and PIL resize apart
            self.assertTrue(torch.equal(rest["boxes"], expected["boxes"]))
            self.assertEqual(rest["labels"].tolist(), [7 + i])

    def test_what_the_engine_has_nothing_for_runs_in_python_which_is_said(self):
        dataset = self.wrapped("VOCSegmentation", v2.Compose([v2.ElasticTransform(), v2.Resize((8, 8)), v2.ToImage()]))
        with self.assertWarnsRegex(UserWarning, "ElasticTransform cannot be translated.*run in Python"):
            loader = DataLoader(dataset, 5)
        (pixels, masks), = loader
        self.assertEqual((pixels.shape, masks.shape, loader.stats()), ((5, 3, 8, 8), (5, 1, 8, 8), {}))


class Refused(unittest.TestCase):
    def assert_refused(self, words, row, transform, error=ridgeline.ArgumentError, **options):
        with self.assertRaisesRegex(error, words), warnings.catch_warnings():
            list(DataLoader(Rows(lambda i: row, 1), 1, transform=transform, collate_fn=as_listed, **options))

    def test_by_name_and_reason(self):
        encoded, beside = samples(count=1)[0]
        boxes, mask = beside["boxes"], beside["semantic"]
        for words, row, transform in [
            ("ElasticTransform.*no such operation", (encoded, boxes), v2.ElasticTransform()),
            ("RandAugment.*moves pixels but no Mask, in torchvision neither", (encoded, mask), v2.RandAugment()),
            ("RandomIoUCrop.*no BoundingBoxes", (encoded, mask), v2.RandomIoUCrop()),
            ("SanitizeBoundingBoxes.*no boxes", (encoded, 3), v2.SanitizeBoundingBoxes()),
            ("SanitizeBoundingBoxes.*boxes that it drops would guide the RandomIoUCrop", (encoded, beside),
             v2.Compose([v2.SanitizeBoundingBoxes(), v2.RandomApply([v2.RandomIoUCrop()])])),
            ("SetClampingMode.*beyond the picture's borders", (encoded, beside),
             v2.Compose([v2.SetClampingMode(None), v2.RandomIoUCrop()])),
            ("Pad.*several numbers, masks take one", (encoded, mask), v2.Pad(3, fill=(1, 2, 3))),
            (r"\[1\] is Image of tv_tensors beside the picture", (encoded, tv_tensors.Image(torch.zeros(3, 4, 4))),
             v2.RandomHorizontalFlip()),
            ("moves pixels in ways that image_geometry", (encoded, mask), data.RandAugment()),
        ]:
            with self.subTest(words):
                self.assert_refused(words, row, transform)
        self.assert_refused("follows one picture", {"a": encoded, "b": encoded, "mask": mask}, v2.CenterCrop(8),
                            image=["a", "b"])
        small = tv_tensors.Mask(torch.zeros(3, 4))
        self.assert_refused(r"sample 0: its Mask lies on a canvas of 3x4, its picture has", (encoded, small),
                            v2.CenterCrop(8), ridgeline.RunError)

    def test_or_runs_in_python_as_a_whole_where_that_is_asked_for(self):
        encoded, beside = samples(count=1)[0]
        rows = Rows(lambda i: (encoded, {"mask": beside["semantic"], "boxes": beside["boxes"]}), 2)
        chain = v2.Compose([v2.Lambda(lambda value: value), v2.Resize((20, 24)), v2.ToImage()])
        with self.assertWarnsRegex(UserWarning, "Lambda cannot be translated.*on the whole sample"):
            loader = DataLoader(rows, 2, transform=chain, untranslatable="python")
        (pixels, rest), = loader
        image, expected = chain((decoded(encoded), rows[0][1]))
        self.assertTrue(torch.equal(pixels[0], image.as_subclass(torch.Tensor)))
        self.assertTrue(torch.equal(rest["mask"][0], expected["mask"].as_subclass(torch.Tensor)))
        self.assertTrue(torch.equal(rest["boxes"][0], expected["boxes"].as_subclass(torch.Tensor)))


if __name__ == "__main__":
    unittest.main()
