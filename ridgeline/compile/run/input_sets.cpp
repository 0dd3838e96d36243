#include "ridgeline/compile/run/input_sets.h"

#include <algorithm>

#include "ridgeline/compile/lower/place_arena.h"
#include "ridgeline/compile/run/device_timeline.h"

namespace ridgeline {

InputSets::InputSets(Device& device, std::span<const std::size_t> bytes) : device_(device) {
  for (const std::size_t size : bytes) {
    offsets_.push_back(set_bytes_);
    set_bytes_ += (size + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
  }
  memory_ = device.allocate(std::max(kSets * set_bytes_, kMemoryAlignment));
}

void InputSets::forget() {
  for (Set& set : sets_) {
    set.filled.reset();
    set.read.reset();
    set.held.clear();
  }
}

void* InputSets::address(int set, std::size_t input) const {
  return static_cast<char*>(memory_->address()) + static_cast<std::size_t>(set) * set_bytes_ + offsets_[input];
}

int InputSets::fill(std::span<const Source> sources, DeviceTimeline* timeline) {
  let_go(false);
  last_ = (last_ + 1) % kSets;
  Set& set = sets_[static_cast<std::size_t>(last_)];
  if (!set.filled) {
    set.filled = device_.make_event();
    set.read = device_.make_event();
  }
  Stream& copies = device_.stream_for(StreamPurpose::copies);
  copies.wait(*set.read);
  if (!set.held.empty()) set.filled->wait();
  set.held.clear();
  const auto fill = [&] {
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const Tensor& value = *sources[i].value;
      const SourceUse use = copies.copy_from_host(address(last_, i), value.raw(), value.byte_size());
      if (use == SourceUse::in_flight) set.held.emplace_back(value, sources[i].lease);
    }
  };
  if (timeline != nullptr)
    timeline->span(StreamPurpose::copies, {.category = "copy", .name = "inputs"}, fill);
  else
    fill();
  copies.record(*set.filled);
  device_.stream().wait(*set.filled);
  return last_;
}

void InputSets::read() { device_.stream().record(*sets_[static_cast<std::size_t>(last_)].read); }

void InputSets::let_go(bool wait) {
  for (Set& set : sets_) {
    if (set.held.empty()) continue;
    if (wait)
      set.filled->wait();
    else if (!set.filled->reached())
      continue;
    set.held.clear();
  }
}

}  // namespace ridgeline
