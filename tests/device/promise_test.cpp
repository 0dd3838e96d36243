// Promises of kernels about bits: the same for any team size, or on any machine. Kernels without the requested promise
// are not used.
#include <array>
#include <stdexcept>

#include "kernel_testing.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/cpu_device.h"
#include "ridgeline/device/cpu/isa.h"
#include "tests/support/error_of.h"
#include "tests/support/forced_isa.h"

namespace ridgeline {
namespace {

using Integers = std::vector<std::int64_t>;
using device::Isa;

struct PromisedLayer {
  Shape image;
  std::int64_t filters;
  Integers kernel, stride = {1, 1}, pad = {0, 0, 0, 0}, dilation = {1, 1};
  std::int64_t groups = 1;
};

void add_convolution(std::vector<Problem>& problems, const PromisedLayer& l) {
  const Attributes window{{"stride", l.stride}, {"pad", l.pad}, {"dilation", l.dilation}, {"groups", l.groups}};
  const Shape weights{l.filters, l.kernel[0], l.kernel[1], l.image[3] / l.groups};
  Problem forward{
      "conv2d", {random_tensor(l.image, 1), random_tensor(weights, 2), random_tensor({l.filters}, 3)}, window};
  forward.attributes.set("activation", std::string("relu"));
  const Shape result = forward.output_types()[0].shape;
  Problem data{"conv2d_bwd_data", {random_tensor(result, 4), random_tensor(weights, 2)}, window};
  data.attributes.set("input", l.image.dims());
  Problem gradient{"conv2d_bwd_weights", {random_tensor(l.image, 1), random_tensor(result, 4)}, window};
  gradient.attributes.set("kernel", l.kernel);
  gradient.attributes.set("bias", true);
  for (Problem* p : {&forward, &data, &gradient}) problems.push_back(std::move(*p));
}

// A few problems of every op that has kernels besides the loop interpreter.
std::vector<Problem> problems() {
  std::vector<Problem> all;
  add_convolution(all, {{2, 9, 9, 16}, 32, {3, 3}, {1, 1}, {1, 1, 1, 1}});
  add_convolution(all, {{2, 23, 23, 3}, 20, {11, 11}, {4, 4}, {2, 2, 2, 2}});
  add_convolution(all, {{1, 8, 130, 5}, 70, {3, 5}, {1, 2}, {1, 0, 2, 1}});
  add_convolution(all, {{3, 8, 8, 24}, 24, {1, 1}, {2, 2}});
  add_convolution(all, {{3, 7, 7, 70}, 33, {1, 1}});
  add_convolution(all, {{2, 10, 9, 12}, 18, {3, 3}, {2, 1}, {2, 2, 2, 2}, {2, 2}, 3});
  // Ops without a bias, which have their own kernels.
  add_convolution(all, {{2, 29, 31, 64}, 128, {1, 1}});
  (all.end() - 3)->inputs.pop_back();
  (all.end() - 3)->attributes.set("activation", std::string("none"));
  all.back().attributes.set("bias", false);
  for (const auto& [n, c, k] : {std::array<std::int64_t, 3>{5, 300, 70}, {130, 33, 129}, {1, 700, 3}}) {
    all.push_back({"dense", {random_tensor({n, c}, 1), random_tensor({k, c}, 2), random_tensor({k}, 3)}, {}});
    all.push_back({"dense_bwd_data", {random_tensor({n, k}, 4), random_tensor({k, c}, 2)}, {}});
    all.push_back({"dense_bwd_weights", {random_tensor({n, c}, 1), random_tensor({n, k}, 4)}, {{"bias", true}}});
  }
  const Tensor x = random_tensor({3, 12, 11, 37}, 1), dy = random_tensor({3, 12, 11, 37}, 2);
  const Tensor scale = random_tensor({37}, 3, 0.5, 2), shift = random_tensor({37}, 4);
  const Attributes window{{"kernel", Integers{3, 3}}, {"stride", Integers{2, 2}}, {"pad", Integers{1, 1, 1, 1}}};
  Attributes with_input = window;
  with_input.set("input", x.shape().dims());
  all.push_back({"max_pool", {x}, window});
  all.push_back({"avg_pool", {x}, window});
  all.push_back({"avg_pool_bwd", {random_tensor({3, 6, 6, 37}, 5)}, with_input});
  all.push_back({"lrn", {x}, {}});
  all.push_back({"lrn_bwd", {x, dy}, {}});
  all.push_back({"batch_norm_train", {x, scale, shift, shift, scale}, {}});
  all.push_back({"batch_norm_bwd", {x, dy, scale, shift, scale}, {}});
  all.push_back({"batch_norm_eval", {x, scale, shift, shift, scale}, {}});
  all.push_back({"reduce_sum", {x}, {}});
  all.push_back({"reduce_mean", {x}, {{"axes", Integers{1, 2}}}});
  all.push_back({"reduce_sum", {x}, {{"axes", Integers{3}}}});
  all.push_back({"reduce_max", {x}, {{"axes", Integers{0, 1, 2}}}});
  all.push_back({"l2_penalty", {random_tensor({70, 1001}, 6), random_tensor({33}, 7)}, {{"factor", 0.1}}});
  const Tensor logits = random_tensor({9, 1003}, 8, -5, 5);
  all.push_back({"softmax", {logits}, {}});
  all.push_back({"softmax_cross_entropy", {logits, random_labels(9, 1003, 1)}, {{"label_smoothing", 0.1}}});
  all.push_back({"softmax_bwd", {logits, random_tensor({9, 1003}, 9)}, {}});
  for (const char* op : {"softmax", "softmax_bwd"}) {
    Problem columns{op, {x}, {{"axis", std::int64_t{1}}}};
    if (op == std::string("softmax_bwd")) columns.inputs.push_back(dy);
    all.push_back(columns);
  }
  for (const bool turned : {false, true}) {
    all.push_back({"matmul",
                   {random_tensor({3, 70, 300}, 1), random_tensor(turned ? Shape{3, 90, 300} : Shape{3, 300, 90}, 2)},
                   {{"transpose_b", turned}}});
    all.push_back({"matmul",
                   {random_tensor(turned ? Shape{700, 33} : Shape{33, 700}, 1), random_tensor({700, 200}, 2)},
                   {{"transpose_a", turned}}});
  }
  all.push_back({"layer_norm", {x, scale, shift}, {}});
  all.push_back({"layer_norm_bwd", {x, dy, scale, random_tensor({3, 12, 11}, 5), random_tensor({3, 12, 11}, 6)}, {}});
  const Attributes one_group{{"groups", std::int64_t{1}}};
  all.push_back({"group_norm", {x, scale, shift}, one_group});
  all.push_back({"group_norm_bwd", {x, dy, scale, random_tensor({3, 1}, 5), random_tensor({3, 1}, 6)}, one_group});
  const Tensor numbers = random_labels(200, 70, 3);
  all.push_back({"gather", {random_tensor({70, 33}, 6), numbers}, {}});
  all.push_back({"gather_bwd", {random_tensor({200, 33}, 6), numbers}, {{"input", Integers{70, 33}}}});
  all.push_back({"concat", {x, random_tensor({3, 12, 11, 5}, 7)}, {{"axis", std::int64_t{3}}}});
  all.push_back({"split", {x}, {{"axis", std::int64_t{3}}, {"sizes", Integers{30, 7}}}});
  all.push_back({"loop", {x, dy}, {{"expression", std::string("sum(exp(x0) * x1); x0 * x1 + x0")}}});
  return all;
}

std::vector<Tensor> results(const KernelEntry& entry, const Problem& problem, int threads) {
  const ComputeScope team(usable_threads(threads));
  const Node node = problem.node();
  KernelChoice choice = entry.make(problem.request(node));
  if (std::holds_alternative<Refusal>(choice)) return {};
  return run_kernel(*std::get<std::unique_ptr<Kernel>>(choice), problem);
}

// Every kernel of at least this level, compared with itself with one thread under the first of `isas`.
void expect_promise(Reproducibility level, const std::vector<Isa>& isas) {
  std::set<std::string> kept;
  for (Problem problem : problems()) {
    problem.bits = level;
    for (const KernelEntry& entry : cpu_kernels(problem.op)) {
      if (entry.promise.bits < level || entry.provider == Provider::reference) continue;
      std::vector<Tensor> expected;
      for (const Isa isa : isas) {
        const ForcedIsa forced(isa);
        for (const int threads : {1, 2, 3, 16}) {
          const std::vector<Tensor> got = results(entry, problem, threads);
          if (expected.empty()) expected = got;
          for (std::size_t i = 0; i < got.size(); ++i) {
            EXPECT_TRUE(same_bits(got[i], expected[i]))
                << entry.op << " " << entry.name << " result " << i << " on " << problem.inputs[0].shape().to_string()
                << " with " << threads << " threads under " << device::name_of(isa);
          }
        }
      }
      if (!expected.empty()) kept.insert(std::string(entry.op));
    }
  }
  for (const Problem& problem : problems()) EXPECT_TRUE(kept.contains(problem.op)) << "nobody promises " << problem.op;
}

TEST(Promise, DeterministicKernelsGiveTheSameBitsForAnyTeam) {
  expect_promise(Reproducibility::deterministic, {device::active_isa()});
}

TEST(Promise, PortableKernelsGiveTheSameBitsForAnyTeamOnAnyMachine) {
  const auto machine = device::machine_isas();
  expect_promise(Reproducibility::portable, {machine.begin(), machine.end()});
}

TEST(Promise, WhoCannotKeepItIsRefusedWithTheReason) {
  std::vector<Problem> all;
  add_convolution(all, {{2, 9, 9, 16}, 32, {3, 3}, {1, 1}, {1, 1, 1, 1}});
  const Problem& problem = all[0];
  const Node node = problem.node();
  const auto refusal = [&](std::string_view name, const KernelPromise& promise) -> std::string {
    for (const KernelEntry& entry : cpu_kernels("conv2d")) {
      if (entry.name != name) continue;
      KernelRequest request = problem.request(node);
      request.promise = promise;
      const KernelChoice choice = entry.make(request);
      return std::holds_alternative<Refusal>(choice) ? std::get<Refusal>(choice).reason : "";
    }
    return "no such entry";
  };
  const KernelPromise deterministic{Reproducibility::deterministic, false};
  const KernelPromise portable{Reproducibility::portable, false};
  if (has_library()) {
    EXPECT_EQ(refusal("onednn", {}), "");
    EXPECT_EQ(refusal("onednn", deterministic),
              "its bits depend on the machine and the size of the team, and reproducibility is deterministic");
  }
  EXPECT_EQ(refusal("winograd", deterministic), "");
  EXPECT_EQ(refusal("winograd", portable), "its bits depend on the machine, and reproducibility is portable");
  EXPECT_EQ(refusal("winograd", {Reproducibility::fast, true}),
            "it saves multiplications at the cost of accuracy, and high precision is asked for");
  EXPECT_EQ(refusal("direct", {Reproducibility::portable, true}), "");
  EXPECT_EQ(error_of([] { reproducibility_named("bitwise"); }),
            "unknown reproducibility 'bitwise' (allowed: fast, deterministic, portable)");
}

// The level of convolutions or dense layers of any shape.
KernelEntry direct_entry(std::string_view op) {
  for (const KernelEntry& entry : cpu_kernels(op)) {
    if (entry.name == "direct" || entry.name == "rows") return entry;
  }
  throw std::runtime_error("no direct kernel of " + std::string(op));
}

std::vector<Problem> dense_problems(std::int64_t rows) {
  const Tensor x = random_tensor({rows, 8}, 1), w = random_tensor({5, 8}, 2), dy = random_tensor({rows, 5}, 3);
  return {{"dense", {x, w}, {}}, {"dense_bwd_data", {dy, w}, {}}, {"dense_bwd_weights", {x, dy}, {}}};
}

TEST(DirectKernels, RefuseWhatIsEmpty) {
  std::vector<Problem> all = dense_problems(0);
  const Tensor x(DType::f32, {0, 4, 4, 8}), w = random_tensor({8, 3, 3, 8}, 4), dy(DType::f32, {0, 2, 2, 8});
  all.push_back({"conv2d", {x, w}, {}});
  all.push_back({"conv2d_bwd_weights", {x, dy}, {{"kernel", std::vector<std::int64_t>{3, 3}}}});
  for (const Problem& problem : all) {
    const Node node = problem.node();
    const KernelChoice choice = direct_entry(problem.op).make(problem.request(node));
    ASSERT_TRUE(std::holds_alternative<Refusal>(choice)) << problem.op;
    EXPECT_EQ(std::get<Refusal>(choice).reason, "an operand or result is empty") << problem.op;
  }
}

// Their scratch memory has a part for each thread of the team at the time when they were made.
TEST(DirectKernels, AreRunByTheTeamThatTheyWereMadeFor) {
  std::vector<Problem> all = dense_problems(700);
  add_convolution(all, {{2, 19, 19, 16}, 32, {3, 3}, {1, 1}, {1, 1, 1, 1}});
  for (const Problem& problem : all) {
    const Node node = problem.node();
    std::vector<Tensor> expected;
    const std::unique_ptr<Kernel> kernel = [&] {
      const ComputeScope alone(1);
      KernelChoice choice = direct_entry(problem.op).make(problem.request(node));
      expected = run_kernel(*std::get<std::unique_ptr<Kernel>>(choice), problem);
      return std::move(std::get<std::unique_ptr<Kernel>>(choice));
    }();
    const ComputeScope team(8);
    const std::vector<Tensor> got = run_kernel(*kernel, problem);  // checks the memory after the scratch memory
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(got[i], expected[i])) << problem.op;
  }
}

}  // namespace
}  // namespace ridgeline
