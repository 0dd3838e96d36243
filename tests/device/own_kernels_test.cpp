#include <array>
#include <limits>

#include "kernel_testing.h"

namespace ridgeline {
namespace {

using Integers = std::vector<std::int64_t>;

// The number of a step.
TEST(OwnKernels, IntegersAreAddedWithTheReferencesBits) {
  for (const Shape& shape : {Shape{}, Shape{7}}) {
    Problem problem{"add", {Tensor(DType::i64, shape), Tensor(DType::i64, shape)}, {}};
    for (Tensor& t : problem.inputs) {
      for (std::int64_t i = 0; i < t.elements(); ++i) t.data<std::int64_t>()[i] = (std::int64_t{1} << 40) - 3 * i;
    }
    std::set<std::string> accepted;
    expect_kernels_agree(problem, 0, accepted);
    EXPECT_TRUE(accepted.contains("add/integers"));
  }
}

TEST(Normalisation, EveryLrnKernelAgreesWithTheReference) {
  std::set<std::string> accepted;
  for (const Shape& shape : {Shape{2, 5, 5, 96}, Shape{1, 3, 4, 7}, Shape{3, 2, 2, 33}}) {
    for (const double alpha : {1e-4, 0.5}) {
      const Attributes attributes{{"alpha", alpha}, {"size", std::int64_t{5}}, {"bias", 2.0}};
      expect_kernels_agree({"lrn", {random_tensor(shape, 1, -3, 3)}, attributes}, 2e-6, accepted);
      expect_kernels_agree({"lrn_bwd", {random_tensor(shape, 1, -3, 3), random_tensor(shape, 2)}, attributes}, 5e-6,
                           accepted);
    }
  }
  EXPECT_EQ(accepted.size(), has_library() ? 4u : 2u);
}

TEST(Normalisation, EveryBatchNormKernelAgreesWithTheReference) {
  std::set<std::string> accepted;
  for (const Shape& shape :
       {Shape{4, 6, 6, 16}, Shape{3, 5, 7, 19}, Shape{7, 1, 1, 64}, Shape{33, 10}, Shape{8, 28, 28, 8}}) {
    const Shape c{shape[-1]};
    const Problem train{"batch_norm_train",
                        {random_tensor(shape, 1, -1, 3), random_tensor(c, 2), random_tensor(c, 3), random_tensor(c, 4),
                         random_tensor(c, 5, 0.5, 2)},
                        {}};
    expect_kernels_agree(train, 1e-5, accepted);
    const auto results = train.reference();
    expect_kernels_agree(
        {"batch_norm_bwd", {train.inputs[0], random_tensor(shape, 6), train.inputs[1], results[1], results[2]}, {}},
        1e-5, accepted);
    expect_kernels_agree({"batch_norm_eval", train.inputs, {}}, 1e-5, accepted);
  }
  EXPECT_EQ(accepted.size(), has_library() ? 6u : 3u);
}

// The images of a batch norm in bf16, values per channel unchanged.
Problem with_narrow_images(Problem problem) {
  const int rank = problem.inputs[0].shape().rank();
  for (Tensor& t : problem.inputs) {
    if (t.shape().rank() == rank) t = as_type(t, DType::bf16);
  }
  return problem;
}

// y, or g and dx, with an addend and a relu or relu6, in every combination.
TEST(Normalisation, BatchNormAddsAndAppliesReluAndItsGradient) {
  std::set<std::string> accepted, narrow;
  const auto expect_both_agree = [&](const Problem& problem) {
    expect_kernels_agree(problem, 1e-5, accepted);
    expect_kernels_agree(with_narrow_images(problem), 0x1p-7, narrow);
  };
  for (const Shape& shape : {Shape{4, 6, 6, 16}, Shape{3, 5, 7, 19}, Shape{7, 1, 1, 68}, Shape{33, 10}}) {
    const Shape c{shape[-1]};
    std::vector<Tensor> operands = {random_tensor(shape, 1, -1, 3), random_tensor(c, 2), random_tensor(c, 3),
                                    random_tensor(c, 4), random_tensor(c, 5, 0.5, 2)};
    const auto statistics = Problem{"batch_norm_train", operands, {}}.reference();
    for (const char* activation : {"none", "relu", "relu6"}) {
      for (const bool addend : {false, true}) {
        std::vector<Tensor> all = operands;
        if (activation == std::string("relu6")) all[1] = random_tensor(c, 2, 3, 9);  // many above 6
        if (addend) all.push_back(random_tensor(shape, 7));
        const Attributes attributes{{"activation", std::string(activation)}};
        expect_both_agree({"batch_norm_train", all, attributes});
        expect_both_agree({"batch_norm_eval", all, attributes});
        Attributes inverse = attributes;
        inverse.set("var_is_inv_std", true);
        expect_both_agree({"batch_norm_eval", all, inverse});
      }
    }
    const auto expect_gradients_agree = [&](const std::string& gate, double ceiling) {
      for (const bool addend : {false, true}) {
        for (const bool passed : {false, true}) {
          const Tensor gamma = ceiling > 0 ? random_tensor(c, 2, 3, 9) : operands[1];
          std::vector<Tensor> all = {operands[0], random_tensor(shape, 6), gamma, statistics[1], statistics[2]};
          if (gate == "of_x") all.push_back(operands[2]);
          if (gate == "of_y") all.push_back(random_tensor(shape, 8, -1, ceiling > 0 ? 9 : 1));
          if (addend) all.push_back(random_tensor(shape, 7));
          expect_both_agree(
              {"batch_norm_bwd", all, {{"gate", gate}, {"ceiling", ceiling}, {"addend", addend}, {"passed", passed}}});
        }
      }
    };
    for (const char* gate : {"none", "of_x", "of_y"}) expect_gradients_agree(gate, 0);
    for (const char* gate : {"of_x", "of_y"}) expect_gradients_agree(gate, 6);
  }
  EXPECT_TRUE(accepted.contains("batch_norm_bwd/own"));
  for (const char* op : {"batch_norm_train", "batch_norm_eval", "batch_norm_bwd"}) {
    EXPECT_TRUE(narrow.contains(op + std::string("/own"))) << op;
  }
}

// Results may overwrite operands: the same bits as in separate memory.
TEST(Normalisation, BatchNormGivesTheSameBitsInPlace) {
  const Shape shape{5, 9, 9, 40};
  const Shape c{40};
  const Tensor x = random_tensor(shape, 1, -1, 3), dy = random_tensor(shape, 6), y = random_tensor(shape, 7);
  const auto vector = [&](std::uint64_t seed) { return random_tensor(c, seed, 0.5, 2); };
  const Attributes relu{{"activation", std::string("relu")}};
  const Attributes gate{{"gate", std::string("of_y")}};
  const Attributes passed{{"gate", std::string("of_y")}, {"passed", true}};
  const std::vector<Problem> problems = {{"batch_norm_train", {x, vector(2), vector(3), vector(4), vector(5), y}, relu},
                                         {"batch_norm_eval", {x, vector(2), vector(3), vector(4), vector(5)}, relu},
                                         {"batch_norm_bwd", {x, dy, vector(2), vector(3), vector(4), y}, gate},
                                         {"batch_norm_bwd", {x, dy, vector(2), vector(3), vector(4), y}, passed}};
  std::vector<Problem> all = problems;
  for (const Problem& problem : problems) all.push_back(with_narrow_images(problem));
  for (const Problem& problem : all) {
    const Node node = problem.node();
    KernelChoice choice = cpu_kernels(problem.op, Provider::own).front().make(problem.request(node));
    Kernel& kernel = *std::get<std::unique_ptr<Kernel>>(choice);
    const std::vector<Tensor> apart = run_kernel(kernel, problem);
    std::vector<Tensor> inputs, outputs;
    for (const Tensor& t : problem.inputs) inputs.push_back(t.clone());
    std::vector<void*> in, out;
    for (const Tensor& t : inputs) in.push_back(const_cast<void*>(t.raw()));
    bool any = false;
    for (std::size_t i = 0; i < apart.size(); ++i) {
      outputs.emplace_back(apart[i].dtype(), apart[i].shape());
      const int over = kernel.in_place[i];
      any = any || over >= 0;
      out.push_back(over >= 0 ? in[static_cast<std::size_t>(over)] : outputs[i].raw());
    }
    EXPECT_TRUE(any) << problem.op;
    GuardedBuffer scratch(kernel.scratch_bytes);
    kernel.run({in.data(), out.data(), scratch.data()});
    for (std::size_t i = 0; i < apart.size(); ++i) {
      EXPECT_EQ(std::memcmp(out[i], apart[i].raw(), apart[i].byte_size()), 0) << problem.op << " result " << i;
    }
  }
}

TEST(Normalisation, TheOwnBatchNormKeepsItsVarianceBesideALargeMean) {
  Problem problem{"batch_norm_train",
                  {random_tensor({16, 12, 12, 24}, 1, 999, 1001), random_tensor({24}, 2), random_tensor({24}, 3),
                   random_tensor({24}, 4), random_tensor({24}, 5)},
                  {}};
  const Node node = problem.node();
  KernelChoice choice = cpu_kernels("batch_norm_train", Provider::own).front().make(problem.request(node));
  const auto got = run_kernel(*std::get<std::unique_ptr<Kernel>>(choice), problem);
  const auto expected = problem.reference();
  EXPECT_LE(difference(got[1], expected[1]), 1e-7);
  EXPECT_LE(difference(got[2], expected[2]), 1e-6);
  // y loses as much as x - mean if the mean is rounded: half an ulp of 1000, with a deviation of 0.58.
  EXPECT_LE(difference(got[0], expected[0]), 1e-4);
}

TEST(Reductions, EveryKernelAgreesWithTheReference) {
  std::set<std::string> accepted;
  struct Row {
    Shape shape;
    Integers axes;
  };
  const std::vector<Row> rows = {{{4, 6, 5, 16}, {0, 1, 2}},
                                 {{700, 3}, {0}},
                                 {{513, 130}, {0}},
                                 {{3, 7, 7, 20}, {1, 2}},
                                 {{40, 3, 3, 64}, {1, 2}},
                                 {{6, 1000}, {1}},
                                 {{70000}, {}},
                                 {{5, 4, 3}, {}},
                                 {{2, 1, 9, 1, 5}, {0, 2}},
                                 {{7, 20, 33, 5}, {0, 2}},
                                 {{3, 4, 5, 6, 70}, {4, 0, 2}},
                                 {{1}, {}},
                                 {{3, 4}, {0, 1}}};
  for (const std::string op : {"reduce_sum", "reduce_mean", "reduce_max"}) {
    for (const Row& row : rows) {
      for (const bool keep : {false, true}) {
        expect_kernels_agree({op, {random_tensor(row.shape, 1, -0.5, 1)}, {{"axes", row.axes}, {"keep_dims", keep}}},
                             1e-6, accepted);
      }
    }
  }
  EXPECT_EQ(accepted.size(), 3u);
}

// Axis 66 is not axis 2.
TEST(Reductions, ManyAxesAreToldApart) {
  Integers dims(67, 1);
  dims[2] = 2;
  dims[66] = 3;
  std::set<std::string> accepted;
  expect_kernels_agree({"reduce_sum", {random_tensor(Shape(dims), 1)}, {{"axes", Integers{66}}}}, 1e-6, accepted);
  EXPECT_EQ(accepted.size(), 1u);
}

TEST(Reductions, AnEmptyAxisIsRefused) {
  const Problem problem{"reduce_sum", {Tensor(DType::f32, {2, 0, 4})}, {{"axes", Integers{1}}}};
  const Node node = problem.node();
  const KernelChoice choice = cpu_kernels("reduce_sum").front().make(problem.request(node));
  ASSERT_TRUE(std::holds_alternative<Refusal>(choice));
  EXPECT_EQ(std::get<Refusal>(choice).reason, "an empty axis is reduced");
}

TEST(Reductions, ANotANumberIsTheMaximum) {
  Problem problem{"reduce_max", {random_tensor({64, 50}, 1)}, {{"axes", Integers{0}}}};
  problem.inputs[0].set(20 * 50 + 7, std::numeric_limits<double>::quiet_NaN());
  problem.inputs[0].set(63 * 50 + 49, std::numeric_limits<double>::quiet_NaN());
  std::set<std::string> accepted;
  expect_kernels_agree(problem, 0, accepted);
  problem.attributes.set("axes", Integers{1});
  expect_kernels_agree(problem, 0, accepted);
}

TEST(Reductions, TheL2PenaltyAgreesWithTheReference) {
  std::set<std::string> accepted;
  expect_kernels_agree({"l2_penalty", {random_tensor({7}, 1)}, {{"factor", 0.5}}}, 1e-6, accepted);
  expect_kernels_agree({"l2_penalty",
                        {random_tensor({300, 300}, 1), random_tensor({13}, 2), random_tensor({1, 1030}, 3)},
                        {{"factor", 1e-4}}},
                       1e-6, accepted);
  EXPECT_EQ(accepted.size(), 1u);
}

// Sums that would change if the chunks of a pass over memory depended on the team size.
TEST(Reductions, OwnKernelsGiveTheSameBitsForAnyTeamSize) {
  const Shape shape{9, 30, 31, 24};
  const Shape c{24};
  const Problem train{
      "batch_norm_train",
      {random_tensor(shape, 1), random_tensor(c, 2), random_tensor(c, 3), random_tensor(c, 4), random_tensor(c, 5)},
      {}};
  const auto statistics = train.reference();
  const std::vector<Problem> problems = {
      {"reduce_sum", {random_tensor(shape, 1)}, {{"axes", Integers{0, 1, 2}}}},
      {"reduce_mean", {random_tensor(shape, 1)}, {}},
      {"l2_penalty", {random_tensor(shape, 1), random_tensor(shape, 2)}, {{"factor", 1.0}}},
      train,
      {"batch_norm_bwd", {train.inputs[0], random_tensor(shape, 6), train.inputs[1], statistics[1], statistics[2]}, {}},
      {"max_pool", {random_tensor(shape, 1)}, {{"kernel", Integers{3, 3}}, {"stride", Integers{2, 2}}}},
  };
  for (const Problem& problem : problems) {
    const Node node = problem.node();
    KernelChoice choice = cpu_kernels(problem.op, Provider::own).front().make(problem.request(node));
    Kernel& kernel = *std::get<std::unique_ptr<Kernel>>(choice);
    const auto run_with = [&](int threads) {
      const ComputeScope team(threads);
      return run_kernel(kernel, problem);
    };
    const auto alone = run_with(1);
    for (const int team : {2, 3, 5}) {
      const auto together = run_with(team);
      for (std::size_t i = 0; i < alone.size(); ++i) {
        EXPECT_TRUE(same_bits(alone[i], together[i]))
            << kernel.name << " result " << i << " with " << team << " threads";
      }
    }
  }
}

Tensor mask_of(std::int64_t rows) {
  Tensor mask(DType::f32, {rows});
  for (std::int64_t i = 0; i < rows; ++i) mask.set(i, i % 3 == 1 ? 0 : 1);
  return mask;
}

TEST(Losses, EveryKernelAgreesWithTheReference) {
  std::set<std::string> accepted;
  for (const auto& [rows, classes] : {std::array<std::int64_t, 2>{5, 10}, {3, 1000}, {17, 33}, {4, 2}}) {
    const Tensor logits = random_tensor({rows, classes}, 1, -20, 20);
    expect_kernels_agree({"softmax", {logits}, {}}, 1e-6, accepted);
    for (const Tensor& labels : {random_labels(rows, classes, 2), random_tensor({rows, classes}, 4, 0, 1)}) {
      for (const double smoothing : {0.0, 0.1}) {
        const Attributes attributes{{"label_smoothing", smoothing}};
        for (const bool masked : {false, true}) {
          Problem loss{"softmax_cross_entropy", {logits, labels}, attributes};
          if (masked) loss.inputs.push_back(mask_of(rows));
          expect_kernels_agree(loss, 2e-6, accepted);
          Problem backward{
              "softmax_cross_entropy_bwd", {loss.reference()[1], labels, random_tensor({rows}, 3)}, attributes};
          if (masked) backward.inputs.push_back(mask_of(rows));
          expect_kernels_agree(backward, 2e-6, accepted);
        }
      }
    }
  }
  EXPECT_EQ(accepted.size(), 3u);
}

TEST(Losses, ALabelOutsideTheClassesIsTheUsersError) {
  const auto message_of = [](const Problem& problem) -> std::string {
    const Node node = problem.node();
    KernelChoice choice = cpu_kernels(problem.op).front().make(problem.request(node));
    try {
      run_kernel(*std::get<std::unique_ptr<Kernel>>(choice), problem);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  Tensor labels = random_labels(6, 10, 2);
  labels.data<std::int32_t>()[3] = 12;
  labels.data<std::int32_t>()[5] = -1;
  const Tensor logits = random_tensor({6, 10}, 1);
  EXPECT_EQ(message_of({"softmax_cross_entropy", {logits, labels}, {}}),
            "[softmax_cross_entropy] label 12 of row 3 is outside the 10 classes");
  EXPECT_EQ(message_of({"top_k_accuracy", {logits, labels}, {{"k", std::int64_t{5}}}}),
            "[top_k_accuracy] label 12 of row 3 is outside the 10 classes");
  // A masked row may contain anything.
  Tensor mask = Tensor::zeros(DType::f32, {6});
  mask.set(0, 1);
  EXPECT_EQ(message_of({"softmax_cross_entropy", {logits, labels, mask}, {}}), "");
}

TEST(Losses, EveryAccuracyKernelAgreesWithTheReference) {
  std::set<std::string> accepted;
  Tensor logits = random_tensor({40, 12}, 1);
  for (std::int64_t i = 0; i < logits.elements(); ++i) logits.set(i, std::floor(4 * logits.at(i)));  // many ties
  logits.set(5 * 12 + 3, std::numeric_limits<double>::quiet_NaN());
  logits.set(6 * 12 + 3, std::numeric_limits<double>::infinity());
  const Tensor labels = random_labels(40, 12, 2);
  for (const bool masked : {false, true}) {
    std::vector<Tensor> inputs = {logits, labels};
    if (masked) inputs.push_back(mask_of(40));
    expect_kernels_agree({"argmax_accuracy", inputs, {}}, 0, accepted);
    for (const std::int64_t k : {1, 5}) expect_kernels_agree({"top_k_accuracy", inputs, {{"k", k}}}, 0, accepted);
  }
  EXPECT_EQ(accepted.size(), 2u);
}

TEST(Copies, EveryKernelMovesTheSameElementsAsTheReference) {
  std::set<std::string> accepted;
  const auto agree = [&](const std::string& op, const Shape& shape, const Attributes& attributes) {
    expect_kernels_agree({op, {random_tensor(shape, 1)}, attributes}, 0, accepted);
  };
  agree("reshape", {4, 6}, {{"shape", Integers{3, 8}}});
  for (const std::string order : {"hwc", "chw"}) {
    agree("flatten", {3, 6, 5, 17}, {{"order", order}});
    agree("unflatten", {3, 6 * 5 * 17}, {{"order", order}, {"shape", Integers{3, 6, 5, 17}}});
  }
  agree("transpose", {3, 70, 45}, {{"permutation", Integers{0, 2, 1}}});
  agree("transpose", {5, 4, 3, 2}, {{"permutation", Integers{3, 1, 0, 2}}});
  agree("transpose", {5, 4, 3, 2}, {{"permutation", Integers{2, 3, 0, 1}}});
  agree("transpose", {6, 7}, {{"permutation", Integers{0, 1}}});
  agree("broadcast_to", {1}, {{"shape", Integers{4, 5}}});
  agree("broadcast_to", {5, 1, 3}, {{"shape", Integers{2, 5, 4, 3}}});
  agree("broadcast_to", {7, 1}, {{"shape", Integers{7, 9}}});
  agree("broadcast_to", {}, {{"shape", Integers{3}}});
  agree("pad", {2, 5, 5, 6}, {{"low", Integers{0, 1, 2, 3}}, {"high", Integers{0, 0, 1, 3}}});
  agree("pad", {4, 6}, {{"low", Integers{-1, 2}}, {"high", Integers{1, -3}}, {"value", 2.5}});
  agree("pad", {2, 3}, {{"low", Integers{-2, 0}}, {"high", Integers{5, 0}}, {"value", 0.0}});
  const Problem minus_zero{
      "pad", {random_tensor({2, 3}, 1)}, {{"low", Integers{1, 0}}, {"high", Integers{0, 2}}, {"value", -0.0}}};
  const Node padded = minus_zero.node();
  for (const KernelEntry& entry : cpu_kernels("pad")) {
    KernelChoice choice = entry.make(minus_zero.request(padded));
    ASSERT_TRUE(std::holds_alternative<std::unique_ptr<Kernel>>(choice)) << entry.name;
    EXPECT_TRUE(
        same_bits(run_kernel(*std::get<std::unique_ptr<Kernel>>(choice), minus_zero)[0], minus_zero.reference()[0]))
        << entry.name;
  }
  const Attributes slice{{"start", Integers{0, 1, 0, 2}}, {"stride", Integers{1, 2, 3, 1}}};
  Attributes forward = slice;
  forward.set("size", Integers{2, 4, 3, 5});
  agree("strided_slice", {2, 9, 8, 9}, forward);
  Attributes backward = slice;
  backward.set("input", Integers{2, 9, 8, 9});
  agree("strided_slice_bwd", {2, 4, 3, 5}, backward);
  EXPECT_EQ(accepted.size(), 8u);
}

TEST(Copies, BytesAndDoublesAreMovedToo) {
  std::set<std::string> accepted;
  Tensor bytes(DType::u8, {3, 33, 20});
  for (std::int64_t i = 0; i < bytes.elements(); ++i) bytes.set(i, static_cast<double>(i % 251));
  expect_kernels_agree({"transpose", {bytes}, {{"permutation", Integers{1, 2, 0}}}}, 0, accepted);
  Tensor doubles(DType::f64, {33, 20});
  for (std::int64_t i = 0; i < doubles.elements(); ++i) doubles.set(i, 1.0 / static_cast<double>(i + 1));
  expect_kernels_agree({"transpose", {doubles}, {{"permutation", Integers{1, 0}}}}, 0, accepted);
}

TEST(ImageTail, TheKernelGivesTheReferencesBits) {
  std::set<std::string> accepted;
  Tensor image(DType::u8, {3, 5, 7, 3});
  for (std::int64_t i = 0; i < image.elements(); ++i) image.set(i, static_cast<double>(i * 37 % 256));
  const Attributes attributes{{"mean", std::vector<double>{0.485, 0.456, 0.406}},
                              {"std", std::vector<double>{0.229, 0.224, 0.225}}};
  expect_kernels_agree({"image_tail", {image}, attributes}, 0, accepted);
  expect_kernels_agree({"image_tail", {image, Tensor::of<std::uint8_t>({1, 0, 1}, {3})}, attributes}, 0, accepted);
}

}  // namespace
}  // namespace ridgeline
