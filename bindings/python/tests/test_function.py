"""`@rl.function`: graphs of Python functions, their specialisations, arguments and results."""

import collections
import functools
import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import ridgeline as rl

from function_support import Mode, normal

try:
    import torch
except ImportError:
    torch = None


class Specialisations(Mode):
    def count(self, function, *calls):
        for call in calls:
            function(*call)
        return len(function.specialisations)

    def test_one_for_each_set_of_types_and_shapes(self):
        traced = []

        @rl.function
        def twice(x):
            traced.append(x.shape)
            return x * 2

        self.assertEqual(self.count(twice, [normal(2)], [normal(2, seed=5)], [normal(3)], [normal(2)]), 2)
        self.assertEqual(traced, [(2,), (3,)])
        self.assertEqual(self.count(twice, [normal(2, dtype=np.float64)], [np.arange(2)]), 4)
        self.assertEqual([g.arguments[0][1:] for g in twice.specialisations],
                         [("f32", (3,)), ("f32", (2,)), ("f64", (2,)), ("i64", (2,))])
        twice.forget()
        self.assertEqual(self.count(twice, [normal(2)]), 1)

    def test_numbers_of_python_are_a_part_of_the_graph_and_numbers_of_numpy_are_not(self):
        @rl.function
        def scaled(x, by):
            return x * by

        x = normal(3)
        np.testing.assert_array_equal(scaled(x, 2), x * 2)
        np.testing.assert_array_equal(scaled(x, 3), x * 3)
        self.assertEqual(self.count(scaled, [x, 2]), 2)
        self.assertEqual(self.count(scaled, [x, 2.0], [x, np.float32(2)], [x, np.float32(7)]), 4)
        np.testing.assert_array_equal(scaled(x, np.float32(7)), x * 7)
        self.assertEqual(self.count(scaled, [x, 0.0], [x, -0.0]), 6)

    def test_only_so_many_are_kept(self):
        @rl.function(keep=3)
        def same(x):
            return x + 0

        self.assertEqual(self.count(same, *[[normal(n)] for n in range(1, 8)]), 3)
        self.assertEqual([g.arguments[0][2] for g in same.specialisations], [(5,), (6,), (7,)])

    def test_a_nested_function_is_specialised_too(self):
        @rl.function
        def double(x):
            return x * 2

        @rl.function
        def outer(x):
            return double(x) + double(x).sum() + double(double(x.sum()))

        x = normal(2, 3)
        result = self.in_both(lambda: outer(x))
        np.testing.assert_allclose(result, 2 * x + (2 * x).sum() + 4 * x.sum(), rtol=1e-5)
        graph = outer.graph(x)
        self.assertEqual(graph.ops.count("call"), 4)
        self.assertEqual(re.findall(r"func @(\w+)", graph.text()), ["double", "double_1"])
        self.assertEqual(len(double.specialisations), 2)

    def test_functions_of_functions_have_names_of_their_own(self):
        def made(factor, inner=None):
            @rl.function
            def part(x):
                return (inner(x) if inner else x) * factor
            return part

        one, other = made(2), made(3)
        deep = made(5, one)

        @rl.function
        def outer(x):
            return other(x) + deep(x) + one(x)

        x = normal(4)
        np.testing.assert_allclose(self.in_both(lambda: outer(x)), 15 * x, rtol=1e-5)
        graph = outer.graph(x)
        with tempfile.NamedTemporaryFile("w", suffix=".rdg") as file:
            file.write(graph.text())
            file.flush()
            done = subprocess.run([sys.executable, "-m", "ridgeline", "graph", "check", file.name], capture_output=True,
                                  text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(set(re.findall(r"func @(\w+)", graph.text()))), 3)
        self.assertEqual(graph.text("ir").count("subgraph @"), 4)


