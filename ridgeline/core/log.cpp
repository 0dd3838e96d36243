#include "ridgeline/core/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"

namespace ridgeline {
namespace {

constexpr std::array<std::string_view, 5> kComponents{"dispatch", "placement", "memory", "passes", "data"};

}  // namespace

struct Log::State {
  spdlog::logger logger{"ridgeline", std::make_shared<spdlog::sinks::stderr_color_sink_mt>()};
  std::set<std::string, std::less<>> enabled;
};

Log::Log() : state_(std::make_unique<State>()) { state_->logger.set_pattern("%^%l%$: %v"); }
Log::~Log() = default;

void Log::enable(std::string_view components) {
  while (!components.empty()) {
    const std::size_t comma = components.find(',');
    const std::string name(components.substr(0, comma));
    if (std::find(kComponents.begin(), kComponents.end(), name) == kComponents.end()) {
      std::string allowed;
      for (std::string_view c : kComponents) allowed += (allowed.empty() ? "" : ", ") + std::string(c);
      throw Error("unknown log component '" + name + "' (allowed: " + allowed + ")", ErrorKind::usage);
    }
    state_->enabled.insert(name);
    components = comma == std::string_view::npos ? "" : components.substr(comma + 1);
  }
}

bool Log::enabled(std::string_view component) const { return state_->enabled.contains(component); }

void Log::trace(std::string_view component, const std::string& message) {
  if (enabled(component)) state_->logger.info("[{}] {}", component, printable(message));
}
void Log::info(const std::string& message) { state_->logger.info("{}", printable(message)); }
void Log::warning(const std::string& message) { state_->logger.warn("{}", printable(message)); }
void Log::error(const std::string& message) { state_->logger.error("{}", printable(message)); }

}  // namespace ridgeline
