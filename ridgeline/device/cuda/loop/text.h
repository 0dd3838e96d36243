// ridgeline/device/cuda/loop/text.h
//
// A loop expression (graph/loop) as source text that NVRTC compiles to a kernel, and g++ to a function with the same
// bits. The text depends on the expression, on element types and on how operands are broadcast; sizes are parameters,
// so loops over other sizes share a kernel. The bits are those of the CPU's interpreter (graph/loop/evaluate.h); sums
// are in double, by their own tree.
//
// A thread computes groups of 4 or 8 neighbouring elements: it loads all operands, computes term by term, then stores.
// So a result may overwrite an operand with as many elements. A text for many tensors does the same to each: its array
// operands and results are tables of addresses.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ridgeline/core/shape.h"
#include "ridgeline/device/kernel.h"
#include "ridgeline/graph/ir/arithmetic.h"
#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/loop/expression.h"

namespace ridgeline::cuda {

// The text of kernels/numbers.h, with which every loop text begins.
std::string_view numbers_text();
// Of kernels/phases.h and matrix_tile.h, for texts that multiply.
std::string_view tiles_text();
// Of update_groups.cuh and update_product.cuh, for updates of dense weights.
std::string_view update_groups_text();
std::string_view update_product_text();
// FlushedDenormals, in texts that g++ compiles: the effect of NVRTC's -ftz=true.
std::string_view flush_text();

inline constexpr std::size_t kLoopAxes = 6;
inline constexpr int kLoopThreads = 256;

// How a loop reads an operand.
struct LoopAccess {
  enum Kind : std::uint8_t {
    unused,
    direct,     // an element for each of the loop
    scalar,     // one element
    step,       // one integer, the step of random numbers
    run,        // a group's elements are contiguous, at a place given by strides
    repeated,   // a group has one element
    scattered,  // each element at a place given by strides
  };
  Kind kind = unused;
  DType type = DType::f32;
  // For the last three: the loop's axes, neighbours joined where they can be, the innermost first.
  std::vector<std::int64_t> extents, strides;
  bool strided() const { return kind >= run; }
};

struct LoopText {
  std::string name;  // of the kernel: "loop_" and a hash of the text
  std::string text;
  int each = 4;  // elements of a group
  int tensors = 1;
  Arithmetic arithmetic = Arithmetic::f32;
  std::vector<LoopAccess> operands;
  std::vector<DType> results;
  std::vector<int> sums;  // by result: the number of its sum, or -1
  int sum_count = 0;
};

// The text of a loop over `shape`, to which all operands broadcast, whose results have these types (and one element if
// they are sums). `tensors` > 1: for that many tensors of any sizes; then operands have the loop's shape or one
// element, without sums and random numbers. Refuses what it cannot do, with the reason.
std::variant<LoopText, Refusal> loop_text(const loop::Expression& expression, Arithmetic arithmetic, const Shape& shape,
                                          std::span<const ValueType> operands, std::span<const DType> results,
                                          int tensors = 1);

}  // namespace ridgeline::cuda
