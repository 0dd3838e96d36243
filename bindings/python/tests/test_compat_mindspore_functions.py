"""MindSpore's names for functions of tensors: ms_function, ops and gradients."""

import unittest

import numpy as np

import ridgeline.compat.mindspore as ms
import ridgeline.compat.mindspore.nn as nn
from ridgeline.compat.mindspore import Tensor, context, ops
from compat_support import Usual


class Functions(Usual):
    def setUp(self):
        super().setUp()
        self.addCleanup(context.set_context, mode=context.GRAPH_MODE)

    def test_ms_function_is_a_graph_of_tensors_with_the_numbers_of_pynative_mode(self):
        calls = []

        @ms.ms_function
        def scaled(x, y):
            calls.append(type(x).__name__)
            return ms.ops.exp(x) * y + x, y

        x, y = ms.Tensor(np.linspace(-1, 1, 6), ms.float32), ms.Tensor(np.arange(6), ms.float32)
        first, same = scaled(x, y)
        self.assertEqual((type(first).__name__, first.dtype), ("Tensor", ms.float32))
        np.testing.assert_allclose(first.asnumpy(), np.exp(x.asnumpy()) * y.asnumpy() + x.asnumpy(), rtol=1e-6)
        np.testing.assert_array_equal(same.asnumpy(), y.asnumpy())
        scaled(y, x)
        self.assertEqual(calls, ["GraphTensor"])  # one graph for both
        context.set_context(mode=context.PYNATIVE_MODE)
        np.testing.assert_array_equal(scaled(x, y)[0].asnumpy(), first.asnumpy())
        self.assertEqual(len(calls), 2)

    def test_ops_and_primitives_are_there_in_functions_in_the_order_of_the_script(self):
        x = np.linspace(-2, 2, 48, dtype=np.float32).reshape(2, 3, 2, 4)
        shares = np.exp(x) / np.exp(x).sum(1, keepdims=True)
        for mode in (context.GRAPH_MODE, context.PYNATIVE_MODE):
            context.set_context(mode=mode)
            for function, expected in (
                    (ops.relu, np.maximum(x, 0)), (ops.ReLU6(), np.clip(x, 0, 6)), (ops.Tanh(), np.tanh(x)),
                    (ops.sigmoid, 1 / (1 + np.exp(-x))), (ops.silu, x / (1 + np.exp(-x))), (ops.Softmax(axis=1), shares),
                    (ops.ReduceMean(keep_dims=True), x.mean(keepdims=True)),
                    (lambda v: ops.ReduceSum()(v, (0, 2)), x.sum((0, 2))),
                    (lambda v: ops.Concat(1)((v, v)), np.concatenate((x, x), 1)),
                    (lambda v: ops.Transpose()(v, (1, 0, 3, 2)), x.transpose(1, 0, 3, 2)),
                    (lambda v: v * np.float32(2), 2 * x)):
                found = ms.ms_function(lambda v: function(v))(Tensor(x)).asnumpy()
                np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        for call, told in ((lambda: ops.relu(Tensor(x)), "under ms_function"), (lambda: ops.exp(2.0), "the number 2.0"),
                           (lambda: ops.add(1, 2), "the number 2.0")):
            with self.assertRaisesRegex(TypeError, told):
                call()

    def test_python_goes_by_numbers_in_pynative_mode_alone(self):
        @ms.jit
        def halved(x):
            return x * 0.5 if x.sum() > 3 else x

        x = ms.Tensor([1, 2, 3], ms.float32)
        with self.assertRaisesRegex(Exception, "test_compat_mindspore_functions.py"):
            halved(x)
        context.set_context(mode=context.PYNATIVE_MODE)
        np.testing.assert_array_equal(halved(x).asnumpy(), [0.5, 1, 1.5])

    def test_grad_is_of_the_sum_by_one_argument_or_several(self):
        def product(x, y):
            return x * x * y

        x, y = ms.Tensor([1, 2, 3], ms.float32), ms.Tensor([4, 5, 6], ms.float32)
        np.testing.assert_array_equal(ms.grad(product)(x, y).asnumpy(), [8, 20, 36])
        by_x, by_y = ms.grad(ms.ms_function(product), grad_position=(0, 1))(x, y)
        np.testing.assert_array_equal(by_x.asnumpy(), [8, 20, 36])
        np.testing.assert_array_equal(by_y.asnumpy(), [1, 4, 9])
        with self.assertRaisesRegex(TypeError, "Model"):
            ms.grad(nn.ReLU())

    def test_grad_operation_is_by_the_first_argument_or_by_all_of_a_weighted_sum(self):
        def product(x, y):
            return x * x * y

        def numbers(found):
            return [f.asnumpy().tolist() for f in found] if isinstance(found, tuple) else found.asnumpy().tolist()

        x, y = ms.Tensor([1, 2, 3], ms.float32), ms.Tensor([4, 5, 6], ms.float32)
        weights = ms.Tensor([1, 10, 100], ms.float32)
        for mode in (context.GRAPH_MODE, context.PYNATIVE_MODE):
            context.set_context(mode=mode)
            for function in (product, ms.ms_function(product)):
                self.assertEqual(numbers(ops.GradOperation()(function)(x, y)), [8, 20, 36])
                self.assertEqual(numbers(ops.GradOperation(get_all=True)(function)(x, y)), [[8, 20, 36], [1, 4, 9]])
                self.assertEqual(numbers(ops.GradOperation(sens_param=True)(function)(x, y, weights)), [8, 200, 3600])
                self.assertEqual(numbers(ops.GradOperation(get_all=True, sens_param=True)(function)(x, y, weights)),
                                 [[8, 200, 3600], [1, 40, 900]])
        self.assertEqual(numbers(ops.composite.GradOperation(True)(ops.relu)(x)), [[1, 1, 1]])
        for call, told in ((lambda: ops.GradOperation(get_by_list=True), "Model"),
                           (lambda: ops.GradOperation()(product, weights=()), "Model")):
            with self.assertRaisesRegex(ValueError, told):
                call()
        with self.assertRaisesRegex(TypeError, "Model"):
            ops.GradOperation(sens_param=True)(nn.ReLU())


if __name__ == "__main__":
    unittest.main()
