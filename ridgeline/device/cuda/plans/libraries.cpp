#include "ridgeline/device/cuda/plans/libraries.h"

#include "ridgeline/device/cuda/library.h"

namespace ridgeline::cuda {
namespace {

// The functions belong to the process, like the opened libraries.
const cudnn::Functions& cudnn_functions() {
  static const Library& library = Library::open(LibraryName::cudnn);
  static const cudnn::Functions functions([](const char* name) { return library.find(name); });
  return functions;
}

const cublas::Functions& cublas_functions() {
  static const Library& library = Library::open(LibraryName::cublas_lt);
  static const cublas::Functions functions([](const char* name) { return library.find(name); });
  return functions;
}

}  // namespace

Libraries::Libraries(cudnn::Target target, const cublas::Functions* cublas, cublas::Handle cublas_handle,
                     LibrariesOptions options)
    : options_(std::move(options)),
      target_(std::move(target)),
      cublas_(cublas),
      cublas_handle_(cublas_handle),
      folder_(options_.folder, options_.warn) {}

Libraries::~Libraries() {
  if (cublas_handle_ != nullptr) cublas_->destroy(cublas_handle_);
}

std::unique_ptr<Libraries> Libraries::open(std::string_view card, int driver_version, LibrariesOptions options) {
  // cuDNN looks for these among the open libraries: for its products, and for compiling.
  const cublas::Functions& cublas = cublas_functions();
  Library::open(LibraryName::nvrtc);
  const cudnn::Functions& cudnn = cudnn_functions();
  if (options.folder.empty()) {
    options.folder = PlanFolder::folder_of(card, driver_version, "cudnn-" + cudnn.version_text());
  }
  cublas::Handle handle = nullptr;
  cublas.check(cublas.create(&handle), "cuBLASLt opens the card");
  return std::make_unique<Libraries>(cudnn::Target::current_card(cudnn), &cublas, handle, std::move(options));
}

}  // namespace ridgeline::cuda
