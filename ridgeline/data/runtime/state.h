// ridgeline/data/runtime/state.h
//
// Where a consumer stands in a dataset: enough to go on elsewhere, with any number of workers, with the very batch
// that would have come next. Counts delivered batches, never prepared ones. A value of some hundred bytes.
#pragma once

#include <cstdint>
#include <string>

namespace ridgeline::data {

struct IteratorState {
  std::uint64_t graph_hash = 0;
  std::uint64_t seed = 0;
  std::uint64_t records = 0;  // of the source, when saved: other data under the same graph is refused
  std::uint64_t epoch = 0;
  std::uint64_t delivered = 0;  // batches of this epoch already consumed
  friend bool operator==(const IteratorState&, const IteratorState&) = default;

  // {"schema":"data-state","version":1,"graph_hash":"<16 hex
  // digits>","seed":...,"records":...,"epoch":...,"delivered":...}
  std::string to_json() const;
  static IteratorState from_json(const std::string& text);
};

}  // namespace ridgeline::data
