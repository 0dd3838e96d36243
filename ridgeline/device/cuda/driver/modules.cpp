#include "ridgeline/device/cuda/driver/modules.h"

#include <fmt/format.h>

namespace ridgeline::cuda {

Module::Module(std::shared_ptr<Context> context, std::string name, std::span<const unsigned char> image)
    : context_(std::move(context)), name_(std::move(name)) {
  context_->make("cuModuleLoadData", name_, &Driver::module_load, &handle_, image);
}

Module::~Module() { context_->release("cuModuleUnload", &Driver::module_unload, handle_); }

FunctionHandle Module::function(const std::string& name) {
  FunctionHandle function = nullptr;
  context_->make("cuModuleGetFunction", name + " of " + name_, &Driver::module_function, &function, handle_,
                 name.c_str());
  return function;
}

FunctionHandle Module::find(const std::string& name) {
  FunctionHandle function = nullptr;
  context_->enter();
  const Result code =
      context_->calls().answer("cuModuleGetFunction", &Driver::module_function, &function, handle_, name.c_str());
  if (code == result::kNotFound) return nullptr;
  if (code != result::kSuccess) context_->calls().fail("cuModuleGetFunction", name + " of " + name_, code);
  return function;
}

void allow_shared(Context& context, FunctionHandle function, std::string_view kernel, unsigned bytes) {
  constexpr unsigned kAlways = 48 << 10;
  if (bytes <= kAlways) return;
  context.make("cuFuncSetAttribute", kernel, &Driver::function_set, function,
               FunctionAttribute::max_dynamic_shared_bytes, static_cast<int>(bytes));
}

Kernels::Kernels(std::shared_ptr<Context> context, std::span<const KernelImage> images)
    : context_(std::move(context)), images_(images) {}

FunctionHandle Kernels::function(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const auto at = functions_.find(name); at != functions_.end()) return at->second;
  for (const KernelImage& image : images_) {
    std::unique_ptr<Module>& module = modules_[image.file];
    if (!module)
      module = std::make_unique<Module>(context_, "kernels/" + std::string(image.file) + ".cu", image.fat_binary);
    if (FunctionHandle function = module->find(name)) return functions_[name] = function;
  }
  throw Error(fmt::format("[cuda] no kernel '{}' in this build", name));
}

}  // namespace ridgeline::cuda
