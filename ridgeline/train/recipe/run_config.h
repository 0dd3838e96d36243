// ridgeline/train/recipe/run_config.h
//
// The options of the original's run configuration (NPURunConfig) and session configuration, with the treatment of each:
// a setting of the recipe, a warning that it has no effect here, or a refusal. Nothing is silently ignored.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridgeline {
class JsonValue;
}

namespace ridgeline::train {

struct RunConfig;

enum class RunOptionDecision { accept, warn, refuse };
std::string_view name_of(RunOptionDecision decision);

struct RunOption {
  std::string_view name;
  RunOptionDecision decision = RunOptionDecision::warn;
  std::string_view setting;  // accepted: the name of the recipe's setting
  std::string_view note;     // why, or what to use instead
  // Refused, except for this value, which means the default; empty: any value is refused.
  std::string_view only;
  // Accepted: adds the converted value, if it is not just the text of `setting`.
  void (*read)(const JsonValue& value, const std::string& at, RunConfig& config) = nullptr;
};
std::span<const RunOption> run_options();

struct RunConfig {
  std::vector<std::pair<std::string, std::string>> settings;  // of the recipe, name and value, in the file's order
  std::vector<std::string> off;  // settings of the recipe that keep their default, whatever a preset says
  std::vector<std::string> warnings;
};
// A JSON object; session_config, experimental_config and auto_parallel_context (MindSpore's settings of several ranks)
// may be objects in it. An unknown option, and one that is refused, are Errors (usage) that begin with `where`.
RunConfig read_run_config(const std::string& json, const std::string& where);

// The table as Markdown, for docs/compatibility.md.
std::string run_options_table();

}  // namespace ridgeline::train
