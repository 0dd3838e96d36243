// Kernels on bf16 and f16 values: those that read and write them, and f32 kernels between conversions. All sum in f32
// or wider, so a result is at most one rounding away from the reference.
#include "kernel_testing.h"

namespace ridgeline {
namespace {

using Integers = std::vector<std::int64_t>;

// The largest distance between neighbours, relative to their magnitude.
double step_of(DType dtype) { return dtype == DType::bf16 ? 0x1p-7 : 0x1p-10; }

// The problem with floating operands in `dtype`, except those in `wide`.
Problem narrowed(Problem problem, DType dtype, const std::set<std::size_t>& wide = {}) {
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    if (problem.inputs[i].dtype() == DType::f32 && !wide.contains(i)) {
      problem.inputs[i] = as_type(problem.inputs[i], dtype);
    }
  }
  return problem;
}

// f32 results of narrow operands are as exact as those of f32 kernels.
void expect_agree(const Problem& problem, DType dtype, std::set<std::string>& accepted) {
  const bool f32_results = problem.output_types()[0].dtype == DType::f32;
  expect_kernels_agree(problem, f32_results ? 1e-5 : step_of(dtype), accepted);
}

KernelEntry entry_named(const std::string& op, std::string_view name) {
  for (const KernelEntry& entry : cpu_kernels(op)) {
    if (entry.name == name) return entry;
  }
  throw std::runtime_error("no such entry");
}

struct Layer {
  Shape image;
  std::int64_t filters;
  Integers kernel, stride = {1, 1}, pad = {0, 0, 0, 0}, dilation = {1, 1};
  std::int64_t groups = 1;

  Attributes attributes() const {
    return {{"stride", stride}, {"pad", pad}, {"dilation", dilation}, {"groups", groups}};
  }
  Shape weights() const { return {filters, kernel[0], kernel[1], image[3] / groups}; }
};

const std::vector<Layer> kLayers = {
    {{2, 9, 9, 16}, 32, {3, 3}, {1, 1}, {1, 1, 1, 1}},
    {{2, 15, 15, 3}, 16, {11, 11}, {4, 4}, {2, 2, 2, 2}},
    {{3, 7, 6, 7}, 5, {3, 2}, {1, 2}, {1, 0, 0, 1}},
    {{2, 8, 8, 32}, 48, {1, 1}, {2, 2}},
    {{2, 8, 8, 3}, 16, {1, 1}, {2, 2}},
    {{2, 11, 9, 48}, 112, {1, 1}},
    {{2, 9, 9, 32}, 64, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 2},
    {{2, 10, 10, 16}, 16, {3, 3}, {1, 1}, {2, 2, 2, 2}, {2, 2}},
    {{2, 7, 7, 16}, 16, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 16},
};

TEST(NarrowKernels, ConvolutionsAgreeWithTheReferenceInAllPasses) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    std::set<std::string> accepted;
    for (const Layer& layer : kLayers) {
      for (const bool f32_results : {false, true}) {
        SCOPED_TRACE(layer.image.to_string() + (f32_results ? " f32 results" : ""));
        Problem forward{
            "conv2d", {random_tensor(layer.image, 1), random_tensor(layer.weights(), 2)}, layer.attributes()};
        forward.attributes.set("f32_results", f32_results);
        expect_agree(narrowed(forward, dtype), dtype, accepted);
        const Shape result = forward.output_types()[0].shape;
        forward.inputs.push_back(random_tensor({layer.filters}, 3));
        forward.attributes.set("activation", std::string("relu"));
        expect_agree(narrowed(forward, dtype), dtype, accepted);
        expect_agree(narrowed(forward, dtype, {2}), dtype, accepted);

        Problem data{
            "conv2d_bwd_data", {random_tensor(result, 4), random_tensor(layer.weights(), 2)}, layer.attributes()};
        data.attributes.set("input", layer.image.dims());
        data.attributes.set("f32_results", f32_results);
        expect_agree(narrowed(data, dtype), dtype, accepted);

        Problem weights{
            "conv2d_bwd_weights", {random_tensor(layer.image, 1), random_tensor(result, 4)}, layer.attributes()};
        weights.attributes.set("kernel", layer.kernel);
        weights.attributes.set("bias", true);
        weights.attributes.set("f32_results", f32_results);
        // No f32 kernel of the library accepts this one (oneDNN#6035); Winograd needs more filters.
        if (layer.kernel == Integers{1, 1} && layer.image[3] < 16) continue;
        expect_agree(narrowed(weights, dtype), dtype, accepted);
        weights.attributes.set("bias", false);
        expect_agree(narrowed(weights, dtype), dtype, accepted);
      }
    }
    for (const char* op : {"conv2d/", "conv2d_bwd_data/", "conv2d_bwd_weights/"}) {
      EXPECT_TRUE(accepted.contains(op + std::string("widened"))) << op;
    }
  }
}

