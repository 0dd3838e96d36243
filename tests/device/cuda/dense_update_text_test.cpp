// Updates of dense weights as texts: what g++ makes of them, which multiplies as tensor cores do and from the same
// places in shared memory, has the reference's results, and NVRTC takes them for every card.
#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cuda/loop/nvrtc.h"
#include "ridgeline/graph/loop/text.h"
#include "tests/device/cuda/dense_updates.h"
#include "tests/device/cuda/loop_texts.h"
#include "tests/device/cuda/op_support.h"
#include "tests/support/environment.h"

namespace ridgeline::cuda::testing {
namespace {

// The results by the launches of a kernel; in place: next states over the old ones.
std::vector<Tensor> run_update(const UpdateKernel& kernel, const CompiledTexts& compiled, const NodeProblem& problem,
                               bool in_place, bool aligned = true) {
  std::vector<std::vector<std::uint8_t>> memory;
  std::vector<void*> in, out;
  const auto place = [&](std::size_t bytes) {
    memory.emplace_back(bytes + 64, 0xcd);
    auto* const begin = memory.back().data();
    // std::vector's memory begins at 16 bytes; unaligned, at an element.
    return begin + (aligned ? 0 : 4);
  };
  for (const Tensor& t : problem.inputs) {
    in.push_back(place(t.byte_size()));
    std::memcpy(in.back(), t.raw(), t.byte_size());
  }
  const std::vector<int> over = kernel.in_place();
  for (std::size_t r = 0; r < problem.outputs.size(); ++r)
    out.push_back(in_place && over[r] >= 0 ? in[static_cast<std::size_t>(over[r])] : place(problem.outputs[r].bytes()));
  auto room = scratch(kernel.scratch_bytes());
  kernel.give([&](const KernelLaunch& launch) { compiled.run(launch); }, in.data(), out.data(), room.data());
  std::vector<Tensor> results;
  for (std::size_t r = 0; r < problem.outputs.size(); ++r) {
    results.emplace_back(problem.outputs[r].dtype, problem.outputs[r].shape);
    std::memcpy(results.back().raw(), out[r], results.back().byte_size());
  }
  return results;
}

TEST(CudaDenseUpdateTexts, RandomUpdatesHaveTheReferencesBitsWhereSumsAreExactElseAreInTheBand) {
  const auto count = static_cast<unsigned>(number_from_environment("RIDGELINE_CUDA_UPDATES", 24));
  std::vector<UpdateCase> cases;
  std::vector<std::unique_ptr<UpdateKernel>> kernels;
  std::vector<std::string> texts;
  for (unsigned seed = 0; seed < count; ++seed) {
    cases.push_back(random_update(seed));
    kernels.push_back(kernel_of(cases.back().problem));
    texts.push_back(kernels.back()->text().text);
  }
  const CompiledTexts compiled(texts);
  for (unsigned seed = 0; seed < count; ++seed) {
    const UpdateCase& c = cases[seed];
    SCOPED_TRACE(std::to_string(seed) + ": " + text_of(c));
    const bool in_place = seed % 3 != 0, aligned = seed % 7 != 3;
    EXPECT_EQ(unlike_reference(c, run_update(*kernels[seed], compiled, c.problem, in_place, aligned)), "");
  }
}

bool nvrtc_is_here() {
  try {
    nvrtc_version();
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(CudaDenseUpdateTexts, NvrtcTakesThemForEachCardAndNothingLiesInLocalMemory) {
  if (!nvrtc_is_here()) GTEST_SKIP() << "NVRTC is not here";
  for (const NodeProblem& update : all_updates()) {
    const auto kernel = kernel_of(update);
    const UpdateText& text = kernel->text();
    for (const char* architecture : {"sm_80", "sm_90a"}) {
      const auto cubin = compile_text(text.name, text.text, architecture);
      EXPECT_FALSE(cubin.empty());
      EXPECT_EQ(local_bytes(cubin, text.name), 0u)
          << architecture << " " << update.node.attributes.string("expression");
    }
    EXPECT_EQ(text.text.find("atomic"), std::string::npos);
  }
}

TEST(CudaDenseUpdateTexts, OtherSizesShareAKernelAndOtherRulesDoNot) {
  const auto update = [](std::int64_t rows, std::int64_t inputs, const char* expression) {
    const Tensor w(DType::f32, Shape{8, inputs}), x(DType::bf16, Shape{rows, inputs}), dy(DType::bf16, Shape{rows, 8});
    return kernel_of(NodeProblem("dense_update", {w, x, dy, Tensor(DType::f32, Shape{})},
                                 {{"expression", std::string(expression)}, {"states", std::int64_t{1}}}))
        ->text()
        .name;
  };
  EXPECT_EQ(update(5, 8, "x0 - x2 * x1"), update(256, 1001, "x0 - x2 * x1"));
  EXPECT_NE(update(5, 8, "x0 - x2 * x1"), update(5, 8, "x0 - x2 * x1 * 2"));
}

TEST(CudaDenseUpdateTexts, WhatTheyCannotDoIsRefusedWithItsReason) {
  const auto refusal = [](const char* expression, std::int64_t states, DType values) {
    const auto made =
        update_text(loop::parse(expression), DenseUpdate({{"states", states}, {"bias", false}, {"squares", false}}),
                    values, {}, {});
    const auto* refused = std::get_if<Refusal>(&made);
    return refused == nullptr ? std::string() : refused->reason;
  };
  EXPECT_EQ(refusal("x0 - x1", 1, DType::f16), "");
  EXPECT_EQ(refusal("x0 - x1", 1, DType::f32), "x is f32, tensor cores multiply bf16 and f16");
  EXPECT_EQ(refusal("x0 - x1 * uniform(x2, 7)", 1, DType::bf16), "random numbers in an update");
  EXPECT_EQ(refusal("x0 - x9; x1; x2; x3; x4; x5; x6; x7; x8", 9, DType::bf16), "more than 8 states");
}

}  // namespace
}  // namespace ridgeline::cuda::testing
