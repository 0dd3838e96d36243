// tests/device/cuda/kernel_operands.h
//
// Random operands for cases of kernels, and what collects their results.
#pragma once

#include <random>

#include "tests/device/cuda/kernel_cases.h"

namespace ridgeline::cuda::testing {

// One case in progress.
class CaseRun {
 public:
  CaseRun(KernelRunner& runner, unsigned seed) : runner_(runner), random_(seed) {}

  LaunchSink sink() { return sink_; }
  void compile(const std::string& name, const std::string& text) { runner_.compile(name, text); }
  // Values around zero; with `special`, zeros, infinities and NaN among them.
  void* values(DType type, std::int64_t elements, bool special = false, double scale = 2);
  // The same few values again and again, for timings.
  void* many(DType type, std::int64_t elements);
  void* positive(DType type, std::int64_t elements);  // in [0.5, 1.5)
  void* bytes(std::int64_t count, unsigned below = 256);
  void* labels(std::int64_t count, std::int64_t classes);
  template <class T>
  void* of(const std::vector<T>& values) {
    return runner_.upload(values.data(), values.size() * sizeof(T));
  }
  // Room for a result or scratch, which begins as noise.
  void* room(DType type, std::int64_t elements) { return noise(static_cast<std::size_t>(elements) * size_of(type)); }
  void* noise(std::size_t bytes);
  void result(const void* address, DType type, std::int64_t elements);
  std::vector<KernelOutput> results() { return std::move(results_); }
  std::mt19937& random() { return random_; }

 private:
  struct Give {
    KernelRunner& runner;
    void operator()(const KernelLaunch& launch) const { runner.launch(launch); }
  };
  KernelRunner& runner_;
  Give give_{runner_};
  LaunchSink sink_{give_};
  std::mt19937 random_;
  std::vector<KernelOutput> results_;
};

}  // namespace ridgeline::cuda::testing
