// ridgeline/device/cuda/loop/update_text.h
//
// The update of dense weights that computes their gradient (graph/op/dense_update.h) as a source text that NVRTC
// compiles to one kernel, and g++ to a function that gives its results within the band of tensor cores
// (kernels/matrix_tile.h). The text depends on the expression and on types; sizes are parameters.
//
// A block has a tile of the weights. Its threads ask for the tile's states first, which memory sends while tensor cores
// multiply the tile's columns of dy and x, slab by slab of rows, out of shared memory; the sums go through shared
// memory to the threads that have the states. dw is nowhere else. So each byte of the states moves once in and once
// out, and x and dy, which are small, come from the cache.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ridgeline/device/kernel.h"
#include "ridgeline/graph/loop/expression.h"
#include "ridgeline/graph/op/dense_update.h"

namespace ridgeline::cuda {

// Weights of a block.
inline constexpr int kUpdateOutputs = 64, kUpdateInputs = 128;
inline constexpr int kDenseUpdateThreads = 256;
// Up to so many rows of x and dy the product hides behind the states: a tile then takes 96 KB of x and dy from the
// cache while, with momentum and a copy, 144 KB go through memory.
inline constexpr std::int64_t kMostUpdateRows = 256;
inline constexpr std::int64_t kMostUpdateOutputs = std::int64_t{65535} * kUpdateOutputs;  // a grid's second extent

struct UpdateText {
  std::string name;  // of the kernel: "dense_update_" and a hash of the text
  std::string text;
  DenseUpdate at;
  DType values;                        // of x and dy
  std::vector<DType> scalars, copies;  // in the order of operands and results
};

// Refuses what it cannot do, with the reason.
std::variant<UpdateText, Refusal> update_text(const loop::Expression& expression, const DenseUpdate& at, DType values,
                                              std::span<const DType> scalars, std::span<const DType> copies);

}  // namespace ridgeline::cuda