class Arguments(Mode):
    def test_containers_hold_several_arrays_and_results(self):
        @rl.function
        def layer(params, *xs, scale=1.0, **named):
            return {"y": xs[0] @ params["w"] + params["b"], "all": [x * scale for x in xs], "n": named["n"] * 2, "told": 7}

        params = {"w": normal(3, 2), "b": normal(2, seed=4)}
        x, z = normal(4, 3, seed=2), normal(5, seed=3)
        result = self.in_both(lambda: layer(params, x, z, scale=0.5, n=normal(2)))
        np.testing.assert_allclose(result["y"], x @ params["w"] + params["b"], rtol=1e-5)
        np.testing.assert_array_equal(result["all"][1], z * np.float32(0.5))
        self.assertEqual(result["told"], 7)
        graph = layer.graph(params, x, z, n=normal(2))
        self.assertEqual([a[0] for a in graph.arguments], ["params_w", "params_b", "xs_0", "xs_1", "named_n"])

    def test_none_is_a_part_of_the_graph(self):
        f = rl.function(lambda x, bias=None: x if bias is None else x + bias)
        x = normal(3)
        np.testing.assert_array_equal(self.in_both(lambda: f(x)), x)
        np.testing.assert_array_equal(self.in_both(lambda: f(x, x)), x + x)
        self.assertEqual(len(f.specialisations), 2)

    def test_dicts_keep_their_kind(self):
        f = rl.function(lambda d: type(d)((name, value * 2) for name, value in d.items()))
        x = normal(3)
        result = self.in_both(lambda: f(collections.OrderedDict(b=x, a=x + 1)))
        self.assertEqual((type(result), list(result)), (collections.OrderedDict, ["b", "a"]))
        given = collections.defaultdict(list, a=x)
        np.testing.assert_array_equal(self.in_both(lambda: rl.function(lambda d: d["a"] * 2)(given)), x * 2)
        same = self.in_both(lambda: rl.function(lambda d: d)(given))
        self.assertIsInstance(same, collections.defaultdict)
        np.testing.assert_array_equal(same["a"], x)

    def test_arrays_from_around_a_function_are_constants(self):
        weights = normal(3, 2)

        @rl.function
        def dense(x):
            return weights.T @ x + weights.sum(axis=0) + x @ weights

        x = normal(3, seed=5)
        np.testing.assert_allclose(self.in_both(lambda: dense(x)), weights.T @ x + weights.sum(axis=0) + x @ weights,
                                   rtol=1e-5)
        self.assertEqual([a[0] for a in dense.graph(x).arguments][:2], ["x", "constant"])

        @rl.function
        def outer(x):
            return dense(x) + dense(x * 2)

        np.testing.assert_allclose(self.in_both(lambda: outer(x)), dense(x) + dense(x * 2), rtol=1e-5)

    def test_a_constant_is_called_as_the_program_calls_it_and_kept_as_it_was(self):
        table = normal(4)

        @rl.function
        def shifted(x):
            return x + table

        x, before = normal(4, seed=6), table.copy()
        shifted(x)
        table += 1
        np.testing.assert_array_equal(shifted(x), x + before)
        self.assertEqual(shifted.graph(x).arguments[1], ("table", "f32", (4,)))
        shifted.forget()
        np.testing.assert_array_equal(shifted(x), x + table)

    def test_a_constant_that_changes_while_it_is_read_is_two(self):
        @rl.function
        def counted(x):
            part = np.zeros(2, np.float32)
            for i in range(3):
                part += i
                x = x + part
            return x

        np.testing.assert_array_equal(self.in_both(lambda: counted(np.zeros(2, np.float32))), [4, 4])

    def test_values_that_are_arguments_are_given_back(self):
        x = normal(3)
        one, other = self.in_both(lambda: rl.function(lambda x, unused: (x, x))(x, normal(2)))
        np.testing.assert_array_equal(one, x)
        np.testing.assert_array_equal(other, x)
        self.assertFalse(np.shares_memory(one, x))

    def test_methods_are_functions_of_their_object(self):
        class Scale:
            def __init__(self, by):
                self.by = by

            @rl.function
            def __call__(self, x):
                return x * self.by

        x = normal(3)
        np.testing.assert_array_equal(Scale(2)(x), x * 2)
        np.testing.assert_array_equal(Scale(3)(x), x * 3)

    def test_what_is_called_without_code_of_its_own(self):
        class Scale:
            def __call__(self, x):
                return x * 3

        x = normal(3)
        for callable_, expected in ((functools.partial(lambda by, x: x * by, 2), x * 2), (Scale(), x * 3)):
            with self.subTest(repr(callable_)):
                np.testing.assert_allclose(self.in_both(lambda: rl.function(callable_)(x)), expected, rtol=1e-5)
                np.testing.assert_array_equal(rl.grad(lambda x: rl.function(callable_)(x).sum())(x),
                                              rl.grad(lambda x: callable_(x).sum())(x))

    def test_every_element_type(self):
        for dtype in (np.float64, np.float32, np.float16, np.int32, np.int64):
            with self.subTest(dtype.__name__):
                x = np.arange(6).reshape(2, 3).astype(dtype)
                result = self.in_both(lambda: rl.function(lambda x: (x * 2 - 3, x.astype(np.float32)))(x))
                self.assertEqual(result[0].dtype, dtype)
                np.testing.assert_array_equal(result[0], x * 2 - 3)
        flags = np.array([True, False])
        np.testing.assert_array_equal(rl.function(lambda c: rl.graph.where(c, 2.5, -1))(flags), [2.5, -1])

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_tensors_of_pytorch_come_back_as_such(self):
        f = rl.function(lambda x, y: (x @ y.T, x.sum()))
        x, y = torch.from_numpy(normal(2, 3)), torch.from_numpy(normal(2, 3, seed=2))
        product, total = self.in_both(lambda: f(x, y))
        self.assertIsInstance(product, torch.Tensor)
        np.testing.assert_allclose(product, x @ y.T, rtol=1e-5)
        narrow = rl.function(lambda x: x * 2)(x.to(torch.bfloat16))
        self.assertEqual(narrow.dtype, torch.bfloat16)
        self.assertTrue(torch.equal(narrow, x.to(torch.bfloat16) * 2))
        np.testing.assert_array_equal(rl.function(lambda x: x + 0)(x.T), x.T)  # not in one piece
        with self.assertRaisesRegex(rl.ArgumentError, "argument 'x' of .*detach"):
            rl.function(lambda x: x)(x.clone().requires_grad_())


