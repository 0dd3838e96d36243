"""What a function of values cannot do is an error that names the line of the program and what to use instead."""

import re
import unittest

import numpy as np

import ridgeline as rl

SOURCE = """\
def if_(x):
    if x.sum() > 0:  # the truth.*where
        return x
    return -x
def while_(x):
    while x.max() > 1:  # the truth.*where
        x = x / 2
    return x
def bool_(x):
    return x * bool(x[0, 0])  # the truth.*where
def and_(x):
    return (x > 0) and (x < 1)  # the truth.*&, \\| and ~
def not_(x):
    return not x  # the truth.*~ combine
def chain(x):
    return 0 < x < 1  # the truth.*&, \\| and ~
def assert_(x):
    assert x.sum() == 0  # the truth
def builtin(x):
    return max(x[0, 0], x[0, 1])  # the truth
def int_(x):
    return x * int(x.sum())  # the number.*where
def float_(x):
    return x * float(x.sum())  # the number
def range_(x):
    return [x for _ in range(x.sum())]  # the number
def for_(x):
    for row in x:  # what is in.*for i in range\\(x.shape\\[0\\]\\)
        x = x + row
    return x
def unpacked(x):
    a, b = x  # what is in
    return a + b
def in_(x):
    return x if 3 in x else -x  # what is in
def assigned(x):
    x[0] = 1  # values do not change.*concat
    return x
def numbers(x):
    return x.numpy()  # the array
def asarray(x):
    return np.asarray(x) * 2  # the array
def item(x):
    return x * x.sum().item()  # the number
def arctan(x):
    return np.arctan(x)  # NumPy's arctan is no op
def accumulate(x):
    return np.add.reduce(x)  # NumPy's add.reduce is no op
def linalg(x):
    return np.linalg.norm(x)  # NumPy's norm is no op
def out(x):
    return np.exp(x, where=True)  # NumPy's exp is no op of a graph with where
def shapes(x):
    y = x * 2
    return y + np.ones(3, np.float32)  # do not broadcast
def types(x):
    return x + np.ones(2)  # one element type is meant
def product(x):
    return x @ x[:1]  # \\[matmul\\]
def scalar_product(x):
    return x @ x.sum()  # matrices and vectors
def exponent(x):
    return x ** x  # the exponent.*log
def exponent_without_end(x):
    return x ** float("inf")  # the exponent.*inf; a finite number
def axis(x):
    return x.sum(axis=2)  # axis 2.*\\(2, 2\\)
def reshape(x):
    return x.reshape(3, -1)  # no extent stands for -1
def split(x):
    return rl.nn.split(x, 2, axis=5)[0]  # split.. has the axis 5
def mean(x):
    return rl.nn.mean(x, -3)  # mean.. has the axis -3
def whole(x):
    return x.astype("i32") + 0.5  # 0.5 is no number of the type i32
def wide(x):
    return x.astype("u8") < 300  # 300 is no number of the type u8
def long(x):
    return x.astype("i64") + (2 ** 53 + 1)  # 9007199254740993 is no number
def cast(x):
    return x.astype("f8")  # the element types are
def joined(x):
    return (x > 0) & x  # joins conditions
def inverted(x):
    return ~x  # conditions
def picked(x):
    return x[x > 0]  # where\\(condition
def layer(x):
    return rl.nn.Dense(2)(x)  # no model is built
def ufunc_text(x):
    return x + "a"  # 'a'
def attribute(x):
    return rl.graph.reduce_sum(x, axes="rows")  # attribute 'axes'
"""


