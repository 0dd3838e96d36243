#include "ridgeline/train/precision_options.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <sstream>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/utf8.h"
#include "ridgeline/device/devices.h"
#include "ridgeline/format/text/json_value.h"
#include "ridgeline/graph/pass/precision_rules.h"

namespace ridgeline::train {
namespace {

constexpr std::string_view kOpType = "OpType::";

[[noreturn]] void refuse(const std::string& text) { throw Error(text, ErrorKind::usage); }

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::vector<std::string> known_ops(const std::string& name, const std::string& where) {
  std::vector<std::string> ops = ops_called(name);
  if (ops.empty()) refuse(where + ": no op is called '" + name + "'" + did_you_mean(name, precision_op_names()));
  return ops;
}

// The lines that are not empty or comments, with "FILE:LINE".
template <class F>
void for_each_line(const std::string& text, const std::string& where, const F& body) {
  std::istringstream in(text);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    line = trimmed(line);
    const std::string at = where + ":" + std::to_string(number);
    if (!is_utf8(line)) refuse(at + " is no text in UTF-8");
    if (!line.empty() && line[0] != '#') body(line, at);
  }
}

std::vector<std::string> names_of(const JsonValue* list, const std::string& where) {
  std::vector<std::string> names;
  if (list == nullptr) return names;
  if (list->array() == nullptr) refuse(where + " is " + std::string(list->kind()) + "; a list of op names is meant");
  for (const JsonValue& item : *list->array()) {
    if (item.text() == nullptr) refuse(where + " holds " + std::string(item.kind()) + "; names of ops are meant");
    names.push_back(*item.text());
  }
  return names;
}

void expect_keys(const JsonValue& value, const std::vector<std::string>& allowed, const std::string& where) {
  if (value.object() == nullptr) refuse(where + " is " + std::string(value.kind()) + "; an object is meant");
  for (const JsonMember& member : *value.object()) {
    if (std::find(allowed.begin(), allowed.end(), member.key) != allowed.end()) continue;
    std::string list;
    for (const std::string& key : allowed) list += (list.empty() ? "" : ", ") + key;
    refuse(where + " has the key '" + member.key + "'" + did_you_mean(member.key, allowed) + " (allowed: " + list +
           ")");
  }
}

DType dtype_called(const std::string& name, const std::string& where) {
  if (name == "float16") return DType::f16;
  if (name == "bfloat16") return DType::bf16;
  if (name == "float32" || name == "float") return DType::f32;
  refuse(where + ": the type '" + name + "' is not supported (allowed: float16, bfloat16, float32)");
}

// "float16,float16" after `key`, up to the next key: one type for all, as in this engine's ops.
std::optional<DType> types_behind(const std::string& text, const std::string& key, const std::string& where) {
  const std::size_t at = text.find(key + ":");
  if (at == std::string::npos) return std::nullopt;
  std::string list = text.substr(at + key.size() + 1);
  const std::size_t next = std::min(list.find("InputDtype"), list.find("OutputDtype"));
  list = list.substr(0, next);
  std::optional<DType> type;
  std::istringstream in(list);
  std::string word;
  while (std::getline(in, word, ',')) {
    word = trimmed(word);
    if (word.empty()) continue;
    const DType one = dtype_called(word, where);
    if (type && *type != one) refuse(where + ": " + key + " names several types; the operands of an op have one");
    type = one;
  }
  if (!type) refuse(where + ": " + key + " names no type");
  return type;
}

// MindSpore's levels. `auto` is decided by the device: bf16 by the lists where it multiplies that faster than f32, else
// O0.
struct AmpLevel {
  std::string_view name, mode;
  bool keeps_batch_norm = false, scales_loss = false;
};
constexpr std::array<AmpLevel, 4> kAmpLevels{{
    {"O0", "must_keep_origin_dtype"},
    {"O1", "allow_mix_precision_fp16"},
    {"O2", "force_fp16", true, true},
    {"O3", "force_fp16"},
}};
constexpr std::array<std::string_view, 3> kBatchNorms = {"batch_norm_train", "batch_norm_bwd", "batch_norm_eval"};

AmpLevel amp_level_of(const PrecisionOptions& options) {
  const std::string& name = options.amp_level;
  for (const AmpLevel& level : kAmpLevels) {
    if (level.name == name) return level;
  }
  if (name != "auto") refuse("unknown amp_level '" + name + "' (allowed: O0, O1, O2, O3, auto)");
  const DeviceEntry& device = *device_named(options.device).entry;
  return {"auto", device.fast_bf16 && device.fast_bf16() ? "allow_mix_precision_bf16" : "must_keep_origin_dtype"};
}

bool given(const PrecisionOptions& o) {
  return !o.amp_level.empty() || !o.mode.empty() || !o.mode_v2.empty() || !o.modify_mixlist.empty() ||
         !o.keep_dtype.empty() || !o.customize_dtypes.empty();
}

}  // namespace

