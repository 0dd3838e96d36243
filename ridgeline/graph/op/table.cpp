// The one list of all ops. Nothing registers itself.
#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/op/activation.h"
#include "ridgeline/graph/op/batch_norm.h"
#include "ridgeline/graph/op/call.h"
#include "ridgeline/graph/op/collective.h"
#include "ridgeline/graph/op/concat.h"
#include "ridgeline/graph/op/conv2d.h"
#include "ridgeline/graph/op/conv2d_max_pool.h"
#include "ridgeline/graph/op/dense.h"
#include "ridgeline/graph/op/dense_update.h"
#include "ridgeline/graph/op/gather.h"
#include "ridgeline/graph/op/image_tail.h"
#include "ridgeline/graph/op/l2_penalty.h"
#include "ridgeline/graph/op/layer_norm.h"
#include "ridgeline/graph/op/lrn.h"
#include "ridgeline/graph/op/matmul.h"
#include "ridgeline/graph/op/metrics.h"
#include "ridgeline/graph/op/pointwise.h"
#include "ridgeline/graph/op/pool.h"
#include "ridgeline/graph/op/reduce.h"
#include "ridgeline/graph/op/shape_ops.h"
#include "ridgeline/graph/op/slice_ops.h"
#include "ridgeline/graph/op/softmax.h"
#include "ridgeline/graph/op/update.h"
#include "ridgeline/graph/op/update_group.h"

namespace ridgeline {
namespace {

std::vector<OpDef> make_table() {
  std::vector<OpDef> table = {call_op(),         image_tail_op(),   l2_penalty_op(),
                              update_group_op(), dense_update_op(), matmul_op()};
  const auto add = [&](std::vector<OpDef> ops) {
    for (OpDef& def : ops) table.push_back(std::move(def));
  };
  add(pointwise_ops());
  add(activation_ops());
  add(conv2d_ops());
  add(conv2d_max_pool_ops());
  add(dense_ops());
  add(pool_ops());
  add(lrn_ops());
  add(batch_norm_ops());
  add(layer_norm_ops());
  add(reduce_ops());
  add(shape_ops());
  add(slice_ops());
  add(concat_ops());
  add(gather_ops());
  add(softmax_ops());
  add(metric_ops());
  add(collective_ops());
  add(update_ops());

  std::sort(table.begin(), table.end(), [](const OpDef& a, const OpDef& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < table.size(); ++i) {
    RIDGELINE_CHECK(table[i - 1].name != table[i].name, "two ops named " + table[i].name);
  }
  return table;
}

}  // namespace

std::span<const OpDef> all_ops() {
  static const std::vector<OpDef> table = make_table();
  return table;
}

const OpDef* find_op(std::string_view name) {
  const std::span<const OpDef> table = all_ops();
  const auto at = std::lower_bound(table.begin(), table.end(), name,
                                   [](const OpDef& def, std::string_view wanted) { return def.name < wanted; });
  return at != table.end() && at->name == name ? &*at : nullptr;
}

}  // namespace ridgeline
