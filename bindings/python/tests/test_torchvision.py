"""torchvision's transforms, translated: pixels equal those of torchvision on PIL images, parameters fixed."""

import io
import random
import unittest

import numpy as np

try:
    import torch
    from PIL import Image
    from torchvision import transforms as v1
    from torchvision.transforms import v2
except ImportError:
    raise unittest.SkipTest("PyTorch and torchvision are not installed")

import ridgeline
from ridgeline import data
from ridgeline.data._torchvision import translate

from support import jpeg, needs_pillows_pixels

Mode = v1.InterpolationMode


def pictures(count=6):
    rng = np.random.default_rng(4)
    return [jpeg(rng, int(rng.integers(40, 120)), int(rng.integers(40, 120))) for _ in range(count)]


def ours(encoded, transforms):
    made = data.InMemory({"image": encoded})
    if transforms:
        made = made.map(*transforms)
    replayer = data.Replayer(made)
    return [replayer.sample(0, i)["image"] for i in range(len(encoded))]


def theirs(encoded, transform):
    results = []
    for picture in encoded:
        value = transform(Image.open(io.BytesIO(picture)).convert("RGB"))
        value = value.numpy().transpose(1, 2, 0) if isinstance(value, torch.Tensor) else np.asarray(value)
        results.append(value[:, :, None] if value.ndim == 2 else value)
    return results


def first_steps(draw, t):
    """To a common size."""
    filters = [Mode.BILINEAR, Mode.BICUBIC, Mode.NEAREST, Mode.LANCZOS, Mode.BOX]
    size = (draw.randrange(20, 70), draw.randrange(20, 70))
    return draw.choice([
        lambda: [t.Resize(size, interpolation=draw.choice(filters))],
        lambda: [t.Resize(draw.randrange(30, 80)), t.CenterCrop(draw.randrange(16, 60))],
        lambda: [t.Resize(size[0]), t.CenterCrop(size)],
        lambda: [t.CenterCrop(size), t.Resize(draw.randrange(20, 40))],
    ])()


def fixed_step(draw, t):
    """One whose random parameters can only come out one way."""
    yes_or_no = draw.choice([0.0, 1.0])
    fill = draw.randrange(256)
    warps = [Mode.NEAREST, Mode.BILINEAR, Mode.BICUBIC]
    jitter = {draw.choice(["brightness", "contrast", "saturation"]): (f := draw.uniform(0, 2.5), f)}
    if draw.random() < 0.3:
        jitter = {"hue": (h := draw.uniform(-0.5, 0.5), h)}
    return draw.choice([
        lambda: t.RandomHorizontalFlip(yes_or_no),
        lambda: t.RandomVerticalFlip(yes_or_no),
        lambda: t.RandomInvert(yes_or_no),
        lambda: t.RandomPosterize(draw.randrange(1, 9), yes_or_no),
        lambda: t.RandomSolarize(float(fill), yes_or_no),
        lambda: t.RandomAdjustSharpness(draw.uniform(0, 3), yes_or_no),
        lambda: t.RandomAutocontrast(yes_or_no),
        lambda: t.RandomEqualize(yes_or_no),
        lambda: t.RandomGrayscale(yes_or_no),
        lambda: t.Grayscale(3),
        lambda: t.ColorJitter(**jitter),
        lambda: t.Pad(draw.randrange(6), fill=fill, padding_mode="constant"),
        lambda: t.Pad([draw.randrange(6), draw.randrange(6)], padding_mode="reflect"),
        lambda: t.Pad([draw.randrange(6) for _ in range(4)], padding_mode="edge"),
        lambda: t.Pad(draw.randrange(6), padding_mode="symmetric"),
        lambda: t.RandomRotation((right := 90 * draw.randrange(4), right), expand=True),
        lambda: t.RandomRotation((180, 180), interpolation=draw.choice(warps), fill=fill),
        lambda: t.CenterCrop(draw.randrange(10, 90)),
        lambda: t.RandomApply([t.RandomHorizontalFlip(1.0), t.RandomInvert(1.0)], yes_or_no),
        lambda: t.RandomChoice([t.RandomInvert(1.0), t.RandomEqualize(1.0)], p=[yes_or_no, 1 - yes_or_no]),
    ])()


def blended_step(draw, t):
    """One that blends neighbours with weights of any size: a sum that ends near a whole number may round otherwise."""
    angle, sigma, scale = draw.uniform(-180, 180), draw.uniform(0.2, 3), draw.uniform(0.5, 2)
    way = draw.choice([Mode.NEAREST, Mode.BILINEAR, Mode.BICUBIC])
    return draw.choice([
        lambda: t.RandomRotation((angle, angle), interpolation=way, fill=draw.randrange(256)),
        lambda: t.RandomRotation((angle, angle), interpolation=way, expand=True),
        lambda: t.RandomRotation((angle, angle), interpolation=way, center=(draw.randrange(20), draw.randrange(20))),
        lambda: t.RandomAffine((angle, angle), scale=(scale, scale), shear=(5, 5), interpolation=way, fill=9),
        lambda: t.GaussianBlur((draw.choice([1, 3, 5, 7]), draw.choice([1, 3, 5])), (sigma, sigma)),
    ])()


