"""albumentations' transforms: those with an equal in the engine have its pixels, the others run as they are."""

import unittest
import warnings

import numpy as np

try:
    import albumentations as A
    import cv2
    from albumentations.pytorch import ToTensorV2
except ImportError:
    raise unittest.SkipTest("albumentations is not installed")

import ridgeline
from ridgeline import data
from ridgeline.data import DataLoader

from support import Folder

NORMALIZE = A.Normalize()

# The pixels of these do not depend on chance.
FIXED = [
    [A.Resize(20, 31)], [A.Resize(90, 120)], [A.Resize(33, 20, interpolation=cv2.INTER_NEAREST)],
    [A.Resize(20, 24, interpolation=cv2.INTER_AREA)], [A.Resize(80, 91, interpolation=cv2.INTER_AREA)],
    [A.HorizontalFlip(p=1)], [A.VerticalFlip(p=1)], [A.NoOp(), A.InvertImg(p=1)],
    [A.Resize(31, 40), A.CenterCrop(16, 21)], [A.Resize(30, 40), A.Crop(3, 5, 20, 30)],
    [A.Resize(24, 24), A.Transpose(p=1)],
    [A.Pad(3)], [A.Pad((2, 5), border_mode=cv2.BORDER_REFLECT_101)], [A.Pad((1, 2, 3, 4), border_mode=cv2.BORDER_REFLECT)],
    [A.Pad(4, border_mode=cv2.BORDER_REPLICATE)], [A.Pad(2, fill=(10, 20, 30))],
    [A.Resize(21, 30), A.PadIfNeeded(32, 33, border_mode=cv2.BORDER_CONSTANT, fill=7)],
    [A.Posterize(3, p=1)], [A.Solarize((0.4, 0.4), p=1)],
    [A.Sequential([A.Resize(20, 20), A.HorizontalFlip(p=1)], p=1)],
    [A.OneOf([A.HorizontalFlip(p=0.3)], p=1)], [A.OneOrOther(A.VerticalFlip(), A.NoOp(), p=1)],
]

# Draws: what may come out for a picture of 24x24.
DRAWN = [
    ([A.RandomRotate90(p=1)], lambda x: [np.rot90(x, k) for k in range(4)]),
    ([A.D4(p=1)], lambda x: [np.rot90(y, k) for k in range(4) for y in (x, x[::-1])]),
    ([A.HorizontalFlip(p=0.5)], lambda x: [x, x[:, ::-1]]),
    ([A.Transpose(p=0.4)], lambda x: [x, x.swapaxes(0, 1)]),
    ([A.OneOf([A.HorizontalFlip(p=0.2), A.VerticalFlip(p=0.7)], p=0.8)], lambda x: [x, x[:, ::-1], x[::-1]]),
    ([A.Posterize((2, 4), p=1)], lambda x: [x & (0xFF << 8 - bits & 0xFF) for bits in (2, 3, 4)]),
    ([A.RandomCrop(22, 23)], lambda x: [x[t:t + 22, l:l + 23] for t in range(3) for l in range(2)]),
    ([A.Compose([A.InvertImg(p=0.5), A.HorizontalFlip(p=0.5)], p=0.5)],
     lambda x: [y for z in (x, 255 - x) for y in (z, z[:, ::-1])]),
]

IN_PYTHON = [
    A.ColorJitter(), A.RandomBrightnessContrast(), A.GaussianBlur(), A.CoarseDropout(), A.ToGray(), A.Rotate(20),
    A.Affine(), A.SmallestMaxSize(40), A.CenterCrop(8, 8), A.Equalize(mode="pil"), A.Resize(9, 9, p=0.5),
    A.Resize(9, 9, interpolation=cv2.INTER_CUBIC), A.RandomCrop(90, 90, pad_if_needed=True),
    A.OneOf([A.HorizontalFlip(), A.Blur()]), A.Normalize(normalization="image"), A.RandomRotate90(),
    A.Pad(2, border_mode=cv2.BORDER_WRAP), A.SomeOf([A.HorizontalFlip(), A.VerticalFlip()], n=1),
]


class Albumentations(Folder):
    def setUp(self):
        self.rows = data.ImageFolder(self.dir)
        self.whole = data.Replayer(self.rows.map(data.Decode()))

    def image(self, record):
        return np.array(self.whole.sample(0, record)["image"])

    def test_fixed_ones_have_its_pixels(self):
        for chain in FIXED:
            made = data.from_torchvision(A.Compose(chain))
            ours = data.Replayer(self.rows.map(data.Decode(), *made))
            for record in range(0, 30, 3):
                theirs = A.Compose(chain)(image=self.image(record))["image"]
                np.testing.assert_array_equal(np.array(ours.sample(0, record)["image"]), theirs, err_msg=str(chain))

    def test_drawn_ones_give_what_it_may_give_and_all_of_it(self):
        for chain, possible in DRAWN:
            size = A.Resize(24, 24)
            made = data.from_torchvision(A.Compose([size, *chain]))
            ours = data.Replayer(self.rows.map(data.Decode(), *made))
            met = set()
            for epoch in range(4):
                for record in range(30):
                    results = possible(size(image=self.image(record))["image"])
                    got = np.array(ours.sample(epoch, record)["image"])
                    equal = [i for i, one in enumerate(results) if np.array_equal(got, one)]
                    self.assertTrue(equal, chain)
                    met.add(equal[0])
            self.assertEqual(met, set(range(len(results))), chain)

    def test_random_crops_are_parts_that_opencv_resized(self):
        made = data.from_torchvision(A.RandomResizedCrop((20, 28), scale=(0.2, 0.9)))
        ours = data.Replayer(self.rows.map(data.RecordGeometry(), data.Decode(), *made))
        for record in range(30):
            sample = ours.sample(0, record)
            lines = bytes(sample["image_geometry"]).decode().splitlines()
            top, left, height, width = map(int, next(line for line in lines if line.startswith("crop")).split()[1:])
            part = self.image(record)[top:top + height, left:left + width]
            np.testing.assert_array_equal(np.array(sample["image"]), cv2.resize(part, (28, 20)))

    def test_floats_are_its_own_but_for_the_last_bits(self):
        for chain in ([NORMALIZE], [A.Normalize(mean=0.5, std=0.25)], [A.ToFloat(255)],
                      [A.ToFloat(255), A.Normalize(max_pixel_value=1.0)]):
            chain = [A.Resize(16, 18), *chain, ToTensorV2()]
            loader = DataLoader(self.dir, 30, transform=A.Compose(chain), output="numpy", memory_format="contiguous")
            images, _ = next(iter(loader))
            for record in range(30):
                theirs = A.Compose(chain)(image=self.image(record))["image"].numpy()
                self.assertEqual((images[record].shape, images[record].dtype), (theirs.shape, theirs.dtype))
                self.assertLess(float(np.abs(images[record] - theirs).max()), 2e-6)

    def test_all_in_the_engine_says_nothing(self):
        chain = A.Compose([A.RandomResizedCrop((24, 24)), A.HorizontalFlip(), A.RandomRotate90(), NORMALIZE, ToTensorV2()])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            loader = DataLoader(self.dir, 8, transform=chain, output="numpy", seed=2)
        self.assertEqual([images.shape for images, _ in loader], [(8, 24, 24, 3)] * 3 + [(6, 24, 24, 3)])

    def test_what_has_no_equal_runs_in_python_which_is_said_once(self):
        for step in IN_PYTHON:
            chain = [A.HorizontalFlip(p=1), step, A.Resize(16, 18), NORMALIZE, ToTensorV2()]
            with warnings.catch_warnings(record=True) as met:
                warnings.simplefilter("always")
                loader = DataLoader(self.dir, 8, transform=A.Compose(chain), output="numpy")
            if isinstance(step, A.Normalize):
                chain.remove(NORMALIZE)
            said = [str(one.message) for one in met if "cannot be translated" in str(one.message)]
            self.assertEqual(len(said), 1, step)
            self.assertRegex(said[0], f"albumentations' ({type(step).__name__}|Blur) cannot be translated: .*run in Python")
            for images, _ in loader:
                self.assertEqual((images.shape[1:], images.dtype), ((16, 18, 3), np.float32))

    def test_pixels_behind_a_step_in_python_are_its_own(self):
        chain = A.Compose([A.Resize(40, 44), A.ToGray(p=1), A.CenterCrop(20, 22), NORMALIZE, ToTensorV2()])
        with self.assertWarnsRegex(UserWarning, "ToGray"):
            images, _ = next(iter(DataLoader(self.dir, 30, transform=chain, output="numpy", memory_format="contiguous")))
        for record in range(30):
            np.testing.assert_array_equal(images[record], chain(image=self.image(record))["image"].numpy())

    def test_a_data_set_may_bring_them(self):
        import torchvision

        class AsArray:
            def __init__(self, aug):
                self.aug = aug

            def __call__(self, img, *args, **kwargs):
                return self.aug(image=np.array(img))["image"]

        chain = A.Compose([A.Resize(20, 22), A.HorizontalFlip(p=1), ToTensorV2()])
        expected = [chain(image=self.image(record))["image"].numpy() for record in range(30)]
        for transform in (chain, AsArray(chain)):
            loader = DataLoader(torchvision.datasets.ImageFolder(self.dir, transform), 30)
            images, _ = next(iter(loader))
            self.assertTrue(loader.stats())
            np.testing.assert_array_equal(images.numpy(), expected)

    def test_what_moves_boxes_is_left_to_the_data_set(self):
        chain = A.Compose([A.HorizontalFlip()], bbox_params=A.BboxParams("pascal_voc", label_fields=[]))
        with self.assertRaisesRegex(ridgeline.ArgumentError, "albumentations moves bboxes .* let the data set call it"):
            DataLoader(self.dir, 4, transform=chain)

    def test_a_class_of_ones_own_with_the_name_of_one_of_its_is_not_taken_for_that(self):
        class InvertImg(A.ImageOnlyTransform):
            def apply(self, img, **params):
                return img // 2

        for step in (InvertImg(p=1), A.OneOf([InvertImg()], p=1), A.Sequential([InvertImg(p=1)], p=1)):
            with self.assertRaisesRegex(ridgeline.ArgumentError, "InvertImg cannot be translated: the engine has no"):
                data.from_torchvision(A.Compose([step]))

    def test_who_asks_for_an_error_gets_it(self):
        with self.assertRaisesRegex(ridgeline.ArgumentError, "albumentations' GaussianBlur cannot be translated"):
            DataLoader(self.dir, 4, transform=A.Compose([A.GaussianBlur()]), untranslatable="error")


if __name__ == "__main__":
    unittest.main()
