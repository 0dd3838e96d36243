#include "ridgeline/graph/pass/distribution.h"

#include <algorithm>
#include <array>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

// In the order of ParallelMode.
constexpr std::array<std::string_view, 5> kParallelModes = {"stand_alone", "data_parallel", "hybrid_parallel",
                                                            "semi_auto_parallel", "auto_parallel"};
constexpr std::array<std::string_view, 2> kPipelineOrders = {"gpipe", "1f1b"};

template <std::size_t n>
std::size_t place_of(const std::array<std::string_view, n>& names, std::string_view wanted, const char* what) {
  const auto found = std::find(names.begin(), names.end(), wanted);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  std::vector<std::string> all(names.begin(), names.end());
  std::string list;
  for (const std::string& name : all) list += (list.empty() ? "" : ", ") + name;
  throw Error("unknown " + std::string(what) + " '" + std::string(wanted) + "'" +
                  did_you_mean(std::string(wanted), all) + " (allowed: " + list + ")",
              ErrorKind::usage);
}

}  // namespace

std::string_view name_of(ParallelMode mode) { return kParallelModes[static_cast<std::size_t>(mode)]; }
ParallelMode parallel_mode_named(std::string_view name) {
  return static_cast<ParallelMode>(place_of(kParallelModes, name, "parallel_mode"));
}
std::span<const std::string_view> parallel_modes() { return kParallelModes; }

std::string_view name_of(PipelineOrder order) { return kPipelineOrders[static_cast<std::size_t>(order)]; }
PipelineOrder pipeline_order_named(std::string_view name) {
  return static_cast<PipelineOrder>(place_of(kPipelineOrders, name, "pipeline_order"));
}

}  // namespace ridgeline
