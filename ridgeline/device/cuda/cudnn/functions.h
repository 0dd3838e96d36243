// ridgeline/device/cuda/cudnn/functions.h
//
// cuDNN's functions, found at run time. Whoever opens the library keeps it open longer than everything made with it.
// One thread at a time may use a handle; descriptors (descriptor.h) may be made by several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "ridgeline/device/cuda/cudnn/backend.h"

namespace ridgeline::cuda::cudnn {

// The library's message about what it cannot do, with its status code.
class Failure : public std::runtime_error {
 public:
  Failure(const std::string& what, int status) : std::runtime_error(what), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

class Functions {
 public:
  // The address of a function of the library, or null.
  using Resolver = std::function<void*(const char* name)>;

  // An Error names the first missing function, or a version other than 9.
  explicit Functions(const Resolver& resolve);

  int version() const { return version_; }  // 91900
  std::string version_text() const;         // "9.19.0"

  // Throws a Failure with the library's reason if `status` is not success.
  void check(int status, const char* action) const;

  int (*create)(Handle*) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*set_stream)(Handle, void* stream) = nullptr;
  int (*create_descriptor)(DescriptorType, RawDescriptor*) = nullptr;
  int (*destroy_descriptor)(RawDescriptor) = nullptr;
  int (*finalize)(RawDescriptor) = nullptr;
  int (*set_attribute)(RawDescriptor, Attribute, AttributeType, std::int64_t count, const void* values) = nullptr;
  int (*get_attribute)(RawDescriptor, Attribute, AttributeType, std::int64_t room, std::int64_t* count,
                       void* values) = nullptr;
  int (*execute)(Handle, RawDescriptor plan, RawDescriptor pack) = nullptr;

 private:
  std::size_t (*get_version_)() = nullptr;
  const char* (*error_string_)(int status) = nullptr;
  void (*last_error_)(char* message, std::size_t room) = nullptr;
  int version_ = 0;
};

}  // namespace ridgeline::cuda::cudnn
