#include <fmt/format.h>

#include <cmath>

#include "ridgeline/data/ir/transforms/entries.h"

namespace ridgeline::data {
namespace {

Schema after(const Transform& operation, Schema schema, const Columns& columns) {
  return transform_entry(operation.op).schema(operation, std::move(schema), columns);
}

Schema random_apply_schema(const Transform& t, const Schema& schema, const Columns& columns) {
  return common_schema(t, schema, after_all(t, schema, columns));
}

Schema random_choice_schema(const Transform& t, const Schema& schema, const Columns& columns) {
  Schema result = after(t.operations[0], schema, columns);
  for (const Transform& operation : t.operations) result = common_schema(t, result, after(operation, schema, columns));
  return result;
}

// Any of them may be first or last, so none may change what the others were checked for.
Schema random_order_schema(const Transform& t, Schema schema, const Columns& columns) {
  for (const Transform& operation : t.operations) {
    const Schema result = after(operation, schema, columns);
    if (result != schema) {
      throw Error(fmt::format("[{}] {} makes {} of {}: operations in random order must keep the columns", t.op,
                              operation.op, to_string(result), to_string(schema)));
    }
  }
  return schema;
}

void check_random_choice(const Transform& t) {
  const Reals& weights = arg<Reals>(t.args, "weights");
  if (!weights.empty() && weights.size() != t.operations.size()) {
    throw Error(fmt::format("[{}] has {} weights for {} operations", t.op, weights.size(), t.operations.size()));
  }
  double sum = 0;
  for (const double w : weights) {
    if (w < 0) throw Error(fmt::format("[{}] weight {} is negative", t.op, w));
    sum += w;
  }
  if (!weights.empty() && !(sum > 0 && std::isfinite(sum)))
    throw Error(fmt::format("[{}] the sum of the weights is {}, it must be positive", t.op, sum));
}

}  // namespace

std::vector<TransformEntry> nested_entries() {
  return {
      {.op = "compose",
       .doc = "operations one after the other, as one",
       .args = {},
       .nests = true,
       .check = {},
       .schema = after_all},
      {.op = "random_apply",
       .doc = "its operations one after the other, or none of them",
       .args = {p_arg()},
       .random = true,
       .nests = true,
       .check = check_probability,
       .schema = random_apply_schema},
      {.op = "random_choice",
       .doc = "one of its operations",
       .args = {{.name = "weights",
                 .type = ArgType::reals,
                 .doc = "one an operation, any sum; empty: all alike",
                 .fallback = Reals{}}},
       .random = true,
       .nests = true,
       .check = check_random_choice,
       .schema = random_choice_schema},
      {.op = "random_order",
       .doc = "all its operations in random order",
       .args = {},
       .random = true,
       .nests = true,
       .check = {},
       .schema = random_order_schema},
  };
}

}  // namespace ridgeline::data
