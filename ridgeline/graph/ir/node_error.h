// ridgeline/graph/ir/node_error.h
//
// An Error about one op of a graph, so that a dump can mark the op (text.h).
#pragma once

#include <string>
#include <utility>

#include "ridgeline/core/error.h"

namespace ridgeline {

class NodeError : public Error {
 public:
  // The names of the graph (or function) and of its op.
  NodeError(const std::string& message, std::string graph, std::string node)
      : Error(message), graph_(std::move(graph)), node_(std::move(node)) {}
  const std::string& graph() const { return graph_; }
  const std::string& node() const { return node_; }

 private:
  std::string graph_;
  std::string node_;
};

}  // namespace ridgeline
