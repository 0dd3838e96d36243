"""Files that nobody would wish for: every one is an exception, a skipped row or a replaced one, and never more."""

import json
import os
import pathlib
import tempfile
import unittest

import ridgeline
from ridgeline import data

from support import PACK, Folder, needs_pack


@needs_pack
class Awkward(Folder):
    def test_every_bad_file_is_raised_skipped_or_replaced(self):
        paths = sorted(str(p) for p in (PACK / "awkward").rglob("*")
                       if p.suffix.lower() in (".jpg", ".jpeg", ".png") and p.is_file())
        self.assertGreater(len(paths), 300)
        made = data.FileList(paths, range(len(paths))).map(data.Resize((16, 16)))
        alone = data.Replayer(made)
        bad = set()
        for i in range(len(paths)):
            try:
                alone.sample(0, i)
            except ridgeline.RunError as e:
                self.assertTrue(str(e))
                bad.add(i)
        self.assertGreater(len(bad), 30)
        self.assertLess(len(bad), len(paths) - 30)
        batched = made.batch(32)
        with tempfile.TemporaryDirectory() as work:
            it = data.Iterator(batched, bad_samples="skip", quarantine=f"{work}/bad.jsonl")
            kept = [record for batch in it for record in batch.records]
            self.assertEqual(kept, [i for i in range(len(paths)) if i not in bad])
            self.assertEqual(it.bad_samples(), len(bad))
            lines = pathlib.Path(f"{work}/bad.jsonl").read_text().splitlines()
            self.assertEqual(len(lines), len(bad))
            self.assertTrue(all(json.loads(line)["reason"] for line in lines))
        replaced = data.Iterator(batched, bad_samples="replace")
        self.assertEqual(sum(int(batch["mask"].sum()) for batch in replaced), len(paths))
        self.assertGreaterEqual(replaced.bad_samples(), len(bad))  # what replaces may be bad, too
        first = min(bad)
        it = data.Iterator(made.batch(1))
        for _ in range(first):
            next(it)
        with self.assertRaises(ridgeline.RunError):
            next(it)


class Broken(Folder):
    def test_a_broken_file_is_named(self):
        path = f"{self.dir}/class1/zzz.jpg"
        with open(f"{self.dir}/class1/000.jpg", "rb") as file:
            content = file.read()
        with open(path, "wb") as file:
            file.write(content[: len(content) // 2])
        try:
            made = data.ImageFolder(self.dir).map(data.Resize((16, 16))).batch(4)
            with self.assertRaisesRegex(ridgeline.RunError, "class1/zzz.jpg"):
                list(data.Iterator(made))
            rows = sum(int(b["mask"].sum()) for b in data.Iterator(made, bad_samples="skip"))
            self.assertEqual(rows, 30)
        finally:
            os.remove(path)


if __name__ == "__main__":
    unittest.main()
