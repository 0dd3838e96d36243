#include <fmt/format.h>

#include <set>

#include "ridgeline/data/ir/entries.h"
#include "ridgeline/data/source/source.h"

namespace ridgeline::data {
namespace {

std::int64_t records(const Node& node, const std::vector<std::int64_t>&) {
  return static_cast<std::int64_t>(source_of(node).size());
}

Schema encoded_image_and_label(const Node&, const std::vector<Schema>&) {
  return {{"image", DType::bytes, Shape{}}, {"label", DType::i32, Shape{}}};
}

// For sources whose columns are only known from their files.
Schema of_the_files(const Node& node, const std::vector<Schema>&) { return source_of(node).schema(); }

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

Schema memory_schema(const Node& node, const std::vector<Schema>&) {
  Schema schema;
  for (const NamedTensor& column : arg<Tensors>(node.args, "columns")) {
    const std::vector<std::int64_t>& dims = column.values.shape().dims();
    schema.push_back(
        {column.name, column.values.dtype(), Shape(std::vector<std::int64_t>(dims.begin() + 1, dims.end()))});
  }
  return schema;
}

}  // namespace

std::vector<NodeEntry> source_entries() {
  return {
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
       of_the_files,
       records},
      {"in_memory",
       NodeKind::source,
       "columns held in memory",
       {{.name = "columns", .type = ArgType::tensors, .doc = "named tensors with the same first extent"}},
       check_columns,
       memory_schema,
       [](const Node& node, const std::vector<std::int64_t>&) {
         return arg<Tensors>(node.args, "columns")[0].values.shape()[0];
       }},
  };
}

}  // namespace ridgeline::data
