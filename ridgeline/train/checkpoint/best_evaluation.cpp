#include "ridgeline/train/checkpoint/best_evaluation.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/run_files.h"

namespace ridgeline::train {
namespace {

std::string path_in(const std::string& directory) {
  return (std::filesystem::path(directory) / kBestCheckpointFile).string();
}

}  // namespace

const EvaluationRow* best_of(std::span<const EvaluationRow> rows) {
  const EvaluationRow* best = nullptr;
  for (const EvaluationRow& row : rows) {
    if (best == nullptr || best_measure(row) > best_measure(*best)) best = &row;
  }
  return best;
}

std::string described(const BestCheckpoint& best) {
  return fmt::format("step {}, {} {:.6g}", best.step, best_measure_name(best.classifies), best.value);
}

std::optional<BestCheckpoint> read_best(const std::string& directory) {
  const std::string path = path_in(directory);
  if (!is_regular_file(path)) return std::nullopt;
  try {
    const nlohmann::json file = nlohmann::json::parse(read_file(path));
    return BestCheckpoint{.step = file.at("step").get<std::int64_t>(),
                          .value = file.at("value").get<double>(),
                          .classifies = file.at("measure").get<std::string>() == best_measure_name()};
  } catch (const nlohmann::json::exception&) {
    throw Error(fmt::format("{}: is damaged: it names no checkpoint of a best evaluation", path));
  }
}

void write_best(const std::string& directory, const std::optional<BestCheckpoint>& best) {
  const std::string path = path_in(directory);
  if (!best) {
    std::error_code none;
    std::filesystem::remove(path, none);
    return;
  }
  const nlohmann::json file{{"checkpoint", checkpoint_name(best->step)},
                            {"measure", best_measure_name(best->classifies)},
                            {"step", best->step},
                            {"value", best->value}};
  write_file_atomically(path, file.dump(2) + "\n");
}

}  // namespace ridgeline::train
