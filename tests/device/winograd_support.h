// Shared by the tests of the Winograd kernels: convolutions and their three passes as problems, and error measures.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "kernel_testing.h"
#include "ridgeline/device/cpu/winograd/convolution.h"
#include "tests/support/forced_isa.h"

namespace ridgeline {

struct WinogradCase {
  Shape image;  // [N,H,W,C]
  std::int64_t filters;
  std::int64_t taps;
  std::vector<std::int64_t> pad;  // top, bottom, left, right
  std::string name;
  std::int64_t stride = 1;

  Shape weights() const { return {filters, taps, taps, image[3]}; }
  Shape result() const {
    return {image[0], (image[1] + pad[0] + pad[1] - taps) / stride + 1,
            (image[2] + pad[2] + pad[3] - taps) / stride + 1, filters};
  }
  std::string to_string() const {
    std::string text = name + " " + image.to_string() + " -> " + std::to_string(filters) + ", " + std::to_string(taps) +
                       "x" + std::to_string(taps) + ", pad";
    for (const std::int64_t p : pad) text += " " + std::to_string(p);
    return text + ", stride " + std::to_string(stride);
  }
  Attributes attributes() const { return {{"pad", pad}, {"stride", std::vector<std::int64_t>(2, stride)}}; }
};

struct WinogradPass {
  const char* name;
  KernelChoice (*make)(const KernelRequest&, const device::winograd::Wish&);
  Problem (*problem)(const WinogradCase&);
};

// Activations are not negative, as after a relu.
inline Problem winograd_forward(const WinogradCase& c) {
  return {"conv2d",
          {random_tensor(c.image, 1, 0, 1), random_tensor(c.weights(), 2), random_tensor({c.filters}, 3)},
          c.attributes()};
}
inline Problem winograd_backward_data(const WinogradCase& c) {
  Problem problem{"conv2d_bwd_data", {random_tensor(c.result(), 4), random_tensor(c.weights(), 2)}, c.attributes()};
  problem.attributes.set("input", c.image.dims());
  return problem;
}
inline Problem winograd_backward_weights(const WinogradCase& c) {
  Problem problem{
      "conv2d_bwd_weights", {random_tensor(c.image, 1, 0, 1), random_tensor(c.result(), 4)}, c.attributes()};
  problem.attributes.set("kernel", std::vector<std::int64_t>(2, c.taps));
  problem.attributes.set("bias", true);
  return problem;
}

inline const WinogradPass kWinogradPasses[] = {
    {"forward", device::winograd::make_forward, winograd_forward},
    {"backward data", device::winograd::make_backward_data, winograd_backward_data},
    {"backward weights", device::winograd::make_backward_weights, winograd_backward_weights},
};

// The kernel for this request and the instruction set in force; a refusal fails the test.
inline std::unique_ptr<Kernel> make_winograd(const WinogradPass& pass, const Problem& problem,
                                             const device::winograd::Wish& wish) {
  const Node node = problem.node();
  KernelChoice choice = pass.make(problem.request(node), wish);
  if (const auto* refusal = std::get_if<Refusal>(&choice)) {
    ADD_FAILURE() << pass.name << " refused: " << refusal->reason;
    return nullptr;
  }
  return std::move(std::get<std::unique_ptr<Kernel>>(choice));
}

// The rms of the differences relative to the rms of the expected values.
class RmsError {
 public:
  void add(double got, double expected) {
    error_ += (got - expected) * (got - expected);
    scale_ += expected * expected;
  }
  double value() const { return error_ == 0 ? 0 : std::sqrt(error_ / scale_); }

 private:
  double error_ = 0;
  double scale_ = 0;
};

inline double rms_error(const Tensor& got, const Tensor& expected) {
  RmsError error;
  for (std::int64_t i = 0; i < expected.elements(); ++i) error.add(got.at(i), expected.at(i));
  return error.value();
}

// The vector targets of this machine; our kernels have two.
inline std::vector<device::Isa> vector_isas() {
  std::vector<device::Isa> isas;
  for (const device::Isa isa : device::machine_isas()) {
    if (isa <= device::Isa::avx512 && isa <= device::active_isa()) isas.push_back(isa);
  }
  return isas;
}

}  // namespace ridgeline
