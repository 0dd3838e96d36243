// ridgeline/data/ir/source_handle.h
//
// Access to the data of a source node, as far as graphs need it: the arguments and, where only files have the answer,
// the files, which are opened on first use. Shared by copies of a graph; any thread. Sources implement it in source/.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

// Names of classes and their labels, by label.
using ClassIndexing = std::vector<std::pair<std::string, std::int64_t>>;

struct SourceClasses {
  std::int64_t count = 0;               // one more than the largest possible label; 0: unknown
  std::vector<std::string> names = {};  // by label; empty: unknown, or labels have gaps
  ClassIndexing indexing = {};          // the same, but labels may have gaps
};

class SourceHandle {
 public:
  virtual ~SourceHandle() = default;
  virtual Schema columns(const Node& node) = 0;
  virtual SourceClasses classes(const Node& node) = 0;
  virtual int label_base(const Node& node) = 0;
};

// A question that only files answer, about a node without a handle: drawings make such nodes when files must not be
// opened.
class NotOpened : public InternalError {
 public:
  using InternalError::InternalError;
};
// The handle of a source node. Throws NotOpened.
SourceHandle& handle_of(const Node& node);

}  // namespace ridgeline::data
