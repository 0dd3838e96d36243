#include "ridgeline/data/source/example_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ridgeline/core/ends_run_error.h"

namespace ridgeline::data {
namespace {

struct ExampleWork : Record::Work {
  std::vector<Tensor> tensors;
};

}  // namespace

ExampleColumns::ExampleColumns(const Node& node, ExampleSchema layout)
    : layout_(std::move(layout)),
      label_base_(arg<std::int64_t>(node.args, "label_base")),
      num_classes_(arg<std::int64_t>(node.args, "num_classes")) {
  std::vector<std::string> keys;
  for (const ExampleColumn& column : layout_.columns()) keys.push_back(column.key);
  const Texts& wanted = arg<Texts>(node.args, "columns");
  for (const std::string& name : wanted.empty() ? keys : wanted) add(name, keys);
  if (const std::string& label = arg<std::string>(node.args, "label"); !label.empty()) choose_label(label);
}

void ExampleColumns::add(const std::string& name, const std::vector<std::string>& keys) {
  const auto found = std::find(keys.begin(), keys.end(), name);
  if (found == keys.end()) {
    throw Error(fmt::format("[example] there is no column '{}'{} (columns: {})", name, did_you_mean(name, keys),
                            fmt::join(keys, ", ")));
  }
  if (find_column(schema_, name)) throw Error(fmt::format("[example] the column '{}' is wanted twice", name));
  const auto place = static_cast<std::size_t>(found - keys.begin());
  const ExampleColumn& column = layout_.columns()[place];
  const DType dtype = stored_dtype(column.type);
  if (dtype == DType::bytes && column.shape.rank() != 0) {
    throw Error(fmt::format(
        "[example] column '{}' is a list of byte strings: only single ones can be rows (leave it out with columns)",
        name));
  }
  columns_.push_back(place);
  schema_.push_back({name, dtype, column.shape});
}

void ExampleColumns::choose_label(const std::string& key) {
  const Column* column = find_column(schema_, key);
  if (!column) throw Error(fmt::format("[example] the label '{}' is none of the columns that are read", key));
  label_ = static_cast<std::size_t>(column - schema_.data());
  const bool one = column->shape.rank() == 0 || (column->shape.rank() == 1 && column->shape[0] == 1);
  if (!one || column->dtype == DType::bytes || is_floating(column->dtype))
    throw Error(fmt::format("[example] the label must be one integer, it is {}", to_string({*column})));
  schema_[label_] = {kLabelColumn, DType::i32, Shape{}};
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    if (i != label_ && schema_[i].name == kLabelColumn)
      throw Error(fmt::format("[example] '{}' becomes the column label, but there is one already", key));
  }
}

std::int64_t ExampleColumns::label_in(const Tensor& value) const {
  const std::int64_t stored = value.dtype() == DType::i64   ? value.data<std::int64_t>()[0]
                              : value.dtype() == DType::i32 ? value.data<std::int32_t>()[0]
                                                            : static_cast<std::int64_t>(value.at(0));
  if (stored < label_base_) throw EndsRunError(fmt::format("label {} is below the label base {}", stored, label_base_));
  const std::int64_t label = stored - label_base_;
  if ((num_classes_ > 0 && label >= num_classes_) || label > INT32_MAX) {
    throw Error(fmt::format("label {} (stored as {}, label base {}) is outside the {} classes", label, stored,
                            label_base_, num_classes_ > 0 ? num_classes_ : std::int64_t{INT32_MAX} + 1));
  }
  return label;
}

void ExampleColumns::read(std::span<const std::uint8_t> bytes, Record& record) const {
  const Example example(bytes);
  std::vector<Tensor>& values = record.work_as<ExampleWork>().tensors;
  values.resize(columns_.size());
  record.objects.clear();
  record.cells.clear();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const ExampleColumn& column = layout_.columns()[columns_[i]];
    if (column.type == ExampleType::text && example.has(column.key) && !column.fallback) {
      const std::string_view text = example.one_bytes(column.key);
      record.cells.push_back(bytes_cell(text.data(), text.size()));
      continue;
    }
    const Tensor& value = values[i] = layout_.read(example, columns_[i]);
    if (i == label_) {
      record.label = static_cast<std::int32_t>(label_in(value));
      record.cells.push_back(dense_cell(&record.label, DType::i32, {}));
    } else if (value.dtype() == DType::bytes) {
      const std::string& text = value.string_values().at(0);
      record.cells.push_back(bytes_cell(text.data(), text.size()));
    } else {
      record.cells.push_back(dense_cell(value.raw(), value.dtype(), value.shape().dims()));
    }
  }
}

std::int64_t ExampleColumns::label(std::span<const std::uint8_t> bytes) const {
  RIDGELINE_CHECK(has_label(), "no column is the label");
  return label_in(layout_.read(Example(bytes), columns_[label_]));
}

}  // namespace ridgeline::data
