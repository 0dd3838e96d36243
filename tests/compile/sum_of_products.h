// tests/compile/sum_of_products.h
//
// The graph of sum(x + y * z): one launch with fusion, three without.
#pragma once

namespace ridgeline::testing {

inline constexpr const char* kSum =
    "graph @sum_of_products(%x: f32[1024], %y: f32[1024], %z: f32[1024]) {\n"
    "  %0 = mul(%y, %z) : f32[1024]\n"
    "  %1 = add(%x, %0) : f32[1024]\n"
    "  %2 = reduce_sum(%1) : f32[]\n"
    "  return %2 \"sum\"\n"
    "}\n";

}  // namespace ridgeline::testing
