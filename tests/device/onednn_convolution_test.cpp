// oneDNN's convolutions and dense layers: the layouts that they choose, and the quality of the kernels that we get. Not
// in builds without oneDNN.
#include <cmath>

#include "convolution_support.h"
#include "ridgeline/device/conversion_kernel.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/library.h"
#include "ridgeline/device/cpu/onednn/common.h"

namespace ridgeline {
namespace {

// The table defines the library's position among the kernels of an op; an entry without a position would never be used.
TEST(Onednn, EveryEntryHasAPlaceInTheKernelTable) {
  for (const KernelEntry& entry : device::library_kernels()) {
    std::set<std::string_view> names;
    for (const KernelEntry& known : cpu_kernels(entry.op)) names.insert(known.name);
    EXPECT_TRUE(names.contains(entry.name)) << entry.op;
  }
  EXPECT_GE(device::library_kernels().size(), 15u);
}

std::unique_ptr<Kernel> make_free(const Problem& problem, bool free_weights, const Layout& layout = {}) {
  const Node node = problem.node();
  KernelRequest request = problem.request(node);
  const bool gradient = problem.op.find("bwd_weights") != std::string::npos;
  KernelOperand& weights = gradient ? request.outputs[0] : request.inputs[1];
  weights.free = free_weights;
  weights.layout = layout;
  KernelChoice choice = cpu_kernels(problem.op, Provider::library).front().make(request);
  EXPECT_FALSE(std::holds_alternative<Refusal>(choice));
  return std::move(std::get<std::unique_ptr<Kernel>>(choice));
}

TEST(Convolution, AFreeWeightTakesTheLibrarysLayoutAndTheGradientIsWrittenInIt) {
  const Convolution c{{2, 9, 9, 32}, 64, {3, 3}, {1, 1}, {1, 1, 1, 1}};
  const Problem forward = c.forward(true, "none");
  const auto kernel = make_free(forward, true);
  const Layout home = kernel->input_layouts[1];
  EXPECT_FALSE(home.plain()) << kernel->name;
  EXPECT_LE(difference(run_kernel(*kernel, forward)[0], forward.reference()[0]), 1e-5);

  // The gradient is in the home layout, whatever the gradient kernel prefers.
  const Problem gradient = c.backward_weights(true);
  const auto backward = make_free(gradient, false, home);
  EXPECT_TRUE(backward->output_layouts[0] == home);
  const auto got = run_kernel(*backward, gradient);
  const auto expected = gradient.reference();
  EXPECT_LE(difference(got[0], expected[0]), 1e-5);
  EXPECT_LE(difference(got[1], expected[1]), 1e-5);

  // Backward data may request another layout; in any case it names one that it can read.
  const Problem data = c.backward_data();
  const auto data_kernel = make_free(data, false, home);
  EXPECT_LE(difference(run_kernel(*data_kernel, data)[0], data.reference()[0]), 1e-5);
}

TEST(Convolution, APlainWeightIsReadThroughAFastLayout) {
  const Convolution c{{2, 9, 9, 32}, 64, {3, 3}, {1, 1}, {1, 1, 1, 1}};
  const auto kernel = make_free(c.forward(false, "none"), false);
  EXPECT_FALSE(kernel->input_layouts[1].plain()) << kernel->name;
  EXPECT_EQ(kernel->name.find("gemm:"), std::string::npos) << kernel->name;
}

TEST(Convolution, BlockedLayoutsConvertToPlainAndBackWithoutLoss) {
  // 20 and 3 channels are padded to whole blocks.
  for (const Convolution& c : {Convolution{{1, 8, 8, 20}, 24, {3, 3}}, Convolution{{1, 8, 8, 3}, 40, {3, 3}},
                               Convolution{{1, 8, 8, 32}, 32, {3, 3}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 2}}) {
    const Problem problem = c.forward(false, "none");
    const Layout layout = make_free(problem, true)->input_layouts[1];
    ASSERT_FALSE(layout.plain());
    const Tensor& weights = problem.inputs[1];
    GuardedBuffer blocked(layout.blocked()->bytes());
    layout.blocked()->from_plain(weights.raw(), blocked.data());
    Tensor back(DType::f32, weights.shape());
    layout.blocked()->to_plain(blocked.data(), back.raw());
    EXPECT_TRUE(same_bits(weights, back)) << layout.name();
    EXPECT_TRUE(blocked.intact());
    // The sum over everything stored shows that padding is zero.
    double plain_sum = 0;
    double blocked_sum = 0;
    for (std::int64_t i = 0; i < weights.elements(); ++i) plain_sum += std::abs(weights.at(i));
    for (std::size_t i = 0; i < blocked.bytes() / sizeof(float); ++i) {
      blocked_sum += std::abs(static_cast<double>(static_cast<const float*>(blocked.data())[i]));
    }
    EXPECT_NEAR(blocked_sum, plain_sum, 1e-9 * plain_sum);

    // The conversion kernels give the same.
    const ValueType type{DType::f32, weights.shape()};
    const auto into = make_conversion_kernel(type, Layout(), layout);
    const auto out_of = make_conversion_kernel(type, layout, Layout());
    GuardedBuffer again(layout.blocked()->bytes());
    Tensor returned(DType::f32, weights.shape());
    void* at[] = {const_cast<void*>(weights.raw()), again.data(), returned.raw()};
    into->run({&at[0], &at[1], nullptr});
    EXPECT_EQ(std::memcmp(again.data(), blocked.data(), blocked.bytes()), 0);
    out_of->run({&at[1], &at[2], nullptr});
    EXPECT_TRUE(same_bits(weights, returned));
  }
}

TEST(Convolution, LayoutsAreEqualWhenTheyDescribeTheSameBytes) {
  const Convolution c{{2, 9, 9, 32}, 64, {3, 3}, {1, 1}, {1, 1, 1, 1}};
  const Layout a = make_free(c.forward(false, "none"), true)->input_layouts[1];
  const Layout b = make_free(c.forward(true, "relu"), true)->input_layouts[1];
  EXPECT_TRUE(a == b) << a.name() << " " << b.name();
  EXPECT_FALSE(a == Layout());
  const Convolution other{{2, 9, 9, 32}, 80, {3, 3}, {1, 1}, {1, 1, 1, 1}};
  EXPECT_FALSE(a == make_free(other.forward(false, "none"), true)->input_layouts[1]);
}

TEST(Convolution, TheModelsLayersRunOnVectorKernelsOfTheLibrary) {
  std::vector<std::pair<Convolution, bool>> layers;  // and whether their data gradient is needed
  // AlexNet (torchvision widths), then kinds of layers of ResNet-50 and VGG.
  layers.push_back({{{32, 224, 224, 3}, 64, {11, 11}, {4, 4}, {2, 2, 2, 2}}, false});
  layers.push_back({{{32, 27, 27, 64}, 192, {5, 5}, {1, 1}, {2, 2, 2, 2}}, true});
  layers.push_back({{{32, 13, 13, 192}, 384, {3, 3}, {1, 1}, {1, 1, 1, 1}}, true});
  layers.push_back({{{32, 13, 13, 384}, 256, {3, 3}, {1, 1}, {1, 1, 1, 1}}, true});
  layers.push_back({{{8, 224, 224, 3}, 64, {7, 7}, {2, 2}, {3, 3, 3, 3}}, false});
  layers.push_back({{{8, 56, 56, 64}, 64, {1, 1}}, true});
  layers.push_back({{{8, 56, 56, 64}, 64, {3, 3}, {1, 1}, {1, 1, 1, 1}}, true});
  layers.push_back({{{8, 56, 56, 64}, 128, {3, 3}, {2, 2}, {1, 1, 1, 1}}, true});
  layers.push_back({{{8, 56, 56, 256}, 512, {1, 1}, {2, 2}}, true});
  layers.push_back({{{8, 7, 7, 512}, 512, {3, 3}, {1, 1}, {1, 1, 1, 1}}, true});
  layers.push_back({{{8, 224, 224, 3}, 64, {3, 3}, {1, 1}, {1, 1, 1, 1}}, false});
  layers.push_back({{{8, 32, 32, 16}, 16, {3, 3}, {1, 1}, {1, 1, 1, 1}}, true});
  const auto expect_fast = [](const Kernel& kernel, const Shape& image) {
    // The AVX2 kernels of the library do not support 11x11 filters over three channels.
    const bool least = device::active_isa() == device::Isa::avx2 && image[3] == 3;
    EXPECT_GE(device::speed_of(kernel.name.substr(kernel.name.rfind(' ') + 1)),
              least ? device::Speed::product : device::Speed::generated)
        << kernel.name << " " << image.to_string();
  };
  for (const auto& [c, needs_data] : layers) {
    // Only shapes: the operands' values are not needed.
    const auto problem = [&](const std::string& op, std::vector<Shape> shapes, const Attributes& more) {
      Problem p{op, {}, c.attributes()};
      for (const Shape& shape : shapes) p.inputs.push_back(Tensor::view(nullptr, DType::f32, shape));
      for (const auto& [name, value] : more) p.attributes.set(name, value);
      return p;
    };
    const Problem forward =
        problem("conv2d", {c.image, c.weights(), {c.filters}}, {{"activation", std::string("relu")}});
    const Shape result = forward.output_types()[0].shape;
    const auto kernel = make_free(forward, true);
    expect_fast(*kernel, c.image);
    const Layout home = kernel->input_layouts[1];
    if (needs_data) {
      expect_fast(
          *make_free(problem("conv2d_bwd_data", {result, c.weights()}, {{"input", c.image.dims()}}), false, home),
          c.image);
    }
    expect_fast(*make_free(problem("conv2d_bwd_weights", {c.image, result}, {{"kernel", c.kernel}, {"bias", true}}),
                           false, home),
                c.image);
  }
}

TEST(Convolution, TheLibraryRefusesDoublePrecisionWithAReason) {
  Problem problem{"conv2d", {Tensor::zeros(DType::f64, {1, 4, 4, 2}), Tensor::zeros(DType::f64, {3, 3, 3, 2})}, {}};
  const Node node = problem.node();
  const KernelChoice choice = cpu_kernels("conv2d", Provider::library).front().make(problem.request(node));
  ASSERT_TRUE(std::holds_alternative<Refusal>(choice));
  EXPECT_EQ(std::get<Refusal>(choice).reason, "f64 operand: this kernel takes f32, bf16");
}

TEST(Dense, AnAddendCostsTheLibraryNoFastKernel) {
  for (const Shape& w : {Shape{4096, 9216}, Shape{512, 512}, Shape{1000, 2048}}) {
    const auto empty = [](const Shape& shape) { return Tensor::view(nullptr, DType::f32, shape); };
    Problem forward{"dense", {empty({32, w[1]}), empty(w), empty({w[0]})}, {{"activation", std::string("relu")}}};
    const auto speed = [&] {
      const std::string name = make_free(forward, true)->name;
      return device::speed_of(name.substr(name.rfind(' ') + 1));
    };
    const device::Speed alone = speed();
    forward.inputs.push_back(empty({32, w[0]}));
    EXPECT_EQ(speed(), alone) << w.to_string();
  }
}

TEST(Dense, TheGradientIsWrittenInTheHomeLayout) {
  const Problem forward{"dense", {random_tensor({32, 256}, 1), random_tensor({128, 256}, 2)}, {}};
  const Layout home = make_free(forward, true)->input_layouts[1];
  const Problem gradient{
      "dense_bwd_weights", {random_tensor({32, 256}, 1), random_tensor({32, 128}, 4)}, {{"bias", true}}};
  const auto kernel = make_free(gradient, false, home);
  EXPECT_TRUE(kernel->output_layouts[0] == home);
  const auto got = run_kernel(*kernel, gradient);
  EXPECT_LE(difference(got[0], gradient.reference()[0]), 1e-5);
  EXPECT_EQ(kernel->name.find("ref"), std::string::npos) << kernel->name;
  const Problem data{"dense_bwd_data", {random_tensor({32, 128}, 4), random_tensor({128, 256}, 2)}, {}};
  EXPECT_LE(difference(run_kernel(*make_free(data, false, home), data)[0], data.reference()[0]), 1e-5);
}

}  // namespace
}  // namespace ridgeline
