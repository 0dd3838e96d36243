#include <fmt/format.h>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cuda/library.h"
#include "tests/device/cuda/card/library_plans.h"
#include "tests/device/cuda/card/stage.h"

namespace ridgeline::cuda::check {
namespace {

// Opens the libraries for the card and calls `body` with what the checks need.
template <class Body>
void with_libraries(Card& card, const Body& body) {
  if (card.context->driver().recording()) {
    card.report.line("the recording driver has no libraries");
    return;
  }
  card.context->enter();
  const Library& cublas_library = Library::open(LibraryName::cublas_lt);
  Library::open(LibraryName::nvrtc);
  const Library& cudnn_library = Library::open(LibraryName::cudnn);
  const cudnn::Functions cudnn([&](const char* name) { return cudnn_library.find(name); });
  const cublas::Functions cublas([&](const char* name) { return cublas_library.find(name); });
  card.report.line(fmt::format("cuDNN {}, cuBLASLt {}", cudnn.version_text(), cublas.version_text()));
  const auto seconds = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  body(PlansOnCard{card.context->calls(), card.stream.handle(), cudnn, cublas,
                   [&](const std::string& line) { card.report.line(line); }, seconds});
}

}  // namespace

void check_library_plans(Card& card) {
  with_libraries(card, [&](const PlansOnCard& plans) {
    if (const int failed = check_small_layers(plans); failed > 0) {
      throw Error(fmt::format("{} plans differ from the reference, or from themselves", failed));
    }
  });
}

void time_library_plans(Card& card) {
  with_libraries(card, [&](const PlansOnCard& plans) {
    const std::vector<TimedModel> models = {{"alexnet", 128}, {"resnet50", 256}, {"vgg11", 128}};
    const double seconds = card.left();
    time_model_layers(plans, models, {DType::bf16}, false, 8, seconds * 0.4);
    time_model_layers(plans, models, {DType::f16}, false, 8, seconds * 0.25);
    time_model_layers(plans, models, {DType::f32}, true, 8, seconds * 0.15);
    time_model_layers(plans, models, {DType::f32}, false, 4, card.left());
  });
}

}  // namespace ridgeline::cuda::check
