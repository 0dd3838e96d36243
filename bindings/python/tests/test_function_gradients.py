"""`rl.grad` and `rl.value_and_grad`."""

import unittest

import numpy as np

import ridgeline as rl

from function_support import Mode, normal


class Gradients(Mode):
    def test_by_several_arguments_and_with_the_value(self):
        @rl.function
        def loss(w, x, b):
            return ((x @ w + b) ** 2).mean()

        w, x, b = normal(3, seed=1), normal(4, 3, seed=2), normal(4, seed=3)
        residual = 2 * (x @ w + b) / 4
        gradient = self.in_both(lambda: rl.grad(loss)(w, x, b))
        np.testing.assert_allclose(gradient, x.T @ residual, rtol=1e-4, atol=1e-6)
        value, (dx, db) = self.in_both(lambda: rl.value_and_grad(loss, argnums=(1, -1))(w, x, b=b))
        np.testing.assert_allclose(value, ((x @ w + b) ** 2).mean(), rtol=1e-5)
        np.testing.assert_allclose(dx, np.outer(residual, w), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(db, residual, rtol=1e-4, atol=1e-6)

    def test_of_containers_come_as_containers(self):
        def loss(params, x):
            return (x @ params["layers"][0] * params["scale"]).sum()

        params = {"layers": [normal(3, 2)], "scale": np.float32(2)}
        x = normal(4, 3, seed=2)
        gradient = self.in_both(lambda: rl.grad(loss)(params, x))
        np.testing.assert_allclose(gradient["layers"][0], 2 * np.repeat(x.sum(axis=0)[:, None], 2, axis=1), rtol=1e-5)
        np.testing.assert_allclose(gradient["scale"], (x @ params["layers"][0]).sum(), rtol=1e-4)

    def test_where_the_value_does_not_depend_on_it_the_gradient_is_zero(self):
        gradients = self.in_both(lambda: rl.grad(lambda x, y, z: (x * 2).sum(), argnums=(0, 1, 2))(
            normal(2), normal(3, 2), np.float32(4)))
        for gradient, expected in zip(gradients, (np.full(2, 2), np.zeros((3, 2)), 0)):
            np.testing.assert_array_equal(gradient, expected)
            self.assertEqual(gradient.dtype, np.float32)

    def test_what_is_given_besides(self):
        def loss(x):
            y = x * 3
            return (y * y).sum(), {"y": y, "name": "squares"}

        x = normal(3)
        gradient, besides = self.in_both(lambda: rl.grad(loss, has_aux=True)(x))
        np.testing.assert_allclose(gradient, 18 * x, rtol=1e-5)
        np.testing.assert_array_equal(besides["y"], x * 3)
        self.assertEqual(besides["name"], "squares")
        (value, besides), gradient = self.in_both(lambda: rl.value_and_grad(loss, has_aux=True)(x))
        np.testing.assert_allclose(value, (9 * x * x).sum(), rtol=1e-5)
        np.testing.assert_allclose(gradient, 18 * x, rtol=1e-5)

    def test_of_gradients(self):
        def cube(x):
            return (x ** 3).sum()

        x = normal(4)
        first = rl.grad(cube)
        second = rl.grad(lambda x: first(x).sum())
        np.testing.assert_allclose(self.in_both(lambda: second(x)), 6 * x, rtol=1e-5)
        third = rl.grad(lambda x: (second(x) * x).sum())
        np.testing.assert_allclose(self.in_both(lambda: third(x)), 12 * x, rtol=1e-5)

    def test_inside_a_function_they_are_a_call(self):
        @rl.function
        def loss(w, x):
            return ((x * w) ** 2).sum()

        @rl.function
        def step(w, x, rate):
            value, gradient = rl.value_and_grad(loss)(w, x)
            return w - rate * gradient, value

        w, x = normal(3), normal(3, seed=2)
        moved, value = self.in_both(lambda: step(w, x, np.float32(0.1)))
        np.testing.assert_allclose(moved, w - 0.2 * x * x * w, rtol=1e-5)
        graph = step.graph(w, x, np.float32(0.1))
        self.assertIn("call", graph.ops)
        self.assertIn("func @grad_loss(", graph.text())

    def test_descent_finds_the_weights_of_a_line(self):
        x = normal(64, 3)
        y = x @ np.array([1, -2, 0.5], np.float32) + 3

        def loss(params):
            return ((x @ params["w"] + params["b"] - y) ** 2).mean()

        step = rl.value_and_grad(loss)
        params = {"w": np.zeros(3, np.float32), "b": np.float32(0)}
        for _ in range(300):
            value, gradient = step(params)
            params = {name: params[name] - np.float32(0.1) * gradient[name] for name in params}
        self.assertEqual(len(step.specialisations), 1)
        np.testing.assert_allclose(params["w"], [1, -2, 0.5], atol=1e-3)
        self.assertLess(value, 1e-5)

    def test_python_goes_by_eager_values_on_the_way(self):
        def loss(x):
            return (x * x).sum() if x.sum() > 0 else x.sum()

        rl.graph.set_mode("eager")
        np.testing.assert_array_equal(rl.grad(loss)(np.ones(2, np.float32)), [2, 2])
        np.testing.assert_array_equal(rl.grad(loss)(-np.ones(2, np.float32)), [1, 1])

    def test_what_has_no_gradient_is_refused(self):
        x = normal(3)
        for function, given, options, told in (
                (lambda x: x * 2, [x], {}, r"gives f32\[3\]; gradients are of one floating number"),
                (lambda x: (x.sum(), x.sum()), [x], {}, "gives several values"),
                (lambda x: x.sum().astype("i32"), [x], {}, r"gives i32\[\]"),
                (lambda x: x.sum(), [x], {"has_aux": True}, "a pair is meant"),
                (lambda x: x.sum(), [np.arange(3)], {}, "argument 'x' of <lambda> is i64"),
                (lambda x, n: x.sum() * n, [x, 2.0], {"argnums": 1}, "argument 'n' of <lambda> is 2.0, a part of the graph"),
                (lambda x: x.sum(), [x], {"argnums": 1}, "argnums is 1, and <lambda> has 1 arguments"),
                (lambda x: x.sum(), [x], {"argnums": "x"}, "argnums is 'x'; the place of an argument is meant"),
        ):
            for mode in ("graph", "eager"):
                rl.graph.set_mode(mode)
                with self.subTest(told, mode=mode), self.assertRaisesRegex(
                        rl.ArgumentError, told + r".*\(.*test_function_gradients.py:\d+\)"):
                    rl.grad(function, **options)(*given)

    def test_an_op_without_a_gradient_is_named_with_its_line(self):
        first = rl.grad(lambda x: rl.graph.tanh(x).sum())
        for mode in ("graph", "eager"):
            rl.graph.set_mode(mode)
            with self.assertRaisesRegex(rl.ArgumentError, r"tanh.*gradients of gradients.*test_function_gradients.py:\d+\)"):
                rl.grad(lambda x: first(x).sum())(normal(2, 3))
            with self.assertRaisesRegex(rl.ArgumentError, r"layer_norm.*only through y.*test_function_gradients.py:\d+\)"):
                rl.grad(lambda x: rl.graph.layer_norm(x, normal(3), normal(3))[1].sum())(normal(2, 3))


if __name__ == "__main__":
    unittest.main()
