"""What a notebook shows: models, graphs, datasets, a training as it goes."""

import importlib.util
import sys
import tempfile
import types
import unittest
import xml.etree.ElementTree as xml
from html.parser import HTMLParser
from unittest import mock

import ridgeline as rl
from training_support import batches, dense_model, pictures


class Cells(HTMLParser):
    """The cells of the tables of a page; an error where what is opened is not closed."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.open = [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, text):
        if "td" in self.open or "th" in self.open:
            self.rows[-1].append(text)


class Shown(unittest.TestCase):
    def test_a_model_is_a_table_of_its_parameters(self):
        model = dense_model(input_shape=[2], inputs=["point"])
        rows = Cells(model._repr_html_()).rows
        self.assertIn(["hidden.weight", "[8, 2]", "16"], rows)
        self.assertEqual(rows[-1], ["all", "51"])

    def test_a_model_without_shapes_says_what_it_needs(self):
        text = dense_model()._repr_html_()
        Cells(text)
        self.assertIn("input_shape=", text)
        self.assertIn("&lt;Model", text)

    def test_a_graph_is_drawn(self):
        model = dense_model()
        model.train(1, batches())
        self.assertIn("softmax_cross_entropy", model.graph)
        drawing = xml.fromstring(model.graph._repr_svg_())
        self.assertTrue(drawing.tag.endswith("svg"))
        words = " ".join(drawing.itertext())
        for word in ("hidden", "softmax_cross_entropy", "point"):
            self.assertIn(word, words)
        self.assertIsNone(model.graph._repr_html_())

    def test_a_graph_of_too_many_ops_is_shown_as_text(self):
        def net(x):
            for _ in range(3100):
                x = x + 1
            return x

        graph = rl.train.Model(net, input_shape=[2], inputs=["x"]).graph
        self.assertIsNone(graph._repr_svg_())
        self.assertIn("<pre>graph @", graph._repr_html_())

    def test_a_dataset_tells_its_columns_and_is_drawn(self):
        data = rl.data.InMemory(pictures()).shuffle().batch(4)
        text = data._repr_html_()
        table, drawing = text[:text.index("</table>") + 8], text[text.index("<svg"):]
        self.assertIn(["image", "u8", "[4, 32, 32, 3]"], Cells(table).rows)
        words = " ".join(xml.fromstring(drawing).itertext())
        self.assertIn("before the passes", words)
        self.assertIn("shuffle", words)

    def test_a_progress_is_drawn_in_one_place(self):
        shown = []

        class Handle:
            def update(self, data, raw):
                assert raw
                shown.append(data)

        def display(data, raw, display_id):
            assert raw and display_id
            shown.append(data)
            return Handle()

        module = types.ModuleType("IPython")
        module.get_ipython = lambda: types.SimpleNamespace(kernel=object())
        module.display = types.SimpleNamespace(display=display)
        with mock.patch.dict(sys.modules, {"IPython": module}):
            dense_model().train(3, batches(), callbacks=[rl.train.Progress(seconds=0)])
        self.assertEqual(shown[0], {"text/plain": ""})
        self.assertEqual(len(shown), 1 + 18)
        self.assertIn("step 18/18", shown[-1]["text/plain"])
        self.assertIn('<progress value="18" max="18"></progress>', shown[-1]["text/html"])
        Cells(shown[-1]["text/html"])


NOTEBOOK = ["""
import numpy as np
import ridgeline as rl
rng = np.random.default_rng(1)
data = rl.data.InMemory({"x": rng.normal(size=(32, 2)).astype(np.float32), "label": np.arange(32, dtype=np.int32) % 2}).batch(8)
model = rl.train.Model(lambda x: rl.nn.Dense(2)(x), loss=rl.nn.SoftmaxCrossEntropy(), optimizer=rl.optim.Sgd(lr=0.1))
""", "model.train(2, data, callbacks=[rl.train.Progress(seconds=0)]); model", "data", "model.graph"]


@unittest.skipIf(any(importlib.util.find_spec(name) is None for name in ("nbclient", "nbformat", "ipykernel")),
                 "nbclient, nbformat and ipykernel are not installed")
class Run(unittest.TestCase):
    def test_a_notebook_runs_and_its_kernel_starts_again(self):
        import nbclient
        import nbformat

        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in NOTEBOOK])
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                client = nbclient.NotebookClient(book, timeout=120, resources={"metadata": {"path": folder}})
                client.execute()
        outputs = [[o.get("data", {}) for o in cell["outputs"]] for cell in book["cells"]]
        self.assertTrue(any("step 8/8" in o.get("text/plain", "") for o in outputs[1]))
        self.assertTrue(any("dense.weight" in o.get("text/html", "") for o in outputs[1]))
        self.assertIn("<svg", outputs[2][0]["text/html"])
        self.assertIn("<svg", outputs[3][0]["image/svg+xml"])


if __name__ == "__main__":
    unittest.main()
