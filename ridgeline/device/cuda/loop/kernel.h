// ridgeline/device/cuda/loop/kernel.h
//
// A loop over tensors of known shapes: its text, and the launches that run it. Owns the row of its kernel, so it must
// outlive its launches. Fills in parameters on the stack: any thread.
#pragma once

#include <optional>

#include "ridgeline/device/cuda/kernels/row.h"
#include "ridgeline/device/cuda/loop/text.h"

namespace ridgeline::cuda {

// One tensor's operands and results. Shared operands are read from the first one's.
struct LoopTensor {
  void* const* inputs;
  void* const* outputs;
  std::int64_t elements;
};

class LoopKernel {
 public:
  LoopKernel(LoopText text, const Shape& shape);
  LoopKernel(const LoopKernel&) = delete;  // its row names the text's kernel
  LoopKernel& operator=(const LoopKernel&) = delete;

  const LoopText& text() const { return text_; }
  const KernelRow& row() const { return row_; }
  std::size_t scratch_bytes() const;  // of sums
  // in_place()[r] = i: result r may overwrite operand i. -1: none.
  std::vector<int> in_place() const;

  // Gives the launches of the loop, and of the totals of its sums.
  void give(LaunchSink sink, void* const* inputs, void* const* outputs, void* scratch) const;
  // For a text for many tensors: in as many launches as they need.
  void give(LaunchSink sink, std::span<const LoopTensor> tensors) const;

 private:
  void give_some(LaunchSink sink, std::span<const LoopTensor> tensors, void* scratch) const;
  u32 sum_blocks() const;

  LoopText text_;
  std::int64_t elements_;
  KernelRow row_;
};

// How many tensors a text for many takes in one launch: as many as fit into a kernel's parameters.
int tensors_of_a_launch(std::size_t arrays, std::size_t shared);

}  // namespace ridgeline::cuda
