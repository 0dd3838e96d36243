// tests/device/cuda/kernel_cases.h
//
// Every kernel of our own on random operands of random shapes, for whoever can run launches: the host versions, the
// recording driver, or a card. Two runners give the same results, bit by bit (NaN has any bits), except by tensor
// cores.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "ridgeline/core/dtype.h"
#include "ridgeline/device/cuda/kernels/row.h"

namespace ridgeline::cuda::testing {

// Memory and launches of one case. What it gives lives as long as it does.
class KernelRunner {
 public:
  virtual ~KernelRunner() = default;
  // Memory that holds these bytes; its address is for launches alone.
  virtual void* upload(const void* data, std::size_t bytes) = 0;
  virtual void launch(const KernelLaunch& launch) = 0;
  // Before launches of a kernel that is a text (device/cuda/loop). An Error where there is no compiler of texts.
  virtual void compile(const std::string& name, const std::string& text);
  virtual std::vector<std::byte> download(const void* address, std::size_t bytes) = 0;
};

// On host memory.
class HostRunner final : public KernelRunner {
 public:
  void* upload(const void* data, std::size_t bytes) override;
  void launch(const KernelLaunch& launch) override { run_on_host(launch); }
  std::vector<std::byte> download(const void* address, std::size_t bytes) override;

 private:
  struct Freed {
    void operator()(void* p) const;
  };
  std::vector<std::unique_ptr<void, Freed>> memory_;
};

struct KernelOutput {
  DType type;
  std::vector<std::byte> bytes;
};

struct KernelCase {
  std::string name;  // "batch_norm_train bf16 rows=77 channels=24"
  std::function<std::vector<KernelOutput>(KernelRunner&)> run;
  // Whether it multiplies by tensor cores. Then two runners agree within a band (matrix_tile.h), and one with itself to
  // the bit.
  bool tensor_cores = false;
};

// `rounds` of each kind, each with shapes of its own.
std::vector<KernelCase> kernel_cases(unsigned seed, int rounds);

// "" where both are equal, else the first difference. With `tensor_cores`: where elements differ by at most their
// type's spacing and 2^-14 of the largest one. The cores round sums to f32 some hundred times at most, each time by
// less than 2^-22 of a sum that is no larger than that; then one rounding to the type may go the other way.
std::string difference(const std::vector<KernelOutput>& got, const std::vector<KernelOutput>& expected,
                       bool tensor_cores = false);
// Over all outputs, with one NaN.
std::uint64_t hash_of(const std::vector<KernelOutput>& outputs);

// What is timed: a call that moves so many bytes, on large operands.
struct KernelRate {
  std::string name;
  double bytes;
  std::function<std::function<void()>(KernelRunner&)> prepare;  // operands; what it returns is one call
};
std::vector<KernelRate> kernel_rates();

// Dense layers of few rows in bf16, which are timed by our kernels and by the library. Calls take turns on some copies
// of the weights, so that none finds them in the card's cache.
struct RatedLayer {
  std::int64_t rows, inputs, outputs;
  std::int64_t weights() const { return inputs * outputs; }
  std::int64_t copies() const { return (std::int64_t{1} << 27) / weights() + 1; }  // 256 MiB
  std::string text() const {
    return std::to_string(inputs) + " to " + std::to_string(outputs) + ", rows " + std::to_string(rows);
  }
};
std::vector<RatedLayer> rated_layers();

}  // namespace ridgeline::cuda::testing
