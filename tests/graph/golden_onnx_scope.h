// tests/graph/golden_onnx_scope.h
//
// The cases of ONNX that are left out, by name.
#pragma once

#include <map>
#include <set>
#include <string>

namespace ridgeline::test {

// ONNX ops that our ops cannot express.
const std::set<std::string>& onnx_ops_without_counterpart();
// Cases of known ops that ours cannot express, with reasons.
const std::map<std::string, std::string>& onnx_cases_left_out();

}  // namespace ridgeline::test
