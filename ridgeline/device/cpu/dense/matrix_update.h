// ridgeline/device/cpu/dense/matrix_update.h
//
// Shared by kernels of dense_update on plain rows: they compute the gradient of a block of the weights in a cache, and
// this runs the update's loop over that block of the states. Made with its kernel; `begin` is called once per run,
// after it any thread may update blocks.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "ridgeline/device/cpu/lines.h"
#include "ridgeline/device/cpu/loop/loop_kernel.h"
#include "ridgeline/device/kernel.h"
#include "ridgeline/graph/op/dense_update.h"

namespace ridgeline::device {

class MatrixUpdate {
 public:
  // Refuses states or results in another layout than plain rows, and expressions that loops do not support.
  static std::variant<MatrixUpdate, Refusal> make(const KernelRequest& request);

  const DenseUpdate& at() const { return at_; }
  // For the kernel's results.
  std::vector<int> in_place() const;

  // Call once per run: reads the scalars.
  void begin(const KernelArguments& arguments);
  const float* state(std::size_t i) const { return static_cast<const float*>(whole_.inputs[i]); }
  // Updates `n` elements from `element` on, on a thread of the team for which this was made.
  void update(int thread, std::int64_t element, float* gradient, std::int64_t n);

 private:
  // The operands and results of the loop's expression.
  struct Part {
    LineVector<void*> inputs, outputs;
  };

  explicit MatrixUpdate(const DenseUpdate& at) : at_(at) {}

  DenseUpdate at_;
  std::unique_ptr<LoopKernel> loop_;
  std::vector<std::int64_t> result_bytes_;  // of an element of the loop's results
  Part whole_;
  std::vector<Part> parts_;  // the block that each thread is updating
};

}  // namespace ridgeline::device
