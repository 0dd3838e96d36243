#include "ridgeline/data/source/in_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ridgeline/data/source/arguments.h"
#include "ridgeline/data/source/source_entry.h"
#include "ridgeline/data/source/tensor_source.h"

namespace ridgeline::data {

Dataset InMemory(std::vector<NamedTensor> columns) {
  return source_dataset("in_memory", {{"columns", std::move(columns)}});
}

namespace {

std::unique_ptr<Source> open_in_memory(const Node& node) {
  return std::make_unique<TensorSource>("[in_memory]", arg<Tensors>(node.args, "columns"));
}

void choose_tensors(Node& node, Texts wanted) {
  std::erase_if(std::get<Tensors>(node.args.at("columns")), [&](const NamedTensor& tensor) {
    return std::find(wanted.begin(), wanted.end(), tensor.name) == wanted.end();
  });
}

void check_columns(const Node& node) {
  const Tensors& columns = arg<Tensors>(node.args, "columns");
  if (columns.empty()) throw Error("[in_memory] has no columns");
  std::set<std::string> names;
  for (const NamedTensor& column : columns) {
    if (column.name.empty() || !names.insert(column.name).second) {
      throw Error("[in_memory] column names must be different and not empty, '" + column.name + "' is not");
    }
    if (column.tensor.shape().rank() == 0 || column.tensor.shape()[0] != columns[0].tensor.shape()[0]) {
      throw Error(fmt::format("[in_memory] column '{}' is {}, the first extent must be {} as in '{}'", column.name,
                              column.tensor.shape().to_string(),
                              columns[0].tensor.shape().rank() ? columns[0].tensor.shape()[0] : 0, columns[0].name));
    }
    if (column.tensor.dtype() == DType::bytes && column.tensor.shape().rank() != 1) {
      throw Error("[in_memory] column '" + column.name + "' of bytes must have one extent");
    }
  }
}

}  // namespace

SourceEntry in_memory_source() {
  return {
      .op = "in_memory",
      .doc = "columns in memory",
      .args = {{.name = "columns", .type = ArgType::tensors, .doc = "named tensors with the same first extent"}},
      .check = check_columns,
      .open = open_in_memory,
      .columns = [](const Node& node) { return std::optional(columns_as_schema(arg<Tensors>(node.args, "columns"))); },
      .records =
          [](const Node& node) { return std::optional(arg<Tensors>(node.args, "columns")[0].tensor.shape()[0]); },
      .choose_columns = choose_tensors};
}

}  // namespace ridgeline::data
