// ridgeline/graph/op/image_tail.h
//
// The end of the input pipeline as a step op: y = (v - 255*mean) / (255*std) by the table of
// ridgeline/image/normalize.h, each image mirrored left to right where its flip is not 0. image u8 [N,H,W,3], flip u8
// [N] or absent, y f32 [N,H,W,3].
#pragma once

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

OpDef image_tail_op();

}  // namespace ridgeline
