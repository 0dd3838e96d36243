// ridgeline/device/cpu/loop/loop_kernel.h
//
// The kernel of a loop over plain rows, or over any layout without padding: processes blocks of elements that fit the
// first-level cache, chain by chain and instruction by instruction; the team shares the blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "ridgeline/core/function_ref.h"
#include "ridgeline/device/cpu/loop/chain.h"
#include "ridgeline/device/cpu/loop/interpreter.h"
#include "ridgeline/device/cpu/loop/program.h"
#include "ridgeline/device/cpu/loop/straight.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

class LoopKernel final : public Kernel {
 public:
  // `elements`: of every operand and result with one element per loop element; `results` as in compile_loop. The first
  // `from_memory` operands are in no cache: chains prefetch them one block ahead.
  LoopKernel(LoopProgram program, std::int64_t elements, std::span<const ValueType> results,
             std::size_t from_memory = 0);
  void run(const KernelArguments& arguments) override;

  // For kernels that compute an operand piece by piece (make_part_loop): call `begin` once per run, which reads the
  // scalars, then run pieces on any thread, each with `elements` elements of each operand and result from the given
  // addresses on.
  void begin(const KernelArguments& arguments) { read_scalars(arguments); }
  void run_part(const KernelArguments& arguments, std::int64_t elements) const;
  // Runs many pieces in sequence, which costs less than each by itself. Borrows the kernel; one thread.
  class Parts;
  void with_parts(FunctionRef<void(Parts&)> body) const;
  std::size_t operands() const { return program_.operands.size(); }

 private:
  class Walk;  // the share of a run that one thread does

  // One pass over a block: a chain, or one instruction.
  struct Pass {
    std::size_t first, end;  // instructions
    Chain chain;             // no steps: one instruction
    ChainCode code;
    std::size_t calls_at = 0;  // among those of all passes
    LoopSlot ahead;            // what it prefetches for the next block; none: nothing
    std::int64_t ahead_from = 0;
  };

  // A pointer of a call into an operand or result, which advances from block to block.
  struct Moving {
    std::size_t call;
    int argument;  // -1: the step's destination
    LoopSlot slot;
    std::int64_t element_bytes, bytes;  // of an element, of a block
    std::int64_t ahead;                 // bytes from the block's first element
  };

  // A call that prefetches the beginning of the next block.
  struct Fetch {
    std::size_t call;
    std::int32_t operand;
  };

  void choose_passes();
  void add_fetches(Chain& chain, std::vector<bool>& asked) const;
  void find_moving();
  void choose_ahead();
  void read_scalars(const KernelArguments& arguments);
  std::int64_t element_bytes(const LoopSlot& slot) const;

  LoopProgram program_;
  std::int64_t elements_;
  std::int64_t blocks_;
  std::vector<std::int64_t> result_bytes_;  // of an element
  std::vector<BlockFunction> functions_;    // by instruction
  std::vector<Pass> passes_;
  std::optional<StraightCode> straight_;  // runs all instructions
  std::vector<Moving> moving_;
  std::size_t from_memory_;  // operands
  std::vector<Fetch> fetches_;
  std::size_t calls_ = 0;       // of the chains of all passes
  int ahead_lines_ = 0;         // prefetched with every four vectors
  std::vector<float> scalars_;  // of the run in progress
  std::vector<std::uint64_t> steps_;
};

// Elements of a block of a piece: short blocks keep all memory streams busy.
constexpr int kPartBlock = 256;

class LoopKernel::Parts {
 public:
  // `next`: the operands of the following piece, if there is one. before(first, count) is called before each block; its
  // operands from memory are then in the first-level cache.
  void run(const KernelArguments& arguments, std::int64_t elements, std::span<void* const> next,
           FunctionRef<void(std::int64_t, std::int64_t)> before);

 private:
  friend LoopKernel;
  explicit Parts(Walk& walk) : walk_(walk) {}
  Walk& walk_;
};

// A loop to be run on pieces of plain rows: operands of rank 0 are scalars, all others have one element per loop
// element. `block`: elements at a time, a multiple of 128.
std::variant<std::unique_ptr<LoopKernel>, Refusal> make_part_loop(const loop::Expression& expression,
                                                                  std::span<const ValueType> operands,
                                                                  std::size_t from_memory = 0, int block = kPartBlock);

// The only element of an operand, read once per run.
float read_loop_scalar(const LoopOperand& operand, const void* at);

// The kernel of a pointwise op or `loop`: the interpreter for the op's loop expression, with the reference's bits for
// each element. f32 arithmetic on f32, bf16, f16, u8, bool and i32 operands; f32, bf16, f16 (rounded to nearest even)
// and bool results. f64 and integer arithmetic is refused. Sums accumulate in double over blocks whose borders depend
// only on the expression: the same bits for any team. Without broadcasts and random numbers a loop runs over any one
// blocked layout, padding included.
KernelChoice make_loop_kernel(const KernelRequest& request);

}  // namespace ridgeline::device
