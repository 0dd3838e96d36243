// Sources whose records lie in memory as tensors: columns given by the user, and idx files, which are small.
#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/data/source/known.h"
#include "ridgeline/data/source/sources.h"
#include "ridgeline/format/idx.h"

namespace ridgeline::data {
namespace {

// What is known of columns that were read from files.
struct Facts {
  std::vector<std::string> files = {};
  std::vector<std::string> class_names = {};
};

class TensorSource : public Source {
 public:
  TensorSource(std::string name, Tensors columns, Facts facts = {})
      : name_(std::move(name)),
        columns_(std::move(columns)),
        schema_(columns_as_schema(columns_)),
        facts_(std::move(facts)) {
    for (const NamedTensor& column : columns_) {
      const std::vector<std::int64_t>& dims = column.values.shape().dims();
      rows_.push_back(dense_cell(nullptr, column.values.dtype(), schema_[rows_.size()].shape.dims()));
      if (column.name == "label" && dims.size() == 1 && column.values.dtype() != DType::bytes &&
          !is_floating(column.values.dtype())) {
        for (std::int64_t i = 0; i < dims[0]; ++i) {
          num_classes_ = std::max(num_classes_, static_cast<std::int64_t>(column.values.at(i)) + 1);
        }
      }
    }
  }

  std::uint64_t size() const override { return static_cast<std::uint64_t>(columns_[0].values.shape()[0]); }
  Schema schema() const override { return schema_; }
  void read(std::uint64_t index, Record& record) const override {
    RIDGELINE_CHECK(index < size(), "record outside the source");
    record.objects.clear();
    record.cells.clear();
    for (const NamedTensor& column : columns_) {
      if (column.values.dtype() == DType::bytes) {
        const std::string& bytes = column.values.string_values()[index];
        record.cells.push_back(bytes_cell(bytes.data(), bytes.size()));
      } else {
        Cell cell = rows_[record.cells.size()];
        cell.data = static_cast<const std::uint8_t*>(column.values.raw()) + index * cell.bytes;
        record.cells.push_back(cell);
      }
    }
  }
  void prefetch(std::uint64_t index) const override {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].values.dtype() != DType::bytes)
        __builtin_prefetch(static_cast<const std::uint8_t*>(columns_[i].values.raw()) + index * rows_[i].bytes);
    }
  }
  std::string origin(std::uint64_t index) const override { return fmt::format("{}: record {}", name_, index); }
  std::int64_t num_classes() const override {
    return std::max(num_classes_, static_cast<std::int64_t>(facts_.class_names.size()));
  }
  std::vector<std::string> class_names() const override { return facts_.class_names; }
  // Values that are the node's arguments are in the graph's hash.
  std::uint64_t fingerprint() const override {
    return facts_.files.empty() ? Source::fingerprint() : fingerprint_of(facts_.files);
  }

 private:
  std::string name_;
  Tensors columns_;
  Schema schema_;
  std::vector<Cell> rows_;  // what a row of each column looks like
  std::int64_t num_classes_ = 0;
  Facts facts_;
};

// Rows and columns of every picture exchanged.
Tensor transposed(const Tensor& images) {
  const Shape& s = images.shape();
  Tensor out(DType::u8, Shape{s[0], s[2], s[1], s[3]});
  const auto* from = images.data<std::uint8_t>();
  auto* to = out.data<std::uint8_t>();
  for (std::int64_t n = 0; n < s[0]; ++n) {
    for (std::int64_t y = 0; y < s[2]; ++y) {
      for (std::int64_t x = 0; x < s[1]; ++x)
        std::copy_n(from + ((n * s[1] + x) * s[2] + y) * s[3], s[3], to + ((n * s[2] + y) * s[1] + x) * s[3]);
    }
  }
  return out;
}

}  // namespace

std::unique_ptr<Source> open_in_memory(const Node& node) {
  return std::make_unique<TensorSource>("[in_memory]", arg<Tensors>(node.args, "columns"));
}

std::unique_ptr<Source> open_idx(const Node& node) {
  const std::string& image_file = arg<std::string>(node.args, "images");
  const std::string& label_file = arg<std::string>(node.args, "labels");
  Tensor images = read_idx(image_file);
  const Tensor stored = read_idx(label_file);
  const Shape shape = images.shape();
  if (images.dtype() != DType::u8 || (shape.rank() != 3 && shape.rank() != 4)) {
    throw Error(fmt::format("[idx] {} holds {}{}, images must be u8 [N,height,width] or [N,height,width,channels]",
                            image_file, name_of(images.dtype()), shape.to_string()));
  }
  if (shape.rank() == 3) images = images.reshaped(Shape{shape[0], shape[1], shape[2], 1});
  if ((stored.dtype() != DType::u8 && stored.dtype() != DType::i32) || stored.shape() != Shape{shape[0]}) {
    throw Error(fmt::format("[idx] {} holds {}{}, labels must be u8 or i32 [{}], one for each image of {}", label_file,
                            name_of(stored.dtype()), stored.shape().to_string(), shape[0], image_file));
  }
  if (arg<bool>(node.args, "transposed")) images = transposed(images);
  const std::int64_t base = arg<std::int64_t>(node.args, "label_base");
  Tensor labels(DType::i32, Shape{shape[0]});
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    const std::int64_t label = static_cast<std::int64_t>(stored.at(i)) - base;
    if (label < 0)
      throw Error(fmt::format("[idx] {}: record {} has the label {}, below the label base {}", label_file, i,
                              stored.at(i), base));
    labels.data<std::int32_t>()[i] = static_cast<std::int32_t>(label);
  }
  return std::make_unique<TensorSource>(
      "[idx] " + image_file, Tensors{{"image", images}, {"label", labels}},
      Facts{.files = {image_file, label_file}, .class_names = arg<Texts>(node.args, "class_names")});
}

}  // namespace ridgeline::data
