// ridgeline/data/runtime/pipeline.h
//
// A compiled dataset: the graph after the passes, the tree that makes its rows, and which rows make a batch. Immutable
// and shared by all threads of a run; independent of workers, slots and time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ridgeline/data/api/dataset.h"
#include "ridgeline/data/runtime/batches.h"
#include "ridgeline/data/runtime/iterator.h"
#include "ridgeline/data/runtime/rows/arrangement.h"

namespace ridgeline::data {

class Pipeline {
 public:
  Pipeline(const Dataset& dataset, const IteratorOptions& options);

  const DataGraph& graph() const { return graph_; }  // after the passes
  std::uint64_t hash() const { return hash_; }       // of the user's graph
  std::uint64_t seed() const { return seed_; }
  // The user's sources with their arguments as JSON: identifies the data.
  const std::string& sources() const { return sources_; }
  std::uint64_t records() const { return rows_->records(); }
  const ImageTail& tail() const { return tail_; }
  int places() const { return places_; }  // of a Scratch

  // Samples of one epoch in their order, before batching.
  const Rows& rows() const { return *rows_; }

  // Whether the graph ends in batches; the functions below require that.
  bool batched() const { return batches_ != nullptr; }
  std::int64_t capacity() const { return batches_->capacity(); }     // most rows of a batch
  std::int64_t batches_per_epoch() const { return order().size(); }  // kForever, kUnknown
  bool has_batch(RowAddress batch) const { return order().has(batch); }
  std::int64_t count_batches(std::uint64_t epoch) const { return order().count(epoch); }
  const Schema& columns() const { return columns_; }  // of a batch
  const std::vector<Transform>& batch_operations() const { return batch_operations_; }
  const Node& batch_node() const { return *batch_; }
  // Whether batches depend on the contents of rows. Then help() reads some rows that will be needed soon, for a thread
  // that has nothing else to do; false if there are none.
  bool looks() const { return !looking_.empty(); }
  bool help() const;
  // The rows of a batch; returns how many it has room for.
  std::int64_t rows_of(RowAddress batch, std::vector<RowAddress>& rows) const;
  // Attempt `attempt` (from 1) to find another sample for a bad row, without changing other rows: position p of the
  // epoch reads the row that another permutation puts there.
  RowAddress replacement(RowAddress row, int attempt) const;

 private:
  const Extent& order() const { return above_.empty() ? static_cast<const Extent&>(*batches_) : *above_.back(); }

  DataGraph graph_;
  std::uint64_t hash_, seed_;
  std::string sources_;
  int places_ = 0;
  RowsPtr rows_;
  std::unique_ptr<const Batches> batches_;
  std::vector<const Extent*> looking_;               // filters and buckets, from the sources upwards
  std::vector<std::unique_ptr<Arrangement>> above_;  // order nodes of batches, from the batch node upwards
  const Node* batch_ = nullptr;
  std::vector<Transform> batch_operations_;
  Schema columns_;
  ImageTail tail_;
};

}  // namespace ridgeline::data
