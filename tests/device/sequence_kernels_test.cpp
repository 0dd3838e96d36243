// Kernels of matrix products, norms of samples, softmax over any axis, tables and slices with random shapes, compared
// with the references.
#include <array>

#include "ridgeline/core/error.h"
#include "tests/device/kernel_testing.h"

namespace ridgeline {
namespace {

using Sizes = std::vector<std::int64_t>;

Problem narrow_data(const Problem& problem, std::set<std::size_t> parameters) {
  Problem narrow = problem;
  for (std::size_t i = 0; i < narrow.inputs.size(); ++i) {
    if (narrow.inputs[i].dtype() == DType::f32 && !parameters.contains(i))
      narrow.inputs[i] = as_type(narrow.inputs[i], DType::bf16);
  }
  return narrow;
}
constexpr double kNarrow = 1.0 / 128;  // relative to the largest result

TEST(SequenceKernels, ProductsOfMatricesAgreeWithTheReference) {
  std::set<std::string> accepted, narrow;
  SampleRandom random(philox_key(31, "products"), 0, 0);
  const auto extent = [&](std::int64_t most) { return random.integer(1, most); };
  for (std::int64_t i = 0; i < shapes_to_try(12); ++i) {
    const std::int64_t rows = extent(80), columns = extent(150), depth = extent(i % 3 == 0 ? 300 : 70), n = extent(3);
    const bool turn_a = i % 2 == 1, turn_b = i % 4 >= 2;
    const auto matrices = [&](Sizes batch, std::int64_t r, std::int64_t c, bool turned) {
      batch.push_back(turned ? c : r);
      batch.push_back(turned ? r : c);
      return Shape(batch);
    };
    const std::vector<std::pair<Sizes, Sizes>> batches = {{{}, {}},  {{n}, {n}},    {{n, 2}, {}},
                                                          {{}, {n}}, {{n, 1}, {2}}, {{2, n, 1}, {n, 2}}};
    const auto& [of_a, of_b] = batches[static_cast<std::size_t>(i) % batches.size()];
    const Problem problem{"matmul",
                          {random_tensor(matrices(of_a, rows, depth, turn_a), 1),
                           random_tensor(matrices(of_b, depth, columns, turn_b), 2)},
                          {{"transpose_a", turn_a}, {"transpose_b", turn_b}}};
    expect_kernels_agree(problem, 1e-5, accepted);
    expect_kernels_agree(narrow_data(problem, {}), kNarrow, narrow);
    Problem wide_results = narrow_data(problem, {});
    wide_results.attributes.set("f32_results", true);
    expect_kernels_agree(wide_results, 1e-5, narrow);
  }
  EXPECT_TRUE(accepted.contains("matmul/products"));
  EXPECT_TRUE(narrow.contains("matmul/products"));
  EXPECT_EQ(accepted.contains("matmul/onednn"), has_library());
}

TEST(SequenceKernels, NormsOfSamplesAgreeWithTheReference) {
  std::set<std::string> accepted, narrow;
  SampleRandom random(philox_key(32, "norms"), 0, 0);
  for (std::int64_t i = 0; i < shapes_to_try(8); ++i) {
    const std::int64_t groups = random.integer(1, 4), channels = groups * random.integer(1, i % 2 == 0 ? 40 : 9);
    const Shape x{random.integer(1, 5), random.integer(1, 17), random.integer(1, 11), channels};
    const Tensor image = random_tensor(x, 1, -1, 3), dy = random_tensor(x, 2);
    const Tensor gamma = random_tensor({channels}, 3, 0.5, 2), beta = random_tensor({channels}, 4);
    for (const bool by_groups : {false, true}) {
      const std::string op = by_groups ? "group_norm" : "layer_norm";
      Attributes attributes;
      if (by_groups) attributes.set("groups", groups);
      const Problem forward{op, {image, gamma, beta}, attributes};
      expect_kernels_agree(forward, 2e-5, accepted);
      expect_kernels_agree(narrow_data(forward, {1, 2}), kNarrow, narrow);
      const std::vector<Tensor> results = forward.reference();
      const Problem backward{op + "_bwd", {image, dy, gamma, results[1], results[2]}, attributes};
      expect_kernels_agree(backward, 2e-5, accepted);
      expect_kernels_agree(narrow_data(backward, {2, 3, 4}), kNarrow, narrow);
    }
  }
  for (const char* op : {"layer_norm", "layer_norm_bwd", "group_norm", "group_norm_bwd"}) {
    EXPECT_TRUE(accepted.contains(op + std::string("/own"))) << op;
    EXPECT_TRUE(narrow.contains(op + std::string("/own"))) << op;
  }
}

TEST(SequenceKernels, NormsKeepTheirVarianceBesideALargeMean) {
  for (const char* op : {"layer_norm", "group_norm"}) {
    Problem problem{
        op, {random_tensor({4, 6, 6, 96}, 1, 999, 1001), random_tensor({96}, 2), random_tensor({96}, 3)}, {}};
    if (op == std::string("group_norm")) problem.attributes.set("groups", std::int64_t{8});
    const Node node = problem.node();
    KernelChoice choice = cpu_kernels(op, Provider::own).front().make(problem.request(node));
    const auto got = run_kernel(*std::get<std::unique_ptr<Kernel>>(choice), problem);
    const auto expected = problem.reference();
    EXPECT_LE(difference(got[1], expected[1]), 1e-6) << op;
    EXPECT_LE(difference(got[2], expected[2]), 1e-5) << op;
    EXPECT_LE(difference(got[0], expected[0]), 3e-4) << op;  // half an ulp of 1000, with a deviation of 0.58
  }
}

TEST(SequenceKernels, SoftmaxOverAnyAxisAgreesWithTheReference) {
  std::set<std::string> accepted;
  const std::vector<Shape> shapes = {{3, 40, 7}, {2, 3, 5, 70}, {5, 200}, {130, 2, 65}, {1, 1, 9}};
  for (const Shape& shape : shapes) {
    const Tensor x = random_tensor(shape, 1, -20, 20), y = random_tensor(shape, 2, 0, 1), dy = random_tensor(shape, 3);
    for (std::int64_t axis = -1; axis < shape.rank(); ++axis) {
      expect_kernels_agree({"softmax", {x}, {{"axis", axis}}}, 2e-6, accepted);
      expect_kernels_agree({"softmax_bwd", {y, dy}, {{"axis", axis}}}, 2e-6, accepted);
    }
  }
  EXPECT_EQ(accepted, (std::set<std::string>{"softmax/own", "softmax_bwd/own"}));
}

TEST(SequenceKernels, RowsOfTablesAgreeWithTheReference) {
  std::set<std::string> accepted;
  for (const auto& [rows, count, inner] :
       {std::array<std::int64_t, 3>{7, 40, 33}, {300, 12, 5}, {1, 9, 64}, {20, 1, 1}}) {
    const Tensor numbers = random_labels(count, rows, 2);
    for (const std::int64_t outer : {std::int64_t{1}, std::int64_t{3}}) {
      const Shape table = outer == 1 ? Shape{rows, inner} : Shape{outer, rows, inner};
      const Shape named = outer == 1 ? Shape{count, inner} : Shape{outer, count, inner};
      const std::int64_t axis = outer == 1 ? 0 : 1;
      for (const DType dtype : {DType::f32, DType::bf16}) {
        expect_kernels_agree({"gather", {as_type(random_tensor(table, 1), dtype), numbers}, {{"axis", axis}}}, 0,
                             accepted);
        expect_kernels_agree({"gather_bwd",
                              {as_type(random_tensor(named, 3), dtype), numbers},
                              {{"axis", axis}, {"input", table.dims()}}},
                             dtype == DType::f32 ? 1e-6 : kNarrow, accepted);
      }
    }
  }
  EXPECT_TRUE(accepted.contains("gather/own"));
  EXPECT_TRUE(accepted.contains("gather_bwd/own"));
}

TEST(SequenceKernels, ANumberThatIsNoRowIsTheUsersError) {
  Tensor numbers = random_labels(6, 10, 2);
  numbers.data<std::int32_t>()[3] = 10;
  for (const Problem& problem :
       {Problem{"gather", {random_tensor({10, 4}, 1), numbers}, {}},
        Problem{"gather_bwd", {random_tensor({6, 4}, 1), numbers}, {{"input", Sizes{10, 4}}}}}) {
    const Node node = problem.node();
    KernelChoice choice = cpu_kernels(problem.op).front().make(problem.request(node));
    std::string message;
    try {
      run_kernel(*std::get<std::unique_ptr<Kernel>>(choice), problem);
    } catch (const Error& error) {
      message = error.what();
    }
    EXPECT_EQ(message, "[" + problem.op + "] index 10 at position 3 is outside the 10 rows");
  }
}

TEST(SequenceKernels, PartsSideBySideAgreeWithTheReference) {
  std::set<std::string> accepted;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      std::vector<Tensor> parts;
      Sizes sizes = {3, 1, 8};
      Shape whole{5, 6, 7};
      for (const std::int64_t size : sizes) {
        Shape part = whole;
        part[static_cast<int>(axis)] = size;
        parts.push_back(as_type(random_tensor(part, static_cast<std::uint64_t>(size)), dtype));
      }
      whole[static_cast<int>(axis)] = 12;
      expect_kernels_agree({"concat", parts, {{"axis", axis}}}, 0, accepted);
      expect_kernels_agree({"split", {as_type(random_tensor(whole, 9), dtype)}, {{"axis", axis - 3}, {"sizes", sizes}}},
                           0, accepted);
    }
  }
  EXPECT_EQ(accepted, (std::set<std::string>{"concat/own", "split/own"}));
}

}  // namespace
}  // namespace ridgeline
