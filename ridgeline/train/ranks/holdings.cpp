#include "ridgeline/train/ranks/holdings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/pass/shard_updates.h"

namespace ridgeline::train {
namespace {

constexpr int kAll = -1, kNothing = -2, kRun = -3;

// The axis along which the step shards the value; kAll, kNothing; kRun: a range of its elements.
int division_of(const ParameterSpec& spec, const Graph& step, std::int64_t ranks) {
  const ValueId id = step.find_argument(spec.name);
  if (id == kNoValue) return kNothing;
  const Shape& shape = step.value(id).type.shape;
  if (shape == spec.shape) return kAll;
  if (shape == Shape{shard_elements(spec.shape.elements(), ranks)}) return kRun;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != spec.shape[axis]) return axis;
  }
  return kAll;
}

// Elements before, along and after an axis.
struct Axes {
  std::int64_t outer = 1, extent = 1, inner = 1;
  Axes(const Shape& shape, int axis) {
    for (int a = 0; a < shape.rank(); ++a) (a < axis ? outer : a == axis ? extent : inner) *= shape[a];
  }
};

// A rank's range of the elements, padded with zeros (graph/pass/shard_updates.h).
Tensor run_of(const Tensor& whole, std::int64_t rank, std::int64_t ranks) {
  const std::int64_t count = shard_elements(whole.elements(), ranks);
  const std::int64_t begin = std::min(rank * count, whole.elements());
  const std::int64_t there = std::min(count, whole.elements() - begin);
  const std::size_t element = size_of(whole.dtype());
  Tensor part = Tensor::zeros(whole.dtype(), {count});
  std::memcpy(part.raw(), static_cast<const char*>(whole.raw()) + static_cast<std::size_t>(begin) * element,
              static_cast<std::size_t>(there) * element);
  return part;
}

}  // namespace

Holdings::Holdings(std::span<const ParameterSpec> parameters, const Graph& step,
                   std::shared_ptr<comm::Communicator> ranks)
    : ranks_(std::move(ranks)) {
  if (!ranks_ || ranks_->size() == 1) return;
  const auto size = static_cast<std::size_t>(ranks_->size());
  for (const ParameterSpec& spec : parameters) {
    const std::int32_t own = division_of(spec, step, ranks_->size());
    std::vector<std::int32_t> all(size);
    ranks_->all_gather(&own, all.data(), sizeof own);
    Division division{.axis = own >= 0 ? own : -1, .owner = -1, .here = own == kAll, .run = own == kRun};
    bool alike = true;
    for (std::size_t r = 0; r < size; ++r) {
      alike = alike && all[r] == all[0];
      if (all[r] == kAll) division.owner = static_cast<int>(r);
    }
    if (alike && own == kAll) continue;
    RIDGELINE_CHECK((alike && (own >= 0 || own == kRun)) || division.owner >= 0,
                    "a stored value that no rank holds: " + spec.name);
    divided_[spec.name] = division;
  }
}

bool Holdings::holds(const std::string& name) const {
  const auto found = divided_.find(name);
  return found == divided_.end() || found->second.axis >= 0 || found->second.run || found->second.here;
}

Tensor Holdings::own(const std::string& name, const Tensor& whole) const {
  const auto found = divided_.find(name);
  if (found != divided_.end() && found->second.run) return run_of(whole, ranks_->rank(), ranks_->size());
  if (found == divided_.end() || found->second.axis < 0) return whole;
  const int axis = found->second.axis;
  const Axes axes(whole.shape(), axis);
  Shape shape = whole.shape();
  shape[axis] /= ranks_->size();
  Tensor part(whole.dtype(), shape);
  const std::size_t run = static_cast<std::size_t>(shape[axis] * axes.inner) * size_of(whole.dtype());
  const auto* from = static_cast<const char*>(whole.raw()) + static_cast<std::size_t>(ranks_->rank()) * run;
  auto* to = static_cast<char*>(part.raw());
  for (std::int64_t i = 0; i < axes.outer; ++i) {
    std::memcpy(to, from, run);
    to += run;
    from += run * static_cast<std::size_t>(ranks_->size());
  }
  return part;
}

Tensor Holdings::gather(const ParameterSpec& spec, const ParameterStore& store) const {
  const auto found = divided_.find(spec.name);
  if (found == divided_.end()) return store.get(spec.name);
  const Division& division = found->second;
  if (division.axis < 0 && !division.run) {
    Tensor whole = division.owner == ranks_->rank() ? store.get(spec.name) : Tensor(spec.dtype, spec.shape);
    ranks_->broadcast(whole.raw(), static_cast<std::int64_t>(whole.byte_size()), division.owner);
    return whole;
  }
  const Tensor part = store.get(spec.name);
  const auto size = static_cast<std::size_t>(ranks_->size());
  std::vector<char> all(part.byte_size() * size);
  ranks_->all_gather(part.raw(), all.data(), static_cast<std::int64_t>(part.byte_size()));
  Tensor whole(spec.dtype, spec.shape);
  if (division.run) {
    std::memcpy(whole.raw(), all.data(), whole.byte_size());
    return whole;
  }
  const Axes axes(spec.shape, division.axis);
  const std::size_t run = part.byte_size() / static_cast<std::size_t>(axes.outer);
  auto* to = static_cast<char*>(whole.raw());
  for (std::size_t i = 0; i < static_cast<std::size_t>(axes.outer); ++i) {
    for (std::size_t r = 0; r < size; ++r) {
      std::memcpy(to, all.data() + r * part.byte_size() + i * run, run);
      to += run;
    }
  }
  return whole;
}

}  // namespace ridgeline::train
