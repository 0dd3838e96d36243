"""Random Python functions: the graph gives the bits of op by op, and the numbers of NumPy; gradients are those of
differences."""

import unittest

import numpy as np

import ridgeline as rl

from random_functions import functions


def in_mode(mode, call, *args):
    before = rl.graph.set_mode(mode)
    try:
        return call(*args)
    finally:
        rl.graph.set_mode(before)


def flat(results):
    return results if isinstance(results, tuple) else (results,)


class RandomFunctions(unittest.TestCase):
    def compare(self, made):
        function = made.of_graph()
        graph = flat(in_mode("graph", function, *made.arguments))
        eager = flat(in_mode("eager", function, *made.arguments))
        with np.errstate(all="ignore"):
            plain = flat(made.of_numpy()(*[a.astype(np.float64) for a in made.arguments]))
        self.assertEqual(len(graph), len(plain))
        for compiled, at_once, expected in zip(graph, eager, plain):
            self.assertEqual(compiled.shape, np.shape(expected))
            self.assertEqual(compiled.tobytes(), at_once.tobytes(), "graph and eager differ")
            np.testing.assert_allclose(compiled, expected, rtol=2e-4, atol=2e-4 * (1 + np.abs(expected).max()))

    def test_240_functions_give_the_bits_of_eager_and_the_numbers_of_numpy(self):
        for made in functions(240, 1000):
            with self.subTest(made.file + "\n" + made.source):
                self.compare(made)

    def test_60_smooth_functions_that_call_each_other_have_the_gradients_of_differences(self):
        calls = 0
        for made in functions(60, 5000, smooth=True):
            with self.subTest(made.file + "\n" + made.source):
                self.compare(made)
                function, plain = made.of_graph(np.float64), made.of_numpy()
                arguments = [a.astype(np.float64) for a in made.arguments]
                calls += "call" in function.graph(*arguments).ops
                both = rl.value_and_grad(function, argnums=(0, 1))
                value, gradients = in_mode("graph", both, *arguments)
                at_once = in_mode("eager", both, *arguments)
                self.assertEqual(value.tobytes(), at_once[0].tobytes())
                for one, other in zip(gradients, at_once[1]):
                    self.assertEqual(one.tobytes(), other.tobytes(), "gradients of graph and eager differ")
                rng = np.random.default_rng(1)
                for i in (0, 1):
                    direction = rng.normal(0, 1, arguments[i].shape)
                    step = 1e-5
                    ends = []
                    for sign in (1, -1):
                        moved = list(arguments)
                        moved[i] = moved[i] + sign * step * direction
                        ends.append(plain(*moved))
                    expected = (ends[0] - ends[1]) / (2 * step)
                    self.assertAlmostEqual(float((gradients[i] * direction).sum()), float(expected),
                                           delta=1e-6 * (1 + abs(float(expected))) * 10)
        self.assertGreater(calls, 5)


if __name__ == "__main__":
    unittest.main()
