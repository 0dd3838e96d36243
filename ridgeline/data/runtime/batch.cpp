#include "ridgeline/data/runtime/batch.h"

#include <fmt/format.h>

#include "ridgeline/data/runtime/slots.h"

namespace ridgeline::data {

Batch::Batch(std::unique_ptr<BatchLease> lease) : lease_(std::move(lease)) {}
Batch::~Batch() = default;
Batch::Batch(Batch&&) noexcept = default;
Batch& Batch::operator=(Batch&&) noexcept = default;

const Schema& Batch::columns() const { return lease_->ring().pipeline().columns(); }
bool Batch::has(std::string_view name) const { return find_column(columns(), name) != nullptr; }

const Tensor& Batch::column(std::string_view name) const {
  const Column* column = find_column(columns(), name);
  if (!column) throw Error(fmt::format("[batch] no column '{}' (columns: {})", name, to_string(columns())));
  return lease_->slot().columns[static_cast<std::size_t>(column - columns().data())];
}

std::int64_t Batch::rows() const { return lease_->slot().capacity; }
std::int64_t Batch::samples() const { return static_cast<std::int64_t>(lease_->slot().records.size()); }
std::uint64_t Batch::epoch() const { return lease_->slot().epoch; }
std::uint64_t Batch::index() const { return lease_->slot().index; }
bool Batch::last_of_epoch() const { return lease_->slot().last_of_epoch; }
const std::vector<std::uint64_t>& Batch::records() const { return lease_->slot().records; }
IteratorState Batch::state_after() const { return lease_->ring().state_after(lease_->slot()); }

}  // namespace ridgeline::data
