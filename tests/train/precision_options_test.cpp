// Precision settings in flags and files, and what is refused before the training.
#include "ridgeline/train/precision_options.h"

#include <gtest/gtest.h>

#include <fstream>

#include "ridgeline/graph/pass/precision_rules.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::train {
namespace {

std::string file_with(const std::string& name, const std::string& text) {
  const std::string path = testing::temporary_directory() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

std::string refusal(const PrecisionOptions& options) {
  return error_of([&] { policy_of(options); });
}

TEST(PrecisionOptions, EveryModeHasItsRewriteUnderBothNames) {
  for (const PrecisionMode& mode : precision_modes()) {
    const PrecisionPolicy policy = policy_of({.mode = std::string(mode.name)});
    EXPECT_EQ(policy.rewrite, mode.rewrite) << mode.name;
    EXPECT_EQ(policy.low, mode.low) << mode.name;
    if (mode.v2_name.empty()) continue;
    EXPECT_EQ(policy_of({.mode_v2 = std::string(mode.v2_name)}).rewrite, mode.rewrite) << mode.v2_name;
  }
  EXPECT_EQ(policy_of({}).rewrite, PrecisionRewrite::none);
  EXPECT_EQ(policy_of({.mode = "force_fp32"}).rewrite, policy_of({.mode = "cube_fp16in_fp32out"}).rewrite);
}

TEST(PrecisionOptions, IllegalValuesAreRefusedWithTheLegalOnes) {
  EXPECT_EQ(refusal({.mode = "allow_mixed_precision"}),
            "unknown precision_mode 'allow_mixed_precision': did you mean 'allow_mix_precision'? (allowed: "
            "must_keep_origin_dtype, allow_mix_precision, allow_mix_precision_fp16, allow_mix_precision_bf16, "
            "allow_fp32_to_fp16, force_fp16, cube_fp16in_fp32out, force_fp32, allow_fp32_to_bf16)");
  EXPECT_EQ(
      refusal({.mode_v2 = "mixed_hif8"}),
      "precision_mode_v2 'mixed_hif8': HiFloat8 is not supported (allowed: origin, mixed_float16, mixed_bfloat16, "
      "fp16, cube_fp16in_fp32out)");
  EXPECT_EQ(refusal({.mode = "force_fp16", .mode_v2 = "fp16"}),
            "'precision_mode' and 'precision_mode_v2' can not be assigned at the same time.");
  EXPECT_EQ(refusal({.fp16_compute = "fast"}), "--fp16_compute=fast (allowed: exact, bf16)");
}

TEST(PrecisionOptions, Bf16StandsInForF16WhereAskedFor) {
  EXPECT_EQ(policy_of({.mode = "allow_mix_precision", .fp16_compute = "bf16"}).low, DType::bf16);
  EXPECT_EQ(describe({.mode = "allow_mix_precision", .fp16_compute = "bf16"}).size(), 2u);
  EXPECT_EQ(describe({.mode = "allow_mix_precision_bf16", .fp16_compute = "bf16"}).size(), 1u);
  EXPECT_TRUE(describe({}).empty());
}

TEST(PrecisionOptions, MixlistsMoveOpsUnderOurNamesAndTheOriginals) {
  const std::string path = file_with("mixlist.json",
                                     R"({"black-list": {"to-remove": ["Log"], "to-add": ["Relu"]},
                                         "white-list": {"to-remove": ["conv2d"], "to-add": ["add", "ReduceMeanD"]}})");
  const PrecisionPolicy policy = policy_of({.mode_v2 = "mixed_bfloat16", .modify_mixlist = path});
  EXPECT_EQ(policy.moved.at("log"), PrecisionList::gray);
  EXPECT_EQ(policy.moved.at("relu"), PrecisionList::black);
  EXPECT_EQ(policy.moved.at("conv2d"), PrecisionList::gray);
  EXPECT_EQ(policy.moved.at("add"), PrecisionList::white);
  EXPECT_EQ(policy.moved.at("reduce_mean"), PrecisionList::white);
  EXPECT_EQ(policy.moved.size(), 5u);

  EXPECT_EQ(refusal({.mode = "force_fp16", .modify_mixlist = path}),
            "modify_mixlist is assigned, please ensure that precision_mode is assigned to 'allow_mix_precision' or "
            "'allow_mix_precision_fp16' or 'allow_mix_precision_bf16'.");
  EXPECT_EQ(refusal({.mode_v2 = "fp16", .modify_mixlist = path}),
            "modify_mixlist is assigned, please ensure that precision_mode_v2 is assigned to 'mixed_float16' or "
            "'mixed_bfloat16'.");
}

std::string mixlist_refusal(const std::string& json) {
  PrecisionPolicy policy;
  return error_of([&] { read_mixlist(json, "lists.json", policy); });
}

TEST(PrecisionOptions, WrongMixlistsNameThePlace) {
  EXPECT_EQ(mixlist_refusal(R"({"white-list": {"to-add": ["Conv2"]}})"),
            "lists.json: white-list.to-add: no op is called 'Conv2': did you mean 'Conv2D'?");
  EXPECT_EQ(mixlist_refusal(R"({"gray-list": {}})"),
            "lists.json has the key 'gray-list' (allowed: black-list, white-list)");
  EXPECT_EQ(mixlist_refusal(R"({"white-list": {"add": []}})"),
            "lists.json: white-list has the key 'add' (allowed: to-remove, to-add)");
  EXPECT_EQ(mixlist_refusal(R"({"white-list": {"to-add": "relu"}})"),
            "lists.json: white-list.to-add is text; a list of op names is meant");
  EXPECT_EQ(mixlist_refusal(R"([])"), "lists.json is array; an object is meant");
  EXPECT_EQ(mixlist_refusal(R"({"white-list": {"to-add": ["relu"]}, "black-list": {"to-add": ["ReluV2"]}})"),
            "lists.json: 'relu' is added to the black list and to the white list");
}

TEST(PrecisionOptions, FilesNameOpsScopesAndKinds) {
  PrecisionPolicy policy;
  read_keep_dtype("# the head\nlinear\n\n  layer1.0.bn1/batch_norm_train \nOpType::Relu\n", "keep.cfg", policy);
  EXPECT_EQ(policy.keep, (std::vector<std::string>{"linear", "layer1.0.bn1/batch_norm_train"}));
  EXPECT_EQ(policy.keep_ops, std::vector<std::string>{"relu"});
  read_customize_dtypes(
      "conv1/conv2d::InputDtype:float16,float16,OutputDtype:float32\nOpType::Relu:InputDtype:bfloat16\n"
      "OpType::MatMul:OutputDtype:float32,\n",
      "types.cfg", policy);
  ASSERT_EQ(policy.overrides.size(), 5u) << "MatMul is three of our ops";
  EXPECT_TRUE(policy.overrides[0].by_name);
  EXPECT_EQ(policy.overrides[0].key, "conv1/conv2d");
  EXPECT_EQ(policy.overrides[0].operands, DType::f16);
  EXPECT_EQ(policy.overrides[0].results, DType::f32);
  EXPECT_EQ(policy.overrides[1].key, "relu");
  EXPECT_EQ(policy.overrides[1].results, DType::bf16);
  EXPECT_EQ(policy.overrides[2].key, "dense");
  EXPECT_EQ(policy.overrides[2].operands, DType::f32);
}

TEST(PrecisionOptions, WrongLinesNameFileAndLine) {
  PrecisionPolicy policy;
  const auto types = [&](const std::string& text) {
    return error_of([&] { read_customize_dtypes(text, "types.cfg", policy); });
  };
  EXPECT_EQ(types("\nconv1::InputDtype:int8"),
            "types.cfg:2: the type 'int8' is not supported (allowed: float16, bfloat16, float32)");
  EXPECT_EQ(types("conv1"), "types.cfg:1: 'conv1' is not of the form NAME::InputDtype:float16,OutputDtype:float16");
  EXPECT_EQ(types("conv1::InputDtype:float16,float32"),
            "types.cfg:1: InputDtype names several types; the operands of an op have one");
  EXPECT_EQ(types("conv1::InputDtype:float32,OutputDtype:float16"),
            "types.cfg:1: results are of the type of the operands, or float32");
  EXPECT_EQ(types("OpType::Softplus:InputDtype:float16"), "types.cfg:1: no op is called 'Softplus'");
  // Such a name would end in a checkpoint's JSON.
  EXPECT_EQ(error_of([&] { read_keep_dtype("linear\n\xff\xd8\xff\n", "keep.jpg", policy); }),
            "keep.jpg:2 is no text in UTF-8");
  EXPECT_EQ(error_of([&] { read_keep_dtype("OpType::Rellu", "keep.cfg", policy); }),
            "keep.cfg:1: no op is called 'Rellu': did you mean 'Relu'?");
}

TEST(PrecisionOptions, WhatHasNoEffectIsSaid) {
  const PrecisionOptions options{.mode_v2 = "origin", .keep_dtype = "x", .customize_dtypes = "y"};
  EXPECT_EQ(describe(options), (std::vector<std::string>{"precision origin: every op in the type of the model: f32",
                                                         "warning: --keep_dtype has no effect with origin",
                                                         "warning: --customize_dtypes has no effect with origin"}));
}

}  // namespace
}  // namespace ridgeline::train
