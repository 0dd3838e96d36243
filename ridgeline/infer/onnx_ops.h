// ridgeline/infer/onnx_ops.h
//
// One op of the step graph as nodes of ONNX. Values of rank four are images: [N,H,W,C] here, [N,C,H,W] there.
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

  // What a value is called there. Asking for one that has no name is an Error.
  const std::string& name(ValueId id) const;
  // Whether it is an image in the other order there.
  bool is_image(ValueId id) const { return values_[static_cast<std::size_t>(id)].image; }
  void set_name(ValueId id, std::string name, bool image) {
    values_[static_cast<std::size_t>(id)] = {std::move(name), image};
  }

  // For the rows of the table.
  const Shape& shape(ValueId id) const { return graph_.value(id).type.shape; }
  const ValueType& type(ValueId id) const { return graph_.value(id).type; }
  // A node between; its result's name.
  std::string between(const Node& of, const std::string& op, std::vector<std::string> inputs,
                      const OnnxAttributes& attributes = {});
  // The node that gives result 0 of `of`.
  void last(const Node& of, const std::string& op, std::vector<std::string> inputs,
            const OnnxAttributes& attributes = {});
  // A constant of this op; its name.
  std::string constant(const Node& of, const Tensor& value);
  [[noreturn]] void refuse(const Node& node, const std::string& why) const;

 private:
  struct Named {
    std::string name;
    bool image = false;
  };
  const Graph& graph_;
  OnnxWriter& writer_;
  std::vector<Named> values_;
  int made_ = 0;
};

}  // namespace ridgeline::infer
