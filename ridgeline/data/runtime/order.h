// ridgeline/data/runtime/order.h
//
// The order of rows as arithmetic: row `position` of epoch `epoch` is one record of the source in one epoch of its own,
// answered without going through the rows before it. That makes every position restorable and every sample replayable.
// Immutable but for a small cache of permutations: any thread may ask.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "ridgeline/core/permutation.h"
#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

// A record (or batch) in one pass over the data. The epoch counts every pass, those of repeat nodes too.
struct SampleRef {
  std::uint64_t epoch = 0;
  std::uint64_t index = 0;
  friend bool operator==(const SampleRef&, const SampleRef&) = default;
};

class Order {
 public:
  // `nodes`: order nodes from the source upwards, over `rows` rows (kForever allowed above a repeat).
  Order(const std::vector<const Node*>& nodes, std::int64_t rows, std::uint64_t seed);
  std::int64_t size() const { return size_; }  // of one epoch; kForever if endless
  SampleRef at(std::uint64_t epoch, std::uint64_t position) const;

 private:
  struct Step {
    enum class Kind { shuffle, repeat, skip, shard } kind;
    std::int64_t rows = 0;  // of the step's input
    std::int64_t count = 0, index = 0;
    PhiloxKey key;
    // The permutations of the latest epochs; several are in use at an epoch's border.
    mutable std::vector<std::pair<std::uint64_t, std::shared_ptr<const Permutation>>> recent;
  };
  std::uint64_t shuffled(const Step& step, std::uint64_t epoch, std::uint64_t position) const;

  std::vector<Step> steps_;  // from the source upwards
  std::int64_t size_;
  mutable std::mutex mutex_;  // guards Step::recent
};

}  // namespace ridgeline::data
