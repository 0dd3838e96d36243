#include "ridgeline/graph/pass/shard_plan.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/annotations.h"
#include "ridgeline/graph/pass/data_parallel.h"
#include "ridgeline/graph/pass/parameter_server.h"
#include "ridgeline/graph/pass/step_price.h"

namespace ridgeline {
namespace {

constexpr std::size_t kMostCompared = 6;

const std::string* asked_shard(const Node& node) {
  const Attribute* value = node.attributes.find(kShard);
  return value == nullptr ? nullptr : &std::get<std::string>(*value);
}

[[noreturn]] void refuse_shard(const Node& node, const std::string& why) {
  const std::string where = node.where.empty() ? "" : " (" + node.where.front().to_string() + ")";
  throw Error("[shard] " + node.name + " (" + node.op + ")" + where + " " + why);
}

bool goes_by_annotations(ParallelMode mode) {
  return mode == ParallelMode::hybrid_parallel || mode == ParallelMode::semi_auto_parallel ||
         mode == ParallelMode::auto_parallel;
}

// A dense layer and its possible divisions.
struct Layer {
  const Node* node;
  std::vector<std::string> choices;  // the first one is "data", unless it is annotated
  int in_front = -1;                 // the layer whose results it reads, through elementwise ops at most
};

std::vector<std::string> choices_of(const Graph& graph, const Node& node, std::int64_t ranks) {
  if (const std::string* asked = asked_shard(node)) return {*asked};
  std::vector<std::string> choices = {kData};
  const bool stored = is_stored(graph.value(node.inputs[1]).kind);
  if (!stored || node.inputs.size() > 3 || node.attributes.string("activation") != "none") return choices;
  const Shape& weight = graph.value(node.inputs[1]).type.shape;
  if (weight[0] % ranks == 0) choices.emplace_back(kColumns);
  if (weight[1] % ranks == 0) choices.emplace_back(kRows);
  return choices;
}

// Forward layers: gradients have ops of their own.
std::vector<Layer> layers_of(const Graph& graph, std::int64_t ranks) {
  std::vector<Layer> layers;
  std::vector<int> from(graph.values.size(), -1);  // the layer from which the value is computed
  for (const Node& node : graph.nodes) {
    if (node.op == "dense") {
      const int in_front = from[static_cast<std::size_t>(node.inputs[0])];
      from[static_cast<std::size_t>(node.outputs[0])] = static_cast<int>(layers.size());
      layers.push_back({&node, choices_of(graph, node, ranks), in_front});
    } else if (op_def(node.op).has(kPointwise) && node.outputs.size() == 1) {
      for (ValueId id : node.inputs) {
        if (graph.value(id).type.shape == graph.value(node.outputs[0]).type.shape)
          from[static_cast<std::size_t>(node.outputs[0])] =
              std::max(from[static_cast<std::size_t>(node.outputs[0])], from[static_cast<std::size_t>(id)]);
      }
    }
  }
  return layers;
}

bool has(const std::vector<std::string>& choices, const char* choice) {
  return std::find(choices.begin(), choices.end(), choice) != choices.end();
}

using Choice = std::vector<std::size_t>;  // of each layer: which of its choices

std::vector<ShardedLayer> divided(const std::vector<Layer>& layers, const Choice& choice) {
  std::vector<ShardedLayer> all;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string& how = layers[i].choices[choice[i]];
    if (how != kData) all.push_back({layers[i].node->name, how});
  }
  return all;
}

class Search {
 public:
  Search(const Graph& graph, const Distribution& distribution, const std::vector<Layer>& layers)
      : graph_(graph), distribution_(distribution), layers_(layers) {}

  double price(const Choice& choice) const {
    PassResults results;
    const Graph divided_step = shard_layers(graph_, distribution_, results, divided(layers_, choice));
    const Graph step = data_parallel(divided_step, {.fusion = {}, .distribution = distribution_}, results);
    return step_seconds(step, distribution_.rates);
  }

  Choice best() {
    Choice choice(layers_.size(), 0);
    least_ = price(choice);
    best_ = choice;
    if (layers_.size() <= kMostCompared) {
      all(choice, 0, layers_.size());
      return best_;
    }
    for (double before = 2 * least_; least_ < before;) {
      before = least_;
      for (std::size_t i = 0; i < layers_.size(); ++i) {
        Choice from = best_;
        all(from, i, std::min(i + 2, layers_.size()));
      }
    }
    return best_;
  }
  double least() const { return least_; }

