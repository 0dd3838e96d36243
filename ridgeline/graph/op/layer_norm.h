// ridgeline/graph/op/layer_norm.h
//
// y = (x - mean) * inv_std * gamma + beta with statistics of groups of values within one sample: inv_std = 1 /
// sqrt(variance + epsilon), with the biased variance. Layer norm (Ba, Kiros, Hinton, 2016): the last axes of x, those
// of gamma. Group norm (Wu, He, 2018): x [N,...,C], all positions of C / groups channels.
#pragma once

#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// x as kernels see it: [samples, positions, channels]; a group has channels / groups channels, at all positions. Layer
// norms have one position and one group.
struct SampleNormForm {
  std::int64_t samples = 1, positions = 1, channels = 1, groups = 1;
  std::int64_t group_channels() const { return channels / groups; }
  std::int64_t group_values() const { return positions * group_channels(); }
};

// Of operands that layer_norm or group_norm, or the gradient of either, takes.
SampleNormForm sample_norm_form(const Shape& x, const Shape& gamma, const Attributes& attributes);

// layer_norm, group_norm and their gradients, layer_norm_bwd and group_norm_bwd.
std::vector<OpDef> layer_norm_ops();

}  // namespace ridgeline
