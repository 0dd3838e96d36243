// What the tests of the tile kernels share: bf16 problems with results of either type, made by hand as the precision
// pass makes them, and what is expected of their results.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "kernel_testing.h"
#include "ridgeline/device/cpu/amx/kernels.h"
#include "ridgeline/device/cpu/isa.h"

namespace ridgeline {

using device::amx::Tiles;

// Scalar tiles everywhere, the machine's where it has them.
inline std::vector<Tiles> machine_tiles() {
  if (device::active_isa() == device::Isa::amx) return {Tiles::scalar, Tiles::amx};
  return {Tiles::scalar};
}

inline Tensor random_bf16(const Shape& shape, std::uint64_t seed, double low = -1, double high = 1) {
  const Tensor wide = random_tensor(shape, seed, low, high);
  Tensor t(DType::bf16, shape);
  for (std::int64_t i = 0; i < t.elements(); ++i) t.data<bfloat16>()[i] = to_bfloat16(wide.data<float>()[i]);
  return t;
}

inline Tensor widened(const Tensor& t) {
  Tensor wide(DType::f32, t.shape());
  for (std::int64_t i = 0; i < t.elements(); ++i) wide.set(i, t.at(i));
  return wide;
}

// A problem over bf16 operands. `result_types` of the results; empty: bf16.
struct TileProblem {
  Problem problem;
  std::vector<DType> result_types;
  KernelChoice (*make)(const KernelRequest&, Tiles);

  std::vector<ValueType> output_types() const {
    Problem wide = problem;
    for (Tensor& t : wide.inputs) t = widened(t);
    std::vector<ValueType> types = wide.output_types();
    for (std::size_t i = 0; i < types.size(); ++i)
      types[i].dtype = result_types.empty() ? DType::bf16 : result_types[i];
    return types;
  }
  // The reference on the same values in f32: its sums are not rounded to bf16.
  std::vector<Tensor> reference() const {
    Problem wide = problem;
    for (Tensor& t : wide.inputs) t = widened(t);
    return wide.reference();
  }
  KernelChoice choice(Tiles tiles) const {
    const Node node = problem.node();
    KernelRequest request{op_def(problem.op), node, {}, {}};
    for (const ValueType& type : problem.input_types()) request.inputs.push_back({type, {}, false});
    for (const ValueType& type : output_types()) request.outputs.push_back({type, {}, false});
    return make(request, tiles);
  }
  std::unique_ptr<Kernel> kernel(Tiles tiles) const {
    KernelChoice made = choice(tiles);
    if (const auto* refusal = std::get_if<Refusal>(&made)) {
      ADD_FAILURE() << problem.op << " refused: " << refusal->reason;
      return nullptr;
    }
    return std::move(std::get<std::unique_ptr<Kernel>>(made));
  }
  std::vector<Tensor> run(Kernel& kernel) const { return run_kernel(kernel, problem, output_types()); }
  std::string refusal(Tiles tiles) const {
    KernelChoice made = choice(tiles);
    const auto* refusal = std::get_if<Refusal>(&made);
    return refusal == nullptr ? "" : refusal->reason;
  }
};

struct ConvolutionCase {
  Shape image;  // [N,H,W,C]
  std::int64_t filters;
  std::vector<std::int64_t> kernel, pad, stride{1, 1}, dilation{1, 1};
  std::int64_t groups = 1;
  std::string name;

  std::int64_t group_channels() const { return image[3] / groups; }
  Shape weights() const { return {filters, kernel[0], kernel[1], group_channels()}; }
  Shape result() const {
    const auto size = [&](std::size_t axis, std::int64_t pixels) {
      return (pixels + pad[2 * axis] + pad[2 * axis + 1] - dilation[axis] * (kernel[axis] - 1) - 1) / stride[axis] + 1;
    };
    return {image[0], size(0, image[1]), size(1, image[2]), filters};
  }
  Attributes attributes() const {
    return {{"pad", pad}, {"stride", stride}, {"dilation", dilation}, {"groups", groups}};
  }
  std::string to_string() const {
    const auto list = [](const std::vector<std::int64_t>& values) {
      std::string text;
      for (std::int64_t v : values) text += " " + std::to_string(v);
      return text;
    };
    return name + " " + image.to_string() + " -> " + std::to_string(filters) + ", kernel" + list(kernel) + ", pad" +
           list(pad) + ", stride" + list(stride) + ", dilation" + list(dilation) + ", groups " + std::to_string(groups);
  }
};

inline TileProblem tile_forward(const ConvolutionCase& c) {
  return {{"conv2d",
           {random_bf16(c.image, 1, 0, 1), random_bf16(c.weights(), 2), random_tensor({c.filters}, 3)},
           c.attributes()},
          {},
          device::amx::make_forward};
}
// The same by blocks of pixels, which strided first layers alone take.
inline TileProblem tile_blocks_forward(const ConvolutionCase& c) {
  TileProblem p = tile_forward(c);
  p.make = device::amx::make_blocks_forward;
  return p;
}
inline TileProblem tile_backward_data(const ConvolutionCase& c) {
  TileProblem p{{"conv2d_bwd_data", {random_bf16(c.result(), 4), random_bf16(c.weights(), 2)}, c.attributes()},
                {},
                device::amx::make_backward_data};
  p.problem.attributes.set("input", c.image.dims());
  return p;
}
inline TileProblem tile_backward_weights(const ConvolutionCase& c) {
  TileProblem p{{"conv2d_bwd_weights", {random_bf16(c.image, 1, 0, 1), random_bf16(c.result(), 4)}, c.attributes()},
                {DType::f32, DType::f32},
                device::amx::make_backward_weights};
  p.problem.attributes.set("kernel", c.kernel);
  p.problem.attributes.set("bias", true);
  return p;
}
using MakeTileProblem = TileProblem (*)(const ConvolutionCase&);
inline constexpr MakeTileProblem kTilePasses[] = {tile_forward, tile_backward_data, tile_backward_weights};

// The error of a result: rms over the rms of what is expected, and the largest in units of what its type may lose: half
// of the last place of a bf16, and a share of the largest value for what sums in another order lose.
struct TileError {
  double rms = 0;
  double worst = 0;
};
class TileErrors {
 public:
  void add(double got, double expected, bool narrow) {
    errors_.push_back({got - expected, expected});
    narrow_ = narrow;
  }
  TileError value() const {
    double error = 0, scale = 0, largest = 0, worst = 0;
    for (const auto& [difference, expected] : errors_) {
      error += difference * difference;
      scale += expected * expected;
      largest = std::max(largest, std::abs(expected));
    }
    for (const auto& [difference, expected] : errors_) {
      const double allowed = largest * 2e-5 + (narrow_ ? std::abs(expected) * 0x1p-8 : 0);
      if (std::isnan(difference)) return {1, 1e9};
      if (difference != 0) worst = std::max(worst, std::abs(difference) / allowed);
    }
    return {error == 0 ? 0 : std::sqrt(error / scale), worst};
  }

 private:
  std::vector<std::pair<double, double>> errors_;
  bool narrow_ = false;
};
inline TileError tile_error(const Tensor& got, const Tensor& expected) {
  TileErrors errors;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    errors.add(got.at(i), expected.at(i), got.dtype() == DType::bf16);
  }
  return errors.value();
}

}  // namespace ridgeline
