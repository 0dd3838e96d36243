#include "trace.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>

#include "../arrays.h"
#include "../bind.h"
#include "../train/graph_values.h"
#include "../values.h"
#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/function_names.h"

namespace ridgeline::python {
namespace {

// The user's name of an array: the variable of the running frame, or of its module, that holds it.
std::string name_of_array(nb::handle array) {
  const nb::object frame = user_frame();
  if (frame.is_none()) return "constant";
  for (const char* scope : {"f_locals", "f_globals"}) {
    const nb::object names = frame.attr(scope);
    for (nb::handle name : nb::list(names.attr("keys")())) {
      if (!names[name].is(array)) continue;
      const std::string text = text_of(name);
      if (std::all_of(text.begin(), text.end(),
                      [](unsigned char c) { return c == '_' || (c < 128 && std::isalnum(c)); }))
        return text;
    }
  }
  return "constant";
}

bool same_numbers(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0;
}

}  // namespace

FunctionTrace::FunctionTrace(const std::string& name, nb::object code)
    : builder_(std::make_unique<GraphBuilder>(name)),
      code_(std::move(code)),
      functions_{{name, "the function itself"}} {}

Value FunctionTrace::argument(const std::string& name, const ValueType& type) {
  std::string own = name;
  for (int n = 1; builder_->graph().find_argument(own) != kNoValue; ++n) own = numbered_name(name, n);
  return builder_->input(own, type);
}

Value FunctionTrace::constant(nb::handle array, const Location&) {
  const Tensor tensor = from_array("an array that a function reads", array);
  for (const Constant& known : constants_) {
    if (known.array.is(array) && same_numbers(known.tensor, tensor)) return known.value;
  }
  constants_.push_back({nb::borrow(array), tensor, argument(name_of_array(array), {tensor.dtype(), tensor.shape()})});
  return constants_.back().value;
}

Value FunctionTrace::input(const std::string& name, const std::string& dtype, const std::vector<std::int64_t>& shape) {
  const std::optional<DType> type = parse_dtype(dtype);
  RIDGELINE_CHECK(type.has_value(), "a type of an array without a name");
  return argument(name, {*type, Shape(shape)});
}

std::vector<Value> FunctionTrace::call(const std::string& name, const PyGraph& body,
                                       const std::vector<Value>& arguments, const std::vector<PyArray>& constants) {
  std::vector<Value> values = arguments;
  const Graph& graph = *body.graph;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    const Tensor& tensor = constants[i].tensor;
    const auto known = std::find_if(constants_.begin(), constants_.end(), [&](const Constant& constant) {
      return constant.tensor.raw() == tensor.raw() || same_numbers(constant.tensor, tensor);
    });
    if (known != constants_.end()) {
      values.push_back(known->value);
      continue;
    }
    const ValueInfo& inside = graph.value(graph.arguments[arguments.size() + i]);
    constants_.push_back({nb::none(), tensor, argument(inside.name, inside.type)});
    values.push_back(constants_.back().value);
  }
  // Functions with different bodies may have the same name in Python.
  Graph own = graph;
  name_functions_apart(own, functions_);
  own.name = name_for(own, name, functions_);
  const Location where = user_line();
  const CallerFrames frames(*builder_, code());
  return building([&] { return builder_->call(own.name, own, values, where); });
}

PyGraph FunctionTrace::finish(const std::vector<Value>& results) {
  Location where;  // of the function
  if (!code_.is_none()) {
    where = {.file = shown(code_.attr("co_filename")),
             .line = nb::cast<std::uint32_t>(code_.attr("co_firstlineno")),
             .function = shown(code_.attr("co_name"))};
  }
  for (std::size_t i = 0; i < results.size(); ++i)
    building([&] { builder_->returns(numbered_name("result", static_cast<int>(i)), results[i], where); });
  Graph graph = builder_->finish();
  // Constants are in the order in which they were read first, after the function's arguments.
  std::vector<ValueId> last;
  for (const Constant& constant : constants_) last.push_back(constant.value.id());
  std::stable_partition(graph.arguments.begin(), graph.arguments.end(),
                        [&](ValueId id) { return std::find(last.begin(), last.end(), id) == last.end(); });
  return {std::make_shared<const Graph>(std::move(graph))};
}

std::vector<PyArray> FunctionTrace::constants() const {
  std::vector<PyArray> arrays;
  for (const Constant& constant : constants_) arrays.push_back({constant.tensor});
  return arrays;
}

}  // namespace ridgeline::python
