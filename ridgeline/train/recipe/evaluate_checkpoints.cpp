// Which files an evaluation of checkpoints takes, which of their settings apply, and a row for each.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/train/checkpoint/best_evaluation.h"
#include "ridgeline/train/recipe/adopt.h"
#include "ridgeline/train/recipe/batch_parts.h"
#include "ridgeline/train/recipe/chosen_checkpoint.h"
#include "ridgeline/train/recipe/evaluator.h"
#include "ridgeline/train/recipe/last_file.h"
#include "ridgeline/train/recipe/recipe_model.h"
#include "ridgeline/train/recipe/resume_check.h"
#include "ridgeline/train/recipe/session_options.h"
#include "ridgeline/train/recipe/several_ranks.h"

namespace ridgeline::train {
namespace {

std::int64_t modified(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_mtime : 0;
}

// What is evaluated. The main rank finds it and sends it to the others, so that all evaluate the same files in one
// order.
struct Evaluated {
  StoredWeights weights;              // by which data and model are set up; the main rank alone has the tensors
  std::vector<CheckpointFile> files;  // of the directory; none of a single file
  bool single = false;                // the weights are all that is evaluated
};

void tell(Evaluated& found, const Ranks& ranks) {
  StoredWeights& weights = found.weights;
  std::string info = weights.info ? weights.info->to_json() : "",
              // As a checkpoint's information.
      classes = weights.classifier ? CheckpointInfo{.classifier = weights.classifier}.to_json() : "",
              count = std::to_string(found.files.size()), single = found.single ? "one" : "";
  for (std::string* text : {&weights.path, &weights.model, &weights.exif_orientation, &info, &classes, &count, &single})
    ranks.tell(*text);
  if (ranks.main()) return;
  found.single = !single.empty();
  if (!info.empty()) weights.info = CheckpointInfo::from_json(info, weights.path);
  if (!classes.empty()) weights.classifier = CheckpointInfo::from_json(classes, weights.path).classifier;
  found.files.resize(std::stoul(count));
}

Evaluated find_evaluated(const Recipe& recipe, const Ranks& ranks) {
  Evaluated found;
  if (ranks.main()) {
    const Recipe chosen =
        with_chosen_checkpoint(recipe, [](const std::string& text) { TrainingLog("").line("warning: " + text); });
    found.single = !chosen.restore_path.empty();
    const auto silent = [](const std::string&) {};  // of each file it is said in its turn
    found.weights =
        found.single ? read_weights(chosen.restore_path, silent) : newest_weights(chosen.checkpoint_dir, silent);
    if (!found.single) found.files = list_checkpoints(chosen.checkpoint_dir);
  }
  tell(found, ranks);
  return found;
}

DataNeeds needs_of(const StoredWeights& weights) {
  DataNeeds needs{.validation = true, .batch_fits = true};
  if (weights.classifier) {
    const std::vector<std::string>& names = weights.classifier->class_names;
    needs.classes = {.names = names, .ids = {}, .complete = !names.empty()};
    needs.model_file = true;
  }
  if (!weights.info) return needs;
  const ClassifierInfo& classifier = classifier_of(*weights.info);
  needs.label_base = classifier.label_base;
  needs.classes = {.names = classifier.class_names, .ids = classifier.class_ids, .complete = true};
  needs.checkpoint = true;
  if (weights.info->settings) {
    needs.validation_split = weights.info->settings->get<double>("validation_split", 0);
    needs.label_field = weights.info->settings->get<std::string>("label_field", "");
  }
  return needs;
}

// What all ranks of an evaluation must have alike: their sums are added up.
std::vector<std::pair<std::string, std::string>> shared_by_evaluation(const Recipe& recipe, const RunData& data) {
  return {{"--model", recipe.model},
          {"--image_size", fmt::format("{}", recipe.image_size)},
          {"--num_classes", fmt::format("{}", data.num_classes)},
          {"--label_smoothing", fmt::format("{}", recipe.label_smoothing)},
          {"--split", recipe.split},
          {"--metrics", fmt::format("{}", fmt::join(recipe.metrics, ","))},
          {"--eval_drop_remainder", recipe.eval_drop_remainder ? "True" : "False"},
          {"validation images", fmt::format("{}", data.validation_records)}};
}

class CheckpointEvaluation {
 public:
  CheckpointEvaluation(const Recipe& recipe, const Evaluated& found, const RunRanks& ranks)
      : recipe_(recipe),
        session_(for_ranks(session_options(recipe), ranks)),
        ranks_(ranks.all),
        data_(open_data(recipe, needs_of(found.weights))),
        log_(path_of(recipe, ranks_), ranks_.main() ? LogTo::file_and_terminal : LogTo::nowhere),
        files_(std::max<std::size_t>(found.files.size(), 1)) {
    check_last_file(recipe.trace);
    ranks_.agree(shared_by_evaluation(recipe, data_));
    log_.line("Evaluating");
    log_.line(fmt::format("Validation dataset size: {}", data_.validation_records));
    for (const std::string& note : data_.notes) log_.line(note);
    if (recipe.label_smoothing_of_checkpoint && found.weights.info && found.weights.info->settings)
      log_.line(fmt::format("label smoothing: {}, that of the checkpoint's training", recipe.label_smoothing));
    recipe_.batch_size = data_.evaluation_batch;
    model_ = model_of(session_, recipe_, data_.num_classes);
    model_->prepare_evaluation();
    log_.line(kEvaluationHeader);
  }