class Bits(unittest.TestCase):
    @needs_pillows_pixels
    def test_a_thousand_random_chains_have_torchvisions_pixels(self):
        draw = random.Random(11)
        encoded = pictures()
        for i in range(1000):
            t = draw.choice([v1, v2])
            chain = first_steps(draw, t) + [fixed_step(draw, t) for _ in range(draw.randrange(4))]
            if draw.random() < 0.5:
                chain.append(t.ToTensor() if t is v1 else v1.ToTensor())
            composed = t.Compose(chain)
            chosen = draw.sample(encoded, 2)
            mine = ours(chosen, data.from_torchvision(composed))
            for a, b in zip(mine, theirs(chosen, composed)):
                self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype), f"chain {i}: {composed}")
                self.assertTrue((a == b).all(), f"chain {i} differs at {np.argwhere(a != b)[:3]}: {composed}")

    @needs_pillows_pixels
    def test_rotations_warps_and_blurs_differ_in_a_few_values_of_ten_thousand_at_most(self):
        draw = random.Random(5)
        encoded = pictures()
        values = differ = 0
        for i in range(400):
            t = draw.choice([v1, v2])
            composed = t.Compose([t.Resize((draw.randrange(20, 70), draw.randrange(20, 70))), blended_step(draw, t)])
            chosen = draw.sample(encoded, 2)
            for a, b in zip(ours(chosen, data.from_torchvision(composed)), theirs(chosen, composed)):
                self.assertEqual(a.shape, b.shape, composed)
                values += a.size
                differ += int((a != b).sum())
                self.assertLess((a != b).sum(), max(9, a.size / 1000), composed)
        self.assertLess(differ / values, 1e-4)

    @needs_pillows_pixels
    def test_normalized_floats_differ_by_one_rounding_at_most(self):
        t = v1.Compose([v1.Resize((33, 34)), v1.ToTensor(), v1.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])
        encoded = pictures()
        for a, b in zip(ours(encoded, data.from_torchvision(t)), theirs(encoded, t)):
            self.assertLess(np.abs(a - b).max(), 1e-6)

    def test_random_crops_are_crops_that_torchvision_could_draw(self):
        """RandomResizedCrop of one scale and ratio on a square picture has only its place left to draw."""
        rng = np.random.default_rng(0)
        picture = [jpeg(rng, 64, 64)] * 5
        t = v1.Compose([v1.RandomResizedCrop(32, scale=(0.25, 0.25), ratio=(1.0, 1.0))])
        whole = np.asarray(Image.open(io.BytesIO(picture[0])).convert("RGB"))
        for got in ours(picture, data.from_torchvision(t)):
            places = [(y, x) for y in range(33) for x in range(33) if (whole[y:y + 32, x:x + 32] == got).all()]
            self.assertTrue(places)

    def test_grey_pictures_of_one_channel(self):
        rng = np.random.default_rng(0)
        pixels = rng.integers(0, 256, (4, 28, 28, 1), dtype=np.uint8)
        t = v1.Compose([v1.Pad(2), v1.ToTensor(), v1.Normalize((0.1307,), (0.3081,))])
        got = data.Replayer(data.InMemory({"image": pixels}).map(*data.from_torchvision(t, channels=1)))
        for i in range(4):
            expected = t(Image.fromarray(pixels[i, :, :, 0])).numpy()
            self.assertLess(np.abs(got.sample(0, i)["image"].transpose(2, 0, 1) - expected).max(), 1e-6)

    def test_a_choice_may_be_to_do_nothing(self):
        pixels = np.random.default_rng(0).integers(0, 256, (32, 5, 7, 3), dtype=np.uint8)
        flip, invert = v2.RandomHorizontalFlip(1.0), v2.RandomInvert(1.0)
        for t, allowed in ((v2.RandomChoice([v2.Identity(), flip]), lambda x: [x, x[:, ::-1]]),
                           (v2.RandomOrder([v2.Identity(), invert]), lambda x: [255 - x]),
                           (v2.RandomApply([v2.Identity()]), lambda x: [x])):
            with self.subTest(str(t)):
                got = data.Replayer(data.InMemory({"image": pixels}).map(*data.from_torchvision(v2.Compose([t]))))
                seen = set()
                for i, x in enumerate(pixels):
                    equal = [(got.sample(0, i)["image"] == y).all() for y in allowed(x)]
                    self.assertEqual(sum(equal), 1)
                    seen.add(equal.index(True))
                self.assertEqual(len(seen), len(allowed(pixels[0])))


