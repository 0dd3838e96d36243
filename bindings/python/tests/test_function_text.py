"""`@rl.function`: the text of its graphs, and the lines of Python that it names."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import ridgeline as rl

from function_support import normal

DEMO = """\
import numpy as np
import ridgeline as rl

# Lines 14 and 15 are those of the dump that people know.

@rl.function
def func(x, y):
    return x / y


@rl.function
def construct(x, y):
    # x and y are f32[2]
    x=x+y
    x=x*y
    return x


@rl.function
def test_f(x, y):
    a = x - y
    b = a + y
    c = b * func(a, b)
    return c
"""

ENTRY = """\
#IR entry      : @construct.1
#attrs         :
#Total params  : 2

%para1_x : <Tensor[Float32]x[const vector][2]>
%para2_y : <Tensor[Float32]x[const vector][2]>

#Total subgraph : 1

subgraph attr:
subgraph @construct.1() {
  %0([CNode]1) = Add(%para1_x, %para2_y) primitive_attrs: {output_names: [y], input_names: [x, y]}
      : (<Tensor[Float32]x[const vector][2]>, <Tensor[Float32]x[const vector][2]>) -> (<Tensor[Float32]x[const vector][2]>)
      # fullname_with_scope: (add)
      # In file demo.py(14)/    x=x+y/
  %1([CNode]2) = Mul(%0, %para2_y) primitive_attrs: {output_names: [y], input_names: [x, y]}
      : (<Tensor[Float32]x[const vector][2]>, <Tensor[Float32]x[const vector][2]>) -> (<Tensor[Float32]x[const vector][2]>)
      # fullname_with_scope: (mul)
      # In file demo.py(15)/    x=x*y/
  return(%1)
      : (<Tensor[Float32]x[const vector][2]>)
}
"""

LET = """\
let test_f = lambda (x, y)
  let %0 = x - y in
  let %1 = %0 + y in
  let func = lambda (x, y)
    let %0 = x / y in
    %0 end in
  let %2 = func(%0, %1) in
  let %3 = %1 * %2 in
  %3 end
"""

TEXT = """\
func @func(%x: f32[2], %y: f32[2]) {
  %0 = div(%x, %y) : f32[2] loc("demo.py":8 "func")
  return %0 "result"
}
graph @test_f(%x: f32[2], %y: f32[2]) {
  %0 = sub(%x, %y) : f32[2] loc("demo.py":21 "test_f")
  %1 = add(%0, %y) : f32[2] loc("demo.py":22 "test_f")
  %2 = call(%0, %1) {function="func"} : f32[2] loc("demo.py":23 "test_f")
  %3 = mul(%1, %2) : f32[2] loc("demo.py":23 "test_f")
  return %3 "result"
}
"""


class Text(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        with open("demo.py", "w") as file:
            file.write(DEMO)
        self.names = {}
        exec(compile(DEMO, "demo.py", "exec"), self.names)
        self.arguments = normal(2, seed=1), normal(2, seed=2)

    def test_the_dump_names_the_lines_of_the_python_file(self):
        self.assertEqual(self.names["construct"].graph(*self.arguments).text("ir"), ENTRY)

    def test_a_nested_function_is_a_lambda_and_its_call_stays_a_call(self):
        graph = self.names["test_f"].graph(*self.arguments)
        self.assertEqual(graph.text("let"), LET)
        self.assertEqual(graph.ops, ["sub", "add", "call", "mul"])

    def test_the_text_holds_files_lines_and_functions(self):
        graph = self.names["test_f"].graph(*self.arguments)
        self.assertEqual(graph.text(), TEXT)
        self.assertEqual(str(graph), re.sub(r" loc\(.*?\)", "", TEXT))
        self.assertIn("<svg", graph._repr_svg_())
        self.assertEqual((graph.name, graph.arguments, graph.results),
                         ("test_f", [("x", "f32", (2,)), ("y", "f32", (2,))], [("result", "f32", (2,))]))

    def test_the_command_line_reads_the_text(self):
        with open("f.rdg", "w") as file:
            file.write(self.names["test_f"].graph(*self.arguments).text())
        done = subprocess.run([sys.executable, "-m", "ridgeline", "graph", "check", "f.rdg"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_lines_of_helpers_come_with_those_that_called_them(self):
        source = "def helper(x):\n    return x * 2\n\ndef f(x):\n    y = helper(x)\n    return y\n"
        names = {}
        exec(compile(source, "helped.py", "exec"), names)
        text = rl.function(names["f"]).graph(normal(2)).text()
        self.assertIn('mul(%x, %0) : f32[2] loc("helped.py":2 "helper") loc("helped.py":5 "f")', text)

    def test_another_form_is_an_error_with_those_that_there_are(self):
        with self.assertRaisesRegex(rl.ArgumentError, r"'onnx' \(allowed: rdg, let, ir\)"):
            self.names["test_f"].graph(*self.arguments).text("onnx")


if __name__ == "__main__":
    unittest.main()
