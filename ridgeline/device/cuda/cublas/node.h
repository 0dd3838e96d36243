// ridgeline/device/cuda/cublas/node.h
//
// From a node of the graph to the matrix product that cuBLASLt is asked for.
#pragma once

#include <span>

#include "ridgeline/device/cuda/cublas/product.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline::cuda::cublas {

// Of a node of dense, dense_bwd_data, dense_bwd_weights or matmul with complete attributes, over floating types that
// the library has. A Failure where matrices are repeated in a way that no one step from each to the next tells.
Product product_of(const Node& node, std::span<const ValueType> inputs, std::span<const ValueType> outputs);

// Where the values of a run lie, from the addresses of the node's operands and results.
ProductAddresses addresses_of(const Product& product, void* const* inputs, void* const* outputs);

}  // namespace ridgeline::cuda::cublas
