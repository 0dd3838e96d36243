#include "ridgeline/train/recipe/run_option_readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/graph/pass/passes.h"

namespace ridgeline::train {
namespace {

// Of profiling_config's options.
struct ProfilingKey {
  std::string_view name;
  std::string_view no_effect;  // why; empty: it has one, or is always so
};
constexpr ProfilingKey kProfilingKeys[] = {
    {"output", ""},
    {"training_trace", ""},  // stages, launches and waits are always in the trace
    {"task_trace", ""},
    {"task_time", ""},
    {"aicpu", "all launches are in the trace"},
    {"fp_point", "the trace names each launch"},
    {"bp_point", "the trace names each launch"},
    {"aic_metrics", "of another chip"},
    {"l2", "of another chip"},
    {"hccl", ""},  // always in the trace
    {"msproftx", "of another chip"},
    {"runtime_api", "all launches are in the trace"},
};

// Of dump_config.
struct DumpKey {
  std::string_view name;
  bool values, overflows;  // whether it is a setting with enable_dump, with enable_dump_debug
};
constexpr DumpKey kDumpKeys[] = {{"enable_dump", false, false}, {"enable_dump_debug", false, false},
                                 {"dump_path", true, true},     {"dump_step", true, true},
                                 {"dump_mode", true, false},    {"dump_debug_mode", false, true},
                                 {"dump_data", true, true},     {"dump_layer", true, false}};

[[noreturn]] void refuse(const std::string& what) { throw Error(what, ErrorKind::usage); }

const JsonValue::Object& object_of(const JsonValue& value, std::string_view at) {
  if (value.object() == nullptr) refuse(fmt::format("{} is {}; an object is meant", at, value.kind()));
  return *value.object();
}

bool switched_on(const JsonValue& value, const std::string& at) {
  const std::string text = scalar_text(value, at);
  if (text == "on" || text == "True") return true;
  if (text == "off" || text == "False") return false;
  refuse(fmt::format("{}={} (allowed: on, off)", at, text));
}

}  // namespace

std::string scalar_text(const JsonValue& value, const std::string& at) {
  if (const std::string* text = value.text()) return *text;
  if (const bool* boolean = value.boolean()) return *boolean ? "True" : "False";
  if (const std::int64_t* number = value.integer()) return fmt::format("{}", *number);
  if (const double* number = value.real()) return fmt::format("{}", *number);
  refuse(fmt::format("{} is {}; a text, a number or a boolean is meant", at, value.kind()));
}

void read_accelerate_train_mode(const JsonValue& value, const std::string& at, RunConfig& config) {
  const std::string text = scalar_text(value, at);
  if (text.empty())
    config.off.emplace_back("accelerate_train_mode");
  else
    config.settings.emplace_back("accelerate_train_mode", text);
}

void read_deterministic(const JsonValue& value, const std::string& at, RunConfig& config) {
  const std::string text = scalar_text(value, at);
  if (text != "0" && text != "1") refuse(fmt::format("{}={} (allowed: 0, 1)", at, text));
  config.settings.emplace_back("reproducibility", text == "1" ? "deterministic" : "fast");
}

void read_profiling(const JsonValue& value, const std::string& at, RunConfig& config) {
  bool enabled = false;
  JsonValue options = JsonValue::Object{};
  for (const JsonMember& member : object_of(value, at)) {
    if (member.key == "enable" || member.key == "enable_profiling") {
      enabled = switched_on(member.value, at + ": " + member.key);
    } else if (member.key == "options" || member.key == "profiling_options") {
      const std::string* text = member.value.text();
      options = text ? parse_json(*text, at + ": options") : member.value;
    } else {
      refuse(fmt::format("{}: unknown key '{}' (allowed: enable, options)", at, member.key));
    }
  }
  if (!enabled) return;
  std::string output;
  std::vector<std::string> names;
  for (const ProfilingKey& key : kProfilingKeys) names.emplace_back(key.name);
  for (const JsonMember& member : object_of(options, at + ": options")) {
    const auto* known = std::find_if(std::begin(kProfilingKeys), std::end(kProfilingKeys),
                                     [&](const ProfilingKey& key) { return key.name == member.key; });
    if (known == std::end(kProfilingKeys))
      refuse(fmt::format("{}: options: unknown key '{}'{}", at, member.key, did_you_mean(member.key, names)));
    if (member.key == names.front()) output = scalar_text(member.value, at + ": options: output");
    if (!known->no_effect.empty())
      config.warnings.push_back(fmt::format("profiling_config: {} has no effect: {}", member.key, known->no_effect));
  }
  if (output.empty()) refuse(at + ": options: output is needed, the folder that gets trace.json");
  config.settings.emplace_back("trace", output + "/trace.json");
}

void read_dump(const JsonValue& value, const std::string& at, RunConfig& config) {
  bool values = false, overflows = false;
  std::map<std::string, std::string> said;
  std::vector<std::string> names;
  for (const DumpKey& key : kDumpKeys) names.emplace_back(key.name);
  for (const JsonMember& member : object_of(value, at)) {
    if (std::find(names.begin(), names.end(), member.key) == names.end())
      refuse(fmt::format("{}: unknown key '{}'{}", at, member.key, did_you_mean(member.key, names)));
    if (member.value.is_null()) continue;
    const std::string inside = at + ": " + member.key;
    if (member.key == "enable_dump") {
      values = switched_on(member.value, inside);
    } else if (member.key == "enable_dump_debug") {
      overflows = switched_on(member.value, inside);
    } else {
      said[member.key] = scalar_text(member.value, inside);
    }
  }
  if (values && overflows) refuse(at + ": enable_dump and enable_dump_debug cannot both be on");
  if (!values && !overflows) return;
  if (said["dump_path"].empty()) refuse(at + ": if use dump function, dump_path must be set.");
  if (overflows && said["dump_debug_mode"].empty()) said["dump_debug_mode"] = "all";
  for (const DumpKey& key : kDumpKeys) {
    const std::string& text = said[std::string(key.name)];
    if (text.empty()) continue;
    if (values ? key.values : key.overflows) {
      config.settings.emplace_back(key.name, text);
    } else {
      config.warnings.push_back(
          fmt::format("dump_config: {} has no effect with {}", key.name, values ? "enable_dump" : "enable_dump_debug"));
    }
  }
}

void read_fusion_switch(const JsonValue& value, const std::string& at, RunConfig& config) {
  const std::string path = scalar_text(value, at);
  const std::string where = at + ": " + path;
  const JsonValue file = parse_json(read_file(path), where);
  const JsonValue* parts = file.find("Switch");
  if (parts == nullptr) refuse(where + " has no object \"Switch\"");
  std::vector<std::string> names{"ALL"};
  for (const Pass& pass : passes()) names.emplace_back(pass.name);
  std::map<std::string, bool> said;
  for (const JsonMember& part : object_of(*parts, where + ": Switch")) {
    const std::string inside = where + ": " + part.key;
    if (part.key == "UBFusion") {
      config.warnings.push_back("fusion_switch_file: UBFusion has no effect: kernels are not merged behind the passes");
      continue;
    }
    if (part.key != "GraphFusion") refuse(inside + " is unknown (allowed: GraphFusion, UBFusion)");
    for (const JsonMember& pass : object_of(part.value, inside)) {
      const bool on = switched_on(pass.value, inside + ": " + pass.key);
      if (std::find(names.begin(), names.end(), pass.key) != names.end()) {
        said[pass.key] = on;
      } else {
        config.warnings.push_back(
            fmt::format("fusion_switch_file: there is no pass {} here{}", pass.key, did_you_mean(pass.key, names)));
      }
    }
  }
  const auto all = said.find("ALL");
  bool asked = all != said.end() && all->second;
  for (const Pass& pass : passes()) {
    const auto one = said.find(std::string(pass.name));
    const bool by_all = pass.fuses && all != said.end() && !all->second;
    if (one == said.end() ? by_all : !one->second) config.settings.emplace_back("disable_pass", pass.name);
    asked = asked || (pass.loops && one != said.end() && one->second);
  }
  if (asked) config.settings.emplace_back("fusion", "True");
}

void read_all_reduce_fusion(const JsonValue& value, const std::string& at, RunConfig& config) {
  if (value.array() == nullptr) refuse(fmt::format("{} is {}; a list of numbers is meant", at, value.kind()));
  std::string list;
  for (const JsonValue& index : *value.array()) {
    if (index.integer() == nullptr) refuse(fmt::format("{}: {} in a list of numbers", at, index.kind()));
    list += (list.empty() ? "" : ",") + fmt::format("{}", *index.integer());
  }
  config.settings.emplace_back("split_strategy_by_idx", list);
}

}  // namespace ridgeline::train
