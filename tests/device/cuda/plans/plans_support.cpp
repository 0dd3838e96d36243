#include "tests/device/cuda/plans/plans_support.h"

#include <dlfcn.h>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/device/cuda/library.h"
#include "tests/support/paths.h"

namespace ridgeline::cuda::testing {
namespace {

CudnnWithoutCard open_without_card() {
  // Its name is libcuda.so.1: what asks the loader for that later gets it.
  if (::dlopen(RIDGELINE_FAKE_CUDA_DRIVER, RTLD_NOW | RTLD_GLOBAL) == nullptr) return {nullptr, ::dlerror()};
  try {
    Library::open(LibraryName::nvrtc);
    const Library& library = Library::open(LibraryName::cudnn);
    static const cudnn::Functions functions([&](const char* name) { return library.find(name); });
    return {&functions, ""};
  } catch (const Error& error) {
    return {nullptr, error.what()};
  }
}

// Of the card that is pretended now: the library's functions have no place for what they are called for.
PretendedCard* current = nullptr;
cudnn::RawDescriptor description = nullptr;
decltype(cudnn::Functions::set_attribute) real_set_attribute = nullptr;

// What is set for a handle is set for the description instead.
int set_attribute(cudnn::RawDescriptor descriptor, cudnn::Attribute attribute, cudnn::AttributeType type,
                  std::int64_t count, const void* values) {
  const auto set_description = [&](cudnn::Attribute device) {
    return real_set_attribute(descriptor, device, cudnn::AttributeType::descriptor, 1, &description);
  };
  if (attribute == cudnn::Attribute::plan_handle) return set_description(cudnn::Attribute::plan_device);
  if (type == cudnn::AttributeType::handle) return 0;
  const int status = real_set_attribute(descriptor, attribute, type, count, values);
  if (status == 0 && attribute == cudnn::Attribute::heuristics_graph) {
    return set_description(cudnn::Attribute::heuristics_device);
  }
  return status;
}

}  // namespace

const CudnnWithoutCard& cudnn_without_card() {
  static const CudnnWithoutCard opened = open_without_card();
  return opened;
}

std::string card_description(const std::string& card) {
  return read_file(ridgeline::testing::source_directory() + "/tests/device/cuda/plans/" + card + ".json");
}

PretendedCard::PretendedCard(const std::string& card)
    : functions_(*cudnn_without_card().functions),
      described_(cudnn::Target::described(*cudnn_without_card().functions, card_description(card))) {
  current = this;
  description = described_.description()->raw();
  real_set_attribute = functions_.set_attribute;
  functions_.set_attribute = set_attribute;
  functions_.create = [](cudnn::Handle* handle) {
    *handle = current;
    return 0;
  };
  functions_.destroy = [](cudnn::Handle) { return 0; };
  functions_.set_stream = [](cudnn::Handle, void*) { return 0; };
  functions_.execute = [](cudnn::Handle, cudnn::RawDescriptor, cudnn::RawDescriptor) {
    constexpr int kExecutionFailed = 5000;
    if (current->runs_that_fail > 0) {
      --current->runs_that_fail;
      return kExecutionFailed;
    }
    ++current->runs;
    return 0;
  };
}

PretendedCard::~PretendedCard() { current = nullptr; }

}  // namespace ridgeline::cuda::testing
