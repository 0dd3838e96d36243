#include "ridgeline/train/run_context.h"

#include <vector>

#include "ridgeline/core/error.h"

namespace ridgeline::train {

Tensor RunContext::fetch(const std::string& name) const {
  // The document's hooks name tensors by op and output: "global_step:0".
  const std::string plain = name.ends_with(":0") ? name.substr(0, name.size() - 2) : name;
  if (plain == nn::kGlobalStep) {
    Tensor step(DType::i64, Shape{});
    step.data<std::int64_t>()[0] = step_;
    return step;
  }
  Program& program = model_.training();
  const Graph& graph = program.graph();
  if (graph.find_return(plain) == kNoValue) {
    std::vector<std::string> names = {nn::kGlobalStep};
    for (const Return& r : graph.returns) names.push_back(r.name);
    std::string list;
    for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
    throw Error("the step returns no tensor '" + name + "'" + did_you_mean(plain, names) + " (there are: " + list + ")",
                ErrorKind::usage);
  }
  if (!has_outputs_) throw Error("'" + name + "' has no value before the first step");
  return program.output(plain);
}

}  // namespace ridgeline::train
