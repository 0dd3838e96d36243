// Sources of rows of fields: manifests, columns in memory, the user's own code.
#include <fmt/format.h>

#include <set>

#include "ridgeline/data/ir/nodes/source_args.h"
#include "ridgeline/data/source/manifest_rows.h"

namespace ridgeline::data {
namespace {

// The arguments that manifests share, behind `file`.
std::vector<ArgSpec> manifest_args(const char* otherwise) {
  ArgSpec root = text_arg("root", "folder that image files are relative to; empty: the manifest's", "");
  root.place = true;
  return {
      place_arg("file", "the file"),
      texts_arg("columns", std::string("NAME:TYPE, TYPE one of bytes, i32, i64, f32, f64 (and [] for lists); empty: ") +
                               otherwise),
      text_arg("image", "column that names an image file, whose bytes become the column image; empty: none", ""),
      std::move(root), count_arg("num_classes", "labels outside (column label) are errors; 0: unknown")};
}

void check_manifest(const Node& node) {
  not_empty(node, "file");
  at_least(node, "num_classes", 0);
  std::vector<ManifestColumn> columns = parse_manifest_columns(node.op, arg<Texts>(node.args, "columns"));
  if (!columns.empty()) Manifest(node, std::move(columns));  // finds what contradicts itself
}

void check_csv(const Node& node) {
  const std::string& delimiter = arg<std::string>(node.args, "delimiter");
  if (delimiter.size() != 1) throw Error("[csv] delimiter must be one character");
  const Texts& columns = arg<Texts>(node.args, "columns");
  if (!arg<bool>(node.args, "header") && columns.empty()) throw Error("[csv] a file without a header needs columns");
  for (const ManifestColumn& column : parse_manifest_columns("csv", columns)) {
    if (column.list) throw Error(fmt::format("[csv] column '{}': a field holds one value, no list", column.name));
  }
  check_manifest(node);
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

std::vector<NodeEntry> manifest_entries() {
  std::vector<ArgSpec> csv = manifest_args("all, as bytes");
  csv.push_back(text_arg("delimiter", "between fields", ","));
  csv.push_back(flag_arg("header", "the first row names the columns", true));
  return {{.op = "csv",
           .kind = NodeKind::source,
           .doc = "rows of a CSV file (RFC 4180)",
           .args = std::move(csv),
           .check = check_csv,
           .schema = columns_of_source,
           .size = records_of_source},
          {.op = "json_lines",
           .kind = NodeKind::source,
           .doc = "one flat JSON object a line",
           .args = manifest_args("as the first line shows them"),
           .check = check_manifest,
           .schema = columns_of_source,
           .size = records_of_source}};
}

}  // namespace

std::vector<NodeEntry> table_source_entries() {
  std::vector<NodeEntry> entries = manifest_entries();
  entries.push_back(
      {.op = "generator",
       .kind = NodeKind::source,
       .doc = "rows from the user's own code",
       .args = {{.name = "name", .type = ArgType::text, .doc = "given to register_generator or register_stream"},
                flag_arg("stream", "rows come one after the other (register_stream)", false)},
       .check = [](const Node& node) { not_empty(node, "name"); },
       .schema = columns_of_source,
       .size = records_of_source});
  entries.push_back(
      {.op = "in_memory",
       .kind = NodeKind::source,
       .doc = "columns held in memory",
       .args = {{.name = "columns", .type = ArgType::tensors, .doc = "named tensors with the same first extent"}},
       .check = check_columns,
       .schema = columns_of_source,
       .size = [](const Node& node, const std::vector<std::int64_t>&) {
         return arg<Tensors>(node.args, "columns")[0].values.shape()[0];
       }});
  return entries;
}

}  // namespace ridgeline::data
