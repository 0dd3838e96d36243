// ridgeline/infer/onnx_ops.h
//
// One op of the step graph as nodes of ONNX. Images are [N,H,W,C] here and [N,C,H,W] there; what has gone through an op
// that knows no images, a reshape or a product, lies there as here until one that does reads it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/format/onnx/onnx_writer.h"
#include "ridgeline/graph/ir/graph.h"

namespace ridgeline::infer {

// What was written so far of a graph. Borrows both; one thread.
class OnnxGraph {
 public:
  OnnxGraph(const Graph& graph, OnnxWriter& writer) : graph_(graph), writer_(writer), values_(graph.values.size()) {}

  // An Error "[onnx] ..." for an op, or a form of it, that has no counterpart.
  void add(const Node& node);

  // What a value is called there, in whatever order. Asking for one that has no name is an Error.
  const std::string& name(ValueId id) const;
  // In the order that it has here, and as an image [N,C,H,W]; turned, by a node more, where it is not.
  const std::string& here(ValueId id);
  const std::string& image(ValueId id);
  // Whether it is an image in the other order there.
  bool is_image(ValueId id) const { return values_[static_cast<std::size_t>(id)].image; }
  void set_name(ValueId id, std::string name, bool image) {
    values_[static_cast<std::size_t>(id)].name = std::move(name);
    values_[static_cast<std::size_t>(id)].image = image;
  }

  // For the rows of the table.
  const Shape& shape(ValueId id) const { return graph_.value(id).type.shape; }
  const ValueType& type(ValueId id) const { return graph_.value(id).type; }
  // A node between; its result's name.
  std::string between(const Node& of, const std::string& op, std::vector<std::string> inputs,
                      const OnnxAttributes& attributes = {});
  // The node that gives the results of `of`, the first one or as many as are said: images there, or as they are here.
  void last(const Node& of, const std::string& op, std::vector<std::string> inputs, const OnnxAttributes& attributes,
            bool image, std::size_t results = 1);
  // Whether the first extent of a value follows the number of rows.
  bool by_rows(ValueId id) const { return values_[static_cast<std::size_t>(id)].by_rows; }
  void set_by_rows(ValueId id) { values_[static_cast<std::size_t>(id)].by_rows = true; }
  // A constant of this op; its name.
  std::string constant(const Node& of, const Tensor& value);
  [[noreturn]] void refuse(const Node& node, const std::string& why) const;

 private:
  struct Named {
    std::string name;
    bool image = false;
    std::string turned = {};  // in the other order, where somebody asked for it
    bool by_rows = false;
  };
  const std::string& turned(ValueId id, bool to_image);

  const Graph& graph_;
  OnnxWriter& writer_;
  std::vector<Named> values_;
  int made_ = 0;
};

}  // namespace ridgeline::infer
