#include "ridgeline/compile/run/op_programs.h"

#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/ir/text.h"

namespace ridgeline {
namespace {

std::string argument_name(std::size_t i) { return "x" + std::to_string(i); }

// The graph of this op alone. An operand that is read twice is one argument.
Graph alone(const Graph& graph, const Node& node) {
  Graph one;
  one.name = "eager";
  one.functions = graph.functions;
  Node copy = node;
  std::map<ValueId, ValueId> arguments;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const auto [it, is_new] = arguments.try_emplace(node.inputs[i], kNoValue);
    if (is_new) {
      it->second = one.add_value({graph.value(node.inputs[i]).type, ValueKind::input, argument_name(i)});
      one.arguments.push_back(it->second);
    }
    copy.inputs[i] = it->second;
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    copy.outputs[i] = one.add_value({graph.value(node.outputs[i]).type, ValueKind::activation, ""});
    one.returns.push_back({"y" + std::to_string(i), copy.outputs[i]});
  }
  // The name keys random numbers; without it equal ops share a program.
  const OpDef& def = op_def(node.op);
  if (!def.has(kRandom) && !def.has(kCall)) copy.name = node.op;
  if (!def.has(kCall)) one.functions.clear();
  one.nodes.push_back(std::move(copy));
  return one;
}

}  // namespace

std::vector<Tensor> OpPrograms::run(const Graph& graph, const Node& node, std::span<const Tensor> operands) {
  const Graph one = alone(graph, node);
  std::unique_ptr<Program>& program = programs_[to_text(one, {.locations = false})];
  if (!program) program = compile(one, session_, {.fusion = false});
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (one.find_argument(argument_name(i)) != kNoValue) program->bind(argument_name(i), operands[i]);
  }
  if (!program->run()) throw Error("the session was stopped", ErrorKind::interrupted);
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) results.push_back(program->output(i).clone());
  return results;
}

}  // namespace ridgeline
