// tests/device/cuda/plans/plans_support.h
//
// cuDNN where no card is: the library with the fake driver in front of it, and descriptions of cards.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/device/cuda/cudnn/functions.h"
#include "ridgeline/device/cuda/plans/libraries.h"

namespace ridgeline::cuda::testing {

// cuDNN's functions, or null with the reason why a test that needs them is skipped.
struct CudnnWithoutCard {
  const cudnn::Functions* functions = nullptr;
  std::string why;
};
// Opened once a process, behind the fake driver.
const CudnnWithoutCard& cudnn_without_card();

// The library's description of a card: "sm_80" or "sm_90".
std::string card_description(const std::string& card);

// A card that is not there: plans are made for the description, a handle is taken for granted, and what runs is told to
// `runs`. One at a time.
class PretendedCard {
 public:
  explicit PretendedCard(const std::string& card);
  ~PretendedCard();
  const cudnn::Functions& functions() const { return functions_; }

  int runs_that_fail = 0;  // the next ones
  int runs = 0;            // that did not fail

 private:
  cudnn::Functions functions_;
  cudnn::Target described_;
};

// Lines that were warned of.
struct Warnings {
  std::vector<std::string> lines;
  std::function<void(const std::string&)> sink() {
    return [this](const std::string& line) { lines.push_back(line); };
  }
};

}  // namespace ridgeline::cuda::testing

// In a test: ends it where cuDNN is not installed.
#define RIDGELINE_NEEDS_CUDNN()                                                \
  if (::ridgeline::cuda::testing::cudnn_without_card().functions == nullptr) { \
    GTEST_SKIP() << ::ridgeline::cuda::testing::cudnn_without_card().why;      \
  }                                                                            \
  static_assert(true)
