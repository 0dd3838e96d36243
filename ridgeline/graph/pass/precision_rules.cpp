#include "ridgeline/graph/pass/precision_rules.h"

#include <algorithm>
#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {
namespace {

using enum PrecisionList;
using enum PrecisionRole;

constexpr std::string_view kMaster = "parameters and slots stay f32";
constexpr std::string_view kMetric = "counts and losses are read by people";
constexpr std::string_view kExchanged = "what the ranks exchange keeps its type";
constexpr std::string_view kOwnTypes = "says the types of its results itself";

constexpr PrecisionRule kRules[] = {
    {"conv2d", white, matrix, 1u << 2, false, "Conv2D, DepthwiseConv2D", ""},
    {"conv2d_bwd_data", white, matrix, 0, false, "Conv2DBackpropInput, DepthwiseConv2DBackpropInput", ""},
    {"conv2d_bwd_weights", white, matrix, 0, true, "Conv2DBackpropFilter, DepthwiseConv2DBackpropFilter", ""},
    {"dense", white, matrix, 1u << 2, false, "MatMul, MatMulV2, GEMM", ""},
    {"dense_bwd_data", white, matrix, 0, false, "MatMul, MatMulV2, GEMM", ""},
    {"dense_bwd_weights", white, matrix, 0, true, "MatMul, MatMulV2, GEMM", ""},
    {"matmul", white, matrix, 0, false, "BatchMatMul, BatchMatMulV2", ""},
    {"relu_grad", white, vector, 0, false, "ReluGradV2", ""},

    {"relu", gray, vector, 0, false, "Relu, ReluV2", ""},
    {"relu6", gray, vector, 0, false, "Relu6", ""},
    {"relu6_grad", gray, vector, 0, false, "Relu6Grad", ""},
    {"sigmoid", gray, vector, 0, false, "Sigmoid", ""},
    {"sigmoid_grad", gray, vector, 0, false, "SigmoidGrad", ""},
    {"tanh", gray, vector, 0, false, "Tanh", ""},
    {"tanh_grad", gray, vector, 0, false, "TanhGrad", ""},
    {"silu", gray, vector, 0, false, "", "as sigmoid and mul, which it is made of"},
    {"silu_grad", gray, vector, 0, false, "", "as sigmoid_grad and mul"},
    {"gelu", gray, vector, 0, false, "Gelu", ""},
    {"gelu_grad", gray, vector, 0, false, "GeluGrad", ""},
    {"max_pool", gray, vector, 0, false, "MaxPool, MaxPoolWithArgmax", ""},
    {"max_pool_bwd", gray, vector, 0, false, "MaxPoolGrad, MaxPoolGradWithArgmax", ""},
    {"avg_pool", gray, vector, 0, false, "AvgPool", ""},
    {"avg_pool_bwd", gray, vector, 0, false, "AvgPoolGrad", ""},
    {"lrn", gray, vector, 0, false, "LRN", ""},
    {"lrn_bwd", gray, vector, 0, false, "LRNGrad", ""},
    {"batch_norm_train", gray, vector, 0b11110, false, "BNTrainingReduce, BNTrainingUpdate", ""},
    {"batch_norm_bwd", gray, vector, 0b11100, false, "BNTrainingReduceGrad, BNTrainingUpdateGrad", ""},
    {"batch_norm_eval", gray, vector, 0b11110, false, "BNInfer", ""},
    {"layer_norm", gray, vector, 0b110, false, "LayerNorm", ""},
    {"layer_norm_bwd", gray, vector, 0b11100, false, "LayerNormGrad", ""},
    {"group_norm", gray, vector, 0b110, false, "GroupNorm", ""},
    {"group_norm_bwd", gray, vector, 0b11100, false, "GroupNormGrad", ""},
    {"dropout", gray, vector, 0, false, "DropOutDoMask", ""},
    {"add", gray, vector, 0, false, "Add, AddN", ""},
    {"sub", gray, vector, 0, false, "Sub", ""},
    {"mul", gray, vector, 0, false, "Mul", ""},
    {"div", gray, vector, 0, false, "RealDiv, Div", ""},
    {"maximum", gray, vector, 0, false, "Maximum", ""},
    {"minimum", gray, vector, 0, false, "Minimum", ""},
    {"scale", gray, vector, 0, false, "Muls", ""},
    {"neg", gray, vector, 0, false, "Neg", ""},
    {"abs", gray, vector, 0, false, "Abs", ""},
    {"exp", gray, vector, 0, false, "Exp", ""},
    {"sqrt", gray, vector, 0, false, "Sqrt", ""},
    {"floor", gray, vector, 0, false, "Floor", ""},
    {"cos", gray, vector, 0, false, "Cos", ""},
    {"sin", gray, vector, 0, false, "Sin", ""},
    {"less", gray, vector, 0, false, "Less", ""},
    {"less_equal", gray, vector, 0, false, "LessEqual", ""},
    {"equal", gray, vector, 0, false, "Equal", ""},
    {"select", gray, vector, 0, false, "Select, SelectV2", ""},
    {"reshape", gray, vector, 0, false, "Reshape", ""},
    {"flatten", gray, vector, 0, false, "Flatten", ""},
    {"unflatten", gray, vector, 0, false, "", "the gradient of flatten"},
    {"transpose", gray, vector, 0, false, "Transpose", ""},
    {"broadcast_to", gray, vector, 0, false, "BroadcastTo", ""},
    {"pad", gray, vector, 0, false, "Pad", ""},
    {"strided_slice", gray, vector, 0, false, "StridedSlice", ""},
    {"strided_slice_bwd", gray, vector, 0, false, "StridedSliceGrad", ""},
    {"concat", gray, vector, 0, false, "Concat, ConcatV2", ""},
    {"split", gray, vector, 0, false, "Split, SplitV", ""},
    {"reduce_max", gray, vector, 0, false, "ReduceMax", ""},

    {"log", black, vector, 0, false, "Log", ""},
    {"reduce_sum", black, vector, 0, false, "ReduceSum, BiasAddGrad", ""},
    {"reduce_mean", black, vector, 0, false, "ReduceMean", ""},
    {"softmax", black, vector, 0, false, "SoftmaxV2",
     "gray in the original; its gradient is black there, and probabilities are read by people"},
    {"softmax_bwd", black, vector, 0, false, "SoftmaxGrad", ""},
    {"softmax_cross_entropy", black, vector, 0b110, false, "SoftmaxCrossEntropyWithLogits",
     "gray in the original, whose recipe casts the logits to f32; so does this list"},
    {"softmax_cross_entropy_bwd", black, vector, 0b1010, false, "SoftmaxGrad", ""},
    {"gather", black, fixed, 0, false, "Gather, GatherV2", "reads a table that stays f32; its readers round"},
    {"gather_bwd", black, fixed, 0, false, "", "the gradient of a table that stays f32"},
    {"l2_penalty", black, fixed, 0, false, "L2Loss", kMaster},
    {"sgd", black, fixed, 0, false, "SGD, ApplyGradientDescent", kMaster},
    {"sgd_momentum", black, fixed, 0, false, "ApplyMomentum, FusedMulApplyMomentum", kMaster},
    {"adam", black, fixed, 0, false, "ApplyAdam", kMaster},
    {"rmsprop", black, fixed, 0, false, "ApplyRMSProp", kMaster},
    {"rmsprop_momentum", black, fixed, 0, false, "", kMaster},
    {"update_group", black, fixed, 0, false, "", "made of updates, behind this pass"},
    {"dense_update", black, fixed, 0, false, "", "made of a gradient and its update, behind this pass"},
    {"top_k_accuracy", black, fixed, 0, false, "InTopK", kMetric},
    {"argmax_accuracy", black, fixed, 0, false, "ArgMax", kMetric},
    {"all_reduce", black, fixed, 0, false, "HcomAllReduce", kExchanged},
    {"reduce", black, fixed, 0, false, "HcomReduce", kExchanged},
    {"broadcast", black, fixed, 0, false, "HcomBroadcast", kExchanged},
    {"all_gather", black, fixed, 0, false, "HcomAllGather", kExchanged},
    {"reduce_scatter", black, fixed, 0, false, "HcomReduceScatter", kExchanged},
    {"all_to_all", black, fixed, 0, false, "HcomAllToAll", kExchanged},
    {"transfer", black, fixed, 0, false, "HcomSend, HcomReceive", kExchanged},
    {"collective_start", black, fixed, 0, false, "", kExchanged},
    {"collective_done", black, fixed, 0, false, "", kExchanged},
    {"cast", gray, fixed, 0, false, "Cast", kOwnTypes},
    {"constant", gray, fixed, 0, false, "Fill", kOwnTypes},
    {"image_tail", gray, fixed, 0, false, "", kOwnTypes},
};

bool gives_f32(const OpDef& def) {
  return std::any_of(def.attributes.begin(), def.attributes.end(),
                     [](const AttributeSpec& spec) { return spec.name == "f32_results"; });
}

// The table, followed by the ops that compilation makes of others, with the rules of those.
std::vector<PrecisionRule> all_rules() {
  std::vector<PrecisionRule> rules(std::begin(kRules), std::end(kRules));
  for (const OpDef& def : all_ops()) {
    if (def.made_of.empty()) continue;
    PrecisionRule rule = *std::find_if(std::begin(kRules), std::end(kRules),
                                       [&](const PrecisionRule& r) { return r.op == def.made_of; });
    rule.op = def.name;
    if (!gives_f32(def)) rule.role = vector;
    rule.original = "";
    rule.reason = "made of others behind this pass";
    rules.push_back(rule);
  }
  return rules;
}

// The words of a comma-separated list.
std::vector<std::string_view> words(std::string_view list) {
  std::vector<std::string_view> all;
  while (!list.empty()) {
    const std::size_t comma = list.find(", ");
    all.push_back(list.substr(0, comma));
    list = comma == std::string_view::npos ? "" : list.substr(comma + 2);
  }
  return all;
}

// The original's kernels with shapes fixed at compile time have a "D" after their names.
bool called(const PrecisionRule& rule, std::string_view name) {
  if (rule.op == name) return true;
  for (std::string_view word : words(rule.original)) {
    if (word == name || (name.size() == word.size() + 1 && name.starts_with(word) && name.back() == 'D')) return true;
  }
  return false;
}

}  // namespace

