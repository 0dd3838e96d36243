// tests/device/every_entry.h
//
// Runs one problem with every entry of its op's kernel list: under each vector target of this machine, with teams of
// several sizes, with different contents of the scratch memory, compared with the reference in f64. Refusals must give
// a reason.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tile_support.h"
#include "winograd_support.h"

namespace ridgeline {

// The tolerance of a value: a share of its result's magnitude, and half units of the last place for bf16 results.
struct Allowance {
  double share = 0;
  double half_units = 0;
};

// For each result, the magnitude to which errors are relative: one per channel (last axis), one for all, or none: the
// largest value.
using Magnitudes = std::vector<std::vector<double>>;

inline std::vector<Tensor> reference_in_f64(const Problem& problem) {
  Problem wide = problem;
  for (Tensor& t : wide.inputs) {
    if (is_floating(t.dtype())) t = as_type(t, DType::f64);
  }
  return wide.reference();
}

inline void expect_allowed(const Tensor& got, const Tensor& expected, const Allowance& allowed,
                           const std::vector<double>& magnitudes, const std::string& what) {
  if (!is_floating(got.dtype())) {
    ASSERT_TRUE(same_bits(got, expected)) << what;
    return;
  }
  double largest = 0;
  if (magnitudes.empty()) {
    for (std::int64_t i = 0; i < expected.elements(); ++i) largest = std::max(largest, std::abs(expected.at(i)));
  }
  const double unit = got.dtype() == DType::bf16 ? 0x1p-8 : 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double wanted = expected.at(i), value = got.at(i);
    ASSERT_EQ(std::isnan(value), std::isnan(wanted)) << what << " at " << i;
    if (std::isnan(wanted) || value == wanted) continue;
    const double scale = magnitudes.empty() ? largest : magnitudes[static_cast<std::size_t>(i) % magnitudes.size()];
    ASSERT_LE(std::abs(value - wanted), allowed.share * scale + allowed.half_units * unit * std::abs(wanted))
        << what << " at " << i << ": " << value << " where " << wanted << " is right";
  }
}

// The target in force comes first: the library keeps the one of its first kernel.
inline std::vector<device::Isa> targets_from_the_one_in_force() {
  std::vector<device::Isa> isas{device::active_isa()};
  for (const device::Isa isa : vector_isas()) {
    if (isa < std::min(isas.front(), device::Isa::avx512)) isas.push_back(isa);
  }
  return isas;
}

// Runs the kernels; those that accepted the problem are counted in `taken` ("op/entry, type"). `library` is the
// tolerance of the library's bf16 kernels, which round intermediate values.
inline void expect_every_entry_agrees(const Problem& problem, const Allowance& allowed, const Allowance& library,
                                      const Magnitudes& magnitudes, SampleRandom& random, const std::string& shape,
                                      std::map<std::string, int>& taken) {
  const std::vector<Tensor> expected = reference_in_f64(problem);
  const std::vector<device::Isa> targets = targets_from_the_one_in_force();
  const Node node = problem.node();
  const bool narrow = problem.inputs[0].dtype() == DType::bf16;
  std::map<std::string, std::vector<Tensor>> portable;  // the first results of entries that promise equal bits
  for (const device::Isa isa : targets) {
    const ForcedIsa forced(isa);
    for (const KernelEntry& entry : cpu_kernels(problem.op)) {
      const bool of_library = entry.provider == Provider::library;
      if (entry.provider == Provider::reference || (of_library && isa != targets.front())) continue;
      const std::string name = problem.op + "/" + std::string(entry.name);
      const std::string what = name + " of " + shape + " under " + std::string(device::name_of(isa));
      const bool keeps_bits = entry.name != "widened" && entry.promise.bits == Reproducibility::portable;
      const ComputeScope team(static_cast<int>(random.integer(1, 4)));
      KernelChoice choice = entry.make(problem.request(node));
      if (const auto* refusal = std::get_if<Refusal>(&choice)) {
        ASSERT_FALSE(refusal->reason.empty()) << what;
        continue;
      }
      ++taken[name + (narrow ? ", bf16" : ", f32")];
      Kernel& kernel = *std::get<std::unique_ptr<Kernel>>(choice);
      Poisoned poisoned(kernel);
      const std::vector<Tensor> got = run_kernel(poisoned, problem), again = run_kernel(kernel, problem);
      ASSERT_EQ(got.size(), expected.size()) << what;
      std::vector<Tensor>& first = portable[name];
      for (std::size_t i = 0; i < got.size(); ++i) {
        const std::string result = what + " result " + std::to_string(i);
        const std::vector<double> magnitude = i < magnitudes.size() ? magnitudes[i] : std::vector<double>();
        ASSERT_NO_FATAL_FAILURE(
            expect_allowed(got[i], expected[i], of_library && narrow ? library : allowed, magnitude, result));
        ASSERT_TRUE(same_bits(got[i], again[i])) << result << ": other bits on the second run";
        ASSERT_TRUE(!keeps_bits || first.empty() || same_bits(got[i], first[i])) << result << ": other bits";
      }
      if (first.empty()) first = got;
    }
  }
}

// Whether each of these accepted some shape, if many were tried.
inline void expect_taken(const std::map<std::string, int>& taken, const std::vector<std::string>& ops) {
  for (const std::string& op : ops) {
    EXPECT_TRUE(taken.contains(op + "/own, f32")) << op;
    EXPECT_TRUE(!has_library() || taken.contains(op + "/onednn, f32")) << op;
    const bool reads_bf16 = taken.contains(op + "/own, bf16") || taken.contains(op + "/widened, bf16");
    EXPECT_TRUE(reads_bf16) << op;
  }
  if (!shapes_are_asked_for()) return;
  for (const auto& [name, count] : taken) std::printf("%s: %d\n", name.c_str(), count);
}

}  // namespace ridgeline
