// ridgeline/device/cuda/plans/library_kernel.h
//
// What kernels around an execution plan of NVIDIA's libraries share: places in the scratch memory, and the library's
// work as a call that the recording driver can also run.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/device/cuda/driver/driver.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline::cuda {

// Consecutive places, each at a multiple of 256 bytes, which the libraries require for their workspace. The memory
// itself begins at a multiple of 64: `begin` finds the first place in it.
class ScratchPlaces {
 public:
  std::size_t add(std::size_t bytes) {
    const std::size_t at = bytes_;
    bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return at;
  }
  // The size of the scratch memory; 0 if nothing was added.
  std::size_t bytes() const { return bytes_ == 0 ? 0 : bytes_ + kAlignment; }
  static char* begin(void* scratch) {
    const auto address = reinterpret_cast<std::uintptr_t>(scratch);
    return reinterpret_cast<char*>((address + kAlignment - 1) / kAlignment * kAlignment);
  }

 private:
  static constexpr std::size_t kAlignment = 256;
  std::size_t bytes_ = 0;
};

// A value that the library's work reads or writes.
struct LibraryValue {
  ValueType type;
  bool result;
  std::size_t index;  // of the operand or result of the op
};

// A library's work for one op of the graph. The recording driver runs the op's reference on the same memory.
class LibraryWork {
 public:
  // For an op with complete attributes; results that are not in `values` are not computed.
  LibraryWork(std::string name, const OpDef& def, Attributes attributes, std::vector<LibraryValue> values,
              std::size_t workspace_bytes);
  // `addresses`: one for each value. `give` enqueues the work on the stream. Valid until the next call.
  const LibraryCall& call(std::span<void* const> addresses, void* workspace, std::function<void(StreamHandle)> give);

 private:
  void run_reference_on(std::span<void* const> addresses) const;

  const OpDef& def_;
  Attributes attributes_;
  std::vector<LibraryValue> values_;
  std::size_t workspace_bytes_;
  LibraryCall call_;
};

// Whether an operand or result has no elements.
inline bool has_empty_value(const KernelRequest& request) {
  for (const auto* operands : {&request.inputs, &request.outputs}) {
    for (const KernelOperand& operand : *operands) {
      if (operand.type.shape.elements() == 0) return true;
    }
  }
  return false;
}

std::vector<ValueType> types_of(std::span<const KernelOperand> operands);

}  // namespace ridgeline::cuda