std::span<const PrecisionRule> precision_rules() {
  static const std::vector<PrecisionRule> rules = all_rules();
  return rules;
}

const PrecisionRule* find_precision_rule(std::string_view op) {
  const std::span<const PrecisionRule> rules = precision_rules();
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const PrecisionRule& r) { return r.op == op; });
  return found == rules.end() ? nullptr : &*found;
}

std::vector<std::string> ops_called(std::string_view name) {
  std::vector<std::string> ops;
  for (const PrecisionRule& rule : precision_rules()) {
    if (called(rule, name)) ops.emplace_back(rule.op);
  }
  return ops;
}

std::vector<std::string> precision_op_names() {
  std::vector<std::string> names;
  for (const PrecisionRule& rule : precision_rules()) {
    names.emplace_back(rule.op);
    for (std::string_view word : words(rule.original)) {
      if (std::find(names.begin(), names.end(), word) == names.end()) names.emplace_back(word);
    }
  }
  return names;
}

std::string describe_precision_rules() {
  std::string text =
      "# Precision lists\n\n"
      "The list of each op in the mixed precision modes ([precision.md](precision.md)), and the names that the "
      "original's table (Ascend 910) has for it: `--modify_mixlist` knows both. This page is made from "
      "`graph/pass/precision_rules.cpp`; `RIDGELINE_UPDATE_DOCS=1 ctest -R PrecisionDocs` rewrites it.\n\n"
      "| op | list | kind | stays f32 | in the original | remark |\n|---|---|---|---|---|---|\n";
  for (const PrecisionRule& rule : precision_rules()) {
    std::string wide;
    for (int i = 0; i < 8; ++i) {
      if ((rule.wide >> i & 1u) != 0) wide += (wide.empty() ? "operands " : ", ") + std::to_string(i);
    }
    if (rule.master_gradient) wide += std::string(wide.empty() ? "" : "; ") + "results";
    const char* kind = rule.role == matrix ? "matrix" : rule.role == vector ? "vector" : "fixed";
    text += "| " + std::string(rule.op) + " | " + std::string(name_of(rule.list)) + " | " + kind + " | " + wide +
            " | " + std::string(rule.original) + " | " + std::string(rule.reason) + " |\n";
  }
  return text;
}

}  // namespace ridgeline
