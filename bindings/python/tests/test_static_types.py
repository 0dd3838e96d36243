"""What a type checker sees of the package: the types of its calls, and no mistake inside."""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import ridgeline

USE = """
import ridgeline
from ridgeline import ArgumentError, data
from ridgeline.data import DataLoader

train = data.ImageFolder("flowers").shuffle().map(data.Resize(224), data.Normalize.imagenet()).batch(128)
reveal_type(train)  # ridgeline.data._graph.Dataset
for batch in train:
    reveal_type(batch)  # ridgeline.data._run.Batch
    reveal_type(batch.rows)  # int
    reveal_type(batch.records)  # list[int]
reveal_type(train.columns())  # list[tuple[str, str, tuple[int, ...]]]
reveal_type(train.class_names())  # list[str]
with data.Iterator(train, epochs=3) as it:
    reveal_type(it.next(3.0))  # ridgeline.data._run.Batch | None
loader = DataLoader("flowers", 32, shuffle=True, transform=data.Decode(), as_list=["boxes"], pad={"x": 0}, device="cuda:1",
                    dtype="bf16", normalize_on_device=False)
reveal_type(len(loader))  # int
reveal_type(loader.state_dict())  # dict[str, Any]
reveal_type(data.reference_page())  # str
reveal_type(ArgumentError.__mro__)  # tuple[type, ...]


@ridgeline.function
def twice(x: ridgeline.graph.Value) -> ridgeline.graph.Value:
    reveal_type(x @ x + 1)  # ridgeline._core.Value
    reveal_type(x.sum(axis=0)[..., None] > 0)  # ridgeline._core.Value
    reveal_type(x.shape)  # tuple[int, ...]
    return x * 2


reveal_type(twice)  # ridgeline.graph._function.Function
reveal_type(twice.specialisations[0].text("let"))  # str
reveal_type(ridgeline.value_and_grad(twice, argnums=(0, 1)))  # ridgeline.graph._function.Gradient
reveal_type(ridgeline.graph.set_mode("eager"))  # Literal['graph'] | Literal['eager']
"""

WRONG = """
import ridgeline
from ridgeline import data
data.Iterator("flowers")
data.ImageFolder("flowers").batch("8")
data.RandomErasing(p="often")
data.DataLoader("flowers", output="jax")
data.nothing
ridgeline.graph.set_mode("pynative")
"""


class Checked(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.package = pathlib.Path(ridgeline.__file__).parent
        if not (self.package / "data" / "__init__.pyi").is_file():
            self.skipTest("the package has no stubs: it is no wheel")


@unittest.skipIf(importlib.util.find_spec("mypy") is None, "mypy is not installed (scripts/requirements-types.txt)")
class StaticTypes(Checked):
    def mypy(self, *arguments):
        site = str(self.package.parent)
        env = dict(os.environ, MYPY_CACHE_DIR=str(self.folder / "cache"))
        if "site-packages" not in site:
            env["MYPYPATH"] = site
        done = subprocess.run([sys.executable, "-m", "mypy", "--ignore-missing-imports", *arguments], env=env,
                              cwd=self.folder, capture_output=True, text=True, timeout=600)
        return done.stdout + done.stderr

    def of_program(self, text, *arguments):
        """{line: what mypy says} of a program."""
        (self.folder / "use.py").write_text(text)
        told = self.mypy("--follow-imports=silent", *arguments, "use.py")
        return {int(m[1]): m[2] for m in re.finditer(r"^use\.py:(\d+): (.*)$", told, re.M)}

    def test_calls_have_the_types_that_they_tell(self):
        expected = {number: f'note: Revealed type is "{line.split("  # ")[1]}"'
                    for number, line in enumerate(USE.splitlines(), 1) if "reveal_type" in line}
        told = self.of_program(USE, "--strict")
        self.assertEqual({n: t.replace("builtins.", "") for n, t in told.items()}, expected)

    def test_wrong_calls_are_mistakes(self):
        told = self.of_program(WRONG)
        self.assertEqual(sorted(told), [4, 5, 6, 7, 8, 9], told)
        self.assertTrue(all("error:" in text for text in told.values()), told)

    def test_the_package_itself_has_none(self):
        self.assertIn("Success", self.mypy("-p", "ridgeline"))


# Of the names that both checkers know, how pyright shows them.
SHORT = re.compile(r"\b(?:ridgeline\.)?(?:data|graph)?\.?_[a-z]+\.")


@unittest.skipIf(importlib.util.find_spec("basedpyright") is None,
                 "basedpyright is not installed (scripts/requirements-types.txt)")
class PyrightTypes(Checked):
    """The same by pyright, as basedpyright on PyPI packs it together with the Node.js that runs it."""

    def pyright(self, mode, *files):
        """[(file, line, severity, rule, text)]"""
        settings = {"typeCheckingMode": mode, "extraPaths": [str(self.package.parent)], "reportMissingModuleSource": False,
                    "reportMissingImports": False}
        (self.folder / "pyrightconfig.json").write_text(json.dumps(settings))
        done = subprocess.run([sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable,
                               *map(str, files)], cwd=self.folder, capture_output=True, text=True, timeout=600)
        told = json.loads(done.stdout)["generalDiagnostics"]
        return [(pathlib.Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["severity"], one.get("rule"),
                 one["message"]) for one in told]

    def of_program(self, text, mode):
        (self.folder / "use.py").write_text(text)
        return self.pyright(mode, "use.py")

    def test_calls_have_the_types_that_they_tell_and_none_is_unknown(self):
        expected = {}
        for number, line in enumerate(USE.splitlines(), 1):
            if "reveal_type" in line:
                shown = SHORT.sub("", line.split("  # ")[1])
                expected[number] = re.sub(r"Literal\[('\w+')\] \| Literal\[('\w+')\]", r"Literal[\1, \2]", shown)
        told = self.of_program(USE, "strict")
        self.assertEqual([one for one in told if one[2] != "information"], [])
        self.assertEqual({line: re.search(r'is "(.*)"$', text)[1] for _, line, _, _, text in told}, expected)

    def test_wrong_calls_are_mistakes(self):
        told = self.of_program(WRONG, "standard")
        self.assertEqual(sorted({line for _, line, severity, _, _ in told if severity == "error"}), [4, 5, 6, 7, 8, 9], told)

    def test_the_package_itself_has_none(self):
        told = self.pyright("standard", self.package)
        self.assertEqual([one for one in told if one[3] != "reportUnsupportedDunderAll"], [])  # names made of tables

    def test_the_stubs_have_no_mistake_and_no_unknown_type(self):
        stubs = sorted(self.package.rglob("*.pyi"))
        self.assertGreaterEqual(len(stubs), 4)
        self.assertEqual(self.pyright("strict", *stubs), [])


if __name__ == "__main__":
    unittest.main()
