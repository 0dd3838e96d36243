#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/device/cuda/device_support.h"
#include "tests/device/cuda/entry_checks.h"

namespace ridgeline::cuda::testing {
namespace {

TEST(CudaKernels, EveryEntryGivesTheReferencesResultsInEachType) {
  RecordingDevice card;
  const EntryChecks checks = check_entries(card.device);
  EXPECT_THAT(checks.wrong, ::testing::IsEmpty());
  // Every row of the table was tried: none refuses all of its op's cases.
  for (const OpDef& def : all_ops()) {
    for (const KernelEntry& entry : card.device.kernels(def.name))
      EXPECT_TRUE(checks.ran.contains(def.name + " " + std::string(entry.name))) << def.name << " by " << entry.name;
  }
}

}  // namespace
}  // namespace ridgeline::cuda::testing
