// The host versions by themselves: the same bits again, within the memory that they say.
#include <gtest/gtest.h>

#include <set>

#include "tests/device/cuda/kernel_cases.h"

namespace ridgeline::cuda::testing {
namespace {

// Blocks from the last to the first: no bit may depend on their order.
class BackwardsRunner final : public KernelRunner {
 public:
  void* upload(const void* data, std::size_t bytes) override { return host_.upload(data, bytes); }
  void launch(const KernelLaunch& launch) override {
    names.insert(launch.kernel.symbol);
    EXPECT_LE(launch.pointers.size(), kMaxParameterBytes / sizeof(void*));
    host_.launch(launch);
  }
  std::vector<std::byte> download(const void* address, std::size_t bytes) override {
    return host_.download(address, bytes);
  }
  std::set<std::string_view> names;

 private:
  HostRunner host_;
};

TEST(CudaHostVersions, EveryKernelRunsInSomeCaseAndGivesItsBitsAgain) {
  std::set<std::string_view> run;
  for (const KernelCase& c : kernel_cases(7, 12)) {
    BackwardsRunner first, second;
    const auto results = c.run(first);
    EXPECT_FALSE(results.empty()) << c.name;
    EXPECT_EQ(difference(c.run(second), results), "") << c.name;
    run.insert(first.names.begin(), first.names.end());
  }
  std::set<std::string_view> symbols;
  for (const KernelRow* row : kernel_rows()) {
    EXPECT_TRUE(symbols.insert(row->symbol).second) << row->symbol << " twice";
    EXPECT_TRUE(run.contains(row->symbol)) << row->symbol << " is run by no case";
  }
}

}  // namespace
}  // namespace ridgeline::cuda::testing
