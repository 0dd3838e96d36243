#include "ridgeline/train/recipe/benchmark_summary.h"

#include <fmt/format.h>

namespace ridgeline::train {

std::string case_name(const Recipe& recipe, std::int64_t ranks) {
  return fmt::format("{}_bs{}_{}p_perf", recipe.model, recipe.batch_size, ranks);
}

std::string benchmark_summary(const Recipe& recipe, const TrainingResult& result, double seconds) {
  // Of a step, on all ranks, as ActualFPS is.
  const std::int64_t batches = recipe.parallel.pipelined() ? 1 : result.ranks;  // stages have the same
  const double images = static_cast<double>(recipe.batch_size * recipe.optimization.accumulate_steps * batches);
  std::string text;
  const auto line = [&](const char* key, const std::string& value) { text += fmt::format("{} = {}\n", key, value); };
  line("Network", recipe.model);
  line("RankSize", fmt::format("{}", result.ranks));
  line("BatchSize", fmt::format("{}", recipe.batch_size));
  line("DeviceType", recipe.device);
  line("CaseName", case_name(recipe, result.ranks));
  line("ActualFPS", fmt::format("{:.2f}", result.mean_fps));
  if (result.ranks > 1) {
    // The speed per device, compared with one device alone.
    const double each = result.mean_fps / static_cast<double>(result.ranks), alone = result.single_rank_fps;
    line("FPSPerDevice", fmt::format("{:.2f}", each));
    line("SingleDeviceFPS", alone > 0 ? fmt::format("{:.2f}", alone) : "none");
    line("ScalingEfficiency", alone > 0 ? fmt::format("{:.4f}", each / alone) : "none");
  }
  line("TrainingTime", result.mean_fps > 0 ? fmt::format("{:.2f}", 1000 * images / result.mean_fps) : "none");
  line("ActualLoss", fmt::format("{:.4f}", result.last.loss));
  line("TrainAccuracy", result.evaluation ? fmt::format("{:.3f}", 100 * result.evaluation->top_1) : "none");
  line("E2ETrainingTime", fmt::format("{:.3f}", seconds));
  return text;
}

}  // namespace ridgeline::train
