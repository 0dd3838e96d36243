// bindings/c/src/handles.h
//
// Handles of the C interface: numbers in the form of pointers, never given twice in a process, so that a stale one is
// noticed. The table owns the objects; a call that uses one keeps it alive until it returns, whoever frees it
// meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "ridgeline/core/error.h"

namespace ridgeline::data {
class Dataset;
}
namespace ridgeline::bindings {
class Run;
}

namespace ridgeline::c {

// A batch as C sees it: extents and strides of every column, made once.
struct HeldColumns;
// A predictor whose callers take turns.
struct HeldModel;

// What a handle stands for, and what it is called.
template <class T>
struct Kind;
template <>
struct Kind<data::Dataset> {
  static constexpr std::uintptr_t tag = 1;
  static constexpr const char* name = "dataset";
};
template <>
struct Kind<bindings::Run> {
  static constexpr std::uintptr_t tag = 2;
  static constexpr const char* name = "iterator";
};
template <>
struct Kind<HeldColumns> {
  static constexpr std::uintptr_t tag = 3;
  static constexpr const char* name = "batch";
};

template <>
struct Kind<HeldModel> {
  static constexpr std::uintptr_t tag = 4;
  static constexpr const char* name = "model";
};

// Why a handle is none of this kind.
[[noreturn]] void refuse_handle(std::uintptr_t handle, std::uintptr_t tag, const char* name);
std::uintptr_t next_handle(std::uintptr_t tag);

template <class T>
class Handles {
 public:
  // Never destroyed: other threads may still call while the process ends.
  static Handles& table() {
    static auto* table = new Handles;
    return *table;
  }
  std::uintptr_t add(std::shared_ptr<T> object) {
    const std::uintptr_t handle = next_handle(Kind<T>::tag);
    const std::lock_guard lock(mutex_);
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  std::shared_ptr<T> get(const void* pointer) const {
    const auto handle = reinterpret_cast<std::uintptr_t>(pointer);
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = objects_.find(handle); found != objects_.end()) return found->second;
    }
    refuse_handle(handle, Kind<T>::tag, Kind<T>::name);
  }
  // The object's end, unless a call is using it.
  std::shared_ptr<T> take(const void* pointer) {
    const auto handle = reinterpret_cast<std::uintptr_t>(pointer);
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = objects_.find(handle); found != objects_.end()) {
        std::shared_ptr<T> object = std::move(found->second);
        objects_.erase(found);
        return object;
      }
    }
    refuse_handle(handle, Kind<T>::tag, Kind<T>::name);
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uintptr_t, std::shared_ptr<T>> objects_;
};

}  // namespace ridgeline::c
