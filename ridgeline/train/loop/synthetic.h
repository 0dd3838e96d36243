// ridgeline/train/loop/synthetic.h
//
// --synthetic: one fixed batch of random pixels and labels, so that a run measures the compiled step without any input.
// Random, not constant: some processors compute faster on zeros. One thread.
#pragma once

#include "ridgeline/nn/training_step.h"
#include "ridgeline/train/loop/feed.h"

namespace ridgeline::train {

class SyntheticBatch : public Feed {
 public:
  // `device`: on which programs run; if it has its own memory, the batch is in memory pinned for it. null: the host's.
  // It must outlive the batch.
  SyntheticBatch(const nn::StepOptions& options, std::int64_t num_classes, std::uint64_t seed,
                 Device* device = nullptr);
  void bind(Program& program) const;
  Tensor input(const std::string& name) const override;
  bool bind_next(Program& program) override {
    bind(program);
    return true;
  }

 private:
  bool raw_;
  Tensor images_;
  Tensor labels_;
  Tensor flip_;
};

}  // namespace ridgeline::train
