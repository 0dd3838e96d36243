// tests/graph/golden_onnx_scope.h
//
// What of ONNX's cases is left out, by name.
#pragma once

#include <map>
#include <set>
#include <string>

namespace ridgeline::test {

// ONNX ops that none of our ops means.
const std::set<std::string>& onnx_ops_without_counterpart();
// Cases of known ops that ours cannot say, and why.
const std::map<std::string, std::string>& onnx_cases_left_out();

}  // namespace ridgeline::test
