// Teams with more threads than the machine has: kernels divide sums for them and give correct results; if equal bits
// are promised, they are those of one thread.
#include <gtest/gtest.h>

#include "every_entry.h"
#include "ridgeline/core/threads.h"

namespace ridgeline {
namespace {

using Integers = std::vector<std::int64_t>;

Problem gradient_of_weights(const Shape& image, std::int64_t filters, std::int64_t taps, DType type) {
  const std::int64_t pad = taps / 2;
  const Attributes window{{"stride", Integers{1, 1}}, {"pad", Integers{pad, pad, pad, pad}}};
  const Shape result{image[0], image[1], image[2], filters};
  Problem problem{
      "conv2d_bwd_weights", {as_type(random_tensor(image, 1), type), as_type(random_tensor(result, 2), type)}, window};
  problem.attributes.set("kernel", Integers{taps, taps});
  problem.attributes.set("bias", true);
  return problem;
}

// Few columns and many pixels, where sums are divided; many filters and columns, where results are; and sizes in
// between.
std::vector<Problem> team_problems() {
  std::vector<Problem> all;
  for (const DType type : {DType::f32, DType::bf16}) {
    all.push_back(gradient_of_weights({4, 33, 31, 16}, 24, 3, type));
    all.push_back(gradient_of_weights({4, 40, 41, 32}, 40, 1, type));
    all.push_back(gradient_of_weights({9, 7, 7, 128}, 160, 1, type));
    all.push_back(gradient_of_weights({3, 14, 14, 64}, 96, 3, type));
    all.push_back(gradient_of_weights({5, 27, 27, 32}, 32, 5, type));
  }
  const Tensor x = random_tensor({6, 20, 21, 70}, 3), dy = random_tensor({6, 20, 21, 70}, 4);
  const Tensor scale = random_tensor({70}, 5, 0.5, 2), shift = random_tensor({70}, 6);
  all.push_back({"batch_norm_train", {x, scale, shift, shift, scale}, {}});
  all.push_back({"batch_norm_bwd", {x, dy, scale, shift, scale}, {}});
  all.push_back({"dense_bwd_weights", {random_tensor({64, 700}, 1), random_tensor({64, 500}, 4)}, {{"bias", true}}});
  return all;
}

std::vector<Tensor> by(const KernelEntry& entry, const Problem& problem, int threads) {
  const ComputeScope team(usable_threads(threads));
  const Node node = problem.node();
  KernelChoice choice = entry.make(problem.request(node));
  if (std::holds_alternative<Refusal>(choice)) return {};
  Poisoned poisoned(*std::get<std::unique_ptr<Kernel>>(choice));
  return run_kernel(poisoned, problem);
}

TEST(LargeTeams, SumsThatAreCutForTheTeamAreRight) {
  int taken = 0;
  for (const Problem& problem : team_problems()) {
    const std::vector<Tensor> expected = reference_in_f64(problem);
    const bool narrow = problem.inputs[0].dtype() == DType::bf16;
    for (const KernelEntry& entry : cpu_kernels(problem.op)) {
      if (entry.provider != Provider::own) continue;
      for (const int threads : {5, 16, 64}) {
        const std::vector<Tensor> got = by(entry, problem, threads);
        for (std::size_t i = 0; i < got.size(); ++i) {
          ++taken;
          ASSERT_NO_FATAL_FAILURE(expect_allowed(got[i], expected[i], {narrow ? 2e-3 : 2e-5, narrow ? 2.0 : 0}, {},
                                                 problem.op + " by " + std::string(entry.name) + " with " +
                                                     std::to_string(threads) + " threads, result " +
                                                     std::to_string(i)));
        }
      }
    }
  }
  EXPECT_GT(taken, 60);
}

TEST(LargeTeams, GiveTheBitsOfOneThreadWhereTheyArePromised) {
  for (Problem problem : team_problems()) {
    problem.bits = Reproducibility::deterministic;
    for (const KernelEntry& entry : cpu_kernels(problem.op)) {
      if (entry.provider != Provider::own || entry.promise.bits < problem.bits) continue;
      const std::vector<Tensor> one = by(entry, problem, 1);
      for (const int threads : {5, 16, 64}) {
        const std::vector<Tensor> got = by(entry, problem, threads);
        for (std::size_t i = 0; i < got.size(); ++i) {
          EXPECT_TRUE(same_bits(got[i], one[i]))
              << problem.op << " by " << entry.name << " with " << threads << " threads, result " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline
