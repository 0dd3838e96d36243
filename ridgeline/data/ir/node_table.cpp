#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ridgeline/data/api/dataset.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/source/source.h"

namespace ridgeline::data {
namespace {

std::int64_t at_least(const Node& node, const std::string& name, std::int64_t least) {
  const std::int64_t value = arg<std::int64_t>(node.args, name);
  if (value < least) throw Error(fmt::format("[{}] {} is {}, it must be at least {}", node.op, name, value, least));
  return value;
}

void not_empty(const Node& node, const std::string& name) {
  if (arg<std::string>(node.args, name).empty()) throw Error(fmt::format("[{}] {} is empty", node.op, name));
}

Schema same(const Node&, const Schema& input) { return input; }

std::int64_t records(const Node& node, std::int64_t) { return static_cast<std::int64_t>(source_of(node).size()); }

Schema encoded_image_and_label(const Node&, const Schema&) {
  return {{"image", DType::bytes, Shape{}}, {"label", DType::i32, Shape{}}};
}

void check_columns(const Node& node) {
  const Tensors& columns = arg<Tensors>(node.args, "columns");
  if (columns.empty()) throw Error("[in_memory] has no columns");
  std::set<std::string> names;
  for (const NamedTensor& column : columns) {
    if (column.name.empty() || !names.insert(column.name).second) {
      throw Error("[in_memory] column names must be different and not empty, '" + column.name + "' is not");
    }
    if (column.values.shape().rank() == 0 || column.values.shape()[0] != columns[0].values.shape()[0]) {
      throw Error(fmt::format("[in_memory] column '{}' is {}, the first extent must be {} as in '{}'", column.name,
                              column.values.shape().to_string(),
                              columns[0].values.shape().rank() ? columns[0].values.shape()[0] : 0, columns[0].name));
    }
    if (column.values.dtype() == DType::bytes && column.values.shape().rank() != 1) {
      throw Error("[in_memory] column '" + column.name + "' of bytes must have one extent");
    }
  }
}

Schema memory_schema(const Node& node, const Schema&) {
  Schema schema;
  for (const NamedTensor& column : arg<Tensors>(node.args, "columns")) {
    const std::vector<std::int64_t>& dims = column.values.shape().dims();
    schema.push_back(
        {column.name, column.values.dtype(), Shape(std::vector<std::int64_t>(dims.begin() + 1, dims.end()))});
  }
  return schema;
}

std::int64_t shuffle_size(const Node&, std::int64_t rows) {
  if (rows == kForever) throw Error("[shuffle] cannot permute endless rows: put shuffle before repeat");
  return rows;
}

std::int64_t repeat_size(const Node& node, std::int64_t rows) {
  const std::int64_t count = arg<std::int64_t>(node.args, "count");
  if (rows == kForever || (count == kForever && rows > 0)) return kForever;
  return count == kForever ? 0 : rows * count;
}

void check_count(const Node& node) {
  const std::int64_t count = arg<std::int64_t>(node.args, "count");
  if (count < -1 || (node.op == "repeat" && count == 0)) {
    throw Error(fmt::format("[{}] count is {}, it must be {} or more, or -1 for {}", node.op, count,
                            node.op == "repeat" ? 1 : 0, node.op == "repeat" ? "ever" : "all"));
  }
}

std::int64_t take_size(const Node& node, std::int64_t rows) {
  const std::int64_t count = arg<std::int64_t>(node.args, "count");
  if (count == -1) return rows;
  return rows == kForever ? count : std::min(rows, count);
}

std::int64_t skip_size(const Node& node, std::int64_t rows) {
  return rows == kForever ? rows : std::max<std::int64_t>(0, rows - arg<std::int64_t>(node.args, "count"));
}

std::int64_t shard_size(const Node& node, std::int64_t rows) {
  const std::int64_t count = arg<std::int64_t>(node.args, "count");
  const std::int64_t index = arg<std::int64_t>(node.args, "index");
  return rows == kForever ? rows : rows > index ? (rows - index - 1) / count + 1 : 0;
}

void check_shard(const Node& node) {
  const std::int64_t count = at_least(node, "count", 1);
  const std::int64_t index = at_least(node, "index", 0);
  if (index >= count)
    throw Error(fmt::format("[shard] index is {}, it must be below count, which is {}", index, count));
}

Schema batch_schema(const Node& node, const Schema& input) {
  Schema schema;
  for (const Column& column : input) {
    for (const std::int64_t extent : column.shape) {
      if (extent == kVaries) {
        throw Error(fmt::format(
            "[batch] samples have no common shape: {} (a RandomResizedCrop, a CenterCrop, or a Resize to height "
            "and width before batch gives one)",
            to_string({column})));
      }
    }
    if (column.name == "mask") throw Error("[batch] adds a column 'mask', but its input has one already");
    std::vector<std::int64_t> dims{arg<std::int64_t>(node.args, "size")};
    dims.insert(dims.end(), column.shape.begin(), column.shape.end());
    schema.push_back({column.name, column.dtype, Shape(std::move(dims))});
  }
  schema.push_back({"mask", DType::u8, Shape{arg<std::int64_t>(node.args, "size")}});
  return schema;
}

std::int64_t batch_size(const Node& node, std::int64_t rows) {
  const std::int64_t size = arg<std::int64_t>(node.args, "size");
  if (rows == kForever) return kForever;
  return arg<bool>(node.args, "drop_remainder") ? rows / size : (rows + size - 1) / size;
}

}  // namespace

const std::vector<NodeEntry>& node_table() {
  static const std::vector<NodeEntry> table{
      {"image_folder",
       NodeKind::source,
       "class folders DIR/<class>/**/*; sorted classes give labels 0, 1, ...",
       {{.name = "dir", .type = ArgType::text, .doc = "folder that holds one folder a class", .place = true},
        {.name = "extensions",
         .type = ArgType::texts,
         .doc = "lower-case ends of the file names that are read",
         .fallback = Texts{".jpg", ".jpeg", ".png"}}},
       [](const Node& node) {
         not_empty(node, "dir");
         if (arg<Texts>(node.args, "extensions").empty())
           throw Error("[image_folder] extensions is empty: no file could match");
       },
       encoded_image_and_label,
       records},
      {"tfrecord",
       NodeKind::source,
       "tf.train.Examples with the slim ImageNet keys, in TFRecord files (plain, GZIP, ZLIB)",
       {{.name = "files", .type = ArgType::texts, .doc = "files or shell patterns", .place = true},
        {.name = "label_base",
         .type = ArgType::text,
         .doc = "what is subtracted from stored labels; auto: 0 if the first file has a label 0, else 1",
         .fallback = std::string("auto"),
         .allowed = {"auto", "0", "1"}},
        {.name = "num_classes",
         .type = ArgType::integer,
         .doc = "labels outside are errors; 0: unknown",
         .fallback = std::int64_t{0}}},
       [](const Node& node) {
         at_least(node, "num_classes", 0);
         if (arg<Texts>(node.args, "files").empty()) throw Error("[tfrecord] files is empty");
       },
       encoded_image_and_label,
       records},
      {"idx",
       NodeKind::source,
       "a pair of idx files, plain or gz",
       {{.name = "images", .type = ArgType::text, .doc = "u8 [N,H,W] or [N,H,W,C]", .place = true},
        {.name = "labels", .type = ArgType::text, .doc = "u8 or i32 [N]", .place = true}},
       [](const Node& node) {
         not_empty(node, "images");
         not_empty(node, "labels");
       },
       [](const Node& node, const Schema&) { return source_of(node).schema(); },
       records},
      {"in_memory",
       NodeKind::source,
       "columns held in memory",
       {{.name = "columns", .type = ArgType::tensors, .doc = "named tensors with the same first extent"}},
       check_columns,
       memory_schema,
       [](const Node& node, std::int64_t) { return arg<Tensors>(node.args, "columns")[0].values.shape()[0]; }},
      {"shuffle",
       NodeKind::order,
       "a new random order of all rows in every epoch",
       {{.name = "seed",
         .type = ArgType::integer,
         .doc = "seed of its own; -1: the graph's",
         .fallback = std::int64_t{-1}}},
       [](const Node& node) { at_least(node, "seed", -1); },
       same,
       shuffle_size},
      {"repeat",
       NodeKind::order,
       "the rows several times; each pass is an epoch of its own for what is below",
       {{.name = "count", .type = ArgType::integer, .doc = "passes; -1: for ever", .fallback = std::int64_t{-1}}},
       check_count,
       same,
       repeat_size},
      {"take",
       NodeKind::order,
       "the first rows",
       {{.name = "count", .type = ArgType::integer, .doc = "rows; -1: all"}},
       check_count,
       same,
       take_size},
      {"skip",
       NodeKind::order,
       "all but the first rows",
       {{.name = "count", .type = ArgType::integer, .doc = "rows left out"}},
       [](const Node& node) { at_least(node, "count", 0); },
       same,
       skip_size},
      {"shard",
       NodeKind::order,
       "every count-th row from index on",
       {{.name = "count", .type = ArgType::integer, .doc = "parts"},
        {.name = "index", .type = ArgType::integer, .doc = "this part, from 0", .place = true}},
       check_shard,
       same,
       shard_size},
      {"map",
       NodeKind::map,
       "transforms of each sample, in their order",
       {},
       {},
       {},
       [](const Node&, std::int64_t rows) { return rows; }},
      {"batch",
       NodeKind::batch,
       "consecutive samples side by side; adds the column mask, 1 for real rows",
       {{.name = "size", .type = ArgType::integer, .doc = "samples of a batch"},
        {.name = "drop_remainder",
         .type = ArgType::boolean,
         .doc = "leave out a last batch that is not full, instead of padding it with zeros",
         .fallback = false}},
       [](const Node& node) { at_least(node, "size", 1); },
       batch_schema,
       batch_size},
  };
  return table;
}

}  // namespace ridgeline::data
