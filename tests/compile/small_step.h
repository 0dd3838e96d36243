// tests/compile/small_step.h
//
// The training step of a model on small images, compiled as by the command line, with synthetic images bound to it. All
// weights are zero.
#pragma once

#include <memory>
#include <string>

#include "ridgeline/compile/compile.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/train/loop/synthetic.h"

namespace ridgeline {

struct SmallStep {
  const char* model;
  std::int64_t image_size;
  std::int64_t batch_size = 2;
};

class CompiledStep {
 public:
  // `precision`: a value of precision_mode.
  CompiledStep(const SmallStep& small, const char* precision)
      : options_(options_of(small)), step_(nn::build_training_step(options_, {.schedule = optim::Constant{0.01}})) {
    for (const nn::ParameterSpec& spec : step_.parameters)
      session_.parameters().set(spec.name, Tensor::zeros(spec.dtype, spec.shape), spec.kind());
    program_ = compile(step_.graph, session_, {.precision = PrecisionPolicy::of(precision_mode_named(precision))});
    batch_.bind(*program_);
  }

  const nn::Step& step() const { return step_; }
  Program& program() { return *program_; }

 private:
  static constexpr std::int64_t kClasses = 10;
  static nn::StepOptions options_of(const SmallStep& small) {
    nn::StepOptions options;
    options.model = &nn::model_named(small.model);
    options.model_options.num_classes = kClasses;
    options.batch_size = small.batch_size;
    options.image_size = small.image_size;
    return options;
  }

  nn::StepOptions options_;
  nn::Step step_;
  Session session_;
  train::SyntheticBatch batch_{options_, kClasses, 3};
  std::unique_ptr<Program> program_;
};

}  // namespace ridgeline
