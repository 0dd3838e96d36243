"""What checks and makes pages, on small pages; and that the questions' answers are three clicks from the README.

    python3 tests/docs/pages_test.py
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNNER = ROOT / "tests" / "docs" / "tutorials.py"
LINK = re.compile(r"\]\(([^)\s#]+\.md)")
sys.path.insert(0, str(ROOT / "scripts"))
import wrap_pages  # noqa: E402


class Tutorials(unittest.TestCase):
    def run_page(self, text):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "build").mkdir()
            program = folder / "build" / "ridgeline"
            program.write_text("#!/bin/sh\necho \"step:   10  loss: 0.5\"\necho \"told $*\"\n")
            program.chmod(0o755)
            (folder / "code.cpp").write_text("int main() {\n  return 0;\n}\n")
            page = folder / "page.md"
            page.write_text(text)
            environment = {**os.environ, "RIDGELINE_TORCH_PYTHON": ""}
            done = subprocess.run([sys.executable, RUNNER, folder, folder / "build", page], capture_output=True, text=True,
                                  env=environment)
            return done.returncode, done.stdout

    def assert_fails(self, text, *words):
        code, output = self.run_page(text)
        self.assertEqual(code, 1, output)
        for word in words:
            self.assertIn(word, output)

    def test_blocks_of_shell_run_one_after_the_other(self):
        code, output = self.run_page(
            "# Page\n```sh\nmkdir made\nagain() { build/ridgeline \"$@\"; }\n```\n```sh\ncd made && cd .. && again train\n```\n"
            "<!-- test: shows -->\n```text\nstep: 10 loss: ...\n...\ntold train\n```\n")
        self.assertEqual(code, 0, output)

    def test_a_command_that_fails_fails_the_page(self):
        self.assert_fails("# Page\n\n```sh\nbuild/ridgeline\nfalse\ntrue\n```\n", "page.md:3", "exit code 1")

    def test_output_that_is_not_printed_fails_the_page(self):
        for shown in ("step: 11 loss: ...", "told train\nstep: 10 loss: 0.5"):
            self.assert_fails(f"```sh\nbuild/ridgeline train\n```\n<!-- test: shows -->\n```text\n{shown}\n```\n", "not printed")

    def test_quoted_code_stands_in_its_file(self):
        quote = "<!-- test: from code.cpp -->\n```cpp\n{}\n```\n"
        self.assertEqual(self.run_page(quote.format("  return 0;"))[0], 0)
        self.assert_fails(quote.format("  return 1;"), "does not hold these lines")
        self.assert_fails(quote.format("return 0;\nint"), "does not hold these lines")

    def test_code_without_a_comment_and_comments_that_nobody_knows_fail_the_page(self):
        self.assert_fails("```cpp\nint x;\n```\n", "without a comment")
        self.assert_fails("<!-- test: shown -->\n```text\na\n```\n", "nobody knows the comment")
        self.assert_fails("<!-- test: shows -->\n\n```text\na\n```\n", "stands in front of no block")

    def test_python_is_left_out_by_name_where_there_is_no_interpreter(self):
        code, output = self.run_page("<!-- test: needs torch -->\n```python\nraise SystemExit(3)\n```\n")
        self.assertEqual(code, 0, output)
        self.assertIn("RIDGELINE_TORCH_PYTHON is not set", output)


class Wrapping(unittest.TestCase):
    def test_paragraphs_come_out_short_and_stay_so(self):
        sentence = "A sentence of some words that goes on for a while and has `code with blanks` in it. "
        text = "# Head " + "long " * 40 + "\n\n" + sentence * 20 + "\n\n- " + sentence * 9 + "\n\n| " + "cell " * 60 + "|\n"
        once = wrap_pages.wrapped(text, "page")
        self.assertEqual(wrap_pages.wrapped(once, "page"), once)
        self.assertEqual(once.split(), text.split())  # no word is lost
        for paragraph in once.split("\n\n")[1:-1]:
            self.assertLessEqual(len(paragraph.split()), wrap_pages.WORDS)
            self.assertLessEqual(max(map(len, paragraph.split("\n"))), wrap_pages.COLUMNS)
            self.assertNotRegex(paragraph, r"`code\n|with\n")

    def test_code_and_tables_stay(self):
        text = "```sh\n" + "word " * 50 + "\n\n    - no item\n```\n\n    indented " + "word " * 40 + "\n\n| a | b |\n|---|---|\n"
        self.assertEqual(wrap_pages.wrapped(text, "page"), text)


class Questions(unittest.TestCase):
    def test_every_answer_is_three_clicks_from_the_readme(self):
        clicks, waiting = {ROOT / "README.md": 0}, [ROOT / "README.md"]
        questions = ROOT / "docs" / "questions.md"
        for page in waiting:
            for link in LINK.findall(page.read_text(encoding="utf-8")):
                target = (page.parent / link).resolve()
                # The list of questions does not count as a way to its answers.
                if target not in clicks and target != questions and target.is_file():
                    clicks[target] = clicks[page] + 1
                    waiting.append(target)
        text = questions.read_text(encoding="utf-8")
        asked = re.findall(r"^(\d+)\. \*\*", text, re.MULTILINE)
        self.assertEqual(asked, [str(i + 1) for i in range(25)])
        for link in LINK.findall(text):
            self.assertLessEqual(clicks.get((questions.parent / link).resolve(), 99), 3, link)


class Navigation(unittest.TestCase):
    def test_every_page_stands_once_in_a_part_of_the_site(self):
        lines = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1].splitlines()
        listed = []
        for line in lines:
            pages = re.fullmatch(r"(?:    )?      - (?:(?:\"[^\"]+\"|[^:\"]+): )?(\S+\.md|\[.*\])", line)
            self.assertTrue(pages or re.fullmatch(r"(?:    )?  - [^:]+:", line),
                            f"mkdocs.yml: neither a part nor a page of one: {line!r}")
            listed += re.findall(r"[\w/.-]+\.md", pages[1]) if pages else []
        pages = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")]
        self.assertEqual(sorted(listed), sorted([*pages, "readme.md", "hacking.md"]))  # those of the root


if __name__ == "__main__":
    unittest.main()
