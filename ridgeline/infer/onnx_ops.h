// ridgeline/infer/onnx_ops.h
//
// One op of the step graph as nodes of ONNX. Images are [N,H,W,C] here and [N,C,H,W] in ONNX. The result of an op that
// is not about images, a reshape or a product, has the same order in both until an op about images reads it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/format/onnx/onnx_writer.h"
#include "ridgeline/graph/ir/graph.h"

namespace ridgeline::infer {

// The part of a graph that was written so far. Borrows graph and writer; one thread.
class OnnxGraph {
 public:
  OnnxGraph(const Graph& graph, OnnxWriter& writer) : graph_(graph), writer_(writer), values_(graph.values.size()) {}

  // An Error "[onnx] ..." for an op, or a variant of it, that has no counterpart.
  void add(const Node& node);

  // A value's name in ONNX, in whichever order of axes. An Error if it has none.
  const std::string& name(ValueId id) const;
  // Names of the value in the order that it has here, and as an image [N,C,H,W]; adds a transpose if necessary.
  const std::string& here(ValueId id);
  const std::string& image(ValueId id);
  // Whether the value is [N,C,H,W] in ONNX.
  bool is_image(ValueId id) const { return values_[static_cast<std::size_t>(id)].image; }
  void set_name(ValueId id, std::string name, bool image) {
    values_[static_cast<std::size_t>(id)].name = std::move(name);
    values_[static_cast<std::size_t>(id)].image = image;
  }

  // For the rows of the table.
  const Shape& shape(ValueId id) const { return graph_.value(id).type.shape; }
  const ValueType& type(ValueId id) const { return graph_.value(id).type; }
  // Adds an intermediate node; returns its result's name.
  std::string between(const Node& of, const std::string& op, std::vector<std::string> inputs,
                      const OnnxAttributes& attributes = {});
  // Adds the node that gives the results of `of`, the first one or as many as given: as images [N,C,H,W], or in the
  // order that they have here.
  void last(const Node& of, const std::string& op, std::vector<std::string> inputs, const OnnxAttributes& attributes,
            bool image, std::size_t results = 1);
  // Whether the first extent of a value is the number of rows.
  bool by_rows(ValueId id) const { return values_[static_cast<std::size_t>(id)].by_rows; }
  void set_by_rows(ValueId id) { values_[static_cast<std::size_t>(id)].by_rows = true; }
  // Adds a constant for this op; returns its name.
  std::string constant(const Node& of, const Tensor& value);
  [[noreturn]] void refuse(const Node& node, const std::string& why) const;

 private:
  struct Named {
    std::string name;
    bool image = false;
    std::string turned = {};  // in the other order, if it was needed
    bool by_rows = false;
  };
  const std::string& turned(ValueId id, bool to_image);

  const Graph& graph_;
  OnnxWriter& writer_;
  std::vector<Named> values_;
  int made_ = 0;
};

}  // namespace ridgeline::infer