class Indices(Mode):
    def test_as_numpy_has_them(self):
        x = normal(4, 5, 6)
        keys = [0, -1, (1, 2), (slice(1, 3),), (..., 0), (slice(None), None, 2), (slice(None, None, 2), ..., slice(1, 5, 3)),
                (None, ..., None), (1, 2, 3), np.int64(2), [0, 2, -1], np.array([[0, 1], [3, -2]])]
        for key in keys:
            with self.subTest(repr(key)):
                np.testing.assert_array_equal(self.in_both(lambda: rl.function(lambda x: x[key])(x)), x[key])

    def test_by_a_value_of_whole_numbers(self):
        x, which = normal(4, 3), np.array([3, 0], np.int64)
        np.testing.assert_array_equal(self.in_both(lambda: rl.function(lambda x, i: x[i])(x, which)), x[which])

    def test_by_whole_numbers_that_are_narrower_than_the_extent(self):
        x = normal(200, 2)
        for key in (np.array([-1, 3], np.int8), np.array([199], np.uint8)):
            np.testing.assert_array_equal(self.in_both(lambda: rl.function(lambda x: x[key])(x)), x[key])

    def test_by_the_number_of_a_value_where_it_is_known(self):
        x, f = normal(4, 5), rl.function(lambda x, i: x[i, 0] + x[0, i])
        rl.graph.set_mode("eager")
        np.testing.assert_array_equal(f(x, np.int32(-1)), x[-1, 0] + x[0, -1])
        with self.assertRaisesRegex(rl.ArgumentError, r"a whole number is meant.*test_function.py:\d+\)"):
            f(x, np.float32(1))
        rl.graph.set_mode("graph")
        with self.assertRaisesRegex(rl.ArgumentError, r"the number of a value is not known.*test_function.py:\d+\)"):
            f(x, np.int32(-1))

    def test_what_is_no_index_is_refused(self):
        x = normal(4, 5)
        for key, told in ((4, "index 4 of axis 0, whose extent is 4"), ((0, 0, 0), "3 axes are indexed"),
                          (slice(None, None, -1), "step -1"), ("a", "is 'a'"), (slice(2, 2), "no elements"),
                          ((0, [1, 2]), "one array of whole numbers alone"),
                          ((np.array([0, 1]), 0), "one array of whole numbers alone"), (True, "is True"),
                          (np.array([0.5]), "whole numbers, not float64"), ([9], "reaches from 9 to 9")):
            with self.subTest(repr(key)), self.assertRaisesRegex(rl.ArgumentError, told + r".*test_function.py:\d+\)"):
                rl.function(lambda x: x[key])(x)