// Large images are converted in parts of the batch; a gradient of weights is the sum over the parts.
TEST(NarrowKernels, LargeImagesAreConvertedInPartsOfTheBatch) {
  const Layer layer{{3, 220, 222, 32}, 16, {1, 1}, {2, 2}};
  Problem forward{"conv2d", {random_tensor(layer.image, 1), random_tensor(layer.weights(), 2)}, layer.attributes()};
  const Shape result = forward.output_types()[0].shape;
  Problem data{"conv2d_bwd_data", {random_tensor(result, 4), random_tensor(layer.weights(), 2)}, layer.attributes()};
  data.attributes.set("input", layer.image.dims());
  Problem weights{"conv2d_bwd_weights", {random_tensor(layer.image, 1), random_tensor(result, 4)}, layer.attributes()};
  weights.attributes.set("kernel", layer.kernel);
  weights.attributes.set("bias", true);
  for (const Problem& wide : {forward, data, weights}) {
    const Problem problem = narrowed(wide, DType::f16);
    const Node node = problem.node();
    KernelChoice choice = entry_named(wide.op, "widened").make(problem.request(node));
    ASSERT_FALSE(std::holds_alternative<Refusal>(choice));
    Kernel& kernel = *std::get<std::unique_ptr<Kernel>>(choice);
    EXPECT_TRUE(kernel.name.ends_with(" in 3 parts")) << kernel.name;
    const std::vector<Tensor> got = run_kernel(kernel, problem);
    const std::vector<Tensor> expected = problem.reference();
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_LE(difference(got[i], expected[i]), step_of(DType::f16));
  }
}

TEST(NarrowKernels, DenseLayersAgreeWithTheReferenceInAllPasses) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    std::set<std::string> accepted;
    for (const auto& [n, c, k] : {std::array<std::int64_t, 3>{4, 32, 10}, {1, 7, 5}, {33, 129, 64}, {16, 64, 1000}}) {
      for (const bool f32_results : {false, true}) {
        const Attributes results{{"f32_results", f32_results}};
        Problem forward{"dense", {random_tensor({n, c}, 1), random_tensor({k, c}, 2), random_tensor({k}, 3)}, results};
        expect_agree(narrowed(forward, dtype), dtype, accepted);
        expect_agree(narrowed(forward, dtype, {2}), dtype, accepted);
        Problem sum = forward;  // its addend has the type of the result
        sum.inputs.push_back(random_tensor({n, k}, 5));
        const std::set<std::size_t> wide = f32_results ? std::set<std::size_t>{2, 3} : std::set<std::size_t>{2};
        expect_agree(narrowed(sum, dtype, wide), dtype, accepted);
        expect_agree(narrowed({"dense_bwd_data", {random_tensor({n, k}, 4), random_tensor({k, c}, 2)}, results}, dtype),
                     dtype, accepted);
        Attributes both = results;
        both.set("bias", true);
        expect_agree(narrowed({"dense_bwd_weights", {random_tensor({n, c}, 1), random_tensor({n, k}, 4)}, both}, dtype),
                     dtype, accepted);
      }
    }
    EXPECT_TRUE(accepted.contains("dense/widened"));
  }
}

TEST(NarrowKernels, PoolingAndNormalisationAgreeWithTheReference) {
  const Attributes window{{"kernel", Integers{3, 3}}, {"stride", Integers{2, 2}}, {"pad", Integers{1, 1, 1, 1}}};
  const auto with_input = [](Attributes attributes, const Shape& shape) {
    attributes.set("input", shape.dims());
    return attributes;
  };
  const Shape image{2, 11, 12, 33};
  const Shape pooled{2, 6, 6, 33};
  const Tensor x = random_tensor(image, 1), dy = random_tensor(image, 2);
  const Tensor gamma = random_tensor({33}, 3, 0.5, 2), beta = random_tensor({33}, 4);
  const Tensor mean = random_tensor({33}, 5), deviation = random_tensor({33}, 6, 0.5, 2);
  for (const DType dtype : {DType::bf16, DType::f16}) {
    std::set<std::string> accepted;
    const Problem maximum = narrowed({"max_pool", {x}, window}, dtype);
    expect_kernels_agree(maximum, 0, accepted);
    const Tensor index = maximum.reference()[1];
    expect_agree(narrowed({"max_pool_bwd", {random_tensor(pooled, 7), index}, with_input(window, image)}, dtype), dtype,
                 accepted);
    expect_agree(narrowed({"avg_pool", {x}, window}, dtype), dtype, accepted);
    expect_agree(narrowed({"avg_pool_bwd", {random_tensor(pooled, 7)}, with_input(window, image)}, dtype), dtype,
                 accepted);
    expect_agree(narrowed({"lrn", {x}, {}}, dtype), dtype, accepted);
    expect_agree(narrowed({"lrn_bwd", {x, dy}, {}}, dtype), dtype, accepted);
    for (const bool wide : {true, false}) {
      const auto of = [&](Problem problem, std::set<std::size_t> parameters) {
        return narrowed(std::move(problem), dtype, wide ? parameters : std::set<std::size_t>{});
      };
      expect_kernels_agree(of({"batch_norm_train", {x, gamma, beta, mean, deviation}, {}}, {1, 2, 3, 4}),
                           step_of(dtype), accepted);
      expect_kernels_agree(of({"batch_norm_bwd", {x, dy, gamma, mean, deviation}, {}}, {2, 3, 4}), step_of(dtype),
                           accepted);
      expect_kernels_agree(of({"batch_norm_eval", {x, gamma, beta, mean, deviation}, {}}, {1, 2, 3, 4}), step_of(dtype),
                           accepted);
    }
    expect_agree(narrowed({"softmax", {random_tensor({5, 12}, 8)}, {}}, dtype), dtype, accepted);
    expect_agree(narrowed({"reduce_sum", {x}, {{"axes", Integers{0, 1, 2}}}}, dtype), dtype, accepted);
    for (const char* op : {"max_pool", "max_pool_bwd", "avg_pool", "lrn", "lrn_bwd", "batch_norm_train", "softmax"}) {
      EXPECT_TRUE(accepted.contains(std::string(op) + "/widened")) << op;
    }
  }
}

