// ridgeline/data/runtime/batches.h
//
// Which rows make which batch: the compiled batch node. Immutable, except for an index of the epoch if batches depend
// on the contents of rows (bucket); any thread may ask.
#pragma once

#include <memory>
#include <vector>

#include "ridgeline/data/runtime/rows/rows.h"

namespace ridgeline::data {

class Batches : public Extent {
 public:
  using Extent::Extent;
  // The rows of one batch, at most capacity() of them. Fewer: the rest is padding.
  virtual void rows_of(RowAddress batch, std::vector<RowAddress>& rows) const = 0;
  // How many rows the batch has room for.
  virtual std::int64_t capacity_of(RowAddress batch) const = 0;
  virtual std::int64_t capacity() const = 0;  // the greatest of them
};

// `count`: batches of an epoch, or kForever or kUnknown. `places`: workspaces of a Scratch for `rows`.
// `ahead`: rows may be read before they are needed.
std::unique_ptr<const Batches> make_batches(const Node& node, RowsPtr rows, std::int64_t count, int places, bool ahead);

}  // namespace ridgeline::data
