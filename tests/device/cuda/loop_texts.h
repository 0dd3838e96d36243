// tests/device/cuda/loop_texts.h
//
// Random loops, and loop texts as g++ compiles them: a shared object that is opened into the test.
#pragma once

#include <map>
#include <memory>

#include "ridgeline/device/cuda/loop/kernel.h"
#include "tests/device/cuda/op_support.h"

namespace ridgeline::cuda::testing {

struct LoopCase {
  std::string expression;
  std::vector<Tensor> operands;
  std::vector<ValueType> results;
};

// Of operands of all types and ways to broadcast, with every primitive, random numbers and sums.
LoopCase random_loop(unsigned seed);

std::unique_ptr<LoopKernel> kernel_of(const LoopCase& c);

// Texts, compiled by g++ as one shared object each.
class CompiledTexts {
 public:
  explicit CompiledTexts(const std::vector<std::string>& texts);
  ~CompiledTexts();
  CompiledTexts(const CompiledTexts&) = delete;
  CompiledTexts& operator=(const CompiledTexts&) = delete;
  // Of a loop, or of a kernel that has a host version.
  void run(const KernelLaunch& launch) const;

 private:
  std::string folder_;
  std::vector<void*> libraries_;
};

// Kernels of cases.
class LoopTexts {
 public:
  explicit LoopTexts(const std::vector<LoopCase>& cases);
  // The results of case i; in_place: over operands where the kernel allows.
  std::vector<Tensor> run(std::size_t i, bool in_place) const;

 private:
  const std::vector<LoopCase>& cases_;
  std::vector<std::unique_ptr<LoopKernel>> kernels_;
  std::unique_ptr<CompiledTexts> compiled_;
};

// Bytes of a thread's stack that a cubin's kernel uses: spilled registers, arrays in local memory.
std::size_t local_bytes(const std::vector<unsigned char>& cubin, const std::string& kernel);

}  // namespace ridgeline::cuda::testing
