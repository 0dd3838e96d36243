#include "ridgeline/data/source/tensor_source.h"

#include <fmt/format.h>

#include <algorithm>

namespace ridgeline::data {

Schema columns_as_schema(const Tensors& columns) {
  Schema schema;
  for (const NamedTensor& column : columns) {
    const std::vector<std::int64_t>& dims = column.tensor.shape().dims();
    schema.push_back(
        {column.name, column.tensor.dtype(), Shape(std::vector<std::int64_t>(dims.begin() + 1, dims.end()))});
  }
  return schema;
}

TensorSource::TensorSource(std::string name, Tensors columns, TensorFacts facts)
    : name_(std::move(name)),
      columns_(std::move(columns)),
      schema_(columns_as_schema(columns_)),
      facts_(std::move(facts)) {
  for (const NamedTensor& column : columns_) {
    const std::vector<std::int64_t>& dims = column.tensor.shape().dims();
    rows_.push_back(dense_cell(nullptr, column.tensor.dtype(), schema_[rows_.size()].shape.dims()));
    if (column.name == kLabelColumn && dims.size() == 1 && column.tensor.dtype() != DType::bytes &&
        !is_floating(column.tensor.dtype())) {
      for (std::int64_t i = 0; i < dims[0]; ++i) {
        num_classes_ = std::max(num_classes_, static_cast<std::int64_t>(column.tensor.at(i)) + 1);
      }
    }
  }
}

std::uint64_t TensorSource::size() const { return static_cast<std::uint64_t>(columns_[0].tensor.shape()[0]); }
void TensorSource::read(std::uint64_t index, Record& record) const {
  RIDGELINE_CHECK(index < size(), "record outside the source");
  record.objects.clear();
  record.cells.clear();
  for (const NamedTensor& column : columns_) {
    if (column.tensor.dtype() == DType::bytes) {
      const std::string& bytes = column.tensor.string_values()[index];
      record.cells.push_back(bytes_cell(bytes.data(), bytes.size()));
    } else {
      Cell cell = rows_[record.cells.size()];
      cell.data = static_cast<const std::uint8_t*>(column.tensor.raw()) + index * cell.bytes;
      record.cells.push_back(cell);
    }
  }
}

void TensorSource::prefetch(std::uint64_t index) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].tensor.dtype() != DType::bytes)
      __builtin_prefetch(static_cast<const std::uint8_t*>(columns_[i].tensor.raw()) + index * rows_[i].bytes);
  }
}

std::string TensorSource::origin(std::uint64_t index) const { return fmt::format("{}: record {}", name_, index); }
std::int64_t TensorSource::num_classes() const {
  return std::max(num_classes_, static_cast<std::int64_t>(facts_.class_names.size()));
}

// Values that are the node's arguments are in the graph's hash.
std::uint64_t TensorSource::fingerprint() const {
  return facts_.files.empty() ? Source::fingerprint() : fingerprint_of(facts_.files);
}

}  // namespace ridgeline::data
