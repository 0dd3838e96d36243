// tests/device/cuda/entry_checks.h
//
// Every entry of a card's table on the rows of the op table, and on rows that take what those leave out, beside the
// references: on the recording driver by a test, on a card by a stage of ridgeline_cuda_check.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ridgeline/device/cuda/cuda_device.h"

namespace ridgeline::cuda::testing {

struct EntryChecks {
  std::set<std::string> ran;       // "conv2d direct"
  std::vector<std::string> wrong;  // what differs from the reference, or from itself when it is recorded
};
// In f32, bf16 and f16, given to a stream at once and as a recording.
EntryChecks check_entries(CudaDevice& device);

}  // namespace ridgeline::cuda::testing
