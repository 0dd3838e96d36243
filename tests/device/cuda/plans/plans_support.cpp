#include "tests/device/cuda/plans/plans_support.h"

#include <dlfcn.h>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/device/cuda/library.h"
#include "tests/support/paths.h"

namespace ridgeline::cuda {
namespace {

CudnnWithoutCard open_without_card() {
  // Its name is libcuda.so.1: what asks the loader for that later gets it.
  if (::dlopen(RIDGELINE_FAKE_CUDA_DRIVER, RTLD_NOW | RTLD_GLOBAL) == nullptr) return {nullptr, ::dlerror()};
  try {
    Library::open(LibraryName::cublas_lt);
    Library::open(LibraryName::nvrtc);
    const Library& library = Library::open(LibraryName::cudnn);
    static const cudnn::Functions functions([&](const char* name) { return library.find(name); });
    return {&functions, ""};
  } catch (const Error& error) {
    return {nullptr, error.what()};
  }
}

}  // namespace

const CudnnWithoutCard& cudnn_without_card() {
  static const CudnnWithoutCard opened = open_without_card();
  return opened;
}

std::string card_description(const std::string& card) {
  return read_file(test_support::source_path("tests/device/cuda/" + card + ".json"));
}

}  // namespace ridgeline::cuda
