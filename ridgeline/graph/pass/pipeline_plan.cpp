#include "ridgeline/graph/pass/pipeline_plan.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/annotations.h"
#include "ridgeline/graph/ir/gradient_name.h"
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/pass/pipeline_order.h"
#include "ridgeline/graph/pass/step_price.h"

namespace ridgeline {
namespace {

// Defaults: operations of current CPUs for each byte that they read.
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
    find_kept();
  }

  StagedNodes run() {
    const bool annotated =
        std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [](const Node& node) { return asked_stage(node); });
    if (annotated)
      by_annotations();
    else
      by_cost();
    by_forward_ops();
    by_kept_values();
    for (int s = 0; s < plan_.stages; ++s) {
      if (std::find(stage_.begin(), stage_.end(), s) == stage_.end())
        throw Error("[pipeline] stage " + std::to_string(s) + " of " + std::to_string(plan_.stages) + " has no ops",
                    ErrorKind::usage);
    }
    return {std::move(stage_), std::move(backward_)};
  }

 private:
  bool follows(const Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId id) { return follows_[static_cast<std::size_t>(id)]; });
  }
  bool forward(std::size_t n) const { return !backward_[n] && follows(graph_.nodes[n]); }

  // What a value is read for: as the next version of a stored value, or as a condition on which that stays as it is.
  enum class Use : std::uint8_t { next, condition, other };
  using Uses = std::set<std::pair<Use, ValueId>>;

  // Ops that choose between a stored value's old and next version, with those that compute only the choice.
  void find_kept() {
    std::map<ValueId, Uses> uses;
    for (const Update& update : graph_.updates) uses[update.next].emplace(Use::next, update.current);
    for (const Return& r : graph_.returns) uses[r.value].emplace(Use::other, kNoValue);
    std::map<ValueId, const Node*> ends;  // of exchanges, which make means of what the micro-batches have
    for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (op_def(node.op).has(kDone)) {
        ends[node.inputs[0]] = &node;
        continue;
      }
      if (op_def(node.op).has(kStart) && ends.contains(node.outputs[0])) {
        const std::vector<ValueId>& means = ends.at(node.outputs[0])->outputs;
        for (std::size_t i = 0; i < means.size(); ++i) uses[node.inputs[i]].merge(uses[means[i]]);
        continue;
      }
      Uses all;
      for (const ValueId id : node.outputs) all.insert(uses[id].begin(), uses[id].end());
      const auto [use, of] = all.size() == 1 && forward(n) ? *all.begin() : std::pair(Use::other, kNoValue);
      const bool chooses = use == Use::next && node.op == "select" && node.inputs[2] == of;
      const bool says = use == Use::condition;
      if (chooses || says) kept_[n] = of;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (chooses && node.inputs[i] == of) continue;
        const bool next = chooses && i == 1;
        uses[node.inputs[i]].emplace(next              ? Use::next
                                     : chooses || says ? Use::condition
                                                       : Use::other,
                                     chooses || says ? of : kNoValue);
      }
    }
    for (const auto& [n, of] : kept_) backward_[n] = true;
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

  std::size_t forward_of(std::size_t n) const {
    const auto found = by_name_.find(
        forward_name(graph_.nodes[n].name, [&](const std::string& name) { return by_name_.contains(name); }));
    return found == by_name_.end() ? n : found->second;
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

  // Gradient ops run where their forward op does; others, named after an argument or by the user, run where their
  // operands are.
  void by_forward_ops() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (!backward_[n] || stage_[n] >= 0 || !follows(node) || kept_.contains(n)) continue;
      const std::size_t of = forward_of(n);
      stage_[n] = of != n && stage_[of] >= 0 ? stage_[of] : latest_operand(node);
    }
  }

  void by_kept_values() {
    for (const auto& [n, of] : kept_) {
      stage_[n] = latest_operand(graph_.nodes[n]);
      for (std::size_t reader = 0; reader < graph_.nodes.size(); ++reader) {
        const std::vector<ValueId>& inputs = graph_.nodes[reader].inputs;
        if (kept_.contains(reader) || stage_[reader] < 0 || std::find(inputs.begin(), inputs.end(), of) == inputs.end())
          continue;
        stage_[n] = stage_[reader];
        break;
      }
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
  std::map<std::size_t, ValueId> kept_;  // by node: the stored value that it is about
};

}  // namespace

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

StagedNodes stages_of(const Graph& graph, const PipelinePlan& plan, const RankRates& rates,
                      const std::vector<bool>& follows) {
  return Stages(graph, plan, rates, follows).run();
}

std::string stages_text(const Graph& graph, const StagedNodes& nodes, const PipelinePlan& plan) {
  std::string all = "pipeline of " + std::to_string(plan.stages) + " stages, " + std::to_string(plan.micro_batches) +
                    " micro-batches, " + std::string(name_of(plan.order));
  for (int s = 0; s < plan.stages; ++s) {
    const Node* first = nullptr;
    const Node* last = nullptr;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      if (nodes.stage[n] != s || nodes.backward[n]) continue;
      if (first == nullptr) first = &graph.nodes[n];
      last = &graph.nodes[n];
    }
    if (first != nullptr) all += "; stage " + std::to_string(s) + " " + first->name + " to " + last->name;
  }
  char bubble[48];
  std::snprintf(bubble, sizeof bubble, "; stages wait %.3f of the time", pipeline_bubble(plan));
  return all + bubble;
}

}  // namespace ridgeline
