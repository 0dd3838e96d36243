// ridgeline/graph/pass/fusion_limits.h
//
// What a device takes as one launch: which ops apply which pointwise op to their own results (an epilogue), which
// gradients apply that of a relu, and how large a fused loop may be. The device says it once
// (Device::fusion_limits), the passes that fuse or compute values twice read it. A plain value; an empty one fuses
// nothing.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/graph/ir/dtype_set.h"
#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

// `op` has an attribute "activation" that may be set to the name of the pointwise op.
struct EpilogueLimits {
  std::string op;          // "conv2d"
  std::string activation;  // "relu"
  DTypeSet types;          // of its result
  bool addend = false;     // adds its operand "addend" to the result before
};

// One launch makes the gradient of dense weights and updates them.
struct DenseUpdateLimits {
  DTypeSet types;                                                // of x and dy
  std::int64_t rows = std::numeric_limits<std::int64_t>::max();  // that they have at most
  std::int64_t weights = 0;                                      // that there are at least
  bool squares = false;  // and sums the squares of the weights, where that is faster than reading them once more
};

struct LoopLimits {
  std::size_t terms = 0;     // of the expression; 0: no loops
  std::size_t operands = 0;  // distinct ones
  DTypeSet inputs;           // of operands; the step of random numbers apart
  DTypeSet results;
  bool sums = false;  // whether a sum over all elements may end one
};

// An op whose kernels take longer than its bytes through memory.
struct SlowOp {
  std::string op;
  DTypeSet results;  // of its first result
  double times = 1;  // as long
};

struct FusionLimits {
  std::vector<EpilogueLimits> epilogues;
  DTypeSet data_gradients;  // over which conv2d_bwd_data applies the gradient of a relu
  DTypeSet pools;           // over which one launch computes conv2d and the max_pool behind it
  DTypeSet pool_gradients;  // over which the gradients of conv2d read that of the pooled image and its index
  DTypeSet norm_gradients;  // over which batch_norm_bwd applies the gradient of a relu and adds two gradients
  DTypeSet again;           // over which what OpDef::again says has the bits of the op itself, with f32 statistics
  DTypeSet updates;         // over which one launch updates several parameters
  std::vector<DenseUpdateLimits> dense_updates;  // any of them
  LoopLimits loop;
  std::vector<SlowOp> slow_ops;
  double times_its_bytes(std::string_view op, DType result) const;
  bool takes_addend(std::string_view op, DType type) const;
  // Of x (and dy) and of the weights.
  bool takes_dense_update(const ValueType& x, const ValueType& w) const;
  bool takes_squares(const ValueType& x, const ValueType& w) const;
  bool takes_epilogue(std::string_view op, std::string_view activation, DType type) const;
};

// What the op's own reference implementations take: all that a graph can say.
FusionLimits reference_fusion_limits();

}  // namespace ridgeline
