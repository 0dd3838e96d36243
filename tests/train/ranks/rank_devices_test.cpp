// The device that each rank uses.
#include <gtest/gtest.h>

#include "ridgeline/train/ranks/ranks.h"

namespace ridgeline::train {
namespace {

std::string device_of_rank(const std::string& device, int number) {
  RunRanks ranks;
  ranks.device = number;
  return for_ranks({.device = device}, ranks).device;
}

TEST(RankDevices, OfAKindWithNumbersEachRankTakesItsOwn) {
  EXPECT_EQ(device_of_rank("cuda", 0), "cuda");
  EXPECT_EQ(device_of_rank("cuda", 1), "cuda:1");
  EXPECT_EQ(device_of_rank("simulated", 3), "simulated:3");
}

TEST(RankDevices, WhatIsNamedByItsNumberIsSharedAndWhatHasNoneStays) {
  EXPECT_EQ(device_of_rank("cuda:0", 1), "cuda:0");
  EXPECT_EQ(device_of_rank("cpu", 1), "cpu");
}

}  // namespace
}  // namespace ridgeline::train
