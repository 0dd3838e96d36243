"""What tests of functions of values share."""

import unittest

import numpy as np

import ridgeline as rl


def normal(*shape, seed=1, dtype=np.float32):
    return np.random.default_rng(seed).normal(0, 1, shape).astype(dtype)


class Mode(unittest.TestCase):
    """Leaves the mode as it was."""

    def setUp(self):
        self.addCleanup(rl.graph.set_mode, rl.graph.mode())
        rl.graph.set_mode("graph")

    def in_both(self, call):
        """What a call gives in each mode: the same bits."""
        results = []
        for mode in ("graph", "eager"):
            rl.graph.set_mode(mode)
            results.append(call())
        rl.graph.set_mode("graph")
        for one, other in zip(*[self.leaves(r) for r in results], strict=True):
            self.assertEqual(np.asarray(one).tobytes(), np.asarray(other).tobytes())
        return results[0]

    def leaves(self, tree):
        if isinstance(tree, dict):
            return [leaf for key in tree for leaf in self.leaves(tree[key])]
        return [leaf for one in tree for leaf in self.leaves(one)] if isinstance(tree, (list, tuple)) else [tree]
