// Shared by the tests of tile kernels: bf16 problems with results of either type, built like those of the precision
// pass, and the expected results.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "kernel_testing.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/tiles/on_tiles.h"

namespace ridgeline {

using device::tiles::Tiles;

// Scalar tiles on every machine, dot products and tile registers if the machine has them.
inline std::vector<Tiles> machine_tiles() {
  std::vector<Tiles> all{Tiles::scalar};
  if (device::has_bf16_dots(device::active_isa())) all.push_back(Tiles::dots);
  if (device::active_isa() == device::Isa::amx) all.push_back(Tiles::amx);
  return all;
}
// Whether sums have the bits of scalar tiles: dot products round in another order.
inline bool same_order(Tiles tiles) { return tiles != Tiles::dots; }

inline Tensor random_bf16(const Shape& shape, std::uint64_t seed, double low = -1, double high = 1) {
  const Tensor wide = random_tensor(shape, seed, low, high);
  Tensor t(DType::bf16, shape);
  for (std::int64_t i = 0; i < t.elements(); ++i) t.data<bfloat16>()[i] = to_bfloat16(wide.data<float>()[i]);
  return t;
}

// Random values, zeros and subnormal numbers among them.
inline std::vector<bfloat16> tile_values(std::int64_t n, std::uint64_t seed) {
  const Tensor t = random_bf16({n}, seed);
  std::vector<bfloat16> v(t.data<bfloat16>(), t.data<bfloat16>() + n);
  for (std::int64_t i = 0; i < n; i += 37) v[static_cast<std::size_t>(i)] = to_bfloat16(i % 2 == 0 ? 0.0f : 1e-39f);
  return v;
}

// The sums of 2 x 2 tiles. 64-byte aligned, as required.
struct alignas(64) TileSums {
  float at[4 * device::tiles::kTileSums];
};

inline Tensor widened(const Tensor& t) {
  Tensor wide(DType::f32, t.shape());
  for (std::int64_t i = 0; i < t.elements(); ++i) wide.set(i, t.at(i));
  return wide;
}

// A problem with bf16 operands and results of `result_types`; empty: bf16.
struct TileProblem {
  Problem problem;
  std::vector<DType> result_types;
  KernelChoice (*make)(const KernelRequest&, Tiles);