  // One file of weights.
  void evaluate(const StoredWeights& weights) {
    const std::string where = "[weights] " + weights.path;
    if (ranks_.main()) {
      const WeightMatch match = model_->load_weights(
          weights.tensors,
          {.where = where, .advice = weights.info ? std::string() : std::string(kOtherClasses), .complete = true});
      if (const std::string note = match.note(); !note.empty()) log_.line(where + ": " + note);
    }
    EvaluationRow row;
    row.step = weights.info ? weights.info->step : 0;
    row.epoch = weights.info ? weights.info->epoch() : 0;
    row.checkpoint_time = modified(weights.path);
    evaluate_loaded(row);
  }

  // A checkpoint of the directory. One that is damaged, of another run, or removed by a concurrent training is left
  // out.
  void evaluate(const CheckpointFile& file) {
    std::string fault;
    EvaluationRow row{.step = file.step, .checkpoint_time = file.modified};
    if (ranks_.main()) {
      try {
        const LoadedCheckpoint checkpoint = load_checkpoint(file);
        model_->load(checkpoint.tensors);
        row.epoch = checkpoint.info.epoch();
      } catch (const Error& error) {
        fault = error.what();
      }
    }
    ranks_.tell(fault);
    if (fault.empty()) return evaluate_loaded(row);
    unreadable_ = fault;
    log_.line(fmt::format("warning: {}; it is left out", fault));
  }

  std::vector<EvaluationRow> rows() {
    if (rows_.empty())
      throw Error(fmt::format("none of the {} checkpoints could be evaluated: {}", files_, unreadable_));
    if (rows_.size() > 1) log_.line("best: " + described(checkpoint_of(*best_of(rows_))));
    log_.line("Finished evaluation");
    if (session_.trace()) session_.trace()->write(recipe_.trace);
    return rows_;
  }

 private:
  static std::string path_of(const Recipe& recipe, const Ranks& ranks) {
    if (recipe.log_dir.empty() || !ranks.main()) return "";
    make_directories(recipe.log_dir);
    return (std::filesystem::path(recipe.log_dir) / log_name_of(recipe)).string();
  }

  // Evaluates what the main rank has loaded; `known` has the fields that the evaluation does not fill.
  void evaluate_loaded(EvaluationRow known) {
    if (ranks_.size() > 1) model_->share();
    std::array<double, 3> of_file = {static_cast<double>(known.step), known.epoch,
                                     static_cast<double>(known.checkpoint_time)};
    if (!ranks_.main()) of_file = {};
    ranks_.sum(of_file);
    auto row = evaluate_once(*model_, data_, recipe_, session_, log_);
    if (!row) {
      log_.line(fmt::format("Keyboard interrupt, {} of {} checkpoints evaluated", rows_.size(), files_));
      throw Error("interrupted", ErrorKind::interrupted);
    }
    row->step = static_cast<std::int64_t>(of_file[0]);
    row->epoch = of_file[1];
    row->checkpoint_time = static_cast<std::int64_t>(of_file[2]);
    log_.line(to_text(*row));
    for (const std::string& line : row->metrics) log_.line(line);
    rows_.push_back(*row);
  }

  Recipe recipe_;
  Session session_;
  Ranks ranks_;
  RunData data_;
  TrainingLog log_;
  std::size_t files_;
  std::unique_ptr<Model> model_;
  std::vector<EvaluationRow> rows_;
  std::string unreadable_;  // the last message
};

std::vector<EvaluationRow> evaluate_here(const Recipe& given, const RunRanks& ranks) {
  Evaluated found = find_evaluated(given, Ranks(ranks.all));
  Recipe alone = adopt_weights(given, found.weights);
  alone.parallel = {};  // how ranks divide a training
  const Recipe recipe = with_batch_parts(std::move(alone));
  if (!found.single) found.weights.tensors.clear();  // each file is read in its turn
  CheckpointEvaluation evaluation(recipe, found, ranks);
  if (found.single) evaluation.evaluate(found.weights);
  for (const CheckpointFile& file : found.files) evaluation.evaluate(file);
  return evaluation.rows();
}

}  // namespace

std::vector<EvaluationRow> evaluate_checkpoints(const Recipe& given, const RunRanks& ranks) {
  if (ranks.size() == 1) return evaluate_here(given, {});
  try {
    if (ranks.servers > 0)
      throw Error("parameter servers have nothing to do in an evaluation: launch it without --servers",
                  ErrorKind::usage);
    return evaluate_here(for_rank(given, ranks), ranks);
  } catch (const std::exception& error) {
    ranks.abort(error.what());
    throw;
  }
}

}  // namespace ridgeline::train
