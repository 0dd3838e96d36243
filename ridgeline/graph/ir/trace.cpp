#include "ridgeline/graph/ir/trace.h"

#include <algorithm>

#include "ridgeline/graph/ir/function_names.h"

namespace ridgeline {
namespace {

bool takes(const Graph& function, std::span<const Value> arguments) {
  return std::equal(function.arguments.begin(), function.arguments.end(), arguments.begin(), arguments.end(),
                    [&](ValueId id, const Value& argument) { return function.value(id).type == argument.type(); });
}

}  // namespace

std::vector<Value> call_specialised(GraphBuilder& caller, const std::string& name, Graph body,
                                    std::span<const Value> arguments, const Location& where) {
  FunctionTexts taken = function_texts(caller.graph());
  name_functions_apart(body, taken);
  const std::map<std::string, Graph>& functions = caller.graph().functions;
  std::string own = name;
  for (int n = 1;; own = numbered_name(name, n++)) {
    const auto known = functions.find(own);
    // Another body, or another function inside which it has that name, for arguments of other types.
    if (known != functions.end() ? takes(known->second, arguments) : !taken.contains(own)) break;
  }
  body.name = own;
  return caller.call(own, body, arguments, where);
}

}  // namespace ridgeline
