#include "ridgeline/data/ir/column.h"

#include <algorithm>

namespace ridgeline::data {

const Column* find_column(const Schema& schema, std::string_view name) {
  const auto found = std::find_if(schema.begin(), schema.end(), [&](const Column& c) { return c.name == name; });
  return found == schema.end() ? nullptr : &*found;
}

std::optional<Schema> common_columns(const Schema& a, const Schema& b) {
  if (a.size() != b.size()) return std::nullopt;
  Schema schema = a;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].name != b[i].name || a[i].dtype != b[i].dtype || a[i].shape.rank() != b[i].shape.rank())
      return std::nullopt;
    for (int d = 0; d < a[i].shape.rank(); ++d) {
      if (a[i].shape[d] != b[i].shape[d]) schema[i].shape[d] = kVaries;
    }
  }
  return schema;
}

std::string to_string(const Schema& schema) {
  std::string text;
  for (const Column& column : schema) {
    if (!text.empty()) text += ", ";
    text += column.name + " " + std::string(name_of(column.dtype)) + "[";
    for (int axis = 0; axis < column.shape.rank(); ++axis) {
      const std::int64_t extent = column.shape[axis];
      text += (axis ? "," : "") + (extent == kVaries ? std::string("?") : std::to_string(extent));
    }
    text += "]";
  }
  return text;
}

}  // namespace ridgeline::data
