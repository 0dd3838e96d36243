#include "ridgeline/graph/pass/pipeline_plan.h"

#include <algorithm>
#include <limits>
#include <map>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/annotations.h"
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/pass/step_price.h"

namespace ridgeline {
namespace {

// Where nothing else is known: what CPUs of these years do for each byte that they read.
constexpr RankRates kAnyRates{.flops = 50, .memory_bytes = 1, .exchange_bytes = 1};

[[noreturn]] void refuse_stage(const Node& node, const std::string& why) {
  const std::string where = node.where.empty() ? "" : " (" + node.where.front().to_string() + ")";
  throw Error("[pipeline] " + node.name + " (" + node.op + ")" + where + " " + why);
}

const std::int64_t* asked_stage(const Node& node) {
  const Attribute* value = node.attributes.find(kStage);
  return value == nullptr ? nullptr : &std::get<std::int64_t>(*value);
}

class Stages {
 public:
  Stages(const Graph& graph, const PipelinePlan& plan, const RankRates& rates, const std::vector<bool>& follows)
      : graph_(graph),
        plan_(plan),
        rates_(rates.known() ? rates : kAnyRates),
        follows_(follows),
        backward_(backward_nodes(graph)),
        producer_(producers(graph)),
        stage_(graph.nodes.size(), -1) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) by_name_[graph.nodes[n].name] = n;
  }

  std::vector<int> run() {
    const bool annotated =
        std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [](const Node& node) { return asked_stage(node); });
    if (annotated)
      by_annotations();
    else
      by_cost();
    by_forward_ops();
    for (int s = 0; s < plan_.stages; ++s) {
      if (std::find(stage_.begin(), stage_.end(), s) == stage_.end())
        throw Error("[pipeline] stage " + std::to_string(s) + " of " + std::to_string(plan_.stages) + " has no ops",
                    ErrorKind::usage);
    }
    return stage_;
  }

 private:
  bool forward(std::size_t n) const {
    const Node& node = graph_.nodes[n];
    return !backward_[n] && std::any_of(node.outputs.begin(), node.outputs.end(),
                                        [&](ValueId id) { return follows_[static_cast<std::size_t>(id)]; });
  }

  int latest_operand(const Node& node) const {
    int latest = 0;
    for (ValueId id : node.inputs) {
      const int n = producer_[static_cast<std::size_t>(id)];
      if (n >= 0) latest = std::max(latest, stage_[static_cast<std::size_t>(n)]);
    }
    return latest;
  }

  void by_annotations() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      const std::int64_t* asked = asked_stage(node);
      if (asked != nullptr && (*asked < 0 || *asked >= plan_.stages))
        refuse_stage(node, "is annotated with stage " + std::to_string(*asked) + " (allowed: 0 to " +
                               std::to_string(plan_.stages - 1) + ")");
      if (!forward(n)) {
        if (asked != nullptr)
          refuse_stage(node, "is annotated with a stage; only forward ops that follow from the inputs may be");
        continue;
      }
      const int latest = latest_operand(node);
      if (asked != nullptr && *asked < latest)
        refuse_stage(node, "is annotated with stage " + std::to_string(*asked) + " and reads what stage " +
                               std::to_string(latest) + " makes");
      stage_[n] = asked != nullptr ? static_cast<int>(*asked) : latest;
    }
  }

  // The longest prefix of a gradient op's name that is a forward op's, in front of "/grad".
  std::size_t forward_of(std::size_t n) const {
    const std::string& name = graph_.nodes[n].name;
    for (std::size_t at = name.rfind("/grad"); at != std::string::npos && at > 0; at = name.rfind("/grad", at - 1)) {
      const auto found = by_name_.find(name.substr(0, at));
      if (found != by_name_.end()) return found->second;
    }
    return n;
  }

  void by_cost() {
    std::vector<std::size_t> ops;
    std::map<std::size_t, double> seconds;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (forward(n)) ops.push_back(n);
      if (forward(n) || backward_[n]) seconds[forward_of(n)] += op_seconds(graph_, node, rates_);
    }
    if (static_cast<std::int64_t>(ops.size()) < plan_.stages)
      throw Error("[pipeline] " + std::to_string(plan_.stages) + " stages of a step with " +
                      std::to_string(ops.size()) + " forward ops",
                  ErrorKind::usage);
    std::vector<double> sum = {0};
    for (const std::size_t n : ops) sum.push_back(sum.back() + seconds[n]);
    // least[s][i]: of the longest stage, where the first i ops are s + 1 stages; cut[s][i]: where the last one begins.
    const auto stages = static_cast<std::size_t>(plan_.stages);
    const double never = std::numeric_limits<double>::infinity();
    std::vector<std::vector<double>> least(stages, std::vector<double>(ops.size() + 1, never));
    std::vector<std::vector<std::size_t>> cut(stages, std::vector<std::size_t>(ops.size() + 1, 0));
    least[0] = sum;
    for (std::size_t s = 1; s < stages; ++s) {
      for (std::size_t i = s + 1; i <= ops.size(); ++i) {
        for (std::size_t j = s; j < i; ++j) {
          const double longest = std::max(least[s - 1][j], sum[i] - sum[j]);
          if (longest < least[s][i]) {
            least[s][i] = longest;
            cut[s][i] = j;
          }
        }
      }
    }
    std::size_t end = ops.size();
    for (std::size_t s = stages; s-- > 0;) {
      const std::size_t begin = s == 0 ? 0 : cut[s][end];
      for (std::size_t i = begin; i < end; ++i) stage_[ops[i]] = static_cast<int>(s);
      end = begin;
    }
  }

  // Gradient ops run where their forward op does; what is named after an argument or by its user, where it reads.
  void by_forward_ops() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (!backward_[n] || stage_[n] >= 0) continue;
      if (!std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId id) { return follows_[static_cast<std::size_t>(id)]; }))
        continue;
      const std::size_t of = forward_of(n);
      stage_[n] = of != n && stage_[of] >= 0 ? stage_[of] : latest_operand(node);
    }
  }

  const Graph& graph_;
  const PipelinePlan& plan_;
  RankRates rates_;
  const std::vector<bool>& follows_;
  std::vector<bool> backward_;
  std::vector<int> producer_;
  std::vector<int> stage_;
  std::map<std::string, std::size_t> by_name_;
};

}  // namespace

