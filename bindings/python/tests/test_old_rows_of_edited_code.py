"""A cache in a directory goes by the code that made its rows, not by its name: edited code makes them anew."""

import functools
import os
import tempfile
import textwrap
import threading
import unittest

import numpy as np

import ridgeline
from ridgeline import data

from support import run_python

FACTOR = 3
TABLE = np.arange(5)


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, value):
        return value * self.factor


def doubled(value):
    return value * 2


class Cached(unittest.TestCase):
    def setUp(self):
        dir = tempfile.TemporaryDirectory()
        self.addCleanup(dir.cleanup)
        self.dir = dir.name

    def first(self, transform, column="x"):
        """The row 2 by a cache in the directory, and how many files that has then."""
        made = data.InMemory({"x": np.array([1, 2])}).map_columns(["x"], transform).cache(directory=self.dir).batch(2)
        value = next(data.Iterator(made, pull=True))["x"][1].item()
        return value, len(os.listdir(self.dir))

    def function(self, function, **options):
        return self.first(data.Function(function, name="f", **options))

    def test_another_body_constant_default_closure_or_global_makes_the_rows_anew(self):
        global FACTOR
        self.assertEqual(self.function(lambda v: v * 2), (4, 1))
        self.assertEqual(self.function(lambda v: v * 2), (4, 1))
        self.assertEqual(self.function(lambda v: v * 5), (10, 2))
        self.assertEqual(self.function(lambda v: v + 5), (7, 3))
        self.assertEqual(self.function(lambda v, n=7: v * n), (14, 4))
        self.assertEqual(self.function(lambda v, n=8: v * n), (16, 5))
        for i, n in enumerate((11, 12, 11)):
            self.assertEqual(self.function(lambda v: v * n), (2 * n, 6 + min(i, 1)))
        for i, FACTOR in enumerate((3, 4, 3)):
            self.assertEqual(self.function(lambda v: v * FACTOR), (2 * FACTOR, 8 + min(i, 1)))
        FACTOR = 3

    def test_what_the_code_calls_and_holds_counts_too(self):
        global doubled
        before = doubled
        self.assertEqual(self.function(lambda v: doubled(v)), (4, 1))

        def doubled(value):
            return value * 20

        try:
            self.assertEqual(self.function(lambda v: doubled(v)), (40, 2))
        finally:
            doubled = before
        self.assertEqual(self.function(lambda v: doubled(v)), (4, 2))
        self.assertEqual(self.function(Scaled(6)), (12, 3))
        self.assertEqual(self.function(Scaled(7)), (14, 4))
        self.assertEqual(self.function(Scaled(6).__call__), (12, 5))
        self.assertEqual(self.function(functools.partial(lambda n, v: v * n, 9)), (18, 6))
        self.assertEqual(self.function(functools.partial(lambda n, v: v * n, 10)), (20, 7))
        self.assertEqual(self.function(lambda v: v + TABLE[3]), (5, 8))
        TABLE[3] = 30
        try:
            self.assertEqual(self.function(lambda v: v + TABLE[3]), (32, 9))
        finally:
            TABLE[3] = 3

    def test_rows_of_generators_and_streams_likewise(self):
        for make in (lambda n: data.FromGenerator(lambda i: (i * n,), [("x", "i64", ())], 3, name="g"),
                     lambda n: data.FromStream(lambda: ((i * n,) for i in range(3)), [("x", "i64", ())], 3, name="s")):
            for n in (4, 5, 4):
                made = make(n).cache(directory=self.dir).batch(3)
                self.assertEqual(next(data.Iterator(made, pull=True))["x"].tolist(), [0, n, 2 * n])

    def test_code_that_cannot_be_told_is_refused_by_name_and_taken_with_a_version(self):
        lock = threading.Lock()

        def locked(value):
            with lock:
                return value * FACTOR

        with self.assertRaisesRegex(ridgeline.ArgumentError, r"\[cache\] .*function 'f': lock is a _thread.lock.*version="):
            self.function(locked)
        self.assertEqual(self.function(locked, version="1"), (6, 1))
        self.assertEqual(self.function(locked, version="2"), (6, 2))
        made = data.InMemory({"x": np.array([1, 2])}).map_columns(["x"], data.Function(locked))
        self.assertEqual(next(data.Iterator(made.cache().batch(2)))["x"].tolist(), [3, 6])  # in memory nothing is old

    def test_another_process_finds_the_rows_of_the_same_code_and_not_of_an_edited_file(self):
        def run(factor, lines=""):
            with open(f"{self.dir}/own.py", "w") as file:
                file.write(lines + f"NAMES = {{'a', 'b', 'c'}}\n\n\ndef scale(value):\n"
                                   f"    return value * {factor} if 'a' in NAMES else value\n")
            code = textwrap.dedent("""
                import sys
                sys.path.insert(0, sys.argv[1])
                sys.dont_write_bytecode = True
                import numpy as np
                import own
                from ridgeline import data
                def f(value):
                    return own.scale(value)
                made = data.InMemory({"x": np.array([1, 2])}).map_columns(["x"], data.Function(f))
                made = made.cache(directory=sys.argv[1] + "/kept").batch(2)
                print(next(data.Iterator(made, pull=True))["x"].tolist())
                """)
            done = run_python(code, self.dir)
            self.assertEqual(done.stderr, "")
            return done.stdout.strip(), len(os.listdir(f"{self.dir}/kept"))

        self.assertEqual(run(3), ("[3, 6]", 1))
        self.assertEqual(run(3), ("[3, 6]", 1))
        self.assertEqual(run(3, "# moved by some lines\n\n"), ("[3, 6]", 1))
        self.assertEqual(run(4), ("[4, 8]", 2))


if __name__ == "__main__":
    unittest.main()
