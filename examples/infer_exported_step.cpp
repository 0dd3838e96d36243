// Continues a training from the step that `ridgeline train --export_step=FILE` wrote: forward and backward pass,
// schedule and updates come from the file. Links only the inference library; the program contains no layer, optimizer
// or gradient rule.
//
//   infer_exported_step FILE.rdgm STEPS OUT.rdgm
//
// It trains on generated images: noise, tinted with the colour of the class.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "ridgeline/core/random.h"
#include "ridgeline/infer/loaded_model.h"
#include "ridgeline/infer/model_file.h"

using namespace ridgeline;

namespace {

constexpr int kClasses = 2;

// A batch with the types of the step's inputs.
struct Pictures {
  Tensor images, labels, flip;

  Pictures(const Graph& step, std::uint64_t number) {
    const auto make = [&](const char* name) {
      const ValueId id = step.find_argument(name);
      if (id == kNoValue) throw Error(std::string("the step has no input ") + name);
      return Tensor::zeros(step.value(id).type.dtype, step.value(id).type.shape);
    };
    images = make("images");
    labels = make("labels");
    flip = make("flip");
    SampleRandom random(philox_key(1, "pictures"), 0, number);
    if (labels.elements() == 0) throw Error("the step takes no pictures");
    const std::int64_t pixels = images.elements() / 3 / labels.elements();
    auto* pixel = images.data<std::uint8_t>();
    for (std::int64_t n = 0; n < labels.elements(); ++n) {
      const std::int64_t label = random.integer(0, kClasses - 1);
      labels.set(n, static_cast<double>(label));
      for (std::int64_t i = 0; i < 3 * pixels; ++i)
        *pixel++ = static_cast<std::uint8_t>(random.integer(0, 100) + (i % 3 == label ? 120 : 0));
    }
  }
};

void train(const char* file, std::int64_t steps, const char* out) {
  const infer::Model model = infer::read_model(file);
  Session session;
  infer::LoadedModel step(session, model);
  for (std::int64_t i = 0; i < steps; ++i) {
    const Pictures batch(step.graph(), static_cast<std::uint64_t>(i));
    step.program().bind("images", batch.images);
    step.program().bind("labels", batch.labels);
    step.program().bind("flip", batch.flip);
    step.program().run();
    std::printf("step %.0f: loss %.4f, rate %.5f\n", session.parameters().get("global_step").at(0),
                step.program().output("loss").at(0), step.program().output("learning_rate").at(0));
  }
  infer::write_model(out, step.current());
  std::printf("%s: %s after %.0f steps\n", out, model.name.c_str(), session.parameters().get("global_step").at(0));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: infer_exported_step FILE.rdgm STEPS OUT.rdgm\n");
    return 2;
  }
  try {
    train(argv[1], std::atoll(argv[2]), argv[3]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
