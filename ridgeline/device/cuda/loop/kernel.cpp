#include "ridgeline/device/cuda/loop/kernel.h"

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/loop/packer.h"

namespace ridgeline::cuda {
namespace {

// An axis as in the source text.
struct Axis {
  Divisor extent;
  i64 stride;
};

std::size_t operand_bytes(const LoopAccess& o, std::int64_t elements) {
  std::int64_t count = 1;
  if (o.kind == LoopAccess::direct) count = elements;
  for (std::size_t axis = 0; o.strided() && axis < o.extents.size(); ++axis)
    count += (o.extents[axis] - 1) * o.strides[axis];
  return static_cast<std::size_t>(count) * size_of(o.type);
}

// In the order of the text's Parameters. `tensors` may be fewer than the text's capacity.
void pack(Packer& to, const LoopText& text, std::span<const LoopTensor> tensors, std::span<const u32> first, bool wide,
          void* scratch, std::size_t scratch_bytes) {
  const auto room = static_cast<std::size_t>(text.tensors);
  for (std::size_t t = 0; t < room; ++t) to.put<i64>(t < tensors.size() ? tensors[t].elements : 0);
  for (std::size_t t = 0; t <= room; ++t) to.put<u32>(first[std::min(t, first.size() - 1)]);
  to.put<u32>(wide ? 1 : 0);
  const auto table = [&](auto&& address, Touch touch, std::size_t element) {
    for (std::size_t t = 0; t < room; ++t) {
      const bool there = t < tensors.size();
      to.pointer(there ? address(tensors[t]) : nullptr, touch,
                 there ? static_cast<std::size_t>(tensors[t].elements) * element : 0);
    }
  };
  for (std::size_t i = 0; i < text.operands.size(); ++i) {
    const LoopAccess& o = text.operands[i];
    if (o.kind == LoopAccess::direct) {
      table([i](const LoopTensor& t) { return t.inputs[i]; }, Touch::reads, size_of(o.type));
      continue;
    }
    const bool read = o.kind != LoopAccess::unused && !tensors.empty();
    to.pointer(read ? tensors[0].inputs[i] : nullptr, Touch::reads, read ? operand_bytes(o, tensors[0].elements) : 0);
    for (std::size_t axis = 0; o.strided() && axis < o.extents.size(); ++axis)
      to.put(Axis{Divisor(o.extents[axis]), o.strides[axis]});
  }
  for (std::size_t r = 0; r < text.results.size(); ++r) {
    if (text.sums[r] < 0)
      table([r](const LoopTensor& t) { return t.outputs[r]; }, Touch::writes, size_of(text.results[r]));
  }
  if (text.sum_count > 0) to.pointer(scratch, Touch::writes, scratch_bytes);
}

std::size_t packed_bytes(const LoopText& text) {
  Packer counter;
  const u32 none[] = {0};
  pack(counter, text, {}, none, false, nullptr, 0);
  return counter.size();
}

}  // namespace

LoopKernel::LoopKernel(LoopText text, const Shape& shape)
    : text_(std::move(text)),
      elements_(shape.elements()),
      row_{text_.name, packed_bytes(text_), static_cast<u32>(kLoopThreads), nullptr} {
  RIDGELINE_CHECK(row_.parameter_bytes <= kMaxParameterBytes, "a loop of too many operands");
}

u32 LoopKernel::sum_blocks() const {
  const i64 blocks = divided_up(elements_, i64{kLoopThreads} * text_.each);
  return static_cast<u32>(std::clamp<i64>(blocks, 1, 1056));
}

std::size_t LoopKernel::scratch_bytes() const {
  return static_cast<std::size_t>(text_.sum_count) * sum_blocks() * sizeof(double);
}

std::vector<int> LoopKernel::in_place() const {
  std::vector<int> over(text_.results.size(), -1);
  std::vector<bool> taken(text_.operands.size(), false);
  const auto take = [&](std::size_t r, std::size_t i) {
    if (over[r] >= 0 || text_.sums[r] >= 0 || i >= taken.size() || taken[i]) return;
    const LoopAccess& o = text_.operands[i];
    if (o.kind != LoopAccess::direct || o.type != text_.results[r]) return;
    over[r] = static_cast<int>(i);
    taken[i] = true;
  };
  for (std::size_t r = 0; r < over.size(); ++r) take(r, r);  // an update writes over what it replaces
  for (std::size_t r = 0; r < over.size(); ++r) {
    for (std::size_t i = 0; i < taken.size(); ++i) take(r, i);
  }
  return over;
}

void LoopKernel::give(LaunchSink sink, void* const* inputs, void* const* outputs, void* scratch) const {
  const LoopTensor tensor{inputs, outputs, elements_};
  give_some(sink, {&tensor, 1}, scratch);
  for (std::size_t r = 0; r < text_.results.size(); ++r) {
    if (text_.sums[r] < 0) continue;
    const auto* const parts = static_cast<const double*>(scratch) + text_.sums[r] * static_cast<i64>(sum_blocks());
    total_of_parts(sink, parts, sum_blocks(), 1, static_cast<float*>(outputs[r]));
  }
}

void LoopKernel::give(LaunchSink sink, std::span<const LoopTensor> tensors) const {
  while (!tensors.empty()) {
    const auto some = tensors.first(std::min(tensors.size(), static_cast<std::size_t>(text_.tensors)));
    give_some(sink, some, nullptr);
    tensors = tensors.subspan(some.size());
  }
}

void LoopKernel::give_some(LaunchSink sink, std::span<const LoopTensor> tensors, void* scratch) const {
  constexpr std::size_t kMostTensors = kMaxParameterBytes / sizeof(void*);
  u32 first[kMostTensors + 1] = {0};
  bool wide = true;
  const auto aligned = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address) % 16 == 0; };
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    first[t + 1] = first[t] + static_cast<u32>(divided_up(tensors[t].elements, i64{kLoopThreads} * text_.each));
    for (std::size_t i = 0; i < text_.operands.size(); ++i) {
      const auto kind = text_.operands[i].kind;
      if (kind == LoopAccess::direct || kind == LoopAccess::run) wide = wide && aligned(tensors[t].inputs[i]);
    }
    for (std::size_t r = 0; r < text_.results.size(); ++r) {
      if (text_.sums[r] < 0) wide = wide && aligned(tensors[t].outputs[r]);
    }
  }
  const u32 blocks = text_.sum_count > 0 ? sum_blocks() : first[tensors.size()];
  if (blocks == 0) return;
  alignas(8) unsigned char parameters[kMaxParameterBytes];
  Packer packer(parameters);
  pack(packer, text_, tensors, {first, tensors.size() + 1}, wide, scratch, scratch_bytes());
  sink(KernelLaunch{row_, {blocks}, parameters, packer.members()});
}

int tensors_of_a_launch(std::size_t arrays, std::size_t shared) {
  const std::size_t fixed = 64 + shared * sizeof(void*);
  const std::size_t each = arrays * sizeof(void*) + sizeof(i64) + sizeof(u32);
  return static_cast<int>((kMaxParameterBytes - fixed) / each);
}

}  // namespace ridgeline::cuda
