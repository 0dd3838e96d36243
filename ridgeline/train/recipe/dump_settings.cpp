#include "ridgeline/train/recipe/dump_settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "ridgeline/core/error.h"
#include "ridgeline/train/callback/step_dump.h"

namespace ridgeline::train {
namespace {

struct SideName {
  const char* name;
  ValueSide side;
};
constexpr SideName kSides[] = {{"input", ValueSide::input}, {"output", ValueSide::output}, {"all", ValueSide::all}};

[[noreturn]] void refuse_setting(const char* name, const std::string& value, const std::string& allowed) {
  throw Error(fmt::format("--{}={} (allowed: {})", name, value, allowed), ErrorKind::usage);
}

ValueSide side_named(const std::string& mode) {
  for (const SideName& row : kSides)
    if (row.name == mode) return row.side;
  refuse_setting("dump_mode", mode, "input, output, all");
}

}  // namespace

StepDumpOptions step_dump_options(const DumpSettings& settings) {
  const DumpSettings usual;
  StepDumpOptions options{.directory = settings.path,
                          .steps = StepSet(settings.step),
                          .values = {.side = side_named(settings.mode)},
                          .overflows = !settings.debug_mode.empty()};
  if (settings.data != "tensor" && settings.data != "stats")
    refuse_setting("dump_data", settings.data, "tensor, stats");
  options.numbers = settings.data == "stats";
  std::istringstream names(settings.layer);
  for (std::string name; names >> name;) options.values.ops.push_back(name);
  if (settings.debug_mode == "atomic_overflow")
    refuse_setting("dump_debug_mode", settings.debug_mode, "aicore_overflow, all: no kernel adds atomically here");
  if (options.overflows && settings.debug_mode != "aicore_overflow" && settings.debug_mode != "all")
    refuse_setting("dump_debug_mode", settings.debug_mode, "aicore_overflow, all");
  if (options.overflows && (settings.mode != usual.mode || !options.values.ops.empty())) {
    throw Error(
        "--dump_debug_mode writes the ops that overflow, what they read and make: --dump_mode and "
        "--dump_layer have no meaning beside it",
        ErrorKind::usage);
  }
  if (settings.path.empty()) {
    const bool asks = options.overflows || !settings.step.empty() || !options.values.ops.empty() || options.numbers ||
                      settings.mode != usual.mode;
    if (asks) throw Error("if use dump function, dump_path must be set.", ErrorKind::usage);
  } else if (!std::filesystem::is_directory(settings.path) || ::access(settings.path.c_str(), W_OK) != 0) {
    throw Error(fmt::format("--dump_path={}: there is no such folder that can be written", settings.path),
                ErrorKind::usage);
  }
  return options;
}

}  // namespace ridgeline::train
