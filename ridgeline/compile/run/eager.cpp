#include "ridgeline/compile/run/eager.h"

#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"

namespace ridgeline {

Eager::Eager(Session& session) : programs_(session) { forget(); }

void Eager::forget() {
  builder_.emplace("eager");
  builder_->observe([this](const Node& node) { run_node(builder_->graph(), node, tensors_); });
  tensors_.clear();
}

Value Eager::input(const Tensor& value) {
  const std::string name = "x" + std::to_string(builder_->graph().arguments.size());
  const Value v = builder_->input(name, {value.dtype(), value.shape()});
  tensors_.resize(static_cast<std::size_t>(v.id()) + 1);
  tensors_.back() = value;
  return v;
}

const Tensor& Eager::tensor(const Value& value, const std::source_location& at) const {
  if (value.is_of(*builder_)) return tensors_[static_cast<std::size_t>(value.id())];
  throw Error("what is looked at is " + value.foreign_text(*builder_) +
              ": inside of `call`, and after forget(), there is nothing to look at" + behind_message(at));
}

void Eager::run_node(const Graph& graph, const Node& node, std::vector<Tensor>& tensors) {
  std::vector<Tensor> operands;
  for (ValueId id : node.inputs) operands.push_back(tensors[static_cast<std::size_t>(id)]);
  std::vector<Tensor> results = programs_.run(graph, node, operands);
  tensors.resize(graph.values.size());
  for (std::size_t i = 0; i < results.size(); ++i)
    tensors[static_cast<std::size_t>(node.outputs[i])] = std::move(results[i]);
}

std::vector<Tensor> Eager::run_ops(const Graph& graph, const Arguments& arguments) {
  check_arguments(graph, arguments);
  std::vector<Tensor> tensors(graph.values.size());
  for (ValueId id : graph.arguments)
    tensors[static_cast<std::size_t>(id)] = arguments.find(graph.value(id).name)->second;
  for (const Node& node : graph.nodes) run_node(graph, node, tensors);
  std::vector<Tensor> returns;
  for (const Return& r : graph.returns) returns.push_back(tensors[static_cast<std::size_t>(r.value)]);
  return returns;
}

Arguments Eager::inputs() const {
  Arguments arguments;
  for (ValueId id : recorded().arguments) arguments[recorded().value(id).name] = tensors_[static_cast<std::size_t>(id)];
  return arguments;
}

}  // namespace ridgeline
