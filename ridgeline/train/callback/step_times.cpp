#include "ridgeline/train/callback/step_times.h"

#include <fmt/format.h>

#include <filesystem>
#include <numeric>

#include "ridgeline/compile/run/measure.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/format/text/json_lines.h"

namespace ridgeline::train {

// Each loop: a callback may have recompiled the step.
void StepTimes::step_begin(RunContext& context) { context.model().training().set_profiling(true); }

void StepTimes::end(RunContext& context) {
  if (!context.has_outputs() || context.torn()) return;
  const std::vector<LaunchReport> launches = context.model().training().launches();
  DeviceRates limits;
  {
    Session& session = context.model().session();
    const ComputeScope team(session.compute_threads());
    limits = session.device().measured_rates().best;
  }
  std::error_code absent;
  std::filesystem::remove(path_, absent);
  JsonLinesWriter file(path_);
  file.write({{"kind", "limits"},
              {"step", context.step()},
              {"f32_gflops", limits.f32_flops / 1e9},
              {"bf16_gflops", limits.bf16_flops / 1e9},
              {"gigabytes_per_second", limits.memory_bytes / 1e9}});
  const std::vector<StepPart> parts = parts_of(launches, limits);
  for (const StepPart& part : parts) {
    file.write({{"kind", "part"},
                {"op", part.op},
                {"launches", static_cast<std::int64_t>(part.launches)},
                {"ms", part.milliseconds},
                {"ms_at_limit", part.at_limit},
                {"gflop", part.gflop},
                {"gflop_done", part.gflop_done},
                {"megabytes", part.megabytes},
                {"farthest", part.longest}});
  }
  const std::vector<double> gaps = gaps_before(launches);
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const LaunchReport& l = launches[i];
    if (!l.ran) continue;
    file.write({{"kind", "launch"},
                {"node", l.node},
                {"op", l.op},
                {"kernel", l.kernel},
                {"ms", l.milliseconds},
                {"ms_gap_before", gaps[i]},
                {"ms_at_limit", milliseconds_at_limit(l, limits)},
                {"gflop", l.cost.flops / 1e9},
                {"gflop_done", l.flops_done / 1e9},
                {"megabytes", l.cost.bytes / 1e6}});
  }
  std::string line;
  for (std::size_t i = 0; i < parts.size() && i < 3; ++i)
    line += fmt::format("{} {:.1f} ms, ", parts[i].op, parts[i].gap());
  log_.line(fmt::format("the last step's largest gaps to the machine's limits: {}between launches {:.1f} ms ({})", line,
                        std::accumulate(gaps.begin(), gaps.end(), 0.0), path_));
}

}  // namespace ridgeline::train
