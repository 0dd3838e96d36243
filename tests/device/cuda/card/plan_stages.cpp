#include <fmt/format.h>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cuda/library.h"
#include "tests/device/cuda/card/library_attempts.h"
#include "tests/device/cuda/card/library_plans.h"
#include "tests/device/cuda/card/stage.h"
#include "tests/device/cuda/kernel_cases.h"

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

void time_library_products(Card& card) {
  with_libraries(card, [&](const PlansOnCard& plans) {
    LayerAttempts libraries(plans);
    const CardMemory workspace(plans.calls, kPlanWorkspaceBytes);
    for (const testing::RatedLayer& rated : testing::rated_layers()) {
      const ValueType x{DType::bf16, {rated.rows, rated.inputs}}, w{DType::bf16, {rated.outputs, rated.inputs}};
      const ValueType y{DType::bf16, {rated.rows, rated.outputs}};
      for (const ModelLayer& layer : {layer_of("dense", {}, {x, w}), layer_of("dense_bwd_data", {}, {y, w})}) {
        if (card.left() < 3) return card.report.line("out of time");
        const std::string name = "cublaslt " + layer.node.op + " bf16 " + rated.text();
        std::string why;
        const std::vector<Attempt> first = libraries.of(layer, false, 1, 0, why);
        if (first.empty()) {
          card.report.line(name + ": " + why);
          continue;
        }
        std::vector<LayerMemory> copies;
        for (std::int64_t i = 0; i < rated.copies(); ++i) {
          copies.emplace_back(plans.calls, layer);
          for (const auto& input : copies.back().inputs) input->fill(DType::bf16, plans.stream);
        }
        std::size_t call = 0;
        const double seconds = timed(card, 10, [&] {
          const LayerMemory& memory = copies[call++ % copies.size()];
          first[0].run(memory.input_addresses.data(), memory.output_addresses.data(), workspace.address());
        });
        card.report.line(fmt::format("{:58} {:8.1f} us", name, 1e6 * seconds));
      }
    }
  });
}

}  // namespace ridgeline::cuda::check
