#include "ridgeline/data/source/source.h"

#include <array>
#include <utility>

#include "ridgeline/data/source/sources.h"

namespace ridgeline::data {

std::unique_ptr<Source> open_source(const Node& node) {
  using Open = std::unique_ptr<Source> (*)(const Node&);
  static constexpr std::array<std::pair<std::string_view, Open>, 4> table{{
      {"image_folder", open_image_folder},
      {"tfrecord", open_tfrecord},
      {"idx", open_idx},
      {"in_memory", open_in_memory},
  }};
  for (const auto& [op, open] : table) {
    if (op == node.op) return open(node);
  }
  throw InternalError("no reader for source node " + node.op);
}

const Source& SourceHandle::get(const Node& node) {
  const std::lock_guard lock(mutex_);
  if (!source_) source_ = open_source(node);
  return *source_;
}

const Source& source_of(const Node& node) {
  RIDGELINE_CHECK(node.source != nullptr, "a source node without a handle");
  return node.source->get(node);
}

}  // namespace ridgeline::data