class Lines(unittest.TestCase):
    def setUp(self):
        self.addCleanup(rl.graph.set_mode, rl.graph.mode())
        rl.graph.set_mode("graph")

    def test_every_refusal_names_the_line(self):
        names = {"np": np, "rl": rl}
        exec(compile(SOURCE, "refused.py", "exec"), names)
        checked = 0
        for block in re.finditer(r"^def (\w+)(?:.*\n)+?(?=def |\Z)", SOURCE, re.M):
            told = re.search(r"  # (.*)$", block[0], re.M)
            line = SOURCE[:block.start() + told.start()].count("\n") + 1
            with self.subTest(block[1]):
                with self.assertRaises(rl.ArgumentError) as raised:
                    rl.function(names[block[1]])(np.array([[1, 2], [3, 5]], np.float32))
                self.assertRegex(str(raised.exception), f"{told[1]}.*\\(refused.py:{line}\\)$")
                self.assertNotIn("\n", str(raised.exception))
            checked += 1
        self.assertEqual(checked, SOURCE.count("def "))

    def test_a_value_of_a_graph_that_is_built_no_more_is_refused(self):
        kept = []
        rl.function(lambda x: kept.append(x) or x * 2)(np.ones(2, np.float32))
        for use in (lambda: kept[0] + 1, lambda: bool(kept[0]), lambda: kept[0].shape,
                    lambda: rl.function(lambda x: x + kept[0])(np.ones(2, np.float32)),
                    lambda: rl.function(lambda x: kept[0])(np.ones(2, np.float32))):
            with self.assertRaisesRegex(rl.ArgumentError, r"no longer built.*test_function_errors.py:\d+\)"):
                use()

    def test_a_value_of_the_function_around_is_no_constant(self):
        def outer(x):
            return rl.function(lambda y: x + y)(x * 2)

        with self.assertRaisesRegex(rl.ArgumentError, r"a value of graph outer.*test_function_errors.py:\d+\)"):
            rl.function(outer)(np.ones(2, np.float32))

    def test_a_function_that_calls_itself_is_refused_unless_it_ends(self):
        @rl.function
        def endless(x):
            return endless(x) + 1

        with self.assertRaisesRegex(rl.ArgumentError, r"endless calls itself.*test_function_errors.py:\d+\)"):
            endless(np.ones(2, np.float32))

        @rl.function
        def power(x, n):
            return x * power(x, n - 1) if n > 1 else x

        np.testing.assert_array_equal(power(np.full(2, 3, np.float32), 4), [81, 81])

    def test_arguments_that_are_neither_arrays_nor_parts_of_a_graph(self):
        f = rl.function(lambda x: x * 2)
        x = np.ones(2, np.float32)
        with self.assertRaisesRegex(rl.ArgumentError, "argument 'x' of <lambda> has the type int8"):
            f(x.astype(np.int8))
        for other in (x.astype(">f4"), np.array(["a"])):
            with self.assertRaisesRegex(rl.ArgumentError, "argument 'x' of <lambda> has the type [<>]"):
                f(other)
        with self.assertRaisesRegex(rl.ArgumentError, "argument 'x' of <lambda> is <memory"):
            f(memoryview(bytearray(4)))
        with self.assertRaisesRegex(rl.ArgumentError, r"argument 'x' of <lambda> is \{1\}.*test_function_errors.py:\d+\)"):
            f({1})
        with self.assertRaisesRegex(rl.ArgumentError, r"<lambda> gives 6; a value is meant.*test_function_errors.py:\d+\)"):
            f(3)
        with self.assertRaises(TypeError):
            f(x, x)
        with self.assertRaisesRegex(rl.ArgumentError, "a function of Python is meant"):
            rl.function(3)
        with self.assertRaisesRegex(rl.ArgumentError, "unknown device 'gpu'"):
            rl.function(device="gpu")(lambda x: x)(x)
        with self.assertRaisesRegex(rl.ArgumentError, "keep is 0"):
            rl.function(keep=0)(lambda x: x)
        with self.assertRaisesRegex(rl.ArgumentError, "fusion is 'on'"):
            rl.function(fusion="on")(lambda x: x)

    def test_an_exception_of_the_function_comes_out_as_it_was_raised_and_leaves_nothing_behind(self):
        def broken(x):
            raise KeyError("mine")

        x = np.ones(2, np.float32)
        for mode in ("graph", "eager"):
            rl.graph.set_mode(mode)
            with self.assertRaises(KeyError):
                rl.function(broken)(x)
            np.testing.assert_array_equal(rl.function(lambda x: x * 2)(x), x * 2)
            with self.assertRaisesRegex(rl.ArgumentError, "where no graph is built"):
                rl.graph.constant(value=1.0)


if __name__ == "__main__":
    unittest.main()
