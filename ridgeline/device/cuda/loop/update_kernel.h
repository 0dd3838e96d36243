// ridgeline/device/cuda/loop/update_kernel.h
//
// The update of dense weights of known sizes: its text (update_text.h), and the launches that run it. Owns the row of
// its kernel, so it must outlive its launches. Fills in parameters on the stack: any thread.
#pragma once

#include "ridgeline/device/cuda/kernels/row.h"
#include "ridgeline/device/cuda/loop/update_text.h"

namespace ridgeline::cuda {

struct DenseSizes {
  std::int64_t rows, inputs, outputs;
};

class UpdateKernel {
 public:
  UpdateKernel(UpdateText text, const DenseSizes& sizes);
  UpdateKernel(const UpdateKernel&) = delete;  // its row names the text's kernel
  UpdateKernel& operator=(const UpdateKernel&) = delete;

  const UpdateText& text() const { return text_; }
  const KernelRow& row() const { return row_; }
  std::size_t scratch_bytes() const;  // of squares
  // in_place()[r] = i: result r of the op may overwrite operand i. -1: none.
  std::vector<int> in_place() const;

  // Gives the launch of the update, and of the total of its squares; operands and results are the op's.
  void give(LaunchSink sink, void* const* inputs, void* const* outputs, void* scratch) const;

 private:
  Blocks blocks() const;

  UpdateText text_;
  DenseSizes sizes_;
  KernelRow row_;
};

}  // namespace ridgeline::cuda
