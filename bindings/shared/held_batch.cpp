#include "bindings/shared/held_batch.h"

#include <unistd.h>

#include <utility>

#include "ridgeline/core/error.h"

namespace ridgeline::bindings {

HeldBatch::HeldBatch(data::Batch batch, std::shared_ptr<std::atomic<int>> lent, int most_lent,
                     std::shared_ptr<data::BatchAllocator> memory)
    : memory_(std::move(memory)), lent_(std::move(lent)), process_(::getpid()), schema_(batch.columns()) {
  columns_.reserve(schema_.size());
  for (data::Column& column : schema_) {
    columns_.push_back(batch.column(column.name));
    column.shape = columns_.back().shape();  // of this batch, which may have fewer rows than others
  }
  rows_ = batch.rows();
  samples_ = batch.samples();
  epoch_ = batch.epoch();
  index_ = batch.index();
  last_of_epoch_ = batch.last_of_epoch();
  records_ = batch.records();
  after_ = batch.state_after();
  if (lent_->fetch_add(1) < most_lent) {
    lease_.emplace(std::move(batch));
  } else {
    lent_->fetch_sub(1);
    for (Tensor& column : columns_) column = column.clone();
  }
}

HeldBatch::~HeldBatch() {
  if (!lease_) return;
  if (process_ != ::getpid()) {
    new data::Batch(std::move(*lease_));  // NOLINT: leaked on purpose
    new std::shared_ptr<data::BatchAllocator>(std::move(memory_));
    return;
  }
  columns_.clear();
  lease_.reset();
  lent_->fetch_sub(1);
}

const Tensor& HeldBatch::column(const std::string& name) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    if (schema_[i].name == name) return columns_[i];
    names.push_back(schema_[i].name);
  }
  throw Error("[batch] there is no column '" + name + "'" + did_you_mean(name, names) + " among " + to_string(schema_),
              ErrorKind::usage);
}

}  // namespace ridgeline::bindings
