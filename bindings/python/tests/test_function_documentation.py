"""The page about functions: its code runs in its order and prints what the page says."""

import contextlib
import io
import os
import re
import unittest

import ridgeline as rl

from support import ROOT


class Page(unittest.TestCase):
    def test_the_code_prints_what_the_page_says(self):
        page = ROOT / "docs" / "python-functions.md"
        if not page.is_file():
            self.skipTest("the documentation is not here")
        self.addCleanup(rl.graph.set_mode, rl.graph.mode())
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(ROOT)  # from where the lines of the page are read
        text = page.read_text(encoding="utf-8")
        names = {"__name__": "page"}
        compared = 0
        for block in re.finditer(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", text, re.M | re.S):
            above = text[:block.start(1)].count("\n")
            told = io.StringIO()
            with contextlib.redirect_stdout(told):
                exec(compile("\n" * above + block[1], "docs/python-functions.md", "exec"), names)
            if block[2] is not None:
                self.assertEqual(told.getvalue().rstrip(), block[2].rstrip())
                compared += 1
        self.assertGreater(compared, 5)


if __name__ == "__main__":
    unittest.main()
