// ridgeline/device/cpu/common.h
//
// What the factories of our own kernels share: a kernel made from a lambda, names, operands, chunks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

template <class Body>
class BodyKernel final : public Kernel {
 public:
  explicit BodyKernel(Body body) : body_(std::move(body)) {}
  void run(const KernelArguments& arguments) override { body_(arguments); }

 private:
  Body body_;
};

// A kernel that runs `body(arguments)`; set scratch_bytes, layouts and in_place on the result if it needs them.
template <class Body>
std::unique_ptr<Kernel> make_body_kernel(std::string name, Body body) {
  auto kernel = std::make_unique<BodyKernel<Body>>(std::move(body));
  kernel->name = std::move(name);
  return kernel;
}

// "own max_pool avx3": the vector target that the dynamic dispatch uses with the active ISA (which the first call
// chooses, so every factory of a vectorised kernel calls this).
std::string own_name(std::string_view op);

template <class T>
T* input(const KernelArguments& arguments, int i) {
  return static_cast<T*>(arguments.inputs[i]);
}
template <class T>
T* output(const KernelArguments& arguments, int i) {
  return static_cast<T*>(arguments.outputs[i]);
}

// Calls run(T()) with T the stored type: bf16 if `type` is, else f32.
template <class Run>
void with_type(DType type, const Run& run) {
  type == DType::bf16 ? run(bfloat16()) : run(float());
}

// Chunks of a long sum: about `target` of them, with borders at multiples of `grain`; they depend only on the length.
struct Chunks {
  std::int64_t length = 0;
  std::int64_t size = 1;
  std::int64_t count = 0;
  Chunks(std::int64_t total, std::int64_t grain, std::int64_t target) : length(total) {
    const std::int64_t grains = (total + grain - 1) / grain;
    size = (grains + target - 1) / target * grain;
    if (size < 1) size = 1;
    count = (total + size - 1) / size;
  }
  std::int64_t begin(std::int64_t chunk) const { return chunk * size; }
  std::int64_t end(std::int64_t chunk) const { return std::min(length, (chunk + 1) * size); }
};

}  // namespace ridgeline::device
