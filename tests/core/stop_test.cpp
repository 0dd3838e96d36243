#include "ridgeline/core/stop.h"

#include <gtest/gtest.h>

#include <thread>

namespace ridgeline {
namespace {

TEST(StopScope, SpeaksForItsThreadAndForThoseThatHelpIt) {
  EXPECT_FALSE(stop_wanted());
  std::atomic<bool> outer{true}, inner{false};
  {
    const StopScope a(outer);
    EXPECT_TRUE(stop_wanted());
    {
      const StopScope b(inner);
      EXPECT_FALSE(stop_wanted());
    }
    bool alone = true, helping = false;
    const std::atomic<bool>* const flag = stop_flag();
    std::thread([&] {
      alone = stop_wanted();
      const StopScope c(flag);
      helping = stop_wanted();
    }).join();
    EXPECT_FALSE(alone);
    EXPECT_TRUE(helping);
  }
  EXPECT_EQ(stop_flag(), nullptr);
  const StopScope nobody(stop_flag());
  EXPECT_FALSE(stop_wanted());
}

}  // namespace
}  // namespace ridgeline
