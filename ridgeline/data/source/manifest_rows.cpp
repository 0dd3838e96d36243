#include "ridgeline/data/source/manifest_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "ridgeline/core/file.h"

namespace ridgeline::data {
namespace {

void put(std::vector<std::uint8_t>& out, double value, std::int64_t whole, DType dtype) {
  const auto append = [&](auto x) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&x);
    out.insert(out.end(), bytes, bytes + sizeof x);
  };
  switch (dtype) {
    case DType::f32: append(static_cast<float>(value)); break;
    case DType::f64: append(value); break;
    case DType::i64: append(whole); break;
    default:
      if (whole < INT32_MIN || whole > INT32_MAX) throw Error(fmt::format("{} does not fit i32", whole));
      append(static_cast<std::int32_t>(whole));
  }
}

}  // namespace

std::vector<ManifestColumn> parse_manifest_columns(const std::string& op, const std::vector<std::string>& texts) {
  std::vector<ManifestColumn> columns;
  for (const std::string& text : texts) {
    ManifestColumn column{.name = text.substr(0, text.find(':'))};
    std::string type = text.find(':') == std::string::npos ? "bytes" : text.substr(text.find(':') + 1);
    if (type.ends_with("[]")) {
      column.list = true;
      type.resize(type.size() - 2);
    }
    const std::vector<std::string> known{"bytes", "i32", "i64", "f32", "f64"};
    if (column.name.empty() || std::find(known.begin(), known.end(), type) == known.end() ||
        (column.list && type == "bytes")) {
      throw Error(
          fmt::format("[{}] column '{}' is not NAME:TYPE with i32, i64, f32, f64, bytes, or the first four with "
                      "[] for lists",
                      op, text));
    }
    column.dtype = *parse_dtype(type);
    columns.push_back(std::move(column));
  }
  return columns;
}

Schema manifest_schema(const std::string& op, const std::vector<ManifestColumn>& columns, const std::string& image) {
  Schema schema;
  if (!image.empty()) {
    const auto found =
        std::find_if(columns.begin(), columns.end(), [&](const ManifestColumn& c) { return c.name == image; });
    if (found == columns.end() || found->dtype != DType::bytes)
      throw Error(fmt::format("[{}] image is '{}', which is no column of bytes", op, image));
    schema.push_back({"image", DType::bytes, Shape{}});
  }
  for (const ManifestColumn& column : columns) {
    if (find_column(schema, column.name))
      throw Error(fmt::format("[{}] there are two columns '{}' (the file named by '{}' becomes 'image')", op,
                              column.name, image));
    schema.push_back({column.name, column.dtype, column.list ? Shape{kVaries} : Shape{}});
  }
  return schema;
}

ManifestRow::ManifestRow(Record& record, std::size_t columns) : record_(record) {
  record_.objects.clear();
  record_.cells.clear();
  record_.numbers.resize(columns);
  for (auto& numbers : record_.numbers) numbers.clear();
}

void ManifestRow::text(std::string_view value) {
  std::vector<std::uint8_t>& kept = next();
  kept.assign(value.begin(), value.end());
  record_.cells.push_back(bytes_cell(kept.data(), kept.size()));
}

void ManifestRow::number(double value, std::int64_t whole, DType dtype) {
  std::vector<std::uint8_t>& kept = next();
  put(kept, value, whole, dtype);
  record_.cells.push_back(dense_cell(kept.data(), dtype, {}));
}

template <class T>
void ManifestRow::list(const std::vector<T>& values, DType dtype) {
  std::vector<std::uint8_t>& kept = next();
  for (const T x : values) put(kept, static_cast<double>(x), static_cast<std::int64_t>(x), dtype);
  record_.cells.push_back(dense_cell(kept.data(), dtype, {static_cast<std::int64_t>(values.size())}));
}
template void ManifestRow::list(const std::vector<std::int64_t>&, DType);
template void ManifestRow::list(const std::vector<double>&, DType);

void ManifestRow::image(const std::string& root, const std::string& path) {
  record_.storage = read_file((std::filesystem::path(root) / path).string());
  record_.cells.insert(record_.cells.begin(), bytes_cell(record_.storage.data(), record_.storage.size()));
}

}  // namespace ridgeline::data
