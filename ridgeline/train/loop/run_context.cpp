#include "ridgeline/train/loop/run_context.h"

#include <vector>

#include "ridgeline/core/error.h"

namespace ridgeline::train {

namespace {

// The document's hooks name tensors by op and output: "global_step:0".
std::string plain_name(const std::string& name) {
  return name.ends_with(":0") ? name.substr(0, name.size() - 2) : name;
}

}  // namespace

Tensor RunContext::fetch(const std::string& name) const {
  const std::string plain = plain_name(name);
  if (plain == nn::kGlobalStep) {
    Tensor step(DType::i64, Shape{});
    step.data<std::int64_t>()[0] = step_;
    return step;
  }
  check_name(name);
  if (!has_outputs_) throw Error("'" + name + "' has no value before the first step");
  return model_.training().output(plain);
}

void RunContext::check_name(const std::string& name) const {
  const std::string plain = plain_name(name);
  const Graph& graph = model_.training().graph();
  if (plain != nn::kGlobalStep && graph.find_return(plain) == kNoValue) {
    std::vector<std::string> names = {nn::kGlobalStep};
    for (const Return& r : graph.returns) names.push_back(r.name);
    std::string list;
    for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
    throw Error("the step returns no tensor '" + name + "'" + did_you_mean(plain, names) + " (there are: " + list + ")",
                ErrorKind::usage);
  }
}

}  // namespace ridgeline::train
