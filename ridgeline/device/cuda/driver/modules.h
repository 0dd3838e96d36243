// ridgeline/device/cuda/driver/modules.h
//
// Loaded kernels: a module of a fat binary, a cubin or PTX, and its functions by name. Keeps the context alive.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "ridgeline/device/cuda/driver/context.h"
#include "ridgeline/device/cuda/kernel_images.h"

namespace ridgeline::cuda {

class Module {
 public:
  // `name` is for messages.
  Module(std::shared_ptr<Context> context, std::string name, std::span<const unsigned char> image);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  FunctionHandle function(const std::string& name);
  // Null if the module has none of that name.
  FunctionHandle find(const std::string& name);

 private:
  std::shared_ptr<Context> context_;
  std::string name_;
  ModuleHandle handle_ = nullptr;
};

// Allows a kernel that many bytes of dynamic shared memory, if that is above the default limit.
void allow_shared(Context& context, FunctionHandle function, std::string_view kernel, unsigned bytes);

// Our kernels, by name, from all images; each image is loaded when one of its kernels is first requested. Thread-safe.
class Kernels {
 public:
  Kernels(std::shared_ptr<Context> context, std::span<const KernelImage> images);
  // An Error if no image has it.
  FunctionHandle function(const std::string& name);

 private:
  std::shared_ptr<Context> context_;
  std::span<const KernelImage> images_;
  std::mutex mutex_;
  std::map<std::string_view, std::unique_ptr<Module>> modules_;
  std::map<std::string, FunctionHandle> functions_;
};

}  // namespace ridgeline::cuda
