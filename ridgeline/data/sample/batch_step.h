// ridgeline/data/sample/batch_step.h
//
// An operation on a whole batch (an operation of the batch node): runs once, when all its rows are made, on the worker
// that finished the last one.
#pragma once

#include <memory>
#include <vector>

#include "ridgeline/core/tensor.h"
#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

class BatchStep {
 public:
  virtual ~BatchStep() = default;
  // `columns` in the order of `schema`, mask last; the first `samples` rows are real. Draws go by epoch and index.
  virtual void run(std::vector<Tensor>& columns, std::int64_t samples, std::uint64_t epoch,
                   std::uint64_t index) const = 0;
};

std::unique_ptr<BatchStep> make_batch_step(const Transform& transform, const Schema& schema, std::uint64_t seed);

}  // namespace ridgeline::data