const PrecisionMode& mode_of(const PrecisionOptions& options) {
  if (!options.mode.empty() && !options.mode_v2.empty()) {
    refuse("'precision_mode' and 'precision_mode_v2' can not be assigned at the same time.");
  }
  if (!options.amp_level.empty()) {
    if (!options.mode.empty() || !options.mode_v2.empty()) {
      refuse("amp_level and precision_mode can not be assigned at the same time.");
    }
    return precision_mode_named(amp_level_of(options).mode);
  }
  if (!options.mode_v2.empty()) return precision_mode_v2_named(options.mode_v2);
  return options.mode.empty() ? precision_modes().front() : precision_mode_named(options.mode);
}

std::string name_of(const PrecisionMode& mode) { return std::string(mode.name.empty() ? mode.v2_name : mode.name); }

PrecisionPolicy policy_of(const PrecisionOptions& options) {
  const PrecisionMode& mode = mode_of(options);
  PrecisionPolicy policy = PrecisionPolicy::of(mode);
  if (options.fp16_compute != "exact" && options.fp16_compute != "bf16") {
    refuse("--fp16_compute=" + options.fp16_compute + " (allowed: exact, bf16)");
  }
  if (options.fp16_compute == "bf16" && policy.low == DType::f16) policy.low = DType::bf16;
  if (!options.amp_level.empty() && amp_level_of(options).keeps_batch_norm) {
    policy.keep_ops.assign(kBatchNorms.begin(), kBatchNorms.end());
  }
  if (!options.modify_mixlist.empty()) {
    if (mode.rewrite != PrecisionRewrite::lists) {
      std::string modes;
      for (const PrecisionMode& m : precision_modes()) {
        const std::string_view name = options.mode_v2.empty() ? m.name : m.v2_name;
        if (m.rewrite == PrecisionRewrite::lists && !name.empty()) {
          modes += (modes.empty() ? "'" : " or '") + std::string(name) + "'";
        }
      }
      refuse("modify_mixlist is assigned, please ensure that " +
             std::string(options.mode_v2.empty() ? "precision_mode" : "precision_mode_v2") + " is assigned to " +
             modes + ".");
    }
    read_mixlist(read_file(options.modify_mixlist), "[modify_mixlist] " + options.modify_mixlist, policy);
  }
  if (!options.keep_dtype.empty()) {
    read_keep_dtype(read_file(options.keep_dtype), "[keep_dtype] " + options.keep_dtype, policy);
  }
  if (!options.customize_dtypes.empty()) {
    read_customize_dtypes(read_file(options.customize_dtypes), "[customize_dtypes] " + options.customize_dtypes,
                          policy);
  }
  return policy;
}

bool scales_loss(const PrecisionOptions& options) {
  return !options.amp_level.empty() && amp_level_of(options).scales_loss;
}

