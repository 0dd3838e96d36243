// cuDNN where no card is: the library with the fake driver in front of it, and descriptions of cards.
#pragma once

#include <memory>
#include <string>

#include "ridgeline/device/cuda/cudnn/functions.h"

namespace ridgeline::cuda {

// cuDNN's functions, or null with the reason why a test that needs them is skipped.
struct CudnnWithoutCard {
  const cudnn::Functions* functions = nullptr;
  std::string why;
};
// Opened once a process, behind the fake driver.
const CudnnWithoutCard& cudnn_without_card();

// The library's description of a card: "sm_80" or "sm_90".
std::string card_description(const std::string& card);

}  // namespace ridgeline::cuda
