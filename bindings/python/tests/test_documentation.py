"""The pages for users: their code runs as it stands."""

import os
import re
import shutil
import tempfile
import unittest

import numpy as np

from loader_support import torch
from support import ROOT, jpeg

PAGES = ("python-five-minutes", "python-recipes")


class Pages(unittest.TestCase):
    def setUp(self):
        self.before, self.dir = os.getcwd(), tempfile.mkdtemp(prefix="ridgeline-pages-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.addCleanup(os.chdir, self.before)
        rng = np.random.default_rng(5)
        for name in ("rose", "tulip"):
            os.makedirs(f"{self.dir}/flowers/train/{name}")
            for i in range(20):
                with open(f"{self.dir}/flowers/train/{name}/{i:02}.jpg", "wb") as file:
                    file.write(jpeg(rng, 70 + i, 90 - i))
        os.chdir(self.dir)

    def run_page(self, name):
        page = ROOT / "docs" / f"{name}.md"
        if not page.is_file():
            self.skipTest("the documentation is not here")
        text = page.read_text(encoding="utf-8")
        names = {"__name__": name}
        blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S))
        self.assertGreater(len(blocks), 4)
        for block in blocks:
            above = text[:block.start(1)].count("\n")
            exec(compile("\n" * above + block[1], str(page), "exec"), names)

    def test_from_pytorch_in_five_minutes(self):
        torch.manual_seed(0)
        self.run_page("python-five-minutes")

    def test_recipes(self):
        self.run_page("python-recipes")

    def test_the_readme_of_the_package_links_to_nothing_that_a_reader_elsewhere_lacks(self):
        page = ROOT / "bindings" / "python" / "README.md"
        text = page.read_text(encoding="utf-8")
        self.assertEqual([link for link in re.findall(r"\]\(([^)]+)\)", text) if not link.startswith("https://")], [])
        for block in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S):
            compile(block, str(page), "exec")


if __name__ == "__main__":
    unittest.main()
