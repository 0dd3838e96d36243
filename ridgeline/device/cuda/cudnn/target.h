// ridgeline/device/cuda/cudnn/target.h
//
// The card for which plans are made: that of a handle, on which they run, or one given by a description (the library's
// JSON for a card), for which they can be made and examined on any machine. One thread at a time.
#pragma once

#include <optional>
#include <string>

#include "ridgeline/device/cuda/cudnn/descriptor.h"

namespace ridgeline::cuda::cudnn {

class Target {
 public:
  // The card whose context is current in the calling thread.
  static Target current_card(const Functions& functions);
  static Target described(const Functions& functions, const std::string& json);

  // Null if there is only a description.
  Handle handle() const { return handle_.get(); }
  // Null if there is a handle.
  const Descriptor* description() const { return description_ ? &*description_ : nullptr; }
  const Functions& functions() const { return *functions_; }

  // The library's description of device `index`, for files of descriptions.
  static std::string describe(const Functions& functions, int index);

 private:
  explicit Target(const Functions& functions) : functions_(&functions), handle_(nullptr, {&functions}) {}
  struct Destroy {
    const Functions* functions;
    void operator()(void* handle) const { functions->destroy(handle); }
  };
  const Functions* functions_;
  std::unique_ptr<void, Destroy> handle_;
  std::optional<Descriptor> description_;
};

}  // namespace ridgeline::cuda::cudnn
