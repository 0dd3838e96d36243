// ridgeline/train/recipe/run_config.h
//
// The options of the original's run configuration (NPURunConfig) and session configuration, with what becomes of each:
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
  std::string_view setting;  // accepted: of the recipe, by its name
  std::string_view note;     // why, or what to use instead
  // Refused: the one value that is accepted, and means nothing else than the default; empty: any.
  std::string_view only;
  // Accepted: adds what the value becomes, where that is not the text of `setting`.
  void (*read)(const JsonValue& value, const std::string& at, RunConfig& config) = nullptr;
};
std::span<const RunOption> run_options();

struct RunConfig {
  std::vector<std::pair<std::string, std::string>> settings;  // of the recipe, name and value, in the file's order
  std::vector<std::string> off;  // settings of the recipe that keep their default, whatever a preset says
  std::vector<std::string> warnings;
};
// A JSON object; session_config, experimental_config and auto_parallel_context (MindSpore's settings of several ranks)
// may be objects in it. An unknown option, and one that is
// refused, are Errors (usage) that begin with `where`.
RunConfig read_run_config(const std::string& json, const std::string& where);

// The table as Markdown, as docs/compatibility.md holds it.
std::string run_options_table();

}  // namespace ridgeline::train
