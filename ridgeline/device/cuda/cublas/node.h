// ridgeline/device/cuda/cublas/node.h
//
// The cuBLASLt matrix product for a node of the graph.
#pragma once

#include <span>

#include "ridgeline/device/cuda/cublas/product.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline::cuda::cublas {

// Of a node of dense, dense_bwd_data, dense_bwd_weights or matmul with complete attributes, over floating types that
// the library has. A Failure if matrices are repeated in a way that one constant step from each to the next cannot
// express.
Product product_of(const Node& node, std::span<const ValueType> inputs, std::span<const ValueType> outputs);

// The addresses of a run's values, from those of the node's operands and results.
ProductAddresses addresses_of(const Product& product, void* const* inputs, void* const* outputs);

}  // namespace ridgeline::cuda::cublas
