// ridgeline/device/cuda/driver/modules.h
//
// Kernels that are loaded: a module of a fat binary, a cubin or PTX, and its functions by name. Keeps the context
// alive.
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
  // Null where the module has none of that name.
  FunctionHandle find(const std::string& name);

 private:
  std::shared_ptr<Context> context_;
  std::string name_;
  ModuleHandle handle_ = nullptr;
};

// Lets a kernel have so many bytes of dynamic shared memory, where that is more than every kernel may have.
void allow_shared(Context& context, FunctionHandle function, std::string_view kernel, unsigned bytes);

// Our kernels, by name, of all images; each image is loaded when a kernel of it is first asked for. Thread-safe.
class Kernels {
 public:
  Kernels(std::shared_ptr<Context> context, std::span<const KernelImage> images);
  // An Error where no image has it.
  FunctionHandle function(const std::string& name);

 private:
  std::shared_ptr<Context> context_;
  std::span<const KernelImage> images_;
  std::mutex mutex_;
  std::map<std::string_view, std::unique_ptr<Module>> modules_;
  std::map<std::string, FunctionHandle> functions_;
};

}  // namespace ridgeline::cuda