class Modes(Mode):
    def test_the_mode_is_told_and_what_held_before_is_given(self):
        self.assertEqual(rl.graph.mode(), "graph")
        self.assertEqual(rl.graph.set_mode("eager"), "graph")
        self.assertEqual(rl.graph.mode(), "eager")
        with self.assertRaisesRegex(rl.ArgumentError, r"'pynative' \(allowed: graph, eager\)"):
            rl.graph.set_mode("pynative")
        self.assertEqual(rl.graph.mode(), "eager")

    def test_eager_values_have_numbers_and_python_goes_by_them(self):
        @rl.function
        def halved(x):
            while x.sum() > 1:
                x = x / 2
            told = [float(x[0]), int(x[0] * 100), [part.item() for part in x], x.numpy().shape, repr(x), 0.25 in x]
            return x, told

        rl.graph.set_mode("eager")
        result, told = halved(np.array([1, 3], np.float32))
        np.testing.assert_array_equal(result, [0.25, 0.75])
        self.assertEqual(told, [0.25, 25, [0.25, 0.75], (2,), "Value(f32[2]: array([0.25, 0.75], dtype=float32))", True])
        self.assertEqual(len(halved.specialisations), 0)

    def test_in_eager_mode_ops_take_arrays_anywhere(self):
        x = normal(4, 3)
        with self.assertRaisesRegex(rl.ArgumentError, r"where no graph is built.*eager.*test_function.py:\d+\)"):
            rl.graph.exp(x)
        rl.graph.set_mode("eager")
        np.testing.assert_allclose(rl.graph.exp(x), np.exp(x), rtol=1e-6)
        np.testing.assert_array_equal(rl.graph.where(x > 0, x, 0), np.where(x > 0, x, 0))
        parts = rl.graph.split(x, axis=0, sizes=[1, 3])
        np.testing.assert_array_equal(parts[1], x[1:])
        np.testing.assert_array_equal(rl.graph.concat([x, x], axis=1), np.concatenate([x, x], axis=1))
        with self.assertRaisesRegex(rl.ArgumentError, r"\[matmul\].*test_function.py:\d+\)"):
            rl.graph.matmul(x, x)

    def test_threads_run_functions_beside_each_other(self):
        f = rl.function(lambda x: (x @ x.T).sum() + rl.graph.exp(x * 0.1).sum())
        expected = [f(normal(8, 9, seed=i)) for i in range(4)]
        wrong = []

        def work(i):
            for _ in range(5):
                if f(normal(8, 9, seed=i)).tobytes() != expected[i].tobytes():
                    wrong.append(i)

        for mode in ("graph", "eager"):
            rl.graph.set_mode(mode)
            threads = [threading.Thread(target=work, args=[i]) for i in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(wrong, [])

    def test_a_process_that_was_forked_runs_them_too(self):
        f = rl.function(lambda x: (x * 2).sum())
        x = normal(5)
        expected = self.in_both(lambda: f(x))
        child = os.fork()
        if child == 0:
            status = 1
            try:
                same = [f(x).tobytes() == expected.tobytes()]
                rl.graph.set_mode("eager")
                same.append(f(x).tobytes() == expected.tobytes())
                status = 0 if all(same) else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


class Ops(Mode):
    def test_ops_of_images_and_rows_give_the_same_bits_in_both_modes(self):
        kernel, bias, gamma = normal(4, 3, 3, 3) * 0.2, normal(4), normal(4, seed=9)

        @rl.function
        def network(x, labels):
            y = rl.graph.relu(rl.graph.conv2d(x, kernel, bias, stride=[1, 1], pad=[1, 1, 1, 1]))
            y, _ = rl.graph.max_pool(y, kernel=[2, 2], stride=[2, 2])
            y = rl.graph.layer_norm(y, gamma, bias)[0]
            y = rl.graph.gelu(y).mean(axis=(1, 2)) + rl.graph.silu(y[..., 0]).mean()
            loss, probabilities = rl.graph.softmax_cross_entropy(y, labels)
            return loss.mean(), probabilities, rl.graph.softmax(y)

        x, labels = normal(5, 8, 8, 3), (np.arange(5) % 4).astype(np.int32)
        loss, probabilities, again = self.in_both(lambda: network(x, labels))
        np.testing.assert_allclose(probabilities, again, rtol=1e-5)
        np.testing.assert_allclose(loss, -np.log(probabilities[np.arange(5), labels]).mean(), rtol=1e-5)
        self.in_both(lambda: rl.grad(lambda x, labels: network(x, labels)[0])(x, labels))

    def test_fusion_is_asked_for(self):
        def chain(x):
            return rl.graph.exp(rl.graph.tanh(x) * 2 + 1).sum()

        x = normal(1000)
        np.testing.assert_allclose(rl.function(fusion=True)(chain)(x), rl.function(chain)(x), rtol=1e-5)

    def test_a_function_without_arguments_is_one_of_constants(self):
        np.testing.assert_array_equal(self.in_both(lambda: rl.function(
            lambda: rl.graph.broadcast_to(rl.graph.constant(value=2.0), shape=[3]))()), [2, 2, 2])


class InNets(Mode):
    def data(self):
        return {"point": normal(32, 2), "label": (np.arange(32) % 3).astype(np.int32)}

    def weights(self, net):
        model = rl.train.Model(net, loss=rl.nn.SoftmaxCrossEntropy(), optimizer=rl.optim.Momentum(lr=0.1))
        model.train(2, self.data(), batch_size=8)
        return {name: value.tobytes() for name, value in model.parameters().items()}

    def test_a_function_in_a_net_is_a_part_of_it(self):
        @rl.function
        def block(x):
            return rl.graph.tanh(rl.nn.Dense(8, name="hidden")(x)) * 2

        plain = self.weights(lambda x: rl.nn.Dense(3, name="out")(rl.graph.tanh(rl.nn.Dense(8, name="hidden")(x)) * 2))
        self.assertEqual(self.weights(lambda x: rl.nn.Dense(3, name="out")(block(x))), plain)

    def test_gradients_in_a_net_and_arrays_in_a_net_are_refused(self):
        with self.assertRaisesRegex(rl.ArgumentError, r"while a net is built.*test_function.py:\d+\)"):
            self.weights(lambda x: rl.grad(lambda v: v.sum())(x))
        with self.assertRaisesRegex(rl.ArgumentError, r"an array is no part of a net.*test_function.py:\d+\)"):
            self.weights(lambda x: x + np.ones(2, np.float32))


if __name__ == "__main__":
    unittest.main()
