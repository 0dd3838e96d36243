// The one list of all gradient rules.
#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/grad/builders.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {
namespace {

GradientRule refuse(std::string_view op, std::string_view reason) { return {op, nullptr, {}, reason}; }

std::vector<GradientRule> make_table() {
  std::vector<GradientRule> table = {
      {"image_tail"},  // bytes have no gradient
      refuse("call", "inline the graph first"),
      refuse("loop", "differentiate before fusing"),
      refuse("transfer", "differentiate before a step is cut into stages"),
      refuse("collective_start", "differentiate before exchanges are split"),
      refuse("collective_done", "differentiate before exchanges are split"),
  };
  for (const OpDef& def : all_ops()) {
    if (def.has(kUpdate)) table.push_back(refuse(def.name, "it updates a parameter"));
    if (!def.made_of.empty()) table.push_back(refuse(def.name, "differentiate before fusing"));
  }
  constexpr std::string_view second = "gradients of gradients are not defined for this op";
  for (std::string_view op :
       {"conv2d_bwd_weights", "dense_bwd_data", "dense_bwd_weights", "max_pool_bwd", "avg_pool_bwd", "lrn_bwd",
        "batch_norm_bwd", "layer_norm_bwd", "group_norm_bwd", "softmax_bwd", "softmax_cross_entropy_bwd",
        "sigmoid_grad", "tanh_grad", "silu_grad", "gelu_grad"}) {
    table.push_back(refuse(op, second));
  }
  for (const auto& family : {pointwise_gradients(), activation_gradients(), layer_gradients(), product_gradients(),
                             shape_gradients(), collective_gradients(), loss_gradients()}) {
    table.insert(table.end(), family.begin(), family.end());
  }
  std::sort(table.begin(), table.end(), [](const GradientRule& a, const GradientRule& b) { return a.op < b.op; });
  for (std::size_t i = 1; i < table.size(); ++i) {
    RIDGELINE_CHECK(table[i - 1].op != table[i].op, "two gradient rules of " + std::string(table[i].op));
  }
  return table;
}

}  // namespace

std::span<const GradientRule> gradient_rules() {
  static const std::vector<GradientRule> table = make_table();
  return table;
}

const GradientRule* find_gradient(std::string_view op) {
  const std::span<const GradientRule> table = gradient_rules();
  const auto at = std::lower_bound(table.begin(), table.end(), op,
                                   [](const GradientRule& rule, std::string_view wanted) { return rule.op < wanted; });
  return at != table.end() && at->op == op ? &*at : nullptr;
}

}  // namespace ridgeline
