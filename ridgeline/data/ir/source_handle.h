// ridgeline/data/ir/source_handle.h
//
// What lies behind a source node, as far as graphs ask: the arguments and, where the answer lies there, the files,
// which are opened on first use. Shared by copies of a graph; any thread. How sources do it is in source/.
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
  std::int64_t count = 0;               // one more than the greatest label there can be; 0: unknown
  std::vector<std::string> names = {};  // by label; empty: unknown, or labels leave gaps
  ClassIndexing indexing = {};          // the same, and labels may leave gaps
};

class SourceHandle {
 public:
  virtual ~SourceHandle() = default;
  virtual Schema columns(const Node& node) = 0;
  virtual SourceClasses classes(const Node& node) = 0;
  virtual int label_base(const Node& node) = 0;
};

// What only files tell of a node without a handle, as drawings make them for graphs whose files must not be opened.
class NotOpened : public InternalError {
 public:
  using InternalError::InternalError;
};
// The handle of a source node. Throws NotOpened.
SourceHandle& handle_of(const Node& node);

}  // namespace ridgeline::data