class Chains(unittest.TestCase):
    def translated(self, *steps):
        return [t.op for t in data.from_torchvision(v2.Compose(list(steps)))]

    def test_the_usual_recipes(self):
        mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
        recipe = ["random_resized_crop", "random_horizontal_flip", "normalize"]
        self.assertEqual(self.translated(v2.ToImage(), v2.RandomResizedCrop(224, antialias=True),
                                         v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True),
                                         v2.Normalize(mean, std)), recipe)
        self.assertEqual(self.translated(v1.RandomResizedCrop(224), v1.RandomHorizontalFlip(), v1.ToTensor(),
                                         v1.Normalize(mean, std)), recipe)
        self.assertEqual(self.translated(v1.Resize(256), v1.CenterCrop(224), v1.ToTensor()),
                         ["resize", "center_crop", "normalize"])
        self.assertEqual(self.translated(v1.TrivialAugmentWide(), v1.PILToTensor(),
                                         v2.ConvertImageDtype(torch.float16)),
                         ["trivial_augment_wide", "normalize", "type_cast"])
        self.assertEqual(self.translated(v1.AutoAugment(), v1.RandAugment(2, 7), v2.RandomCrop(32, padding=4),
                                         v1.ToTensor(), v1.RandomErasing(value=0), v1.Normalize(mean, std),
                                         v1.RandomErasing(value="random")),
                         ["auto_augment", "rand_augment", "random_crop", "random_erasing", "normalize",
                          "random_erasing"])
        self.assertEqual(self.translated(v2.RandomCrop(32, padding=[1, 2], padding_mode="reflect"),
                                         v1.RandomPerspective(0.3)), ["pad", "random_crop", "random_perspective"])
        self.assertEqual([t.op for t in data.from_torchvision(torch.nn.Sequential(v1.CenterCrop(5)))], ["center_crop"])

    def test_parameters_arrive(self):
        made = data.from_torchvision(v1.Compose([v1.RandomAffine(10, (0.1, 0.2), (0.5, 1.5), 7, fill=9),
                                                 v1.ColorJitter(0.4, 0, (0.2, 0.3), 0.1),
                                                 v1.RandomPerspective(0.3, 0.2)]))
        self.assertEqual(made[0].args["degrees"], [-10, 10])
        self.assertEqual((made[0].args["translate"], made[0].args["scale"]), ([0.1, 0.2], [0.5, 1.5]))
        self.assertEqual((made[0].args["shear"][:2], made[0].args["fill"]), ([-7, 7], [9]))
        self.assertEqual((made[1].args["brightness"], made[1].args["contrast"]), ([0.6, 1.4], []))
        self.assertEqual((made[1].args["saturation"], made[1].args["hue"]), ([0.2, 0.3], [-0.1, 0.1]))
        self.assertEqual((made[2].args["distortion_scale"], made[2].args["p"]), (0.3, 0.2))

    def test_what_cannot_be_translated_is_named_with_the_reason(self):
        for step, words in [
            (v1.Lambda(lambda x: x), "Lambda.*no such operation"),
            (v1.FiveCrop(10), "FiveCrop"),
            (v1.ElasticTransform(), "ElasticTransform"),
            (v1.Resize(20, max_size=30), "max_size"),
            (v2.Compose([v1.ToTensor(), v1.Resize(20)]), "Resize.*after the conversion"),
            (v2.Compose([v1.ToTensor(), v1.ColorJitter(0.4)]), "ColorJitter.*after the conversion"),
            (v2.Compose([v2.ToImage(), v2.Resize(20, antialias=False)]), "antialias"),
            (v2.ToDtype(torch.float32), "scale=True"),
            (v1.Normalize((0.5,), (0.5,)), "ToTensor"),
            (v2.Compose([v1.ToTensor(), v1.RandomErasing(value="random")]), "after Normalize"),
            (v1.RandomApply([v1.ToTensor()]), "changes the type"),
            (torch.nn.ReLU(), "ReLU"),
        ]:
            with self.subTest(words), self.assertRaisesRegex(ridgeline.ArgumentError, words):
                data.from_torchvision(step)

    def test_a_class_of_the_users_own_is_not_taken_for_its_base(self):
        class Resize(v1.Resize):
            def forward(self, image):
                return image

        with self.assertRaisesRegex(ridgeline.ArgumentError, "Resize"):
            data.from_torchvision(Resize(3))

    @needs_pillows_pixels
    def test_the_rest_of_a_chain_can_run_in_python(self):
        encoded = pictures(2)
        for chain, takes in [([v1.Resize((20, 22)), v1.Lambda(lambda x: x.transpose(0)), v1.ToTensor()], "pil"),
                             ([v1.Resize((20, 22)), v1.ToTensor(), v1.Lambda(lambda x: x * 2 - 1)], "tensor f32"),
                             ([v2.ToImage(), v2.Resize((20, 22)), v1.Lambda(lambda x: x // 2)], "tensor u8")]:
            made = translate(v1.Compose(chain), untranslatable="python")
            self.assertEqual((made.takes, type(made.python[0]).__name__), (takes, "Lambda"))
            for mine, expected in zip(ours(encoded, made.transforms), theirs(encoded, v1.Compose(chain))):
                self.assertTrue(np.array_equal(made.call_python(mine), expected) or takes == "tensor u8")


if __name__ == "__main__":
    unittest.main()
