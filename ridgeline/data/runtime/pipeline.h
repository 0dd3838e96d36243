// ridgeline/data/runtime/pipeline.h
//
// A compiled dataset: the graph after the passes, the order of its rows and the stage that makes one. Immutable and
// shared by all threads of a run; knows nothing of workers, slots or time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ridgeline/data/api/dataset.h"
#include "ridgeline/data/runtime/iterator.h"
#include "ridgeline/data/runtime/order.h"
#include "ridgeline/data/runtime/stage.h"

namespace ridgeline::data {

class Pipeline {
 public:
  Pipeline(const Dataset& dataset, const IteratorOptions& options);

  const DataGraph& graph() const { return graph_; }  // after the passes
  std::uint64_t hash() const { return hash_; }       // of the user's graph
  std::uint64_t seed() const { return seed_; }
  std::uint64_t records() const { return stage_->source().size(); }
  const Stage& stage() const { return *stage_; }
  const ImageTail& tail() const { return tail_; }

  // Samples of one epoch in their order, before batching.
  const Order& samples() const { return *samples_; }

  // The graph ends in batches; the rest asks for that.
  bool batched() const { return batches_ != nullptr; }
  std::int64_t batch_size() const { return batch_size_; }
  std::int64_t batches_per_epoch() const { return batches_->size(); }
  const Schema& columns() const { return columns_; }  // of a batch
  // The samples of batch `index` of epoch `epoch`.
  void samples_of(std::uint64_t epoch, std::uint64_t index, std::vector<SampleRef>& refs) const;

 private:
  DataGraph graph_;
  std::uint64_t hash_, seed_;
  std::unique_ptr<Stage> stage_;
  std::unique_ptr<Order> samples_, batches_;
  std::int64_t batch_size_ = 1;
  Schema columns_;
  ImageTail tail_;
};

}  // namespace ridgeline::data
