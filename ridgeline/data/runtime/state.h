// ridgeline/data/runtime/state.h
//
// A consumer's position in a dataset: enough to continue elsewhere, with any number of workers, with exactly the next
// batch. Counts delivered batches, never prepared ones. A value of about a hundred bytes.
#pragma once

#include <cstdint>
#include <string>

namespace ridgeline::data {

struct IteratorState {
  std::uint64_t graph_hash = 0;
  std::uint64_t seed = 0;
  std::uint64_t records = 0;  // of the source when saved: data of another size are refused
  std::uint64_t epoch = 0;
  std::uint64_t delivered = 0;  // batches of this epoch already consumed
  friend bool operator==(const IteratorState&, const IteratorState&) = default;

  // {"schema":"data-state","version":1,"graph_hash":"<16 hex
  // digits>","seed":...,"records":...,"epoch":...,"delivered":...}
  std::string to_json() const;
  static IteratorState from_json(const std::string& text);
};

}  // namespace ridgeline::data
