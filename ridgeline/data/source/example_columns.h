// ridgeline/data/source/example_columns.h
//
// Which columns of a tf.train.Example an `example` node reads, and with which types: its arguments columns, label,
// label_base and num_classes applied to a schema.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/data/source/source.h"
#include "ridgeline/format/record/example_schema.h"

namespace ridgeline::data {

// Immutable: any thread may read.
class ExampleColumns {
 public:
  // Unknown columns, lists of texts and a label that is not a single integer are Errors.
  ExampleColumns(const Node& node, ExampleSchema layout);

  const Schema& schema() const { return schema_; }
  const ExampleSchema& layout() const { return layout_; }
  bool has_label() const { return label_ != kNone; }
  // The cells of one row; texts are views of `bytes`, numbers are stored in the record.
  void read(std::span<const std::uint8_t> bytes, Record& record) const;
  // Only the class. Requires has_label().
  std::int64_t label(std::span<const std::uint8_t> bytes) const;

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  void add(const std::string& name, const std::vector<std::string>& keys);
  void choose_label(const std::string& key);
  std::int64_t label_in(const Tensor& value) const;

  ExampleSchema layout_;
  std::vector<std::size_t> columns_;  // of the layout
  Schema schema_;
  std::size_t label_ = kNone;  // in columns_
  std::int64_t label_base_, num_classes_;
};

}  // namespace ridgeline::data
