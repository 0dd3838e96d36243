#include "ridgeline/data/ir/source_handle.h"

namespace ridgeline::data {

SourceHandle& handle_of(const Node& node) {
  if (!node.source) throw NotOpened("a source node without a handle: " + node.op);
  return *node.source;
}

}  // namespace ridgeline::data
