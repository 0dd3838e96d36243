// ridgeline/device/cpu/loop/program.h
//
// A loop expression compiled for the block interpreter: a straight list of instructions, each of which runs over one
// block of elements that fits the first-level cache. Values that are the same for every element are computed once per
// run; a product with one reader is merged into the sum or difference that reads it (still two roundings). Made once
// for each kernel; immutable afterwards.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ridgeline/core/function_ref.h"
#include "ridgeline/core/shape.h"
#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/loop/expression.h"

namespace ridgeline::device {

enum class LoopOp : std::uint8_t {
  // operand to f32 elements in a buffer
  load_u8,
  load_i32,
  load_bf16,
  load_f16,
  load_periodic,
  load_strided,
  copy,
  neg,
  abs,
  exp,
  log,
  sqrt,
  floor,
  round_bf16,
  round_f16,
  cos,
  sin,
  add,
  sub,
  mul,
  div,
  max,
  min,
  less,
  less_equal,
  equal,
  select,
  mul_add,      // a * b + c
  mul_sub,      // a * b - c
  sub_mul,      // c - a * b
  two_mul_add,  // a * b + (c * d + e), b and d scalars: momentum with weight decay
  uniform,
  store_bool,  // a != 0 as a byte
  store_bf16,
  store_f16,
  sum,  // adds the block's sum to the run's partial sums
};

// Where an instruction reads or writes.
struct LoopSlot {
  enum Place : std::uint8_t { none, buffer, operand, result, scalar };
  Place place = none;
  std::int32_t index = 0;
};

struct LoopInstruction {
  LoopOp op = LoopOp::copy;
  LoopSlot a, b, c, d, e, to;
  std::int32_t operand = -1;  // for loads, and the step of uniform
  std::int32_t sum = -1;      // of sum: the number of the partial sum
  std::uint64_t key = 0;      // of uniform
};

struct LoopOperand {
  enum Access : std::uint8_t {
    direct,    // f32, one element per loop element, read in place
    bytes,     // u8 or bool, likewise, converted
    integers,  // i32, likewise, converted
    halves,    // bf16 or f16, likewise, converted
    periodic,  // f32, the trailing axes only: repeats every `period` elements
    strided,   // any other broadcast
    scalar,    // one element, read once per run
    step,      // i64, read once per run as the step of random numbers
    unused,
  };
  Access access = unused;
  DType dtype = DType::f32;
  std::int64_t period = 1;
  std::vector<std::int64_t> dims, strides;  // of strided: the loop's axes
};

// A value computed once per run, from operands' first elements and earlier scalars.
struct LoopScalar {
  loop::Kind kind = loop::Kind::constant;
  std::int32_t a = 0, b = 0, c = 0;  // scalars
  std::int32_t operand = -1;
  float value = 0;
};

struct LoopProgram {
  std::vector<LoopOperand> operands;
  std::vector<LoopScalar> scalars;
  std::vector<LoopInstruction> code;
  std::vector<int> in_place;  // by result: the operand whose memory it may use, or -1
  std::vector<int> sums;      // by result: the number of its sum, or -1
  int buffers = 0;
  int block = 0;  // elements; a multiple of 128 that depends only on the expression
};

constexpr int kMaxLoopTerms = 128;             // bounds the buffers of a program
constexpr int kMaxLoopBufferFloats = 1 << 15;  // buffers * block of every program

// True if the instruction writes a result in another type than f32.
constexpr bool converts_results(LoopOp op) {
  return op == LoopOp::store_bool || op == LoopOp::store_bf16 || op == LoopOp::store_f16;
}

// `shape`: what the operands broadcast to. Results are f32, bf16, f16 or bool (stores), f32 (sums). Operands are f32,
// bf16, f16, u8, bool, i32, or the i64 step. More than kMaxLoopTerms terms are a failed RIDGELINE_CHECK.
LoopProgram compile_loop(const loop::Expression& expression, const Shape& shape, std::span<const ValueType> operands,
                         std::span<const ValueType> results);

// Whether the loop keeps padding of blocked layouts zero, as it must: its results are zero if all its elements are,
// where an operand i that is read once per run is scalar(i). Random numbers count as one half. For an expression that
// compile_loop() has accepted.
bool keeps_zero(const loop::Expression& expression, const LoopProgram& program, FunctionRef<float(std::size_t)> scalar);

}  // namespace ridgeline::device
