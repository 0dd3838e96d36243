// ridgeline/graph/op/describe.h
//
// The page docs/ops.md, made from the definitions.
#pragma once

#include <string>

namespace ridgeline {

// Markdown: every op with its rule, operands, attributes and defaults, ordered by name.
std::string describe_ops();

}  // namespace ridgeline