  // An index is not converted.
  static void widen(Problem& problem) {
    for (Tensor& t : problem.inputs) {
      if (t.dtype() == DType::bf16) t = widened(t);
    }
  }
  std::vector<ValueType> output_types() const {
    Problem wide = problem;
    widen(wide);
    std::vector<ValueType> types = wide.output_types();
    for (std::size_t i = 0; i < types.size(); ++i)
      types[i].dtype = result_types.empty() ? DType::bf16 : result_types[i];
    return types;
  }
  // The reference with the same values in f32: its sums are not rounded to bf16.
  std::vector<Tensor> reference() const {
    Problem wide = problem;
    widen(wide);
    return wide.reference();
  }
  KernelChoice choice(Tiles tiles) const {
    const Node node = problem.node();
    KernelRequest request{op_def(problem.op), node, {}, {}};
    request.promise.bits = problem.bits;
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
          device::tiles::make_forward};
}
// The same in blocks of pixels, which only strided first layers use.
inline TileProblem tile_blocks_forward(const ConvolutionCase& c) {
  TileProblem p = tile_forward(c);
  p.make = device::tiles::make_blocks_forward;
  return p;
}
inline TileProblem tile_backward_data(const ConvolutionCase& c) {
  TileProblem p{{"conv2d_bwd_data", {random_bf16(c.result(), 4), random_bf16(c.weights(), 2)}, c.attributes()},
                {},
                device::tiles::make_backward_data};
  p.problem.attributes.set("input", c.image.dims());
  return p;
}
inline TileProblem tile_backward_weights(const ConvolutionCase& c) {
  TileProblem p{{"conv2d_bwd_weights", {random_bf16(c.image, 1, 0, 1), random_bf16(c.result(), 4)}, c.attributes()},
                {DType::f32, DType::f32},
                device::tiles::make_backward_weights};
  p.problem.attributes.set("kernel", c.kernel);
  p.problem.attributes.set("bias", true);
  return p;
}
// On the machine's tiles, with teams of several sizes.
inline void expect_the_same_bits_of_all_teams(TileProblem problem, const std::string& what) {
  problem.problem.bits = Reproducibility::deterministic;
  std::vector<Tensor> first;
  for (const int threads : {1, 2, 3, 8}) {
    const ComputeScope team(threads);
    const auto kernel = problem.kernel(machine_tiles().back());
    ASSERT_NE(kernel, nullptr) << what;
    std::vector<Tensor> got = problem.run(*kernel);
    for (std::size_t i = 0; i < first.size(); ++i)
      EXPECT_TRUE(same_bits(got[i], first[i])) << kernel->name << " of " << what << " with " << threads;
    if (first.empty()) first = std::move(got);
  }
}

using MakeTileProblem = TileProblem (*)(const ConvolutionCase&);
inline constexpr MakeTileProblem kTilePasses[] = {tile_forward, tile_backward_data, tile_backward_weights};

// The error of a result: rms relative to the rms of the expected values, and the largest relative to what its type may
// lose: half of the last place of bf16, and a share of the largest value for other summation orders.
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

// run_kernel fills the scratch memory with a pattern; here it is NaN in both types.
class Poisoned final : public Kernel {
 public:
  explicit Poisoned(Kernel& inner) : inner_(inner) {
    name = inner.name;
    input_layouts = inner.input_layouts;
    output_layouts = inner.output_layouts;
    scratch_bytes = inner.scratch_bytes;
  }
  void run(const KernelArguments& a) override {
    std::memset(a.scratch, 0xff, scratch_bytes);
    inner_.run(a);
  }

 private:
  Kernel& inner_;
};

// Odd sizes, few channels, strides, dilations, groups.
inline ConvolutionCase random_convolution(SampleRandom& random) {
  ConvolutionCase c;
  c.name = "random";
  using Integers = std::vector<std::int64_t>;
  const auto pair = [&](std::int64_t most) { return Integers{random.integer(1, most), random.integer(1, most)}; };
  c.kernel = random.integer(0, 2) == 0 ? pair(6) : Integers(2, random.integer(0, 1) == 0 ? 1 : 3);
  if (random.integer(0, 1) == 0) c.stride = random.integer(0, 1) == 0 ? Integers{2, 2} : pair(4);
  if (random.integer(0, 3) == 0) c.dilation = pair(3);
  for (int side = 0; side < 4; ++side) c.pad.push_back(random.integer(0, c.kernel[static_cast<std::size_t>(side) / 2]));
  if (random.integer(0, 2) == 0) std::fill(c.pad.begin(), c.pad.end(), 0);
  const auto size = [&](std::size_t axis) {
    const std::int64_t span = c.dilation[axis] * (c.kernel[axis] - 1) + 1;
    return std::max<std::int64_t>(1, span - c.pad[2 * axis] - c.pad[2 * axis + 1]) +
           random.integer(0, random.integer(0, 3) == 0 ? 24 : 8);
  };
  const auto channels = [&] {
    if (random.integer(0, 2) == 0) return 32 * random.integer(1, 3);
    return random.integer(1, random.integer(0, 3) == 0 ? 100 : 40);
  };
  if (random.integer(0, 4) == 0) c.groups = random.integer(2, 3);
  const std::int64_t group_channels = c.groups > 1 ? random.integer(8, 40) : channels();
  c.filters = c.groups * (c.groups > 1 ? random.integer(8, 40) : channels());
  const std::int64_t height = size(0), width = size(1);
  c.image = {random.integer(1, random.integer(0, 3) == 0 ? 5 : 2), height, width, group_channels * c.groups};
  return c;
}

}  // namespace ridgeline
