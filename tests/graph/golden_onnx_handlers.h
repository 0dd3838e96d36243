// tests/graph/golden_onnx_handlers.h
//
// ONNX ops expressed by ours: shared by the files golden_onnx_*.cpp.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "tests/graph/golden_onnx.h"

namespace ridgeline::test {

using Integers = std::vector<std::int64_t>;
using Tensors = std::vector<Tensor>;
using Handler = std::function<Tensors(const OnnxNode&, const Tensors&)>;
using Handlers = std::map<std::string, Handler>;

// Reductions, reshapes, slices.
Handlers shape_handlers();
// Matrix products, slices, table rows, norms of samples.
Handlers sequence_handlers();

inline bool given(const Tensors& inputs, std::size_t i) { return i < inputs.size() && inputs[i].defined(); }

inline Integers integers_in(const Tensor& tensor) {
  Integers values;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) values.push_back(static_cast<std::int64_t>(tensor.at(i)));
  return values;
}

inline std::int64_t product(const Integers& dims, std::size_t first, std::size_t last) {
  return std::accumulate(dims.begin() + static_cast<std::ptrdiff_t>(first),
                         dims.begin() + static_cast<std::ptrdiff_t>(last), std::int64_t{1}, std::multiplies<>());
}

inline void expect_elements(const Tensor& x) {
  if (x.elements() == 0) throw OutOfScope("a tensor without elements");
}

inline void expect_dtype_in(const Tensor& x, std::initializer_list<DType> allowed) {
  if (std::find(allowed.begin(), allowed.end(), x.dtype()) == allowed.end()) {
    throw OutOfScope("element type " + std::string(name_of(x.dtype())) + " for this op");
  }
}

}  // namespace ridgeline::test
