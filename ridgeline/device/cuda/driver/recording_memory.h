// ridgeline/device/cuda/driver/recording_memory.h
//
// Inside of the recording driver: devices, contexts, memory and copies.
#pragma once

#include <array>
#include <cstdio>

#include "ridgeline/device/cuda/driver/recording_state.h"

namespace ridgeline::cuda::recorded {

class RecordingMemory : public RecordingState {
 public:
  using RecordingState::RecordingState;

  Result initialize() override {
    initialized_ = true;
    return result::kSuccess;
  }
  Result driver_version(int* version) override {
    *version = options_.driver_version;
    return result::kSuccess;
  }
  Result device_count(int* count) override {
    if (!initialized_) return result::kNotInitialized;
    *count = options_.devices;
    return options_.devices == 0 ? result::kNoDevice : result::kSuccess;
  }
  Result device_get(DeviceOrdinal* device, int index) override {
    *device = index;
    return index >= 0 && index < options_.devices ? result::kSuccess : result::kInvalidDevice;
  }
  Result device_name(char* name, int length, DeviceOrdinal) override {
    std::snprintf(name, static_cast<std::size_t>(length), "%s", options_.device_name.c_str());
    return result::kSuccess;
  }
  Result device_uuid(unsigned char (*uuid)[16], DeviceOrdinal device) override {
    std::memset(*uuid, device + 1, 16);
    return result::kSuccess;
  }
  Result device_attribute(int* value, Attribute attribute, DeviceOrdinal) override {
    switch (attribute) {
      case Attribute::max_threads_per_block: *value = kMaxThreads; break;
      case Attribute::max_shared_memory_per_block: *value = kSharedUnasked; break;
      case Attribute::max_shared_memory_per_block_optin: *value = kMaxShared; break;
      case Attribute::max_shared_memory_per_multiprocessor: *value = 233472; break;
      case Attribute::warp_size: *value = 32; break;
      case Attribute::max_registers_per_block: *value = 65536; break;
      case Attribute::clock_rate: *value = 1980000; break;
      case Attribute::multiprocessors: *value = 132; break;
      case Attribute::memory_clock_rate: *value = 2619000; break;
      case Attribute::memory_bus_width: *value = 5120; break;
      case Attribute::l2_cache_bytes: *value = 52428800; break;
      case Attribute::max_threads_per_multiprocessor: *value = 2048; break;
      case Attribute::compute_capability_major: *value = options_.compute_capability / 10; break;
      case Attribute::compute_capability_minor: *value = options_.compute_capability % 10; break;
      default: *value = 0;
    }
    return result::kSuccess;
  }
  Result device_memory(std::size_t* bytes, DeviceOrdinal) override {
    *bytes = options_.memory_bytes;
    return result::kSuccess;
  }
  Result context_retain(ContextHandle* context, DeviceOrdinal device) override {
    if (!initialized_) return result::kNotInitialized;
    if (device < 0 || device >= options_.devices) return result::kInvalidDevice;
    *context = reinterpret_cast<ContextHandle>(&used_[static_cast<std::size_t>(device)]);
    return result::kSuccess;
  }
  Result context_release(DeviceOrdinal) override { return result::kSuccess; }
  Result context_set(ContextHandle context) override {
    current_context = context;
    return result::kSuccess;
  }
  Result context_synchronize() override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    ++counts_.waits;
    work_.finish_all();
    return work_.sticky();
  }
  Result memory_info(std::size_t* free, std::size_t* total) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    *total = options_.memory_bytes;
    *free = options_.memory_bytes - used();
    return result::kSuccess;
  }

  Result allocate(DeviceAddress* address, std::size_t bytes) override {
    const Guard guard(*this, "an allocation");
    if (guard.code != 0) return guard.code;
    if (bytes == 0) return problem(result::kInvalidValue, "an allocation of 0 bytes");
    if (bytes > options_.memory_bytes - used()) return problem(result::kOutOfMemory, "");
    *address = memory_.reserve(bytes);
    if (*address == 0) return problem(result::kOutOfMemory, "the host has not that much memory");
    ++counts_.allocations;
    allocations_[*address] = {bytes, device()};
    used() += bytes;
    return result::kSuccess;
  }
  Result release(DeviceAddress address) override {
    const Guard guard(*this, "a release", true);
    if (guard.code != 0) return guard.code;
    const auto at = allocations_.find(address);
    if (at == allocations_.end()) return problem(result::kInvalidValue, "no allocation begins there");
    work_.finish_all();  // as cuMemFree does
    memory_.release(address);
    used_[at->second.second] -= at->second.first;
    allocations_.erase(at);
    return result::kSuccess;
  }
  Result allocate_pinned(void** address, std::size_t bytes) override {
    const Guard guard(*this, "an allocation");
    if (guard.code != 0) return guard.code;
    if (bytes == 0) return problem(result::kInvalidValue, "an allocation of 0 bytes");
    ++counts_.allocations;
    std::vector<char> block(bytes + 64, static_cast<char>(0xff));
    void* first = block.data();
    std::size_t space = block.size();
    *address = std::align(64, bytes, first, space);
    pinned_[reinterpret_cast<DeviceAddress>(*address)] = {bytes, std::move(block)};
    return result::kSuccess;
  }
  Result release_pinned(void* address) override {
    const Guard guard(*this, "a release", true);
    if (guard.code != 0) return guard.code;
    work_.finish_all();
    return pinned_.erase(reinterpret_cast<DeviceAddress>(address)) != 0
               ? result::kSuccess
               : problem(result::kInvalidValue, "no pinned memory begins there");
  }

  Result copy_to_device(DeviceAddress to, const void* from, std::size_t bytes, StreamHandle stream) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    LateWork::Stream* s = streams_.find(stream);
    if (s == nullptr) return bad_handle("stream");
    WorkNode work{.name = "copy to the device", .touches = {{to, bytes, Touch::writes}}};
    if (const Result code = check_device(to, bytes, *s); code != 0) return code;
    if (const Result code = check_host(from, "the source"); code != 0) return code;
    if (is_pinned(from, bytes)) {
      work.touches.push_back({reinterpret_cast<DeviceAddress>(from), bytes, Touch::reads});
      work.run = [=, this] { std::memcpy(host(to, bytes), from, bytes); };
    } else {
      if (s->capture) return end_capture(*s, "a copy from memory that is not pinned");
      const auto* first = static_cast<const char*>(from);
      work.run = [=, this, staged = std::vector<char>(first, first + bytes)] {
        std::memcpy(host(to, bytes), staged.data(), bytes);
      };
    }
    return give(*s, std::move(work));
  }
  Result copy_to_host(void* to, DeviceAddress from, std::size_t bytes, StreamHandle stream) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    LateWork::Stream* s = streams_.find(stream);
    if (s == nullptr) return bad_handle("stream");
    if (const Result code = check_device(from, bytes, *s); code != 0) return code;
    if (const Result code = check_host(to, "the target"); code != 0) return code;
    WorkNode work{.name = "copy to the host", .touches = {{from, bytes, Touch::reads}}};
    work.run = [=, this] { std::memcpy(to, host(from, bytes), bytes); };
    const bool pinned = is_pinned(to, bytes);
    if (pinned) work.touches.push_back({reinterpret_cast<DeviceAddress>(to), bytes, Touch::writes});
    if (!pinned && s->capture) return end_capture(*s, "a copy to memory that is not pinned");
    const Result code = give(*s, std::move(work));
    if (code == result::kSuccess && !pinned) {  // the driver waits, too
      ++counts_.waits;
      work_.finish(LateWork::point(*s));
      return work_.sticky();
    }
    return code;
  }
  Result copy_on_device(DeviceAddress to, DeviceAddress from, std::size_t bytes, StreamHandle stream) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    LateWork::Stream* s = streams_.find(stream);
    if (s == nullptr) return bad_handle("stream");
    if (const Result code = check_device(from, bytes, *s); code != 0) return code;
    if (const Result code = check_device(to, bytes, *s); code != 0) return code;
    return give(*s, {.name = "copy on the device",
                     .touches = {{from, bytes, Touch::reads}, {to, bytes, Touch::writes}},
                     .run = [=, this] { std::memmove(host(to, bytes), host(from, bytes), bytes); }});
  }
  Result fill_bytes(DeviceAddress to, unsigned char value, std::size_t bytes, StreamHandle stream) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    LateWork::Stream* s = streams_.find(stream);
    if (s == nullptr) return bad_handle("stream");
    if (const Result code = check_device(to, bytes, *s); code != 0) return code;
    return give(*s, {.name = "fill", .touches = {{to, bytes, Touch::writes}}, .run = [=, this] {
                       std::memset(host(to, bytes), value, bytes);
                     }});
  }
};

}  // namespace ridgeline::cuda::recorded
