#include "ridgeline/graph/ir/traced_function.h"

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"

namespace ridgeline {

const Graph& Specialisations::of(std::span<const ValueType> types, FunctionRef<Value(std::vector<Value>&)> record,
                                 const Location& where) {
  const auto same = [&](const std::vector<ValueType>& others) { return std::ranges::equal(others, types); };
  for (const Specialisation& known : known_) {
    if (same(known.types)) return known.graph;
  }
  if (std::any_of(recording_.begin(), recording_.end(), same)) {
    throw Error(
        "[" + name_ + "] calls itself with arguments of the same types: a graph without an end" + behind_message(where),
        ErrorKind::usage);
  }
  recording_.emplace_back(types.begin(), types.end());
  const struct Over {
    std::vector<std::vector<ValueType>>& recording;
    ~Over() { recording.pop_back(); }
  } over{recording_};
  GraphBuilder body(name_);
  std::vector<Value> arguments;
  for (std::size_t i = 0; i < types.size(); ++i) arguments.push_back(body.input("x" + std::to_string(i), types[i]));
  body.returns("result", record(arguments), where);
  known_.push_back({{types.begin(), types.end()}, body.finish()});
  return known_.back().graph;
}

}  // namespace ridgeline
