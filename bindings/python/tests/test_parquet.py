"""Images in Parquet files: the same samples as from the files that they were made of."""

import json
import os
import tempfile
import unittest

import numpy as np

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    raise unittest.SkipTest("pyarrow is not installed")

import ridgeline
from ridgeline import data

from support import Folder, digest_of


class Parquet(Folder):
    def setUp(self):
        self.files = [(f"{self.dir}/{name}/{file}", label) for label, name in enumerate(sorted(os.listdir(self.dir)))
                      for file in sorted(os.listdir(f"{self.dir}/{name}"))]
        self.out = tempfile.mkdtemp(prefix="ridgeline-parquet-")

    def write(self, name, rows, structs=True, described=False, group=4, image="image", label="label",
              names=("a", "b", "c")):
        images = []
        for path, _ in rows:
            with open(path, "rb") as file:
                content = file.read()
            images.append({"bytes": content, "path": None} if structs else content)
        kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())]) if structs else pa.large_binary()
        table = pa.table({image: pa.array(images, kind), "id": pa.array(range(len(rows))),
                          label: pa.array([number for _, number in rows], pa.int64())})
        if described:
            features = {image: {"_type": "Image"}, label: {"_type": "ClassLabel", "names": list(names)}}
            table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
        path = f"{self.out}/{name}"
        pq.write_table(table, path, row_group_size=group)
        return path

    def digest(self, dataset):
        batched = dataset.shuffle().map(data.RandomResizedCrop(24)).batch(7, drop_remainder=True).with_seed(3)
        return digest_of(data.Iterator(batched, epochs=2, workers=3))

    def test_the_samples_of_the_folder(self):
        expected = self.digest(data.ImageFolder(self.dir))
        one = self.write("one.parquet", self.files)
        self.assertEqual(self.digest(data.FromParquet(one)), expected)
        self.assertEqual(self.digest(data.FromParquet(one, memory_limit=0)), expected)
        self.write("part-0.parquet", self.files[:13], structs=False, group=5)
        self.write("part-1.parquet", self.files[13:], structs=False, group=100)
        self.assertEqual(self.digest(data.FromParquet(f"{self.out}/part-*.parquet")), expected)

    def test_hugging_faces_description_names_columns_and_classes(self):
        path = self.write("hf.parquet", self.files, described=True, image="img", label="fine")
        self.assertEqual(self.digest(data.FromParquet(path)), self.digest(data.ImageFolder(self.dir)))
        loader = data.DataLoader(path, 5, output="numpy", transform=[data.Resize((8, 8))])
        self.assertEqual(loader.classes, ["a", "b", "c"])
        labels = np.concatenate([batch[1] for batch in loader])
        self.assertEqual(labels.tolist(), [label for _, label in self.files])

    def test_labels_of_several_files_go_by_the_names_of_classes(self):
        self.write("order-0.parquet", self.files[:9], described=True)
        turned = [(path, 2 - label) for path, label in self.files[9:]]
        self.write("order-1.parquet", turned, described=True, names=("c", "b", "a"))
        self.assertEqual(self.digest(data.FromParquet(f"{self.out}/order-*.parquet")),
                         self.digest(data.ImageFolder(self.dir)))

    def test_files_whose_classes_cannot_be_told_are_refused(self):
        first = self.write("a.parquet", self.files[:5], described=True)
        other = self.write("b.parquet", self.files[5:8], described=True, names=("a", "b", "dog"))
        silent = self.write("c.parquet", self.files[5:8])
        for files, text in (([first, other], "b.parquet has the class 'dog'"),
                            ([first, silent], "c.parquet does not name its classes")):
            with self.assertRaises(ridgeline.ArgumentError) as raised:
                data.FromParquet(files)
            self.assertIn(text, str(raised.exception))

    def test_a_label_outside_the_names_is_a_bad_sample_with_file_and_row(self):
        rows = self.files[:4] + [(self.files[4][0], 7), (self.files[5][0], -1)] + self.files[6:8]
        path = self.write("outside.parquet", rows, described=True)
        dataset = data.FromParquet(path).map(data.Resize((8, 8))).batch(8)
        with self.assertRaises(ridgeline.Error) as raised:
            list(data.Iterator(dataset))
        self.assertIn("outside.parquet: row 0 of row group 1 has the label 7", str(raised.exception))
        with_skip = data.Iterator(dataset, bad_samples="skip")
        self.assertEqual(sum(int(batch["mask"].sum()) for batch in with_skip), 6)

    def test_images_that_are_named_by_their_path(self):
        kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        rows = [{"bytes": None, "path": path} for path, _ in self.files]
        labels = pa.array([label for _, label in self.files])
        pq.write_table(pa.table({"image": pa.array(rows, kind), "label": labels}), f"{self.out}/paths.parquet")
        self.assertEqual(self.digest(data.FromParquet(f"{self.out}/paths.parquet")),
                         self.digest(data.ImageFolder(self.dir)))

    def test_what_is_wrong_is_named(self):
        path = self.write("some.parquet", self.files[:5])

        def fails(text, *args, **kwargs):
            with self.assertRaises(ridgeline.ArgumentError) as raised:
                data.FromParquet(*args, **kwargs)
            self.assertIn(text, str(raised.exception))

        fails("no file matches", f"{self.out}/none-*.parquet")
        fails("has no column 'digit': name one with label=, among image, id, label", path, label="digit")
        fails("column 'id' is int64, images must be binary", path, image="id")
        fails("column 'image' is struct", path, label="image")
        with open(f"{self.out}/bad.parquet", "wb") as file:
            file.write(b"PAR1 but nothing else")
        fails("bad.parquet", f"{self.out}/bad.parquet")

    def test_a_row_without_an_image_is_a_bad_sample_with_its_place(self):
        table = pa.table({"image": pa.array([b"x", None], pa.binary()), "label": pa.array([0, 1])})
        pq.write_table(table, f"{self.out}/gap.parquet")
        rows = data.FromParquet(f"{self.out}/gap.parquet").skip(1).batch(1)
        with self.assertRaisesRegex(ridgeline.RunError, "gap.parquet: row 1 of row group 0 has no image"):
            list(data.Iterator(rows))

    def test_other_content_is_another_version(self):
        path = self.write("same.parquet", self.files[:6])
        from ridgeline.data._parquet import ParquetRows

        def version():
            return ParquetRows([path], None, None, 0).version

        before = version()
        self.assertEqual(version(), before)
        self.write("same.parquet", self.files[6:13])
        self.assertNotEqual(version(), before)


if __name__ == "__main__":
    unittest.main()
