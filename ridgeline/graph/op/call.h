// ridgeline/graph/op/call.h
//
// The call of a named function of the graph. Its types are those of the callee, which the builder and the verifier look
// up. Compilation inlines calls before everything else; graph/op/evaluate.h runs the callee.
#pragma once

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

OpDef call_op();

}  // namespace ridgeline
