#include "ridgeline/train/recipe/chosen_checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/train/checkpoint/best_evaluation.h"
#include "ridgeline/train/checkpoint/checkpoint.h"

namespace ridgeline::train {
namespace {

// "best, last, or a step: 8, 10", if there are any.
std::string others_of(const std::string& directory, const std::vector<CheckpointFile>& files) {
  if (files.empty()) return "there is no checkpoint";
  std::vector<std::int64_t> steps;
  for (const CheckpointFile& file : files) steps.push_back(file.step);
  const std::optional<BestCheckpoint> best = read_best(directory);
  const bool has_best = best && std::find(steps.begin(), steps.end(), best->step) != steps.end();
  return fmt::format("allowed: {}last, or a step: {}", has_best ? "best, " : "", fmt::join(steps, ", "));
}

std::int64_t step_named(const std::string& which, const std::string& directory,
                        const std::vector<CheckpointFile>& files) {
  if (which == "best") {
    const std::optional<BestCheckpoint> best = read_best(directory);
    if (best) return best->step;
    throw Error(
        fmt::format("--checkpoint=best: no evaluation of {} is known, as of a run with "
                    "--mode=train_and_evaluate ({})",
                    directory, others_of(directory, files)));
  }
  std::int64_t step = 0;
  const auto [rest, error] = std::from_chars(which.data(), which.data() + which.size(), step);
  if (error == std::errc() && rest == which.data() + which.size()) return step;
  throw Error(fmt::format("--checkpoint={} (allowed: best, last, or a step)", which), ErrorKind::usage);
}

std::string chosen(const std::string& directory, const std::string& which,
                   const std::function<void(std::string)>& warn) {
  if (which == "last") {
    const auto newest = load_newest(directory, warn);
    if (newest) return newest->file.path;
    throw Error(fmt::format("--checkpoint=last: no checkpoint model.ckpt-<step>.safetensors in {}", directory));
  }
  const std::vector<CheckpointFile> files = list_checkpoints(directory);
  const std::int64_t step = step_named(which, directory, files);
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const CheckpointFile& file) { return file.step == step; });
  if (found != files.end()) return found->path;
  throw Error(fmt::format("--checkpoint={}: {} has no {}{} ({})", which, directory, checkpoint_name(step),
                          which == "best" ? " any more, which the best evaluation was of" : "",
                          others_of(directory, files)));
}

}  // namespace

Recipe with_chosen_checkpoint(Recipe recipe, const std::function<void(std::string)>& warn) {
  if (recipe.checkpoint.empty()) return recipe;
  const std::string& directory = recipe.restore_path.empty() ? recipe.checkpoint_dir : recipe.restore_path;
  std::error_code none;
  if (!recipe.restore_path.empty() && !std::filesystem::is_directory(directory, none)) {
    throw Error(fmt::format("--checkpoint={} chooses among the checkpoints of a folder, and --weights={} is none",
                            recipe.checkpoint, directory),
                ErrorKind::usage);
  }
  recipe.restore_path = chosen(directory, recipe.checkpoint, warn);
  recipe.checkpoint.clear();
  return recipe;
}

std::string better_than_newest(const std::string& directory) {
  const std::vector<CheckpointFile> files = list_checkpoints(directory);
  const std::optional<BestCheckpoint> best = read_best(directory);
  const auto is_best = [&](const CheckpointFile& file) { return file.step == best->step; };
  if (!best || files.empty() || files.back().step <= best->step || std::none_of(files.begin(), files.end(), is_best))
    return "";
  return fmt::format("the newest checkpoint is of step {}, the best evaluation was that of {} (--checkpoint=best)",
                     files.back().step, described(*best));
}

}  // namespace ridgeline::train
