// ridgeline/data/runtime/replayer.h
//
// Samples of a dataset without a run, by their position in an epoch. Owns the compiled pipeline: many samples of one
// dataset cost one compilation. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "ridgeline/data/runtime/iterator.h"

namespace ridgeline::data {

class Pipeline;  // runtime/pipeline.h

class Replayer {
 public:
  explicit Replayer(const Dataset& dataset, IteratorOptions options = {});
  ~Replayer();

  // Sample `index` in the order of epoch `epoch`, exactly as a run delivers it; nullopt after the last one. A sample
  // that cannot be made is an Error.
  std::optional<Sample> sample(std::uint64_t epoch, std::uint64_t index) const;
  // Whether there is such a sample.
  bool has(std::uint64_t epoch, std::uint64_t index) const;
  // The size of an epoch: "12 samples", "3 batches".
  std::string extent_of(std::uint64_t epoch) const;

 private:
  std::unique_ptr<const Pipeline> pipeline_;
};

}  // namespace ridgeline::data
