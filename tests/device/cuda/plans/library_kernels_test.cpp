// Kernels around plans of cuDNN, on the recording driver: what is launched beside a plan, places in the scratch memory,
// what the library is said to touch. The library's own part is done by the op's reference.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "ridgeline/device/cuda/cublas/kernels.h"
#include "ridgeline/device/cuda/cuda_device.h"
#include "ridgeline/device/cuda/cudnn/kernels.h"
#include "tests/device/cuda/driver_support.h"
#include "tests/device/cuda/plans/plans_support.h"

namespace ridgeline::cuda {
namespace {

Tensor random_values(const ValueType& type, std::uint64_t seed) {
  Tensor tensor(type.dtype, type.shape);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    const float value = static_cast<float>(state >> 40) / 8388608.0f - 1.0f;
    const auto at = static_cast<std::size_t>(i);
    switch (type.dtype) {
      case DType::bf16: tensor.data<bfloat16>()[at] = to_bfloat16(value); break;
      case DType::f16: tensor.data<float16>()[at] = to_float16(value); break;
      default: tensor.data<float>()[at] = value;
    }
  }
  return tensor;
}

class LibraryKernels : public ::testing::Test {
 protected:
  // The kernel of a node over these operands on a recording card, or the refusal's reason.
  struct Made {
    std::string name, refusal;  // of the kernel; why there is none
    DType products = DType::f32;
    std::vector<Tensor> got, expected;
  };

  Made run(const std::string& op, Attributes given, std::vector<ValueType> inputs, KernelPromise promise = {}) {
    const testing::PretendedCard pretended("sm_90");
    testing::RecordingCard recording;
    CudaDevice device(recording.context, {.images = testing::kAnyImages});
    Libraries libraries(cudnn::Target::current_card(pretended.functions()), nullptr, nullptr,
                        {.warn = warnings_.sink()});
    const OpDef& def = op_def(op);
    Node node;
    node.op = op;
    node.name = "node";
    node.attributes = complete_attributes(def, given);
    KernelRequest request{.def = def, .node = node, .promise = promise, .device = &device};
    for (const ValueType& type : inputs) request.inputs.push_back({type, {}});
    for (const ValueType& type : infer_types(def, inputs, node.attributes, node.name)) {
      request.outputs.push_back({type, {}});
    }
    KernelChoice choice = cudnn::make_convolution(request, libraries);
    Made made;
    if (const auto* refusal = std::get_if<Refusal>(&choice)) {
      made.refusal = refusal->reason;
      return made;
    }
    Kernel& kernel = *std::get<std::unique_ptr<Kernel>>(choice);
    kernel.device = &device;
    made.name = kernel.name;
    made.products = kernel.products;

    std::vector<Tensor> values;
    std::vector<std::unique_ptr<DeviceMemory>> memory;
    std::vector<void*> input_addresses, output_addresses;
    Stream& stream = device.stream();
    const auto allocate = [&](std::size_t bytes) {
      return memory.emplace_back(device.allocate(std::max<std::size_t>(bytes, 64)))->address();
    };
    for (const ValueType& type : inputs) {
      values.push_back(random_values(type, values.size() + 1));
      input_addresses.push_back(allocate(type.bytes()));
      stream.copy(
          {.to = input_addresses.back(), .from = values.back().raw(), .bytes = type.bytes(), .to_device = &device});
    }
    for (const KernelOperand& output : request.outputs) output_addresses.push_back(allocate(output.type.bytes()));
    // Programs give scratch memory at a multiple of 64, not of 256.
    char* const scratch = static_cast<char*>(allocate(kernel.scratch_bytes + 64)) + 64;
    stream.run(kernel, {input_addresses.data(), output_addresses.data(), scratch});
    for (std::size_t i = 0; i < request.outputs.size(); ++i) {
      const ValueType& type = request.outputs[i].type;
      Tensor& output = made.got.emplace_back(type.dtype, type.shape);
      stream.copy({.to = output.raw(), .from = output_addresses[i], .bytes = type.bytes(), .from_device = &device});
    }
    stream.synchronize();
    made.expected = run_reference(def, values, node.attributes, node.name);
    return made;
  }

  // Of the largest value.
  static double error_of(const Tensor& got, const Tensor& expected) {
    double largest = 0, error = 0;
    for (std::int64_t i = 0; i < got.elements(); ++i) {
      largest = std::max(largest, std::abs(expected.at(i)));
      error = std::max(error, std::abs(got.at(i) - expected.at(i)));
    }
    return error / largest;
  }

