// tests/device/cuda/kernel_case_list.h
//
// The list of kernel cases in the making, for the files that add to it.
#pragma once

#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/device/cuda/kernel_operands.h"

namespace ridgeline::cuda::testing {

inline constexpr DType kTypes[] = {DType::f32, DType::bf16, DType::f16};

inline std::int64_t pick(std::mt19937& random, std::initializer_list<std::int64_t> from) {
  return from.begin()[random() % from.size()];
}

inline std::string text(std::int64_t v) { return std::to_string(v); }

// The cases in the making.
class Cases {
 public:
  Cases(unsigned seed, int rounds) : seed_(seed), rounds_(rounds) {}

  // Numbers of its own: a case more or less leaves those of other families as they are.
  void begin_family() { random_.seed(seed_ + 1000 * ++families_); }

  // make(random, type) gives name and body for each type and round.
  template <class Make>
  void each(const Make& make) {
    for (int round = 0; round < rounds_; ++round) {
      for (DType type : kTypes) make(random_, type);
    }
  }
  template <class Body>
  void add(const std::string& name, DType type, const Body& body, bool tensor_cores = false) {
    const unsigned seed = static_cast<unsigned>(random_());
    cases_.push_back({name + " " + std::string(name_of(type)),
                      [body, seed](KernelRunner& runner) {
                        CaseRun run(runner, seed);
                        body(run);
                        return run.results();
                      },
                      tensor_cores});
  }
  std::vector<KernelCase> take() { return std::move(cases_); }

 private:
  std::mt19937 random_;
  unsigned seed_, families_ = 0;
  int rounds_;
  std::vector<KernelCase> cases_;
};

// First layers, dense layers of few rows.
void add_tensor_core_cases(Cases& cases);
// Norms of samples, softmax over axes, rows of tables, products of many matrices, parts of a whole, values of ranks.
void add_sequence_cases(Cases& cases);

}  // namespace ridgeline::cuda::testing
