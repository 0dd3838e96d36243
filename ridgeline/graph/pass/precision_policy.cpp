#include "ridgeline/graph/pass/precision_policy.h"

#include <algorithm>
#include <array>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

constexpr std::array<PrecisionMode, 9> kModes{{
    {"must_keep_origin_dtype", "origin", PrecisionRewrite::none, DType::f32, "every op in the type of the model: f32"},
    {"allow_mix_precision", "", PrecisionRewrite::lists, DType::f16, "f16 by the op lists"},
    {"allow_mix_precision_fp16", "mixed_float16", PrecisionRewrite::lists, DType::f16, "f16 by the op lists"},
    {"allow_mix_precision_bf16", "mixed_bfloat16", PrecisionRewrite::lists, DType::bf16, "bf16 by the op lists"},
    {"allow_fp32_to_fp16", "", PrecisionRewrite::matrix, DType::f16,
     "convolutions and products in f16, everything else in f32"},
    {"force_fp16", "fp16", PrecisionRewrite::everything, DType::f16,
     "f16 wherever an op can; updates keep f32 masters"},
    {"cube_fp16in_fp32out", "cube_fp16in_fp32out", PrecisionRewrite::matrix_f32_results, DType::f16,
     "convolutions and products read f16 and give f32, everything else in f32"},
    {"force_fp32", "", PrecisionRewrite::matrix_f32_results, DType::f16, "the same as cube_fp16in_fp32out"},
    {"allow_fp32_to_bf16", "", PrecisionRewrite::where_needed, DType::bf16,
     "f32, and bf16 where the device has no f32 kernel"},
}};

// HiFloat8, which the original lists and does not support either.
constexpr std::array<std::string_view, 2> kUnsupported = {"cube_hif8", "mixed_hif8"};

const PrecisionMode& mode_named(std::string_view option, std::string_view name,
                                std::string_view PrecisionMode::*column) {
  std::vector<std::string> names;
  std::string list;
  for (const PrecisionMode& mode : kModes) {
    if ((mode.*column).empty()) continue;
    if (mode.*column == name) return mode;
    names.emplace_back(mode.*column);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  const std::string value(name);
  const bool known = std::find(kUnsupported.begin(), kUnsupported.end(), name) != kUnsupported.end();
  if (known && column == &PrecisionMode::v2_name) {
    throw Error(std::string(option) + " '" + value + "': HiFloat8 is not supported (allowed: " + list + ")",
                ErrorKind::usage);
  }
  throw Error(
      "unknown " + std::string(option) + " '" + value + "'" + did_you_mean(value, names) + " (allowed: " + list + ")",
      ErrorKind::usage);
}

}  // namespace

std::string_view name_of(PrecisionList list) {
  switch (list) {
    case PrecisionList::white: return "white";
    case PrecisionList::black: return "black";
    case PrecisionList::gray: return "gray";
  }
  return "";
}

std::span<const PrecisionMode> precision_modes() { return kModes; }

const PrecisionMode& precision_mode_named(std::string_view name) {
  return mode_named("precision_mode", name, &PrecisionMode::name);
}

const PrecisionMode& precision_mode_v2_named(std::string_view name) {
  return mode_named("precision_mode_v2", name, &PrecisionMode::v2_name);
}

}  // namespace ridgeline
