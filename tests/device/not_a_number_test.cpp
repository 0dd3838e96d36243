// NaN propagates: relu, alone and merged into other kernels, and maxima keep it in every kernel under every instruction
// set, like their references; the gradient of a relu is passed on where its result is NaN.
#include <cmath>
#include <limits>

#include "every_entry.h"

namespace ridgeline {
namespace {

using Integers = std::vector<std::int64_t>;

struct Case {
  Problem problem;
  bool spreads = false;  // a kernel may turn more results into NaN than those that read one (docs/device-winograd.md)
};

Attributes relu_and(Attributes more) {
  more.set("activation", std::string("relu"));
  return more;
}

// Filters [K,R,R,C/groups] over an image, with bias; optionally with an addend of the result's shape.
Case convolution(const Shape& image, const Shape& filters, std::int64_t stride, std::int64_t groups, bool addend) {
  const std::int64_t pad = filters[1] / 2;
  Problem p{
      "conv2d",
      {random_tensor(image, 1), random_tensor(filters, 2, -0.2, 0.2), random_tensor({filters[0]}, 3)},
      relu_and({{"stride", Integers{stride, stride}}, {"pad", Integers{pad, pad, pad, pad}}, {"groups", groups}})};
  if (addend) p.inputs.push_back(random_tensor(p.output_types()[0].shape, 4));
  return {p, true};
}

std::vector<Case> convolutions() {
  std::vector<Case> cases;
  for (const bool addend : {false, true}) {
    cases.push_back(convolution({2, 14, 14, 16}, {32, 3, 3, 16}, 1, 1, addend));
    cases.push_back(convolution({2, 14, 14, 16}, {32, 3, 3, 16}, 2, 1, addend));
    cases.push_back(convolution({1, 12, 12, 64}, {64, 3, 3, 64}, 1, 1, addend));
    cases.push_back(convolution({2, 9, 9, 64}, {32, 1, 1, 64}, 1, 1, addend));
    cases.push_back(convolution({2, 9, 9, 64}, {32, 1, 1, 64}, 2, 1, addend));
    cases.push_back(convolution({1, 23, 23, 3}, {16, 7, 7, 3}, 2, 1, addend));
    cases.push_back(convolution({2, 10, 10, 32}, {32, 3, 3, 16}, 1, 2, addend));
  }
  Problem pooled{
      "conv2d_max_pool",
      {random_tensor({2, 15, 15, 32}, 1), random_tensor({32, 3, 3, 32}, 2, -0.2, 0.2), random_tensor({32}, 3)},
      relu_and({{"pad", Integers{1, 1, 1, 1}}, {"pool_kernel", Integers{3, 3}}, {"pool_stride", Integers{2, 2}}})};
  cases.push_back({pooled, true});
  return cases;
}

std::vector<Case> dense_layers() {
  std::vector<Case> cases;
  for (const std::int64_t rows : {1, 8, 40}) {
    Problem p{"dense",
              {random_tensor({rows, 96}, 1), random_tensor({50, 96}, 2, -0.2, 0.2), random_tensor({50}, 3)},
              relu_and({})};
    cases.push_back({p});
    p.inputs.push_back(random_tensor({rows, 50}, 4));
    cases.push_back({p});
  }
  return cases;
}

std::vector<Case> norms() {
  const Shape image{2, 5, 5, 20}, channels{20};
  std::vector<Case> cases;
  for (const bool addend : {false, true}) {
    for (const char* op : {"batch_norm_train", "batch_norm_eval"}) {
      for (const char* activation : {"relu", "relu6"}) {
        Problem p{op,
                  {random_tensor(image, 1), random_tensor(channels, 2, -1, 6), random_tensor(channels, 3),
                   random_tensor(channels, 4), random_tensor(channels, 5, 0.5, 2)},
                  {{"activation", std::string(activation)}}};
        if (addend) p.inputs.push_back(random_tensor(image, 6));
        cases.push_back({p});
      }
    }
  }
  return cases;
}

std::vector<Case> maxima() {
  std::vector<Case> cases;
  const auto pool = [&](const Shape& image, Integers kernel, Integers stride, Integers pad) {
    cases.push_back({{"max_pool",
                      {random_tensor(image, 1)},
                      {{"kernel", std::move(kernel)}, {"stride", std::move(stride)}, {"pad", std::move(pad)}}}});
  };
  pool({2, 11, 12, 33}, {3, 3}, {2, 2}, {1, 1, 1, 1});
  pool({2, 8, 8, 64}, {2, 2}, {2, 2}, {0, 0, 0, 0});
  pool({1, 6, 6, 5}, {3, 2}, {1, 2}, {1, 0, 0, 1});
  for (const Integers& axes : {Integers{}, Integers{1}, Integers{0, 1}})
    cases.push_back({{"reduce_max", {random_tensor({7, 9, 21}, 1)}, {{"axes", axes}}}});
  for (const char* op : {"relu", "relu6"}) cases.push_back({{op, {random_tensor({5, 77}, 1)}, {}}});
  for (const char* op : {"maximum", "minimum"})
    cases.push_back({{op, {random_tensor({5, 77}, 1), random_tensor({5, 77}, 2)}, {}}});
  return cases;
}

// Operand 0 or another one is the result of a relu.
std::vector<Case> gradients() {
  const Shape image{2, 10, 10, 32};
  std::vector<Case> cases;
  for (const char* op : {"relu_grad", "relu6_grad"})
    cases.push_back({{op, {random_tensor({5, 77}, 1), random_tensor({5, 77}, 2)}, {}}});
  cases.push_back({{"conv2d_bwd_data",
                    {random_tensor(image, 1), random_tensor({32, 3, 3, 32}, 2, -0.2, 0.2), random_tensor(image, 3)},
                    {{"input", image.dims()}, {"pad", Integers{1, 1, 1, 1}}}},
                   true});
  const Shape channels{32};
  for (const char* gate : {"of_x", "of_y"}) {
    // Larger than what is computed from x, since the references in f64 do not have its rounding.
    for (const double ceiling : {0.0, std::string(gate) == "of_x" ? 6 : 0.5}) {
      cases.push_back({{"batch_norm_bwd",
                        {random_tensor(image, 1), random_tensor(image, 2), random_tensor(channels, 3),
                         random_tensor(channels, 4), random_tensor(channels, 5, 0.5, 2),
                         std::string(gate) == "of_x" ? random_tensor(channels, 6) : random_tensor(image, 6)},
                        {{"gate", std::string(gate)}, {"ceiling", ceiling}}}});
    }
  }
  return cases;
}

std::string typed_name(const Problem& problem) {
  return problem.op + " of " + std::string(name_of(problem.inputs[0].dtype())) + problem.inputs[0].shape().to_string();
}

// `expected` is the reference's.
void expect_nan_kept(const Case& c, Kernel& kernel, const std::vector<Tensor>& expected, const std::string& what) {
  const std::vector<Tensor> got = run_kernel(kernel, c.problem);
  for (std::size_t r = 0; r < got.size(); ++r) {
    if (!is_floating(got[r].dtype())) continue;
    double largest = 0;
    for (std::int64_t i = 0; i < expected[r].elements(); ++i) {
      if (std::isfinite(expected[r].at(i))) largest = std::max(largest, std::abs(expected[r].at(i)));
    }
    const double share = c.problem.inputs[0].dtype() == DType::f32 ? 1e-4 : 2e-2;
    for (std::int64_t i = 0; i < expected[r].elements(); ++i) {
      const double a = got[r].at(i), b = expected[r].at(i);
      if (std::isnan(b)) {
        ASSERT_TRUE(std::isnan(a)) << what << ": result " << r << " at " << i << " is " << a << " instead of NaN";
      } else if (std::isnan(a)) {
        ASSERT_TRUE(c.spreads) << what << ": result " << r << " at " << i << " is NaN instead of " << b;
      } else {
        ASSERT_LE(std::abs(a - b), share * largest) << what << ": result " << r << " at " << i;
      }
    }
  }
}

void expect_every_kernel_keeps_nan(const Case& c, std::set<std::string>& taken) {
  const std::vector<Tensor> expected = reference_in_f64(c.problem);
  const Node node = c.problem.node();
  const std::vector<device::Isa> targets = targets_from_the_one_in_force();
  for (const device::Isa isa : targets) {
    const ForcedIsa forced(isa);
    for (const KernelEntry& entry : cpu_kernels(c.problem.op)) {
      if (entry.provider == Provider::library && isa != targets.front()) continue;
      KernelChoice choice = entry.make(c.problem.request(node));
      if (std::holds_alternative<Refusal>(choice)) continue;
      taken.insert(c.problem.op + "/" + std::string(entry.name));
      ASSERT_NO_FATAL_FAILURE(expect_nan_kept(
          c, *std::get<std::unique_ptr<Kernel>>(choice), expected,
          typed_name(c.problem) + " by " + std::string(entry.name) + " under " + std::string(device::name_of(isa))));
    }
  }
}

// One NaN of either sign in each operand in turn.
void expect_nan_kept(const std::vector<Case>& cases, std::span<const DType> dtypes, std::set<std::string>& taken) {
  for (const Case& given : cases) {
    for (const DType dtype : dtypes) {
      // Parameters of norms and biases are f32.
      Case c = given;
      for (Tensor& t : c.problem.inputs) {
        if (t.shape().rank() > 1) t = as_type(t, dtype);
      }
      for (std::size_t operand = 0; operand < c.problem.inputs.size(); ++operand) {
        Case one = c;
        Tensor& t = one.problem.inputs[operand];
        t = t.clone();
        const double nan = std::numeric_limits<double>::quiet_NaN();
        t.set(t.elements() / 2, operand % 2 == 0 ? nan : -nan);
        ASSERT_NO_FATAL_FAILURE(expect_every_kernel_keeps_nan(one, taken)) << "NaN in operand " << operand;
      }
    }
  }
}

constexpr DType kFloatAndHalf[] = {DType::f32, DType::bf16};
constexpr DType kFloats[] = {DType::f32, DType::bf16, DType::f16};

TEST(NotANumber, ConvolutionsWithReluKeepIt) {
  std::set<std::string> taken;
  expect_nan_kept(convolutions(), kFloatAndHalf, taken);
  for (const char* entry : {"conv2d/winograd", "conv2d/pixels", "conv2d/direct"}) {
    EXPECT_TRUE(taken.contains(entry)) << entry;
  }
  EXPECT_TRUE(!has_library() || (taken.contains("conv2d/onednn") && taken.contains("conv2d/onednn_chunks")));
}

TEST(NotANumber, DenseLayersWithReluKeepIt) {
  std::set<std::string> taken;
  expect_nan_kept(dense_layers(), kFloatAndHalf, taken);
  EXPECT_TRUE(taken.contains("dense/few_rows") && taken.contains("dense/rows"));
  EXPECT_TRUE(!has_library() || taken.contains("dense/onednn"));
}

TEST(NotANumber, BatchNormsWithReluKeepIt) {
  std::set<std::string> taken;
  expect_nan_kept(norms(), kFloatAndHalf, taken);
  EXPECT_TRUE(taken.contains("batch_norm_train/own") && taken.contains("batch_norm_eval/own"));
}

TEST(NotANumber, MaximaAndReluKeepIt) {
  std::set<std::string> taken;
  expect_nan_kept(maxima(), kFloats, taken);
  EXPECT_TRUE(taken.contains("max_pool/own") && taken.contains("reduce_max/own"));
}

TEST(NotANumber, TheGradientOfAReluPassesWhereItsResultIsOne) {
  std::set<std::string> taken;
  expect_nan_kept(gradients(), kFloatAndHalf, taken);
  EXPECT_TRUE(taken.contains("batch_norm_bwd/own"));
}

}  // namespace
}  // namespace ridgeline
