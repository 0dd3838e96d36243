// ridgeline/graph/ir/forms.h
//
// Step graphs as text for readers who know other systems. Neither format is parsed back: text.h has the format that is.
#pragma once

#include <string>

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/ir/node_error.h"

namespace ridgeline {

// In functional notation: functions are lambdas, every op is a `let`, and an op of one scalar operation is written as
// that operation:
//
//   let test_f = lambda (x0, x1)
//     let %0 = x0 - 1 in
//     let %1 = %0 + x1 in
//     let func = lambda (x0, x1)
//       let %0 = x0 / x1 in
//       %0 end in
//     let %2 = func(%0, %1) in
//     let %3 = %1 * %2 in
//     %3 end
//
// A parameter's next version is given before the result: `let w' = %4 in`.
std::string to_let_text(const Graph& graph);

// The format of MindSpore's dumps (releases 1.2 to 1.9), with the user's source lines where their files can be read:
//
//   #IR entry      : @main.1
//   #attrs         :
//   #Total params  : 2
//
//   %para1_x : <Tensor[Float32]x[const vector][2, 3]>
//   ...
//   subgraph @main.1() {
//     %0([CNode]1) = Add(%para1_x, %para2_y) primitive_attrs: {output_names: [y], input_names: [x, y]}
//         : (<Tensor[Float32]x[const vector][2, 3]>, ...) -> (<Tensor[Float32]x[const vector][2, 3]>)
//         # In file demo.py(14)/        x = x + y/
//     return(%0)
//         : (<Tensor[Float32]x[const vector][2, 3]>)
//   }
//
// `mark`: the op of this error gets a line in front that says what is wrong.
std::string to_entry_text(const Graph& graph, const NodeError* mark = nullptr);

}  // namespace ridgeline
