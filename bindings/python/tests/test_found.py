"""What a folder holds is decided as on the command line."""

import os
import shutil
import tempfile

import ridgeline
from ridgeline import data

from support import Folder


class Found(Folder):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="ridgeline-python-")
        self.addCleanup(shutil.rmtree, self.root)

    def link(self, part):
        os.makedirs(os.path.join(self.root, part))
        for name in os.listdir(self.dir):
            os.symlink(os.path.join(self.dir, name), os.path.join(self.root, part, name))

    def test_parts_and_what_is_not_used(self):
        for part in ("Train", "valid", "test"):
            self.link(part)
        open(os.path.join(self.root, "notes.txt"), "w").close()
        found = data.found_data(self.root)
        self.assertEqual([(p["name"], p["use"], p["images"]) for p in found["parts"]],
                         [("train", "training", 30), ("val", "validation", 30), ("test", "evaluate --split=test", 30)])
        self.assertEqual(found["parts"][0]["classes"], ["class0", "class1", "class2"])
        self.assertEqual(found["not_used"], ["1 .txt (no images)"])
        self.assertEqual(len(data.ImageFolder(found["parts"][1]["dir"])), 30)

    def test_names_of_parts_are_no_classes(self):
        for part in ("train", "val"):
            self.link(part)
        with self.assertRaisesRegex(ridgeline.Error, "holds 'train', 'val', names of parts and no classes"):
            len(data.ImageFolder(self.root))
        self.assertEqual(len(data.ImageFolder(self.root, classes=["train", "val"])), 60)
        with self.assertRaisesRegex(ridgeline.Error, "holds no data"):
            data.found_data(tempfile.mkdtemp(dir=self.root))
