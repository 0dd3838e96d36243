// bindings/c/src/handles.h
//
// Handles of the C interface: numbers cast to pointers. A process never uses a number twice, so a stale handle is
// detected. The table owns the objects; a call keeps its object alive until it returns, even if another thread frees
// the handle meanwhile.
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

// A batch with the shapes and strides of its columns, computed once.
struct HeldColumns;
// A predictor and the mutex that serialises its callers.
struct HeldModel;

// The object of a handle, and the name of its kind.
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

// The message for a handle that is not of this kind.
[[noreturn]] void refuse_handle(std::uintptr_t handle, std::uintptr_t tag, const char* name);
std::uintptr_t next_handle(std::uintptr_t tag);

template <class T>
class Handles {
 public:
  // Never destroyed, since other threads may still call during process exit.
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
  // Destroys the object, or leaves that to the last call that uses it.
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
