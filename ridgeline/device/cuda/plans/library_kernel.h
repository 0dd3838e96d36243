// ridgeline/device/cuda/plans/library_kernel.h
//
// What kernels around a plan of NVIDIA's libraries share: places in the scratch memory, and the library's work as a
// call that the recording driver can do, too.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/device/cuda/driver/driver.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline::cuda {

// Places one after another, each at a multiple of 256 bytes, as the libraries want their workspace. The memory itself
// begins at a multiple of 64: `begin` finds the first place in it.
class ScratchPlaces {
 public:
  std::size_t add(std::size_t bytes) {
    const std::size_t at = bytes_;
    bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return at;
  }
  // Of the scratch memory; 0 where nothing was added.
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

// The work of a library that is one op of the graph. For the recording driver it is the op's reference over the same
// memory.
class LibraryWork {
 public:
  // Of an op with complete attributes; results that `values` lacks are not computed.
  LibraryWork(std::string name, const OpDef& def, Attributes attributes, std::vector<LibraryValue> values,
              std::size_t workspace_bytes);
  // `addresses`: one a value. `give` hands the work to the stream. Valid until the next call.
  const LibraryCall& call(std::span<void* const> addresses, void* workspace, std::function<void(StreamHandle)> give);

 private:
  void run_reference_on(std::span<void* const> addresses) const;

  const OpDef& def_;
  Attributes attributes_;
  std::vector<LibraryValue> values_;
  std::size_t workspace_bytes_;
  LibraryCall call_;
};

// A refusal where an operand or result has no elements.
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
