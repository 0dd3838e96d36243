// tests/device/made_kernel.h
//
// Factories from the CPU's table, and the results of a problem with the kernel that one makes, once and under all
// conditions; a refusal fails the test.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernel_testing.h"
#include "ridgeline/core/error.h"
#include "ridgeline/device/cpu/kernel_table.h"
#include "tests/support/forced_isa.h"

namespace ridgeline {

using MakeKernel = KernelChoice (*)(const KernelRequest&);

// An entry of the CPU's table, and its factory.
inline KernelEntry cpu_entry(std::string_view op, std::string_view name) {
  for (const KernelEntry& entry : cpu_kernels(op)) {
    if (entry.name == name) return entry;
  }
  RIDGELINE_CHECK(false, "no such entry");
}
inline MakeKernel cpu_factory(std::string_view op, std::string_view name) { return cpu_entry(op, name).factory; }

inline std::vector<Tensor> results_of(const Problem& problem, MakeKernel make) {
  const Node node = problem.node();
  KernelChoice choice = make(problem.request(node));
  if (const auto* refusal = std::get_if<Refusal>(&choice)) {
    ADD_FAILURE() << problem.op << ": " << refusal->reason;
    return {};
  }
  return run_kernel(*std::get<std::unique_ptr<Kernel>>(choice), problem);
}

// Under every instruction set of this machine and with teams of 1, 2, 3 and 8 threads: the same bits, which must be
// `near` the expected results. `shape` is named in a failure.
inline void expect_everywhere(Problem problem, MakeKernel make, const std::string& shape,
                              const std::vector<Tensor>& expected,
                              void (*near)(const Tensor& got, const Tensor& expected, const std::string& what)) {
  std::vector<Tensor> first;
  problem.bits = Reproducibility::deterministic;
  for (const device::Isa isa : device::machine_isas()) {
    const ForcedIsa forced(isa);
    for (const int threads : {1, 2, 3, 8}) {
      const ComputeScope team(usable_threads(threads));
      const std::vector<Tensor> got = results_of(problem, make);
      ASSERT_EQ(got.size(), expected.size());
      const std::string what = problem.op + " " + shape + " under " + std::string(device::name_of(isa)) + " with " +
                               std::to_string(threads) + " threads";
      if (first.empty()) {
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_NO_FATAL_FAILURE(near(got[i], expected[i], what + " result " + std::to_string(i)));
        first = got;
      }
      for (std::size_t i = 0; i < got.size(); ++i) ASSERT_TRUE(same_bits(got[i], first[i])) << what << " result " << i;
    }
  }
}

}  // namespace ridgeline
