// ridgeline/graph/pass/fusion_limits.h
//
// What a device takes as one launch: which ops may be merged into which, over which types, and how large a fused loop
// may be. The device says it once (Device::fusion_limits), the passes that fuse or compute values twice read it. What
// only some kernels of an op take is asked of them (PassContext::keeps_kernel) and stands nowhere else. A plain value;
// an empty one fuses nothing that is not asked of kernels.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/graph/ir/dtype_set.h"
#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

// A fused form: `with` is merged into `op`. Either may be what comes of it: ("conv2d", "relu"), a convolution that
// applies relu; ("conv2d", "add"), one that adds its operand "addend" before; ("batch_norm_bwd", "relu_grad"),
// ("dense_update", "l2_penalty"); ("dense_update", ""), ("update_group", ""), which are made of others.
struct FusedForm {
  std::string_view op, with;
  DType type;                // of what it reads, or of its result where one op gives it to the other
  std::int64_t rows = 0;     // of x and dy, where the form is of dense weights
  std::int64_t weights = 0;  // that there are
};

// Forms that the device takes.
struct FusedForms {
  std::string op, with;
  DTypeSet types;
  std::int64_t most_rows = std::numeric_limits<std::int64_t>::max();
  std::int64_t least_weights = 0;
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
  std::vector<FusedForms> forms;  // any of them
  // The types over which OpDef::again (a cheaper second computation) gives the bits of the first one. Its statistics
  // are f32.
  DTypeSet again;
  LoopLimits loop;
  std::vector<SlowOp> slow_ops;

  bool takes(const FusedForm& form) const;
  double times_its_bytes(std::string_view op, DType result) const;
};

// What the op's own reference implementations take: all that a graph can say.
FusionLimits reference_fusion_limits();

}  // namespace ridgeline
