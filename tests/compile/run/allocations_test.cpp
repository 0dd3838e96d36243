// A step allocates nothing: its memory is planned, and additional memory of kernels is allocated with them.
#include "tests/support/allocations.h"

#include <gtest/gtest.h>

#include <string>

#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/library.h"
#include "tests/compile/small_step.h"
#include "tests/support/environment.h"

namespace ridgeline {
namespace {

// Pools, LRN, dropout and dense layers; batch norms and residual sums; convolutions in groups.
constexpr SmallStep kSteps[] = {{"alexnet", 67, 4}, {"resnet20", 32, 4}, {"mobilenet_v2", 32, 4}};

struct StepAllocations : Allocations {
  bool library = false;  // one of the kernels is the library's
};

// The allocations of two steps after two other steps.
StepAllocations allocations_of(const SmallStep& small, const char* precision) {
  CompiledStep compiled(small, precision);
  Program& program = compiled.program();
  bool library = false;
  for (const LaunchReport& launch : program.launches()) {
    // References may allocate tensors.
    EXPECT_FALSE(launch.kernel.starts_with("reference")) << launch.node << " has no kernel but the reference";
    library = library || launch.kernel.starts_with("onednn");
  }
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(program.run());
  AllocationCount count;
  bool ran = program.run();
  ran = program.run() && ran;
  const Allocations allocations = count.end();
  EXPECT_TRUE(ran);
  return {allocations, library};
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

// The library's own code keeps small records.
void expect_records_only(const Allocations& allocations) { EXPECT_LT(allocations.largest, std::size_t{64} << 10); }

TEST(Allocations, AStepOnOurKernelsMakesNone) {
  if (!kAllocationsAreCounted) GTEST_SKIP() << "the sanitizer has a heap of its own";
  const ScopedVariable own("RIDGELINE_KERNELS", "own");
  for_each_step([](const SmallStep& small, const char* precision) {
    const StepAllocations allocations = allocations_of(small, precision);
    if (allocations.library) {
      // On processors with fast bf16 products, bf16 depthwise convolutions use the library.
      EXPECT_STREQ(small.model, "mobilenet_v2");
      EXPECT_STREQ(precision, "allow_mix_precision_bf16");
      return expect_records_only(allocations);
    }
    EXPECT_EQ(allocations.blocks, 0);
  });
}

TEST(Allocations, AStepOnTheLibrarysKernelsMakesNoneOfMemoryThatItComputesIn) {
  if (!kAllocationsAreCounted) GTEST_SKIP() << "the sanitizer has a heap of its own";
  if (device::library_kernels().empty()) GTEST_SKIP() << "this build has no kernel library";
  const ScopedVariable library("RIDGELINE_KERNELS", "library");
  for_each_step([](const SmallStep& small, const char* precision) {
    // A block of 2 MB is allocated there, apparently if dense layers use plain products of the library.
    if (device::active_isa() == device::Isa::avx2 && std::string(small.model) == "alexnet" &&
        std::string(precision) == "must_keep_origin_dtype")
      return;
    expect_records_only(allocations_of(small, precision));
  });
}

}  // namespace
}  // namespace ridgeline