  testing::Warnings warnings_;
};

using Integers = std::vector<std::int64_t>;
const ValueType kImage{DType::bf16, {2, 12, 12, 32}}, kFilter{DType::bf16, {48, 3, 3, 32}},
    kResult{DType::bf16, {2, 12, 12, 48}};
const Attributes kSame{{"pad", Integers{1, 1, 1, 1}}};

Attributes with(Attributes attributes, const std::string& name, ridgeline::Attribute value) {
  attributes.set(name, std::move(value));
  return attributes;
}

TEST_F(LibraryKernels, AConvolutionIsOnePlan) {
  RIDGELINE_NEEDS_CUDNN();
  const Made made = run("conv2d", kSame, {kImage, kFilter});
  ASSERT_EQ(made.refusal, "");
  EXPECT_EQ(error_of(made.got[0], made.expected[0]), 0);
  EXPECT_EQ(made.products, DType::bf16);
  EXPECT_TRUE(made.name.starts_with("cudnn engine ")) << made.name;
}

TEST_F(LibraryKernels, AnF32BiasIsRoundedToTheTypeOfTheData) {
  RIDGELINE_NEEDS_CUDNN();
  const Made made =
      run("conv2d", with(kSame, "activation", std::string("relu")), {kImage, kFilter, {DType::f32, {48}}});
  ASSERT_EQ(made.refusal, "");
  EXPECT_LE(error_of(made.got[0], made.expected[0]), 6e-3);
}

TEST_F(LibraryKernels, GradientsOfWeightsAreWidenedAndThoseOfTheBiasSummed) {
  RIDGELINE_NEEDS_CUDNN();
  Attributes attributes = with(kSame, "kernel", Integers{3, 3});
  attributes.set("bias", true);
  attributes.set("f32_results", true);
  const Made made = run("conv2d_bwd_weights", attributes, {kImage, kResult});
  ASSERT_EQ(made.refusal, "");
  EXPECT_LE(error_of(made.got[0], made.expected[0]), 6e-3);
  EXPECT_LE(error_of(made.got[1], made.expected[1]), 1e-5);
}

TEST_F(LibraryKernels, FirstLayersGoOverBlocksOfPixels) {
  RIDGELINE_NEEDS_CUDNN();
  struct Layer {
    std::int64_t side, kernel, stride, pad;
  };
  // AlexNet's first layer, ResNet's, and one whose pad is whole blocks, all over smaller images.
  for (const Layer& l : {Layer{36, 11, 4, 2}, Layer{32, 7, 2, 3}, Layer{24, 5, 2, 2}, Layer{24, 3, 2, 1}}) {
    const std::int64_t result = (l.side + 2 * l.pad - l.kernel) / l.stride + 1;
    const Attributes attributes{{"stride", Integers{l.stride, l.stride}},
                                {"pad", Integers{l.pad, l.pad, l.pad, l.pad}}};
    for (const DType type : {DType::bf16, DType::f16}) {
      const ValueType image{type, {2, l.side, l.side, 3}}, filter{type, {16, l.kernel, l.kernel, 3}},
          dy{type, {2, result, result, 16}};
      const Made forward =
          run("conv2d", with(attributes, "activation", std::string("relu")), {image, filter, {DType::f32, {16}}});
      ASSERT_EQ(forward.refusal, "");
      EXPECT_TRUE(forward.name.starts_with("cudnn blocks ")) << forward.name;
      EXPECT_LE(error_of(forward.got[0], forward.expected[0]), 6e-3) << l.kernel;
      Attributes backward = with(attributes, "kernel", Integers{l.kernel, l.kernel});
      backward.set("f32_results", true);
      backward.set("bias", true);
      const Made weights = run("conv2d_bwd_weights", backward, {image, dy});
      ASSERT_EQ(weights.refusal, "");
      EXPECT_TRUE(weights.name.starts_with("cudnn blocks ")) << weights.name;
      EXPECT_LE(error_of(weights.got[0], weights.expected[0]), 6e-3) << l.kernel;
      EXPECT_LE(error_of(weights.got[1], weights.expected[1]), 1e-5) << l.kernel;
    }
  }
}

TEST_F(LibraryKernels, WhatIsNotPromisedIsRefusedWithItsReason) {
  RIDGELINE_NEEDS_CUDNN();
  const Made uneven = run("conv2d", {{"pad", Integers{0, 1, 0, 1}}, {"stride", Integers{2, 2}}}, {kImage, kFilter});
  EXPECT_NE(uneven.refusal.find("padding differs"), std::string::npos) << uneven.refusal;
  // Its engines are compiled at run time: under `deterministic` none is taken.
  Attributes data = with(kSame, "input", Integers{2, 12, 12, 32});
  EXPECT_EQ(run("conv2d_bwd_data", data, {kResult, kFilter}, {Reproducibility::deterministic}).refusal, "");
  const Made gated = run("conv2d_bwd_data", data, {kResult, kFilter, kImage}, {Reproducibility::deterministic});
  EXPECT_NE(gated.refusal.find("compiled at run time"), std::string::npos) << gated.refusal;
  EXPECT_TRUE(warnings_.lines.empty());
}

}  // namespace
}  // namespace ridgeline::cuda
