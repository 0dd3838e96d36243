// bindings/c/src/dlpack.h
//
// The structs of DLPack with the memory layout of its specification (version 0, which has no version field), and the
// conversion of a column.
#pragma once

#include <cstdint>
#include <memory>

#include "bindings/c/src/columns.h"

namespace ridgeline::c {

struct DlDevice {
  std::int32_t type;  // 1: CPU memory
  std::int32_t id;
};
struct DlType {
  std::uint8_t code;  // 0 signed, 1 unsigned, 2 floating, 4 bfloat, 6 boolean
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t rank;
  DlType type;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements
  std::uint64_t byte_offset;
};
struct DlManaged {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManaged*);
};

// Column `i` as a tensor that keeps the batch alive until its deleter is called. A usage Error for byte strings, and
// for channels_first if the column is not [N,H,W,C].
DlManaged* managed_tensor(std::shared_ptr<HeldColumns> held, std::size_t i, bool channels_first);

}  // namespace ridgeline::c
