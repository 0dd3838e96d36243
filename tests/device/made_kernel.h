// tests/device/made_kernel.h
//
// Results of a problem by the kernel that one factory makes; a refusal fails the test.
#pragma once

#include "kernel_testing.h"

namespace ridgeline {

using MakeKernel = KernelChoice (*)(const KernelRequest&);

inline std::vector<Tensor> results_of(const Problem& problem, MakeKernel make) {
  const Node node = problem.node();
  KernelChoice choice = make(problem.request(node));
  if (const auto* refusal = std::get_if<Refusal>(&choice)) {
    ADD_FAILURE() << problem.op << ": " << refusal->reason;
    return {};
  }
  return run_kernel(*std::get<std::unique_ptr<Kernel>>(choice), problem);
}

}  // namespace ridgeline