std::vector<std::string> describe(const PrecisionOptions& options) {
  if (!given(options)) return {};
  const PrecisionMode& mode = mode_of(options);
  const std::string name(options.mode_v2.empty() ? mode.name : mode.v2_name);
  std::vector<std::string> lines;
  if (!options.amp_level.empty()) {
    const AmpLevel level = amp_level_of(options);
    lines.push_back("amp_level " + options.amp_level + (level.keeps_batch_norm ? ": batch norms stay f32" : "") +
                    (level.scales_loss ? ", a dynamic loss scale" : ""));
  }
  lines.push_back("precision " + name + ": " + std::string(mode.doc));
  if (options.fp16_compute == "bf16" && mode.low == DType::f16) {
    lines.push_back("precision: bf16 stands in for f16 (--fp16_compute=bf16)");
  }
  if (mode.rewrite == PrecisionRewrite::none) {
    if (!options.keep_dtype.empty()) lines.push_back("warning: --keep_dtype has no effect with " + name);
    if (!options.customize_dtypes.empty()) lines.push_back("warning: --customize_dtypes has no effect with " + name);
  }
  return lines;
}

void read_mixlist(const std::string& json, const std::string& where, PrecisionPolicy& policy) {
  const JsonValue root = parse_json(json, where);
  expect_keys(root, {"black-list", "white-list"}, where);
  // Our ops that a list names, with the name that the user has for each.
  const auto ops = [&](const char* list, const char* change) {
    std::map<std::string, std::string> named;
    const JsonValue* entry = root.find(list);
    if (entry == nullptr) return named;
    const std::string at = where + ": " + list;
    expect_keys(*entry, {"to-remove", "to-add"}, at);
    for (const std::string& name : names_of(entry->find(change), at + "." + change)) {
      for (const std::string& op : known_ops(name, at + "." + change)) named.emplace(op, name);
    }
    return named;
  };
  // What is taken out of a list is gray, unless it is put into the other.
  for (const char* list : {"black-list", "white-list"}) {
    for (const auto& [op, name] : ops(list, "to-remove")) policy.moved[op] = PrecisionList::gray;
  }
  const auto black = ops("black-list", "to-add");
  for (const auto& [op, name] : black) policy.moved[op] = PrecisionList::black;
  for (const auto& [op, name] : ops("white-list", "to-add")) {
    if (black.contains(op)) refuse(where + ": '" + name + "' is added to the black list and to the white list");
    policy.moved[op] = PrecisionList::white;
  }
}

void read_keep_dtype(const std::string& text, const std::string& where, PrecisionPolicy& policy) {
  for_each_line(text, where, [&](const std::string& line, const std::string& at) {
    if (!line.starts_with(kOpType)) {
      policy.keep.push_back(line);
      return;
    }
    for (const std::string& op : known_ops(line.substr(kOpType.size()), at)) policy.keep_ops.push_back(op);
  });
}

void read_customize_dtypes(const std::string& text, const std::string& where, PrecisionPolicy& policy) {
  for_each_line(text, where, [&](const std::string& line, const std::string& at) {
    const bool by_op = line.starts_with(kOpType);
    const std::string rest = by_op ? line.substr(kOpType.size()) : line;
    const std::size_t types = std::min(rest.find("InputDtype"), rest.find("OutputDtype"));
    std::string name = rest.substr(0, types);
    while (!name.empty() && name.back() == ':') name.pop_back();
    if (types == std::string::npos || name.empty()) {
      refuse(at + ": '" + line + "' is not of the form NAME::InputDtype:float16,OutputDtype:float16");
    }
    const std::optional<DType> operands = types_behind(rest, "InputDtype", at);
    const std::optional<DType> results = types_behind(rest, "OutputDtype", at);
    PrecisionOverride entry{!by_op, name, operands.value_or(results.value_or(DType::f32)), DType::f32};
    entry.results = results.value_or(entry.operands);
    if (entry.results != entry.operands && entry.results != DType::f32) {
      refuse(at + ": results are of the type of the operands, or float32");
    }
    if (!by_op) {
      policy.overrides.push_back(entry);
      return;
    }
    for (const std::string& op : known_ops(name, at)) {
      entry.key = op;
      policy.overrides.push_back(entry);
    }
  });
}

}  // namespace ridgeline::train
