// Samplers: order nodes that choose records by more than their position. Each takes the rows of its input, so that
// chains (a child sampler) are chains of nodes.
#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/data/ir/count.h"
#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/ir/nodes/entries.h"

namespace ridgeline::data {
namespace {

using Sizes = std::vector<std::int64_t>;

ArgSpec count_arg(const char* doc) {
  return {.name = "count", .type = ArgType::integer, .doc = doc, .fallback = std::int64_t{-1}};
}
ArgSpec replacement_arg(bool fallback) {
  return {.name = "replacement",
          .type = ArgType::boolean,
          .doc = "draw with replacement: a row may come more than once in an epoch",
          .fallback = fallback};
}

void known(const Node& node, std::int64_t rows) {
  if (rows < 0)
    throw Error(fmt::format("[{}] needs a known number of rows, not {}", node.op,
                            rows == kForever ? "endless inputs" : "rows that a filter leaves"));
}

std::int64_t chosen(const Node& node, const Sizes& rows) {
  known(node, rows[0]);
  const auto count = arg<std::int64_t>(node.args, "count");
  if (count == -1) return rows[0];
  if (rows[0] == 0) return 0;
  return arg<bool>(node.args, "replacement") ? count : std::min(count, rows[0]);
}

void check_random(const Node& node) {
  at_least(node, "count", -1);
  at_least(node, "seed", -1);
}

void check_indices(const Node& node) {
  const Integers& indices = arg<Integers>(node.args, "indices");
  if (indices.empty()) throw Error(fmt::format("[{}] indices is empty", node.op));
  for (const std::int64_t i : indices) {
    if (i < 0) throw Error(fmt::format("[{}] index {} is negative", node.op, i));
  }
  if (node.args.contains("seed")) at_least(node, "seed", -1);
}

void check_subset_rows(const Node& node, const Sizes& rows) {
  known(node, rows[0]);
  const Integers& indices = arg<Integers>(node.args, "indices");
  const std::int64_t greatest = *std::max_element(indices.begin(), indices.end());
  if (greatest >= rows[0]) throw Error(fmt::format("[{}] index {} is outside the {} rows", node.op, greatest, rows[0]));
}

std::int64_t subset_size(const Node& node, const Sizes&) {
  return static_cast<std::int64_t>(arg<Integers>(node.args, "indices").size());
}

// The messages are those of MindData's WeightedRandomSampler.
void check_weights(const Node& node) {
  check_random(node);
  const Reals& weights = arg<Reals>(node.args, "weights");
  if (weights.empty()) throw Error("[weighted_sampler] weights vector must not be empty");
  double sum = 0;
  for (const double w : weights) {
    if (!(w >= 0) || w > 1e300)
      throw Error(
          fmt::format("[weighted_sampler] weights vector must not contain negative numbers or such that are "
                      "not finite, got: {}",
                      w));
    sum += w;
  }
  if (sum == 0) throw Error("[weighted_sampler] elements of weights vector must not be all zero");
}

void check_weighted_rows(const Node& node, const Sizes& rows) {
  known(node, rows[0]);
  const std::size_t weights = arg<Reals>(node.args, "weights").size();
  if (static_cast<std::int64_t>(weights) != rows[0])
    throw Error(fmt::format("[weighted_sampler] has {} weights for {} rows", weights, rows[0]));
}

// Without replacement rows of weight 0 are not drawn. An additional row, which only another rank has, counts as drawn.
std::int64_t weighted_size(const Node& node, const Sizes& rows) {
  if (arg<bool>(node.args, "replacement")) return chosen(node, rows);
  const Reals& weights = arg<Reals>(node.args, "weights");
  const std::int64_t positive = std::max<std::int64_t>(0, rows[0] - std::count(weights.begin(), weights.end(), 0.0));
  const auto count = arg<std::int64_t>(node.args, "count");
  return count == -1 ? positive : std::min(count, positive);
}

void check_pk(const Node& node) {
  at_least(node, "per_class", 1);
  at_least(node, "classes", -1);
  at_least(node, "seed", -1);
  if (arg<std::int64_t>(node.args, "classes") == 0)
    throw Error("[pk_sampler] classes is 0, it must be at least 1, or -1 for all");
}

void check_distributed(const Node& node) {
  const std::int64_t shards = at_least(node, "num_shards", 1);
  const std::int64_t index = at_least(node, "index", 0);
  const std::int64_t offset = at_least(node, "offset", -1);
  check_random(node);
  if (index >= shards)
    throw Error(
        fmt::format("[distributed_sampler] index is {}, it must be below num_shards, which is {}", index, shards));
  if (offset > shards)
    throw Error(
        fmt::format("[distributed_sampler] offset is {}, it should be no more than num_shards: {}", offset, shards));
}

// MindData: with even_dist every rank has ceil(n / shards) rows, the last ones wrapped around; else the first ranks
// have one more.
std::int64_t distributed_size(const Node& node, const Sizes& rows) {
  known(node, rows[0]);
  const auto shards = arg<std::int64_t>(node.args, "num_shards"), index = arg<std::int64_t>(node.args, "index");
  const auto count = arg<std::int64_t>(node.args, "count");
  const auto offset = std::max<std::int64_t>(0, arg<std::int64_t>(node.args, "offset"));
  if (rows[0] == 0) return 0;
  std::int64_t size = 0;
  if (arg<bool>(node.args, "even")) {
    size = parts_of(rows_sum(node.op, rows[0], offset), shards);
  } else {
    // Rows offset.. of the padded sequence: positions shards * k + index - offset that lie in [0, n).
    const std::int64_t first = index < offset ? 1 : 0;
    const std::int64_t last = rows_sum(node.op, rows[0] - 1, offset) - index;  // shards * k must not exceed it
    size = last < 0 ? 0 : last / shards + 1 - first;
  }
  return count == -1 ? size : std::min(size, count);
}

}  // namespace

std::vector<NodeEntry> sampler_entries() {
  return {
      {.op = node_name::kSequentialSampler,
       .kind = NodeKind::order,
       .doc = "takes consecutive rows, beginning at start",
       .args = {{.name = "start", .type = ArgType::integer, .doc = "first row", .fallback = std::int64_t{0}},
                count_arg("number of rows; -1: all that follow")},
       .check =
           [](const Node& node) {
             at_least(node, "start", 0);
             at_least(node, "count", -1);
           },
       .schema = same_schema,
       .size =
           [](const Node& node, const Sizes& rows) {
             const auto start = arg<std::int64_t>(node.args, "start"), count = arg<std::int64_t>(node.args, "count");
             const std::int64_t rest = std::max<std::int64_t>(0, rows[0] - start);
             return count == -1 ? rest : std::min(count, rest);
           },
       .check_rows =
           [](const Node& node, const Sizes& rows) {
             known(node, rows[0]);
             const auto start = arg<std::int64_t>(node.args, "start");
             if (start > 0 && start >= rows[0])
               throw Error(fmt::format("[sequential_sampler] start is {}, there are {} rows", start, rows[0]));
           }},
      {.op = node_name::kRandomSampler,
       .kind = NodeKind::order,
       .doc = "draws rows in random order, with or without replacement",
       .args = {replacement_arg(false), count_arg("rows per epoch; -1: as many as the input has"), seed_arg()},
       .check = check_random,
       .schema = same_schema,
       .size = chosen,
       .random = true},
      {.op = node_name::kSubsetSampler,
       .kind = NodeKind::order,
       .doc = "takes the listed rows in their order",
       .args = {{.name = "indices", .type = ArgType::integers, .doc = "row numbers, from 0"}},
       .check = check_indices,
       .schema = same_schema,
       .size = subset_size,
       .check_rows = check_subset_rows},
      {.op = node_name::kSubsetRandomSampler,
       .kind = NodeKind::order,
       .doc = "takes the listed rows in random order",
       .args = {{.name = "indices", .type = ArgType::integers, .doc = "row numbers, from 0"}, seed_arg()},
       .check = check_indices,
       .schema = same_schema,
       .size = subset_size,
       .check_rows = check_subset_rows,
       .random = true},
      {.op = node_name::kWeightedSampler,
       .kind = NodeKind::order,
       .doc = "draws rows with probabilities in proportion to their weights",
       .args = {{.name = "weights", .type = ArgType::reals, .doc = "one weight per row; not negative, not all zero"},
                replacement_arg(true),
                count_arg("rows per epoch; -1: as many as the input has"),
                seed_arg()},
       .check = check_weights,
       .schema = same_schema,
       .size = weighted_size,
       .check_rows = check_weighted_rows,
       .random = true},
      {.op = node_name::kPkSampler,
       .kind = NodeKind::order,
       .doc = "takes K rows of each of P classes, for losses over pairs; reads the labels of the source below it",
       .args = {{.name = "per_class", .type = ArgType::integer, .doc = "K, rows per class"},
                {.name = "classes",
                 .type = ArgType::integer,
                 .doc = "P, classes per epoch; -1: all",
                 .fallback = std::int64_t{-1}},
                {.name = "shuffle",
                 .type = ArgType::boolean,
                 .doc = "draw classes and rows at random; false: the first ones in order",
                 .fallback = true},
                replacement_arg(true),
                seed_arg()},
       .check = check_pk,
       .schema = same_schema,
       .size =
           [](const Node& node, const Sizes& rows) {
             known(node, rows[0]);
             return rows[0] == 0 ? 0 : kUnknown;  // by the labels
           },
       .random = true,
       .reads_label = true},
      {.op = node_name::kDistributedSampler,
       .kind = NodeKind::order,
       .doc = "takes the rows of one rank, by MindData's rule: positions num_shards * i + index - offset",
       .args = {{.name = "num_shards", .type = ArgType::integer, .doc = "parts"},
                {.name = "index", .type = ArgType::integer, .doc = "index of this shard, from 0", .part = true},
                {.name = "shuffle", .type = ArgType::boolean, .doc = "shuffle before dividing", .fallback = true},
                count_arg("number of rows; -1: all of this rank"),
                seed_arg(),
                {.name = "offset",
                 .type = ArgType::integer,
                 .doc = "rank that gets the first row; -1 means 0",
                 .fallback = std::int64_t{-1}},
                {.name = "even",
                 .type = ArgType::boolean,
                 .doc = "give all ranks the same number of rows, by repeating the first rows if needed",
                 .fallback = true}},
       .check = check_distributed,
       .schema = same_schema,
       .size = distributed_size,
       .random = true},
  };
}

}  // namespace ridgeline::data
