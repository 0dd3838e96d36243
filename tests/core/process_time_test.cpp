#include "ridgeline/core/process_time.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace ridgeline {
namespace {

TEST(ProcessTime, AdvancesWithTheClockFromTheStartOfTheProcess) {
  const double before = process_milliseconds();
  EXPECT_GE(before, 0);
  EXPECT_LT(before, 24 * 3600e3);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_GE(process_milliseconds() - before, 29);
}

}  // namespace
}  // namespace ridgeline