 private:
  // Every choice of the layers [i, end), the others as they are.
  void all(Choice& choice, std::size_t i, std::size_t end) {
    if (i == end) {
      if (const double seconds = price(choice); seconds < least_) {
        least_ = seconds;
        best_ = choice;
      }
      return;
    }
    const std::size_t before = choice[i];
    for (choice[i] = 0; choice[i] < layers_[i].choices.size(); ++choice[i]) all(choice, i + 1, end);
    choice[i] = before;
  }

  const Graph& graph_;
  const Distribution& distribution_;
  const std::vector<Layer>& layers_;
  Choice best_;
  double least_ = 0;
};

std::string milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g ms", seconds * 1e3);
  return text;
}

// Whether there is an exchange of shards: then the step has been divided.
bool divided_already(const Graph& graph, const std::string& group) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    const bool parts = node.op == "all_gather" || node.op == "reduce_scatter" || node.op == "all_to_all";
    return parts && node.attributes.string("group") == group;
  });
}

}  // namespace

void check_shards(const Graph& graph, const Distribution& distribution) {
  check_servers(distribution);
  for (const Node& node : graph.nodes) {
    const std::string* how = asked_shard(node);
    if (how == nullptr || *how == kData) continue;
    if (*how != kColumns && *how != kRows)
      refuse_shard(node, "has the unknown annotation shard=\"" + *how + "\" (allowed: data, columns, rows)");
    if (node.op != "dense")
      refuse_shard(node, "cannot be divided by \"" + *how + "\" (allowed: data; of dense ops columns and rows, too)");
    if (distribution.pipeline.stages > 1)
      refuse_shard(node,
                   "is to be divided by \"" + *how + "\", and the ranks are stages of a pipeline (allowed: data)");
    if (distribution.ranks > 1 && !goes_by_annotations(distribution.mode)) {
      refuse_shard(node, "is to be divided by \"" + *how + "\", and parallel_mode is " +
                             std::string(name_of(distribution.mode)) +
                             " (allowed with: hybrid_parallel, semi_auto_parallel, auto_parallel)");
    }
  }
}

ShardPlan plan_shards(const Graph& graph, const Distribution& distribution) {
  ShardPlan plan;
  const bool pipelined = distribution.pipeline.stages > 1;
  if (distribution.ranks <= 1 || pipelined || !goes_by_annotations(distribution.mode)) return plan;
  std::vector<Layer> layers = layers_of(graph, distribution.ranks);
  if (layers.empty() ||
      (distribution.mode != ParallelMode::semi_auto_parallel && divided_already(graph, distribution.group)))
    return plan;
  Choice choice(layers.size(), 0);
  if (distribution.mode == ParallelMode::hybrid_parallel) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const std::vector<std::string>& choices = layers[i].choices;
      const auto in_front = static_cast<std::size_t>(std::max(layers[i].in_front, 0));
      const bool behind_columns = layers[i].in_front >= 0 && layers[in_front].choices[choice[in_front]] == kColumns;
      const char* wanted = (behind_columns && has(choices, kRows)) || !has(choices, kColumns) ? kRows : kColumns;
      if (choices.size() == 1 || !has(choices, wanted)) continue;
      choice[i] = static_cast<std::size_t>(std::find(choices.begin(), choices.end(), wanted) - choices.begin());
    }
  } else if (distribution.mode == ParallelMode::auto_parallel) {
    if (!distribution.rates.known())
      throw Error("[shard] auto_parallel needs the rates at which ranks compute and exchange", ErrorKind::usage);
    Search search(graph, distribution, layers);
    plan.data_parallel_seconds = search.price(choice);
    choice = search.best();
    plan.seconds = search.least();
  }
  plan.layers = divided(layers, choice);
  plan.text = std::string(name_of(distribution.mode)) + " over " + std::to_string(distribution.ranks) + " ranks:";
  for (std::size_t i = 0; i < layers.size(); ++i)
    plan.text += (i ? ", " : " ") + layers[i].node->name + " " + layers[i].choices[choice[i]];
  plan.text += "; all else data";
  if (plan.seconds > 0) {
    plan.text += "; estimated " + milliseconds(plan.seconds) + " a step, " + milliseconds(plan.data_parallel_seconds) +
                 " with all by data";
  }
  return plan;
}

Graph annotated(Graph graph, const std::vector<ShardedLayer>& layers) {
  for (Node& node : graph.nodes) {
    for (const ShardedLayer& layer : layers) {
      if (node.name == layer.node) node.attributes.set(kShard, layer.how);
    }
  }
  return graph;
}

}  // namespace ridgeline
