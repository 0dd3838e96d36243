// ridgeline/train/synthetic.h
//
// --synthetic: one fixed batch of random pixels and labels, so that a run shows what the compiled step does without any
// input. Random, not constant: some processors compute faster on zeros. One thread.
#pragma once

#include "ridgeline/compile/program.h"
#include "ridgeline/nn/training_step.h"

namespace ridgeline::train {

class SyntheticBatch {
 public:
  SyntheticBatch(const nn::StepOptions& options, std::int64_t num_classes, std::uint64_t seed);
  void bind(Program& program) const;

 private:
  bool raw_;
  Tensor images_;
  Tensor labels_;
  Tensor flip_;
};

}  // namespace ridgeline::train
