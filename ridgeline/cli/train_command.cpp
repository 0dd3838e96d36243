#include <errno.h>
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>

#include "ridgeline/cli/commands.h"
#include "ridgeline/cli/recipe_flags.h"
#include "ridgeline/cli/replaced_settings.h"
#include "ridgeline/comm/rank_environment.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/core/process_time.h"
#include "ridgeline/train/callback/monitors.h"
#include "ridgeline/train/loop/interrupt.h"
#include "ridgeline/train/ranks/ranks.h"
#include "ridgeline/train/recipe/benchmark_summary.h"
#include "ridgeline/train/recipe/evaluator.h"
#include "ridgeline/train/recipe/trainer.h"

namespace ridgeline::cli {
namespace {

// A word of a shell command.
std::string quoted(const std::string& word) {
  const std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+,:@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// A path that is valid in the user's folder: a launched rank runs in another one.
std::string for_user(const std::string& path) {
  if (!comm::process_environment()("RANK_ID")) return path;
  return std::filesystem::absolute(path).lexically_normal().string();
}

// Suggests the next command.
void print_next(const train::Recipe& recipe, const train::TrainingResult& result) {
  if (recipe.synthetic || result.interrupted || result.checkpoint_path.empty()) return;
  const std::string program = quoted(::program_invocation_name);  // as it was called
  const std::string of_run = "--checkpoint_dir=" + quoted(for_user(recipe.log_dir));
  if (recipe.mode == train::Mode::train && result.has_validation) {
    std::fprintf(stderr, "next     %s evaluate --data_dir=%s %s\n", program.c_str(),
                 quoted(for_user(recipe.data_dir)).c_str(), of_run.c_str());
  } else {
    const bool newest = !result.best || result.best->step == result.step;
    std::fprintf(stderr, "next     %s predict %s%s PICTURE.jpg\n", program.c_str(), of_run.c_str(),
                 newest ? "" : " --checkpoint=best");
  }
}

// Announces only what exists: others may have removed it during the run.
void announce(const char* what, const std::string& path, const char* remark = "") {
  std::error_code none;
  const bool there = std::filesystem::exists(path, none);
  std::fprintf(stderr, "%-8s %s%s\n", what, printable(for_user(path)).c_str(),
               there ? remark : " is gone: removed during the run");
}

// The results and where they are.
void print_summary(const train::Recipe& recipe, const train::TrainingResult& result) {
  if (result.evaluation) {
    std::fprintf(stderr, "validation: %.1f %% of %lld images\n", 100 * result.evaluation->top_1,
                 static_cast<long long>(result.evaluation->rows));
  }
  if (result.skipped_steps > 0) {
    std::fprintf(stderr, "skipped steps: %lld, as their gradients overflowed (--loss_scale)\n",
                 static_cast<long long>(result.skipped_steps));
  }
  announce("log", result.log_path);
  announce("metrics", result.metrics_path, "   (TensorBoard events beside it)");
  if (!result.checkpoint_path.empty()) announce("model", result.checkpoint_path);
  if (result.best && result.best_path != result.checkpoint_path)
    announce("best", result.best_path, fmt::format("   ({})", train::described(*result.best)).c_str());
  print_next(recipe, result);
}

// Written next to the log.
void write_benchmark(const train::Recipe& recipe, const train::TrainingResult& result) {
  const std::string text = train::benchmark_summary(recipe, result, process_milliseconds() / 1000);
  const std::string path = recipe.log_dir + "/" + train::case_name(recipe, result.ranks) + ".log";
  write_file_atomically(path, text);
  std::fprintf(stderr, "%s", text.c_str());
  announce("summary", path);
}

int run(const train::Recipe& recipe) {
  const train::PipeGuard pipes;  // the reader of the output may be gone when the summary is printed
  if (train::scheduled(train::print_line)) return 0;
  const train::RunRanks ranks = train::connect_ranks(recipe.rank_size, recipe.rank_size_flag, train::print_line);
  if (recipe.mode == train::Mode::evaluate) {
    const train::InterruptGuard guard;
    train::evaluate_checkpoints(recipe, ranks);
    return 0;
  }
  if (ranks.servers > 0)
    train::print_line(fmt::format("{} of {} workers and {} servers", ranks.all->name(ranks.rank()), ranks.data_ranks(),
                                  ranks.servers));
  const train::TrainingResult result = train::train(recipe, ranks);
  if (!result.writes) return result.interrupted ? 130 : 0;
  print_summary(recipe, result);
  if (recipe.benchmark) write_benchmark(recipe, result);
  return result.interrupted ? 130 : 0;
}

// Errors of the command line are also reported to the other ranks, which wait for this one.
int run_as_rank(const std::function<std::optional<train::Recipe>()>& read_words) {
  const std::optional<train::Recipe> recipe = train::before_joining(read_words);
  return recipe ? run(*recipe) : 0;
}

}  // namespace

int train_command(const Words& words) {
  return run_as_rank([&]() -> std::optional<train::Recipe> {
    Command app("train a model, or resume the run of the same --log_dir", "train");
    train::RecipeArguments flags;
    add_recipe_flags(app, flags);
    if (!app.parse(with_files(app, words))) return std::nullopt;
    return finish_recipe(app, flags);
  });
}

int evaluate_command(const Words& words) {
  return run_as_rank([&]() -> std::optional<train::Recipe> {
    Command app("compute accuracy and loss of checkpoints on the validation split", "evaluate");
    train::RecipeArguments flags;
    add_evaluation_flags(app, flags);
    refuse_training_flags(words);
    if (!app.parse(with_files(app, words))) return std::nullopt;
    // The log_dir of a preset is that of its training: an evaluation does not write there.
    if (value_of(words, "--log_dir").empty()) flags.recipe.log_dir.clear();
    if (app.given("--mode") && flags.mode != "evaluate") train::parse_mode(flags.mode);
    flags.mode = "evaluate";
    return finish_recipe(app, flags);
  });
}

}  // namespace ridgeline::cli
