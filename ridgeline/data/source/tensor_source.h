// ridgeline/data/source/tensor_source.h
//
// Records held in memory as tensors: columns given by the user, and idx files, which are small.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/data/source/source.h"

namespace ridgeline::data {

// The first extent counts the rows.
Schema columns_as_schema(const Tensors& columns);

// What is known of columns that were read from files.
struct TensorFacts {
  std::vector<std::string> files = {};
  std::vector<std::string> class_names = {};
};

class TensorSource : public Source {
 public:
  // `name`: what errors begin with. Any thread may read.
  TensorSource(std::string name, Tensors columns, TensorFacts facts = {});
  std::uint64_t size() const override;
  Schema schema() const override { return schema_; }
  void read(std::uint64_t index, Record& record) const override;
  void prefetch(std::uint64_t index) const override;
  std::string origin(std::uint64_t index) const override;
  std::int64_t num_classes() const override;
  std::vector<std::string> class_names() const override { return facts_.class_names; }
  std::uint64_t fingerprint() const override;

 private:
  std::string name_;
  Tensors columns_;
  Schema schema_;
  std::vector<Cell> rows_;  // type and extents of a row of each column
  std::int64_t num_classes_ = 0;
  TensorFacts facts_;
};

}  // namespace ridgeline::data
