// Shared by kernel tests: random operands, running one entry of a kernel list on host memory, and comparing with the
// reference of the op.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "ridgeline/core/random.h"
#include "ridgeline/core/tensor.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/kernel_table.h"
#include "ridgeline/device/cpu/library.h"
#include "tests/support/allocations.h"
#include "tests/support/environment.h"

namespace ridgeline {

Tensor random_tensor(const Shape& shape, std::uint64_t seed, double low = -1, double high = 1);

Tensor as_type(const Tensor& t, DType dtype);

Tensor random_labels(std::int64_t rows, std::int64_t classes, std::uint64_t seed);

// The number of random shapes per test: RIDGELINE_KERNEL_SHAPES, by default a few.
inline std::int64_t shapes_to_try(std::int64_t few) {
  const std::int64_t shapes = number_from_environment("RIDGELINE_KERNEL_SHAPES", few);
  EXPECT_GT(shapes, 0) << "RIDGELINE_KERNEL_SHAPES is a number of shapes";
  return shapes;
}
// Whether it is set; then tests also print the largest errors.
inline bool shapes_are_asked_for() { return std::getenv("RIDGELINE_KERNEL_SHAPES") != nullptr; }

// Whether this build has the kernel library; without it, our kernels do what its entries would do.
inline bool has_library() { return !device::library_kernels().empty(); }

// 64-byte aligned memory with a guard pattern after its end.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::size_t bytes) : bytes_(bytes) {
    data_ = static_cast<unsigned char*>(std::aligned_alloc(64, (bytes + 2 * kGuard) / 64 * 64));
    std::memset(data_, 0xa5, (bytes + 2 * kGuard) / 64 * 64);
  }
  ~GuardedBuffer() { std::free(data_); }
  GuardedBuffer(GuardedBuffer&& other) noexcept : bytes_(other.bytes_), data_(std::exchange(other.data_, nullptr)) {}
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  void* data() { return data_; }
  std::size_t bytes() const { return bytes_; }
  bool intact() const {
    for (std::size_t i = bytes_; i < bytes_ + kGuard; ++i) {
      if (data_[i] != 0xa5) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 64;
  std::size_t bytes_;
  unsigned char* data_;
};

struct Problem {
  std::string op;
  std::vector<Tensor> inputs;
  Attributes attributes;
  Reproducibility bits = Reproducibility::fast;  // what the kernel must promise

  std::vector<ValueType> input_types() const {
    std::vector<ValueType> types;
    for (const Tensor& t : inputs) types.push_back({t.dtype(), t.shape()});
    return types;
  }
  Node node() const {
    Node n;
    n.op = op;
    n.name = op + "_under_test";
    n.attributes = complete_attributes(op_def(op), attributes);
    return n;
  }
  std::vector<ValueType> output_types() const {
    return infer_types(op_def(op), input_types(), node().attributes, "node");
  }
  std::vector<Tensor> reference() const { return run_reference(op_def(op), inputs, node().attributes, "node"); }
  // The node lives longer than the request.
  KernelRequest request(const Node& n) const {
    KernelRequest r{op_def(op), n, {}, {}};
    r.promise.bits = bits;
    for (const ValueType& type : input_types()) r.inputs.push_back({type, {}, false});
    for (const ValueType& type : output_types()) r.outputs.push_back({type, {}, false});
    return r;
  }
};

// Runs a kernel on plain tensors and converts to and from its layouts. Our kernels must not allocate, not even in their
// first run.
std::vector<Tensor> run_kernel(Kernel& kernel, const Problem& problem, const std::vector<ValueType>& output_types);

inline std::vector<Tensor> run_kernel(Kernel& kernel, const Problem& problem) {
  return run_kernel(kernel, problem, problem.output_types());
}

bool same_bits(const Tensor& a, const Tensor& b);

// The largest difference, relative to the largest magnitude of `expected`. Types that are not floating must be equal.
double difference(const Tensor& got, const Tensor& expected);

// Runs every entry of the op's list except the reference on the problem: results within `tolerance` of the reference,
// and the same bits in a second run. Adds names of entries that accepted it to `accepted` ("op/entry").
void expect_kernels_agree(const Problem& problem, double tolerance, std::set<std::string>& accepted);

}  // namespace ridgeline
