#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/data/ir/count.h"
#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/ir/nodes/entries.h"

namespace ridgeline::data {
namespace {

using Sizes = std::vector<std::int64_t>;

Schema with_rows(const Node& node, const Schema& input, std::int64_t rows) {
  Schema schema;
  for (const Column& column : input) {
    for (const std::int64_t extent : column.shape) {
      if (extent == kVaries && !arg<bool>(node.args, "pad")) {
        throw Error(fmt::format(
            "[{}] samples have no common shape: {} (a RandomResizedCrop, a CenterCrop, or a Resize to height "
            "and width before {} gives one; pad=true fills up to the largest of each batch)",
            node.op, to_string({column}), node.op));
      }
    }
    if (column.name == kMaskColumn)
      throw Error(fmt::format("[{}] adds a column 'mask', but its input has one already", node.op));
    std::vector<std::int64_t> dims{rows};
    dims.insert(dims.end(), column.shape.begin(), column.shape.end());
    schema.push_back({column.name, column.dtype, Shape(std::move(dims))});
  }
  schema.push_back({kMaskColumn, DType::u8, Shape{rows}});
  return schema;
}

Schema batch_schema(const Node& node, const std::vector<Schema>& inputs) {
  return with_rows(node, inputs[0], arg<std::int64_t>(node.args, "size"));
}

std::int64_t batch_size(const Node& node, const Sizes& rows) {
  const std::int64_t size = arg<std::int64_t>(node.args, "size");
  if (rows[0] < 0) return rows[0];
  return arg<bool>(node.args, "drop_remainder") ? rows[0] / size : parts_of(rows[0], size);
}

void check_bucket(const Node& node) {
  not_empty(node, "column");
  const Integers &boundaries = arg<Integers>(node.args, "boundaries"), &sizes = arg<Integers>(node.args, "sizes");
  if (boundaries.empty()) throw Error("[bucket] boundaries is empty");
  if (!std::is_sorted(boundaries.begin(), boundaries.end(), std::less_equal<>()) || boundaries[0] < 1)
    throw Error("[bucket] boundaries must be positive and rise");
  if (sizes.size() != boundaries.size() + 1)
    throw Error(fmt::format("[bucket] has {} sizes for {} boundaries, it needs one more than boundaries", sizes.size(),
                            boundaries.size()));
  for (const std::int64_t size : sizes) {
    if (size < 1) throw Error(fmt::format("[bucket] size {} is not positive", size));
  }
}

Schema bucket_schema(const Node& node, const std::vector<Schema>& inputs) {
  const std::string& name = arg<std::string>(node.args, "column");
  const Column* column = find_column(inputs[0], name);
  if (!column) throw Error(fmt::format("[bucket] there is no column '{}' among {}", name, to_string(inputs[0])));
  if (column->dtype != DType::bytes && column->shape.rank() == 0)
    throw Error(fmt::format("[bucket] column {} has no length", to_string({*column})));
  const Integers& sizes = arg<Integers>(node.args, "sizes");
  const bool same = std::all_of(sizes.begin(), sizes.end(), [&](std::int64_t s) { return s == sizes[0]; });
  return with_rows(node, inputs[0], same ? sizes[0] : kVaries);
}

ArgSpec drop_arg(const char* doc) {
  return {.name = "drop_remainder", .type = ArgType::boolean, .doc = doc, .fallback = false};
}
ArgSpec pad_arg() {
  return {.name = "pad",
          .type = ArgType::boolean,
          .doc = "pad rows of different shapes with zeros to the largest of their batch",
          .fallback = false};
}

}  // namespace

std::vector<NodeEntry> batch_entries() {
  return {
      {.op = node_name::kBatch,
       .kind = NodeKind::batch,
       .doc = "groups consecutive samples into batches; adds the column mask, which is 1 for real rows",
       .args = {{.name = "size", .type = ArgType::integer, .doc = "samples per batch"},
                drop_arg("drop an incomplete last batch instead of padding it with zeros"),
                pad_arg()},
       .check = [](const Node& node) { at_least(node, "size", 1); },
       .schema = batch_schema,
       .size = batch_size},
      {.op = node_name::kBucket,
       .kind = NodeKind::batch,
       .doc = "groups samples of similar length into batches; a batch is complete when its bucket is full",
       .args = {{.name = "column",
                 .type = ArgType::text,
                 .doc = "column whose first extent (bytes: whose size) is the length"},
                {.name = "boundaries",
                 .type = ArgType::integers,
                 .doc = "increasing; bucket i has the lengths below boundary i and at or above boundary i - 1"},
                {.name = "sizes", .type = ArgType::integers, .doc = "samples per batch, one number per bucket"},
                drop_arg("drop batches that are incomplete at the end of the epoch"),
                pad_arg()},
       .check = check_bucket,
       .schema = bucket_schema,
       .size = [](const Node&, const Sizes& rows) { return rows[0] == kForever ? kForever : kUnknown; }},
  };
}

}  // namespace ridgeline::data
