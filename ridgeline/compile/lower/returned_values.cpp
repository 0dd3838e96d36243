#include "ridgeline/compile/lower/returned_values.h"

#include <algorithm>

#include "ridgeline/compile/lower/place_arena.h"
#include "ridgeline/core/error.h"

namespace ridgeline {

ReturnedValues::ReturnedValues(Device& device, std::vector<Value> values)
    : device_(device), values_(std::move(values)) {
  for (const Value& value : values_) {
    offsets_.push_back(slot_bytes_);
    if (value.bytes > kMostBytes) continue;
    slot_bytes_ += (value.bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
  }
  memory_ = device.allocate_pinned(std::max(kRuns * slot_bytes_, kMemoryAlignment));
  for (std::int64_t run = 0; run < kRuns; ++run) events_.push_back(device.make_event());
}

char* ReturnedValues::slot(std::int64_t run) const {
  return static_cast<char*>(memory_->address()) + static_cast<std::size_t>(run % kRuns) * slot_bytes_;
}

void ReturnedValues::keep() {
  RIDGELINE_CHECK(runs() < kRuns, "more runs are kept than there is room for");
  Stream& stream = device_.stream();
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].bytes > kMostBytes) continue;
    stream.copy_to_host(slot(kept_) + offsets_[i], values_[i].address, values_[i].bytes);
  }
  stream.record(event(kept_));
  ++kept_;
}

bool ReturnedValues::ready() const { return event(told_).reached(); }
void ReturnedValues::wait() const { event(told_).wait(); }

const void* ReturnedValues::value(std::size_t index) const {
  return values_[index].bytes > kMostBytes ? nullptr : slot(told_) + offsets_[index];
}

}  // namespace ridgeline
