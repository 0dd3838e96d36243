#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/data/ir/count.h"
#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/ir/nodes/entries.h"

namespace ridgeline::data {
namespace {

using Sizes = std::vector<std::int64_t>;

void check_shuffle(const Node& node) {
  at_least(node, "seed", -1);
  at_least(node, "buffer", 0);
}

std::int64_t shuffle_size(const Node& node, const Sizes& rows) {
  if (rows[0] == kForever && arg<std::int64_t>(node.args, "buffer") == 0)
    throw Error("[shuffle] cannot permute endless rows: put shuffle before repeat, or give it a buffer");
  return rows[0];
}

std::int64_t repeat_size(const Node& node, const Sizes& rows) {
  const std::int64_t count = arg<std::int64_t>(node.args, "count");
  if (rows[0] == kForever || (count == kForever && rows[0] != 0)) return kForever;
  if (rows[0] == kUnknown) return kUnknown;
  return count == kForever ? 0 : rows_product(node.op, rows[0], count);
}

void check_count(const Node& node) {
  const std::int64_t count = arg<std::int64_t>(node.args, "count");
  if (count < -1 || (node.op == node_name::kRepeat && count == 0)) {
    throw Error(fmt::format("[{}] count is {}, it must be {} or more, or -1 for {}", node.op, count,
                            node.op == node_name::kRepeat ? 1 : 0, node.op == node_name::kRepeat ? "ever" : "all"));
  }
}

std::int64_t take_size(const Node& node, const Sizes& rows) {
  const std::int64_t count = arg<std::int64_t>(node.args, "count");
  if (count == -1 || rows[0] == kUnknown) return count == 0 ? 0 : rows[0];
  return rows[0] == kForever ? count : std::min(rows[0], count);
}

std::int64_t skip_size(const Node& node, const Sizes& rows) {
  return rows[0] < 0 ? rows[0] : std::max<std::int64_t>(0, rows[0] - arg<std::int64_t>(node.args, "count"));
}

std::int64_t shard_size(const Node& node, const Sizes& rows) {
  const std::int64_t count = arg<std::int64_t>(node.args, "count");
  const std::int64_t index = arg<std::int64_t>(node.args, "index");
  return rows[0] < 0 ? rows[0] : rows[0] > index ? (rows[0] - index - 1) / count + 1 : 0;
}

void check_shard(const Node& node) {
  const std::int64_t count = at_least(node, "count", 1);
  const std::int64_t index = at_least(node, "index", 0);
  if (index >= count)
    throw Error(fmt::format("[shard] index is {}, it must be below count, which is {}", index, count));
}

}  // namespace

std::vector<NodeEntry> order_entries() {
  return {
      {.op = node_name::kShuffle,
       .kind = NodeKind::order,
       .doc = "shuffles all rows anew in every epoch; with a buffer, only within a shuffle buffer",
       .args = {seed_arg(),
                {.name = "buffer",
                 .type = ArgType::integer,
                 .doc = "size of the shuffle buffer in rows; 0: all rows",
                 .fallback = std::int64_t{0}}},
       .check = check_shuffle,
       .schema = same_schema,
       .size = shuffle_size,
       .random = true},
      {.op = node_name::kRepeat,
       .kind = NodeKind::order,
       .doc = "repeats the rows; each repetition is a separate epoch for the nodes below",
       .args = {{.name = "count",
                 .type = ArgType::integer,
                 .doc = "number of repetitions; -1: endless",
                 .fallback = std::int64_t{-1}}},
       .check = check_count,
       .schema = same_schema,
       .size = repeat_size,
       .repeats = true},
      {.op = node_name::kTake,
       .kind = NodeKind::order,
       .doc = "takes the first rows",
       .args = {{.name = "count", .type = ArgType::integer, .doc = "number of rows; -1: all"}},
       .check = check_count,
       .schema = same_schema,
       .size = take_size},
      {.op = node_name::kSkip,
       .kind = NodeKind::order,
       .doc = "skips the first rows",
       .args = {{.name = "count", .type = ArgType::integer, .doc = "number of rows to skip"}},
       .check = [](const Node& node) { at_least(node, "count", 0); },
       .schema = same_schema,
       .size = skip_size},
      {.op = node_name::kShard,
       .kind = NodeKind::order,
       .doc = "takes every count-th row, beginning at index",
       .args = {{.name = "count", .type = ArgType::integer, .doc = "parts"},
                {.name = "index", .type = ArgType::integer, .doc = "index of this shard, from 0", .part = true}},
       .check = check_shard,
       .schema = same_schema,
       .size = shard_size},
  };
}

}  // namespace ridgeline::data
