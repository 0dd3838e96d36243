// ridgeline/device/cpu/dense/matrix_update.h
//
// What kernels of dense_update on plain rows share: they make the gradient of a part of the weights where a cache holds
// it, and this runs the update's loop over that part of the states. Made with its kernel; `begin` is called once a run,
// after it any thread may update parts.
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
  // Refused: states or results in another layout than plain rows, and what no loop computes.
  static std::variant<MatrixUpdate, Refusal> make(const KernelRequest& request);

  const DenseUpdate& at() const { return at_; }
  // Of the kernel's results.
  std::vector<int> in_place() const;

  // Once a run; the scalars are read.
  void begin(const KernelArguments& arguments);
  const float* state(std::size_t i) const { return static_cast<const float*>(whole_.inputs[i]); }
  // The `n` elements from `element` on, by a thread of the team that the update was made for.
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
  std::vector<Part> parts_;  // what each thread updates now
};

}  // namespace ridgeline::device
