// ridgeline/nn/models/table.h
//
// One function for each model, each in its own file; nn/models.cpp lists them by name.
#pragma once

#include "ridgeline/nn/models.h"

namespace ridgeline::nn {

ModelInfo alexnet_info();
ModelInfo alexnet_mindspore_info();
ModelInfo alexnet_torchvision_info();
ModelInfo convnext_tiny_info();
ModelInfo densenet121_info();
ModelInfo mobilenet_v2_info();
ModelInfo resnet20_info();
ModelInfo resnet18_info();
ModelInfo resnet50_info();
ModelInfo vgg11_info();
ModelInfo vgg16_info();
ModelInfo vit_tiny_info();
ModelInfo linear_info();

}  // namespace ridgeline::nn