TEST(NarrowKernels, ImagesAreNormalisedIntoNarrowTypesBitByBit) {
  Tensor images(DType::u8, {3, 5, 7, 3});
  Tensor flip(DType::u8, {3});
  for (std::int64_t i = 0; i < images.elements(); ++i) images.set(i, static_cast<double>(i * 37 % 256));
  flip.set(1, 1);
  const Attributes imagenet{{"mean", std::vector<double>{0.485, 0.456, 0.406}},
                            {"std", std::vector<double>{0.229, 0.224, 0.225}}};
  const Tensor wide = Problem{"image_tail", {images, flip}, imagenet}.reference()[0];
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    Attributes attributes = imagenet;
    attributes.set("dtype", dtype);
    const Problem problem{"image_tail", {images, flip}, attributes};
    EXPECT_TRUE(same_bits(problem.reference()[0], as_type(wide, dtype))) << "rounded from f32";
    std::set<std::string> accepted;
    expect_kernels_agree(problem, 0, accepted);
  }
}

// Large enough to be written past the caches, with rows that are whole cache lines and others.
TEST(NarrowKernels, LargeImagesAreNormalisedBitByBit) {
  for (const std::int64_t width : {224, 171}) {
    Tensor images(DType::u8, {20, 224, width, 3});
    for (std::int64_t i = 0; i < images.elements(); ++i)
      images.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * i % 251);
    Tensor flip(DType::u8, {20});
    for (std::int64_t i = 1; i < 20; i += 2) flip.set(i, 1);
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      const Problem problem{"image_tail",
                            {images, flip},
                            {{"mean", std::vector<double>{0.485, 0.456, 0.406}},
                             {"std", std::vector<double>{0.229, 0.224, 0.225}},
                             {"dtype", dtype}}};
      const Node node = problem.node();
      KernelChoice choice = cpu_kernels("image_tail").front().make(problem.request(node));
      const auto got = run_kernel(*std::get<std::unique_ptr<Kernel>>(choice), problem);
      EXPECT_TRUE(same_bits(got[0], problem.reference()[0])) << width;
    }
  }
}

// Each thread's line is scratch memory for the team at the time when the kernel was made.
TEST(NarrowKernels, ImagesAreNormalisedByTheTeamThatTheKernelWasMadeFor) {
  Tensor images(DType::u8, {40, 3, 9, 3});
  for (std::int64_t i = 0; i < images.elements(); ++i) images.set(i, static_cast<double>(i * 37 % 256));
  const std::vector<double> three{0.5, 0.5, 0.5};
  const Problem problem{"image_tail", {images}, {{"mean", three}, {"std", three}, {"dtype", DType::bf16}}};
  const Node node = problem.node();
  const std::unique_ptr<Kernel> kernel = [&] {
    const ComputeScope alone(1);
    KernelChoice choice = cpu_kernels("image_tail").front().make(problem.request(node));
    return std::move(std::get<std::unique_ptr<Kernel>>(choice));
  }();
  const ComputeScope team(8);
  EXPECT_TRUE(same_bits(run_kernel(*kernel, problem)[0],
                        problem.reference()[0]));  // checks the memory after the scratch memory
}

TEST(NarrowKernels, EmulationSaysSoAndTakesNothingElse) {
  Problem problem{"dense", {random_tensor({4, 32}, 1), random_tensor({10, 32}, 2)}, {}};
  const auto entry = [](std::string_view name) { return entry_named("dense", name); };
  const Node node = problem.node();
  const KernelChoice refused = entry("widened").make(problem.request(node));
  ASSERT_TRUE(std::holds_alternative<Refusal>(refused));
  EXPECT_EQ(std::get<Refusal>(refused).reason, "no value of bf16 or f16 to convert");
  problem = narrowed(problem, DType::f16);
  const KernelChoice taken = entry("widened").make(problem.request(node));
  ASSERT_FALSE(std::holds_alternative<Refusal>(taken));
  EXPECT_TRUE(std::get<std::unique_ptr<Kernel>>(taken)->emulates);
}

}  // namespace
}  // namespace ridgeline
