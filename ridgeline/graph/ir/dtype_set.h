// ridgeline/graph/ir/dtype_set.h
//
// A set of element types: what a kernel takes, what a loop may hold. A value of a few bits.
#pragma once

#include <initializer_list>
#include <string>

#include "ridgeline/core/dtype.h"

namespace ridgeline {

class DTypeSet {
 public:
  constexpr DTypeSet() = default;
  constexpr DTypeSet(std::initializer_list<DType> types) {  // NOLINT: implicit on purpose
    for (DType type : types) insert(type);
  }
  constexpr void insert(DType type) { bits_ |= bit(type); }
  constexpr bool contains(DType type) const { return (bits_ & bit(type)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr friend bool operator==(DTypeSet, DTypeSet) = default;
  // "f32, bf16", in the order of DType.
  std::string to_string() const {
    std::string text;
    for (DType type : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::u8, DType::i32, DType::i64,
                       DType::boolean, DType::bytes}) {
      if (contains(type)) text += (text.empty() ? "" : ", ") + std::string(name_of(type));
    }
    return text;
  }

 private:
  static constexpr unsigned bit(DType type) { return 1u << static_cast<unsigned>(type); }
  unsigned bits_ = 0;
};

inline constexpr DTypeSet kFloatingTypes{DType::f64, DType::f32, DType::bf16, DType::f16};

}  // namespace ridgeline
