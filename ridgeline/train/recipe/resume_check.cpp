#include "ridgeline/train/recipe/resume_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ridgeline/core/error.h"
#include "ridgeline/data/runtime/state.h"
#include "ridgeline/data/standard/data_dir.h"
#include "ridgeline/nn/models.h"
#include "ridgeline/train/checkpoint/class_names.h"

namespace ridgeline::train {
namespace {

// Of identity_of(), the first that every model has.
constexpr std::size_t kOfAnyModel = 4;

std::string shown(const std::string& value) { return value.empty() ? "the default" : value; }

class Comparison {
 public:
  Comparison(const CheckpointInfo& saved, const CheckpointInfo& now)
      : saved_(saved), now_(now), was_(classifier_of(saved)), is_(classifier_of(now)) {}

  void models() {
    const auto there = identity_of(saved_), here = identity_of(now_);
    for (std::size_t i = 0; i < there.size(); ++i) {
      const std::string& name = here[i].first;
      // Another model has other options; the label base of images is that of the data (data_state).
      if (name == "label_base" || (saved_.model != now_.model && i >= kOfAnyModel)) continue;
      flag(name, there[i].second, here[i].second);
    }
    const bool complete = now_.settings->get<std::string>("data", "") != name_of(data::Layout::records);
    const std::string classes = class_difference({was_.class_names, was_.class_ids, complete}, "there",
                                                 {is_.class_names, is_.class_ids, complete}, "here");
    if (!classes.empty()) data(classes);
  }

  void settings(std::span<const SettingRow> rows) {
    if (!saved_.settings) return;
    for (const SettingRow& row : rows) {
      const SettingValue* kept = saved_.settings->find(row.name);
      if (kept == nullptr && row.before) kept = &*row.before;
      const SettingValue* given = now_.settings->find(row.name);
      if (kept == nullptr || given == nullptr) continue;
      const std::string there = value_text(*kept), here = value_text(*given);
      if (there == here) continue;
      if (!row.defines_run) {
        changed_.push_back(fmt::format("{}{} is {} up to step {}, {} from here on", row.flag ? "--" : "", row.name,
                                       shown(there), saved_.step, shown(here)));
      } else if (row.flag) {
        flag(row.name, there, here);
      } else if (!row.data) {
        refused_.push_back(
            fmt::format("the {} ({}) are {} there, {} here", row.name, row.flags, shown(there), shown(here)));
      } else if (row.name == "records") {
        data(fmt::format("{} training records there, {} here", there, here));
      } else {
        data(fmt::format("the data are {} there, {} here", there, here));
      }
    }
  }

  void kernels() {
    if (saved_.plan == now_.plan) return;
    const auto chosen = [](const std::string& plan) {
      return plan == kDefaultPlan ? "by their order" : fmt::format("by time (--tune, plan {})", plan);
    };
    changed_.push_back(fmt::format(
        "kernels are chosen {} up to step {}, {} from here on: bits may differ from those of an undisturbed run",
        chosen(saved_.plan), saved_.step, chosen(now_.plan)));
  }

  // What files of version 1 have only as numbers and a hash, and what has no setting of its own.
  void data_state(std::uint64_t graph_hash) {
    const bool synthetic = graph_hash == 0;
    if (saved_.data_state.empty() || synthetic) {
      if (saved_.data_state.empty() != synthetic && refused_.empty())
        data(synthetic ? "real data there, synthetic here" : "synthetic data there, real here");
      return;
    }
    const auto state = data::IteratorState::from_json(saved_.data_state);
    const auto records = static_cast<std::uint64_t>(now_.settings->get<std::int64_t>("records", 0));
    if (!saved_.settings && state.records != records) {
      data(fmt::format("{} training records there, {} here", state.records, records));
    } else if (!saved_.settings && saved_.steps_per_epoch != now_.steps_per_epoch) {
      refused_.push_back(fmt::format("an epoch has {} steps there and {} here: --batch_size differs",
                                     saved_.steps_per_epoch, now_.steps_per_epoch));
    }
    if (was_.label_base != is_.label_base) flag("label_base", was_.label_base, is_.label_base);
    if (!refused_.empty() || state.graph_hash == graph_hash) return;
    refused_.emplace_back(
        saved_.settings ? "the images are read or transformed otherwise (--label_base given here and found there, "
                          "or another version of this program)"
                        : "the images are read, transformed or batched otherwise (--batch_size, --min_area, --flip, "
                          "--label_base, or folders there and records here)");
  }

  std::vector<std::string> finish(const CheckpointFile& file) const {
    if (refused_.empty()) return changed_;
    std::string way_on;
    if (!flags_.empty()) way_on = fmt::format("give {}", fmt::join(flags_, " "));
    if (other_data_) way_on += way_on.empty() ? "give the data of that run" : " and the data of that run";
    if (way_on.empty()) way_on = "give the flags of that run";
    throw Error(fmt::format("{} is of another run: {}. To go on with it, {}; to begin anew, give another --log_dir",
                            file.path, fmt::join(refused_, "; "), way_on));
  }

 private:
  template <class T>
  void flag(std::string_view name, const T& there, const T& here) {
    if (there == here) return;
    refused_.push_back(fmt::format("--{} is {} there and {} here", name, shown(fmt::format("{}", there)),
                                   shown(fmt::format("{}", here))));
    flags_.push_back(fmt::format("--{}={}", name, there));
  }
  void data(std::string difference) {
    refused_.push_back(std::move(difference));
    other_data_ = true;
  }

  const CheckpointInfo& saved_;
  const CheckpointInfo& now_;
  const ClassifierInfo& was_;
  const ClassifierInfo& is_;
  std::vector<std::string> refused_, flags_, changed_;
  bool other_data_ = false;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> identity_of(const CheckpointInfo& info) {
  const nn::ModelInfo* known = nn::find_model(info.model);
  const ClassifierInfo& classifier = classifier_of(info);
  return {{"model", info.model},
          {"num_classes", std::to_string(classifier.num_classes)},
          {"image_size", std::to_string(classifier.image_size)},
          {"seed", std::to_string(info.seed)},
          {std::string(known ? known->init_flag : nn::ModelInfo().init_flag), classifier.init},
          {"final_relu", classifier.final_relu ? "True" : "False"},
          {"label_base", std::to_string(classifier.label_base)}};
}

const ClassifierInfo& classifier_of(const CheckpointInfo& info) {
  if (info.classifier) return *info.classifier;
  throw Error(fmt::format("the checkpoint is of the network '{}' of a program's own, which alone can go on with it",
                          info.model));
}

std::vector<std::string> check_resume(std::span<const SettingRow> rows, const CheckpointFile& file,
                                      const CheckpointInfo& saved, const CheckpointInfo& now,
                                      std::uint64_t graph_hash) {
  Comparison comparison(saved, now);
  comparison.models();
  comparison.settings(rows);
  comparison.kernels();
  comparison.data_state(graph_hash);
  return comparison.finish(file);
}

}  // namespace ridgeline::train
