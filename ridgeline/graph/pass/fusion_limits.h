// ridgeline/graph/pass/fusion_limits.h
//
// What a device takes as one launch: which ops may be merged into which, over which types, and how large a fused loop
// may be. The device says it once (Device::fusion_limits); the passes that fuse or recompute values read it. What only
// some kernels of an op take is asked of the kernels (PassContext::keeps_kernel) and is not recorded here. A plain
// value; an empty one allows only those fusions that are asked of kernels.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/graph/ir/dtype_set.h"
#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

// A fusion: `with` is merged into `op`. Either may be an op that only fusion makes. ("conv2d", "relu"): a convolution
// that applies relu; ("conv2d", "add"): one that first adds its operand "addend"; ("batch_norm_bwd", "relu_grad");
// ("dense_update", "l2_penalty"); ("dense_update", "") and ("update_group", ""), which replace other ops.
struct FusedForm {
  std::string_view op, with;
  DType type;                // of what it reads, or of the value that one op passes to the other
  std::int64_t rows = 0;     // of x and dy, for fusions with dense weights
  std::int64_t weights = 0;  // number of elements, for the same
};

// Fusions that the device takes.
struct FusedForms {
  std::string op, with;
  DTypeSet types;
  std::int64_t most_rows = std::numeric_limits<std::int64_t>::max();
  std::int64_t least_weights = 0;
};

struct LoopLimits {
  std::size_t terms = 0;     // of the expression; 0: no loops
  std::size_t operands = 0;  // distinct ones
  DTypeSet inputs;           // types of operands, except the step of random numbers
  DTypeSet results;
  bool sums = false;  // whether a sum over all elements may end one
};

// An op whose kernels take longer than moving its bytes through memory.
struct SlowOp {
  std::string op;
  DTypeSet results;  // of its first result
  double times = 1;  // how many times as long
};

struct FusionLimits {
  std::vector<FusedForms> forms;  // the union of these
  // Updates of parameters of more than one axis and up to so many elements wait for others of their rule
  // (group_updates). 0: each runs where its gradient is made, and reads it from a cache.
  std::int64_t grouped_update_elements = 0;
  // The types for which recomputing by OpDef::again gives the same bits. Its statistics are f32.
  DTypeSet again;
  LoopLimits loop;
  std::vector<SlowOp> slow_ops;

  bool takes(const FusedForm& form) const;
  double times_its_bytes(std::string_view op, DType result) const;
};

// The limits of the reference implementations: everything that a graph can express.
FusionLimits reference_fusion_limits();

}  // namespace ridgeline