std::vector<bool> follows_inputs(const Graph& graph, const std::string& group) {
  std::vector<bool> follows(graph.values.size(), false), together(graph.values.size(), false);
  for (ValueId id : graph.arguments) {
    if (graph.value(id).kind == ValueKind::input) follows[static_cast<std::size_t>(id)] = true;
  }
  for (const Node& node : graph.nodes) {
    const OpDef& def = op_def(node.op);
    if (def.has(kStart) && node.attributes.string("group") == group) {
      together[static_cast<std::size_t>(node.outputs[0])] = true;
      continue;
    }
    if (def.has(kDone) && together[static_cast<std::size_t>(node.inputs[0])]) continue;
    if (std::any_of(node.inputs.begin(), node.inputs.end(),
                    [&](ValueId id) { return follows[static_cast<std::size_t>(id)]; })) {
      for (ValueId id : node.outputs) follows[static_cast<std::size_t>(id)] = true;
    }
  }
  return follows;
}

std::vector<bool> backward_nodes(const Graph& graph) {
  std::vector<bool> of_gradient(graph.values.size(), false), backward;
  for (const Node& node : graph.nodes) {
    const bool gives = std::any_of(node.outputs.begin(), node.outputs.end(),
                                   [&](ValueId id) { return graph.value(id).kind == ValueKind::grad; });
    const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(),
                                   [&](ValueId id) { return of_gradient[static_cast<std::size_t>(id)]; });
    backward.push_back(gives || reads);
    if (!backward.back()) continue;
    for (ValueId id : node.outputs) of_gradient[static_cast<std::size_t>(id)] = true;
  }
  return backward;
}

std::vector<int> stages_of(const Graph& graph, const PipelinePlan& plan, const RankRates& rates,
                           const std::vector<bool>& follows) {
  return Stages(graph, plan, rates, follows).run();
}

}  // namespace ridgeline
