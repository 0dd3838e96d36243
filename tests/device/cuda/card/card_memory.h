// Device memory that is freed with its object, filled with random values or with those of a tensor.
#pragma once

#include <memory>

#include "ridgeline/core/tensor.h"
#include "ridgeline/device/cuda/driver/calls.h"
#include "ridgeline/graph/ir/graph.h"

namespace ridgeline::cuda {

class CardMemory {
 public:
  CardMemory(Calls& calls, std::size_t bytes);
  ~CardMemory();
  CardMemory(const CardMemory&) = delete;
  CardMemory& operator=(const CardMemory&) = delete;

  void* address() const { return reinterpret_cast<void*>(address_); }
  std::size_t bytes() const { return bytes_; }
  void upload(const Tensor& tensor, StreamHandle stream);
  void download(Tensor& tensor, StreamHandle stream) const;
  // Values between -1 and 1 of that type, which repeat after some megabytes.
  void fill(DType type, StreamHandle stream);

 private:
  Calls& calls_;
  DeviceAddress address_ = 0;
  std::size_t bytes_;
};

// Values between -scale and scale, by a counter.
Tensor random_tensor(const ValueType& type, std::uint64_t seed, float scale = 1);

}  // namespace ridgeline::cuda
