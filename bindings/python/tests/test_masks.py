"""read_mask against Pillow, for all that a mask's file may be."""

import concurrent.futures
import io
import os
import pathlib
import tempfile
import unittest

import numpy as np

import ridgeline
from ridgeline import data

try:
    from PIL import Image
except ImportError:
    Image = None


def stored(image, **options):
    stream = io.BytesIO()
    image.save(stream, "PNG", **options)
    return stream.getvalue()


@unittest.skipUnless(Image, "needs Pillow")
class Masks(unittest.TestCase):
    def assert_values(self, file, values):
        mask = data.read_mask(file)
        self.assertEqual((mask.dtype, mask.shape), (values.dtype, values.shape))
        self.assertTrue((mask == values).all())
        return mask

    def test_numbers_are_those_of_the_file(self):
        random = np.random.default_rng(5)
        for height, width in ((1, 1), (1, 70), (33, 1), (40, 41), (200, 317)):
            for bits in (1, 2, 4, 8):
                values = random.integers(0, 1 << bits, (height, width), np.uint8)
                indices = Image.fromarray(values, "L").convert("P")
                indices.putdata(values.reshape(-1).tolist())
                indices.putpalette(random.bytes(3 << bits))
                with self.subTest((height, width), bits=bits):
                    self.assert_values(stored(indices, bits=bits), values)
            grey = random.integers(0, 256, (height, width), np.uint8)
            self.assert_values(stored(Image.fromarray(grey)), grey)
            wide = random.integers(0, 1 << 16, (height, width), np.uint16)
            self.assert_values(stored(Image.fromarray(wide)), wide)
            black = random.integers(0, 2, (height, width), np.uint8)
            self.assert_values(stored(Image.fromarray(black * 255).convert("1")), black)

    def test_files_and_bytes(self):
        values = np.arange(60, dtype=np.uint8).reshape(6, 10)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "máscara.png")
            with open(path, "wb") as file:
                file.write(stored(Image.fromarray(values)))
            for given in (path, pathlib.Path(path)):
                mask = self.assert_values(given, values)
                mask[0, 0] = 9  # the caller's own
            with self.assertRaisesRegex(ridgeline.RunError, r"\[png\] "):  # bytes are a file's content
                data.read_mask(os.fsencode(path))
            with self.assertRaises(TypeError):
                data.read_mask(values)

    def test_what_is_no_mask_is_an_error_with_its_name(self):
        good = stored(Image.fromarray(np.zeros((50, 60), np.uint8)))
        with tempfile.TemporaryDirectory() as folder:
            for words, content in (("3 values a pixel, a mask has one .allowed: grey, palette", stored(Image.new("RGB", (4, 4)))),
                                   ("2 values a pixel", stored(Image.new("LA", (4, 4)))),
                                   ("4 values a pixel", stored(Image.new("RGBA", (4, 4)))),
                                   ("premature end", good[:len(good) - 30]), ("", b""), ("", b"GIF89a")):
                path = os.path.join(folder, "mask.png")
                with open(path, "wb") as file:
                    file.write(content)
                for given, name in ((path, path + ": "), (content, "")):
                    with self.assertRaisesRegex(ridgeline.RunError, rf"^{name}\[png\] {words}"):
                        data.read_mask(given)
        with self.assertRaisesRegex(ridgeline.RunError, "nowhere.png"):
            data.read_mask("nowhere.png")

    def test_many_threads_read(self):
        values = [np.full((300, 400), i, np.uint8) for i in range(40)]
        files = [stored(Image.fromarray(one)) for one in values]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for mask, one in zip(pool.map(data.read_mask, files), values):
                self.assertTrue((mask == one).all())


if __name__ == "__main__":
    unittest.main()
