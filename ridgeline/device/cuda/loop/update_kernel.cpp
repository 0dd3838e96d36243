#include "ridgeline/device/cuda/loop/update_kernel.h"

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/loop/packer.h"

namespace ridgeline::cuda {
namespace {

bool begins_wide(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % 16 == 0; }

// In the order of the text's Parameters; without operands they are only counted.
void pack_update(Packer& to, const UpdateText& text, const DenseSizes& sizes, void* const* inputs, void* const* outputs,
                 void* squares, std::size_t squares_bytes) {
  const DenseUpdate& at = text.at;
  const auto in = [&](std::size_t i) { return inputs == nullptr ? nullptr : inputs[i]; };
  const auto out = [&](std::size_t i) { return outputs == nullptr ? nullptr : outputs[i]; };
  const auto weights = static_cast<std::size_t>(sizes.outputs * sizes.inputs);
  const std::size_t value = size_of(text.values);
  bool wide = sizes.inputs % 4 == 0;
  to.pointer(in(at.x()), Touch::reads, static_cast<std::size_t>(sizes.rows * sizes.inputs) * value);
  to.pointer(in(at.dy()), Touch::reads, static_cast<std::size_t>(sizes.rows * sizes.outputs) * value);
  for (std::size_t i = 0; i < at.states; ++i) {
    wide = wide && begins_wide(in(i));
    to.pointer(in(i), Touch::reads, weights * sizeof(float));
  }
  for (std::size_t i = 0; i < at.states; ++i) {
    wide = wide && begins_wide(out(i));
    to.pointer(out(i), Touch::writes, weights * sizeof(float));
  }
  for (std::size_t i = 0; i < text.scalars.size(); ++i)
    to.pointer(in(at.scalars() + i), Touch::reads, size_of(text.scalars[i]));
  for (std::size_t i = 0; i < text.copies.size(); ++i) {
    void* const copy = out(at.copies() + i);
    wide = wide && begins_wide(copy);
    to.pointer(copy, Touch::writes, weights * size_of(text.copies[i]));
  }
  to.pointer(at.bias ? out(at.bias_result()) : nullptr, Touch::writes,
             static_cast<std::size_t>(sizes.outputs) * sizeof(float));
  to.pointer(at.squares ? squares : nullptr, Touch::writes, squares_bytes);
  for (const std::int64_t size : {sizes.rows, sizes.inputs, sizes.outputs}) to.put(static_cast<u32>(size));
  to.put<u32>(wide ? 1 : 0);
  to.put<u32>(sizes.inputs % 8 == 0 && begins_wide(in(at.x())) ? 1 : 0);
  to.put<u32>(sizes.outputs % 8 == 0 && begins_wide(in(at.dy())) ? 1 : 0);
}

std::size_t update_bytes(const UpdateText& text) {
  Packer counter;
  pack_update(counter, text, {}, nullptr, nullptr, nullptr, 0);
  return counter.size();
}

}  // namespace

UpdateKernel::UpdateKernel(UpdateText text, const DenseSizes& sizes)
    : text_(std::move(text)),
      sizes_(sizes),
      row_{text_.name, update_bytes(text_), static_cast<u32>(kDenseUpdateThreads), nullptr} {
  RIDGELINE_CHECK(row_.parameter_bytes <= kMaxParameterBytes, "an update of too many operands");
}

Blocks UpdateKernel::blocks() const {
  return {static_cast<u32>(divided_up(sizes_.inputs, kUpdateInputs)),
          static_cast<u32>(divided_up(sizes_.outputs, kUpdateOutputs))};
}

std::size_t UpdateKernel::scratch_bytes() const {
  return text_.at.squares ? std::size_t{blocks().x} * blocks().y * sizeof(double) : 0;
}

std::vector<int> UpdateKernel::in_place() const {
  std::vector<int> over(text_.at.copies() + text_.copies.size(), -1);
  for (std::size_t i = 0; i < text_.at.states; ++i) over[i] = static_cast<int>(i);
  return over;
}

void UpdateKernel::give(LaunchSink sink, void* const* inputs, void* const* outputs, void* scratch) const {
  alignas(8) unsigned char parameters[kMaxParameterBytes];
  Packer packer(parameters);
  pack_update(packer, text_, sizes_, inputs, outputs, scratch, scratch_bytes());
  sink(KernelLaunch{row_, blocks(), parameters, packer.members()});
  if (!text_.at.squares) return;
  total_of_parts(sink, static_cast<const double*>(scratch), std::int64_t{blocks().x} * blocks().y, 1,
                 static_cast<float*>(outputs[text_.at.squares_result()]));
}

}  // namespace ridgeline::cuda
