#include "ridgeline/device/cpu/pool/pooled_node.h"

#include <vector>

#include "ridgeline/graph/op/conv2d_max_pool.h"

namespace ridgeline::device {
namespace {

ValueType image_of(const KernelRequest& request) {
  std::vector<ValueType> operands;
  for (const KernelOperand& operand : request.inputs) operands.push_back(operand.type);
  return convolution_result({operands, request.node.attributes, request.node.name});
}

}  // namespace

PooledNode::PooledNode(const KernelRequest& request)
    : image(image_of(request)),
      pool(PoolGeometry::of(pooling_part(request.node.attributes), image.shape, request.outputs[0].type.shape)) {}

}  // namespace ridgeline::device
