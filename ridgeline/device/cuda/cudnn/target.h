// ridgeline/device/cuda/cudnn/target.h
//
// For which card plans are made: the one of a handle, on which they run, or one that a description tells (JSON as the
// library writes it of a card), for which they can be made and looked at on any machine. One thread at a time.
#pragma once

#include <optional>
#include <string>

#include "ridgeline/device/cuda/cudnn/library.h"

namespace ridgeline::device::cudnn {

class Target {
 public:
  // The card whose context is current in the calling thread.
  static Target current_card(const Library& library);
  static Target described(const Library& library, const std::string& json);

  // Null where there is only a description.
  Handle handle() const { return handle_.get(); }
  // Null where there is a handle.
  const Descriptor* description() const { return description_ ? &*description_ : nullptr; }
  const Library& library() const { return *library_; }

  // The library's description of device `index`, for files of descriptions.
  static std::string describe(const Library& library, int index);

 private:
  explicit Target(const Library& library) : library_(&library), handle_(nullptr, {&library}) {}
  struct Destroy {
    const Library* library;
    void operator()(void* handle) const { library->destroy(handle); }
  };
  const Library* library_;
  std::unique_ptr<void, Destroy> handle_;
  std::optional<Descriptor> description_;
};

}  // namespace ridgeline::device::cudnn
