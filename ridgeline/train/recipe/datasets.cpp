#include "ridgeline/train/recipe/datasets.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/data/standard/archive_classes.h"
#include "ridgeline/data/standard/class_balance.h"
#include "ridgeline/data/standard/class_labels.h"
#include "ridgeline/data/standard/data_dir.h"
#include "ridgeline/data/standard/found_text.h"
#include "ridgeline/data/standard/record_classes.h"
#include "ridgeline/data/standard/validation_split.h"

namespace ridgeline::train {
namespace {

// The number of classes of the published ImageNet models.
constexpr std::int64_t kUnknownClasses = 1000;

std::int64_t side(const Recipe& recipe) {
  return recipe.image_size == 0 ? nn::model_named(recipe.model).image_size : recipe.image_size;
}

void check_training_size(std::int64_t records, const Recipe& recipe) {
  const std::int64_t batches = recipe.optimization.accumulate_steps * recipe.data_ranks();
  if (records / recipe.batch_size >= batches) return;
  if (records >= recipe.batch_size) {
    throw Error(
        fmt::format("{} has {} training records, fewer than a step of {} batches of {} (--accumulate_steps, "
                    "--batch_size{})",
                    recipe.data_dir, records, batches, recipe.batch_size, recipe.ranks > 1 ? ", --rank_size" : ""));
  }
  throw Error(fmt::format("{} has {} training records, fewer than one batch of {} (--batch_size)", recipe.data_dir,
                          records, recipe.batch_size));
}

// One split, opened, with its classes.
struct Part {
  data::Dataset source;
  ClassNames classes;
  std::int64_t count = 0;  // of classes: folders, or one more than the greatest label; 0: unknown
  data::Layout layout = data::Layout::class_folders;
  // This split's names for the classes of the training or the checkpoint, whose numbers are its labels; empty: its own.
  std::vector<std::string> known = {};
  std::string label_field = {};  // of archives: where the class stands
};

// Opens the splits of one directory in the order in which a run needs them.
class Opener {
 public:
  Opener(const Recipe& recipe, const DataNeeds& needs)
      : recipe_(recipe),
        needs_(needs),
        whole_(std::make_shared<const data::FoundData>(data::find_data(recipe.data_dir))),
        found_(*whole_),
        split_(split_of()) {
    options_.label_base = recipe.label_base;
    options_.num_classes = recipe.num_classes;
    options_.allow_missing_shards = recipe.allow_missing_shards;
    options_.label_field =
        recipe.label_field == "auto" && !needs.label_field.empty() ? needs.label_field : recipe.label_field;
    if (needs.label_base) set_label_base(*needs.label_base);
  }

  const data::FoundData& found() const { return found_; }
  const std::shared_ptr<const data::FoundData>& shared() const { return whole_; }
  const std::optional<data::ValidationSplit>& split() const { return split_; }
  void set_label_base(int base) {
    options_.label_base = base == 0 ? data::LabelBase::zero : data::LabelBase::one;
    base_is_given_ = true;
  }
  void set_num_classes(std::int64_t count) { options_.num_classes = count; }

  // Null where there is none.
  const data::DataPart* validation() const {
    if (split_) return found_.training();
    if (!recipe_.split.empty()) return &data::find_part(found_, recipe_.split);
    return recipe_.mode == Mode::evaluate ? found_.evaluated() : found_.validation();
  }

  Part train() { return side(data::find_part(found_, "train"), split_ ? &split_->train : nullptr, {}); }
  // `known`: the classes of the training or of the checkpoint.
  Part evaluated(const ClassNames& known) {
    const std::vector<std::int64_t>* rows = nullptr;
    if (split_) rows = data::parse_split(recipe_.split) == "train" ? &split_->train : &split_->val;
    const data::DataPart* part = validation();
    return side(part ? *part : data::find_part(found_, "val"), rows, known);
  }

 private:
  // How class folders without a validation split are divided, if the recipe or the checkpoint says so.
  std::optional<data::ValidationSplit> split_of() const {
    if (recipe_.validation_split == 0 && needs_.validation_split == 0) return std::nullopt;
    if (data::parse_split(recipe_.split) == "test") return std::nullopt;
    const data::DataPart* val = found_.part("val");
    const bool has_validation = val && val->layout != data::Layout::loose_files;
    const data::DataPart* train = found_.training();
    if (recipe_.validation_split == 0 && (has_validation || !train)) return std::nullopt;
    const auto refuse = [&](const std::string& why) {
      throw Error(fmt::format("--validation_split={}: {}", recipe_.validation_split, why), ErrorKind::usage);
    };
    if (has_validation) refuse(recipe_.data_dir + " has a validation part, which would not be used");
    if (!train) refuse(recipe_.data_dir + " has no part to train on");
    if (train->layout != data::Layout::class_folders)
      refuse(fmt::format("{} holds {}, only class folders can be split", recipe_.data_dir, name_of(train->layout)));
    // A greater share includes a smaller one.
    if (needs_.checkpoint && recipe_.validation_split > needs_.validation_split) {
      refuse(fmt::format("the checkpoint was trained with {}: images that it was trained on would be counted",
                         needs_.validation_split));
    }
    if (!train->refusal.empty()) throw Error(train->refusal);
    const double share = recipe_.validation_split > 0 ? recipe_.validation_split : needs_.validation_split;
    return data::split_by_content(train->dir, *train->folders, share, recipe_.num_workers);
  }

  // A split, or some of its rows.
  Part side(const data::DataPart& part, const std::vector<std::int64_t>* rows, const ClassNames& known) {
    if (part.layout == data::Layout::records) return records(part);
    if (part.layout == data::Layout::archives) return archives(part, known);
    data::OpenOptions options = options_;
    if (part.layout == data::Layout::class_folders) options.classes = names_for(part, known);
    data::Dataset source = data::open_source(found_, part, options);
    const bool by_names = !options.classes.empty();
    ClassNames classes{.names = by_names ? known.names : source.class_names(), .ids = {}, .complete = true};
    if (rows) source = source.sample(data::SubsetSampler(*rows));
    const auto count = static_cast<std::int64_t>(classes.names.size());
    return {source, std::move(classes), count, part.layout, std::move(options.classes)};
  }

  // The names that the split's folders have for known classes, by label; none where not all have a name.
  static std::vector<std::string> names_for(const data::DataPart& part, const ClassNames& known) {
    const std::vector<std::string>& folders = part.folders->classes;
    const auto there = [&](const std::string& name) {
      return std::find(folders.begin(), folders.end(), name) != folders.end();
    };
    std::vector<std::string> names = known.names;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i].empty()) return {};
      if (i < known.ids.size() && !known.ids[i].empty() && !there(names[i]) && there(known.ids[i]))
        names[i] = known.ids[i];
    }
    return names;
  }

  Part records(const data::DataPart& part) {
    if (!recipe_.allow_missing_shards) data::refuse_missing_shards(found_, part);
    data::OpenOptions options = options_;
    const bool automatic = options.label_base == data::LabelBase::automatic;
    const int base = options.label_base == data::LabelBase::zero ? 0 : 1;
    data::RecordClasses found =
        data::find_record_classes(part.files, automatic ? std::nullopt : std::optional(base), recipe_.num_workers);
    if (found.least) {
      check_least_label(part, *found.least, found.label_base);
      options.found_label_base = found.label_base;
    }
    if (options.num_classes == 0) options.num_classes = found.count;
    return {data::open_source(found_, part, options),
            {.names = std::move(found.names), .ids = std::move(found.ids), .complete = false},
            found.count,
            part.layout};
  }

  Part archives(const data::DataPart& part, const ClassNames& known) {
    data::OpenOptions options = options_;
    const data::DataPart* training = found_.part("train");
    const bool as_training = training && training->layout == data::Layout::archives;
    options.label_field = data::archive_label_field(as_training ? training->files : part.files, options.label_field);
    const data::ArchiveClasses own = data::find_archive_classes(part.files, options.label_field, recipe_.num_workers);
    const bool names = !own.names.empty(),
               first = &part == found_.training() || !(needs_.training || needs_.checkpoint || needs_.model_file);
    if (names && !first && known.names.empty())
      throw Error(fmt::format("{}: {} has labels that are names, such as '{}', and training has numbers",
                              recipe_.data_dir, part.place, own.names[0]));
    if (names) {
      options.classes = known.names.empty() ? own.names : known.names;
      for (const std::string& name : own.names) {
        if (std::find(options.classes.begin(), options.classes.end(), name) != options.classes.end()) continue;
        throw Error(fmt::format("{}: {} has the class '{}', that the training does not know{}", recipe_.data_dir,
                                part.place, name, did_you_mean(name, options.classes)));
      }
    }
    options.numbered_labels = !names;
    if (options.num_classes == 0) options.num_classes = own.count;
    const std::int64_t count = names ? static_cast<std::int64_t>(options.classes.size()) : own.count;
    ClassNames classes{.names = options.classes, .ids = {}, .complete = names};
    return {data::open_source(found_, part, options), std::move(classes), count, part.layout, {}, options.label_field};
  }

  // A label below the base is a mistake in the set-up, not a bad sample: it would be a whole class.
  void check_least_label(const data::DataPart& part, std::int64_t least, int base) const {
    if (least >= base) return;
    const std::string place = fmt::format("{}: {}", recipe_.data_dir, part.place);
    if (least < 0)
      throw Error(fmt::format("{} has the label {}: labels are 0 or more (are these without labels?)", place, least));
    throw Error(fmt::format("{} has the label {}, below the label base {}{}", place, least, base,
                            base_is_given_ ? ", which is that of the training: labels would not mean the same"
                                           : fmt::format(" (--label_base={}): all of that class would be left out; "
                                                         "--label_base=0 or auto reads them",
                                                         base)),
                ErrorKind::usage);
  }

  const Recipe& recipe_;
  const DataNeeds& needs_;
  const std::shared_ptr<const data::FoundData> whole_;
  const data::FoundData& found_;
  const std::optional<data::ValidationSplit> split_;
  data::OpenOptions options_;
  bool base_is_given_ = false;  // by the training or the checkpoint, not by a flag
};

// What the log says about the labels of a split.
void add_notes(const Part& part, const Recipe& recipe, std::vector<std::string>& notes) {
  const bool records = part.layout == data::Layout::records;
  const bool numbers = records || (part.layout == data::Layout::archives && !part.classes.complete);
  if (records) {
    notes.push_back(fmt::format("labels: stored from {} on{}", part.source.label_base(),
                                recipe.label_base == data::LabelBase::automatic ? " (--label_base=auto)" : ""));
  }
  if (part.layout == data::Layout::class_folders) {
    const auto idle = [&](bool given, const char* flag, const char* layout) {
      if (given) notes.push_back(fmt::format("warning: --{} has no effect on class folders, only on {}", flag, layout));
    };
    idle(recipe.label_base != data::LabelBase::automatic, "label_base", "records");
    idle(recipe.label_field != "auto", "label_field", "tar archives");
    idle(recipe.allow_missing_shards, "allow_missing_shards", "records");
  }
  if (!part.label_field.empty())
    notes.push_back(fmt::format("labels: {}{}",
                                part.label_field == "/" ? "the folders of the samples" : part.label_field,
                                recipe.label_field == "auto" ? " (--label_field=auto)" : ""));
  if (recipe.num_classes == 0 && numbers) {
    notes.push_back(fmt::format("classes: {}, as the labels of the {} say (no --num_classes)", part.count,
                                records ? "records" : "archives"));
  } else if (recipe.num_classes == 0 && part.count == 0) {
    notes.push_back(fmt::format("classes: {}, the data do not tell (--num_classes)", kUnknownClasses));
  } else if (numbers && part.count > recipe.num_classes) {
    notes.push_back(fmt::format("warning: labels go up to {}, those from --num_classes={} on are bad samples",
                                part.count - 1, recipe.num_classes));
  }
}

// What the directory holds and what of it the run uses.
void add_found(const Opener& opener, const DataNeeds& needs, const Recipe& recipe, std::vector<std::string>& notes) {
  constexpr std::size_t kMost = 8;
  const data::FoundData& found = opener.found();
  std::vector<data::PartUse> uses;
  if (needs.training) uses.push_back({found.training(), opener.split() ? "training and validation" : "training"});
  if (needs.validation && !(needs.training && opener.split()))
    uses.push_back({opener.validation(), needs.training ? "validation" : "evaluated"});
  notes.push_back(data::data_line(found, uses));
  if (std::string line = data::not_used_line(found, uses, kMost); !line.empty()) notes.push_back(std::move(line));
  if (recipe.split.empty() && needs.validation && !opener.split() && opener.validation() == found.validation()) {
    if (std::string note = data::validation_note(found); !note.empty()) notes.push_back(std::move(note));
  }
  notes.insert(notes.end(), found.notes.begin(), found.notes.end());
  for (const data::PartUse& use : uses) {
    if (!use.part->missing_shards.empty()) notes.push_back("warning: " + use.part->missing_shards);
  }
  if (opener.split()) notes.insert(notes.end(), opener.split()->notes.begin(), opener.split()->notes.end());
}

// A classifier of one class is always right, and has learned nothing.
void check_several_classes(const Part& part, const data::DataPart& where, const Recipe& recipe) {
  if (part.count != 1) return;
  if (!where.one_class.empty()) throw Error(where.one_class + "; there is nothing to tell apart");
  if (part.classes.complete || recipe.num_classes == 0)
    throw Error(fmt::format("{} has images of one class alone: there is nothing to tell apart", recipe.data_dir));
}

// Compares the validation split with the training split or the checkpoint.
void check_classes(const Part& val, const ClassNames& trained, std::int64_t num_classes, const DataNeeds& needs,
                   const Recipe& recipe) {
  const bool stored = needs.checkpoint || needs.model_file;
  const std::string holder = needs.checkpoint ? "the checkpoint" : "the model file";
  const std::string there = stored ? "in " + holder : "in training";
  const char* here = stored ? "in the data" : "in validation";
  std::string difference = class_difference(trained, there, val.classes, here);
  const bool no_names = trained.names.empty() || val.classes.names.empty();
  if (difference.empty() && no_names && val.classes.complete && val.count > 0 && val.count != num_classes)
    difference = fmt::format("{} classes {}, {} {}", num_classes, there, val.count, here);
  // Under other policies such records are left out and counted.
  const bool raise = recipe.bad_samples.policy == data::BadSamplePolicy::raise;
  if (difference.empty() && !val.classes.complete && raise && val.count > num_classes)
    difference = fmt::format("{} classes {}, labels up to {} {}", num_classes, there, val.count - 1, here);
  if (difference.empty()) return;
  throw Error(fmt::format(
      "the classes of the validation part of {} are not those of {}: {}. Labels would not mean the same: {}",
      recipe.data_dir, stored ? holder : "the training part", difference,
      stored ? "give data with the classes that it was trained on, in the same order"
             : "both parts need the same classes in the same order"));
}

// Refused before an hour is spent on the training split.
void refuse_without_validation(const data::FoundData& found, const DataNeeds& needs) {
  if (const data::DataPart* training = found.training(); training && training->layout == data::Layout::loose_files)
    throw Error(training->refusal);
  try {
    data::find_part(found, "val");
  } catch (const Error& error) {
    throw Error(error.what() + std::string(needs.training
                                               ? " (--validation_split=0.1 holds back a tenth of the images of class "
                                                 "folders, --mode=train trains without one)"
                                               : " (--split=train evaluates what there is)"),
                error.kind());
  }
  throw Error(found.dir + ": " + found.part("val")->refusal);
}

// Weights of classes or of rows by how many training images each class has. `rows`: of the source, which is used; null:
// all. Labels that cannot be read are handled by the policy for bad samples.
void balance(data::StandardPipeline& pipeline, const Part& part, const std::vector<std::int64_t>* rows,
             const Recipe& recipe, std::vector<std::string>& notes) {
  const bool raise = recipe.bad_samples.policy == data::BadSamplePolicy::raise;
  std::vector<std::int64_t> labels = data::labels_of(part.source, raise, recipe.num_workers);
  if (rows) {
    std::vector<std::int64_t> chosen;
    for (const std::int64_t row : *rows) chosen.push_back(labels[static_cast<std::size_t>(row)]);
    labels = std::move(chosen);
  }
  const data::ClassBalance balance = data::class_balance(labels, pipeline.num_classes);
  const auto name_of = [&](std::int64_t label) {
    const auto at = static_cast<std::size_t>(label);
    return at < part.classes.names.size() ? part.classes.names[at] : fmt::format("label {}", label);
  };
  const auto count_of = [&](std::int64_t label) { return balance.counts[static_cast<std::size_t>(label)]; };
  notes.push_back(fmt::format("classes have from {} images ({}) to {} ({}): {}", count_of(balance.rarest),
                              name_of(balance.rarest), count_of(balance.commonest), name_of(balance.commonest),
                              recipe.sampler == "balanced"
                                  ? "images are drawn so that each class comes equally often (--sampler=balanced)"
                                  : fmt::format("losses count {:.3g} to {:.3g} times (--class_weights=balanced)",
                                                balance.weight(balance.commonest), balance.weight(balance.rarest))));
  if (recipe.sampler == "balanced") {
    for (const std::int64_t label : labels) {
      // A label beyond the classes is drawn like any other, and is then a bad sample.
      const bool known = label >= 0 && label < pipeline.num_classes;
      pipeline.row_weights.push_back(label < 0 ? 0 : known ? balance.weight(label) : 1);
    }
  } else {
    for (std::int64_t label = 0; label < pipeline.num_classes; ++label)
      pipeline.class_weights.push_back(balance.weight(label));
    pipeline.label_smoothing = recipe.label_smoothing;
  }
}

void fit_batch(Recipe& recipe, std::int64_t records, std::vector<std::string>& notes) {
  const std::int64_t share = std::max<std::int64_t>(1, (records + recipe.ranks - 1) / recipe.ranks);
  if (share >= recipe.batch_size || recipe.eval_drop_remainder || recipe.reproducibility != "fast") return;
  notes.push_back(fmt::format("batch size: {} instead of {}, which no batch would fill", share, recipe.batch_size));
  recipe.batch_size = share;
}

}  // namespace

std::string exif_orientation_of(const Recipe& recipe) {
  return recipe.exif_orientation.empty() ? "ignore" : recipe.exif_orientation;
}

data::StandardPipeline pipeline_of(const Recipe& recipe) {
  const nn::ModelInfo& model = nn::model_named(recipe.model);
  const nn::EvaluationTransform rule = nn::evaluation_transform(model, side(recipe));
  data::StandardPipeline pipeline{.image_size = rule.crop,
                                  .batch_size = recipe.batch_size,
                                  .mean = {model.mean.begin(), model.mean.end()},
                                  .std = {model.std.begin(), model.std.end()},
                                  .seed = recipe.seed,
                                  .min_area = recipe.min_area,
                                  .crop_padding = recipe.crop_padding,
                                  .augment = recipe.augment,
                                  .random_erasing = recipe.random_erasing,
                                  .mixup = recipe.mixup,
                                  .cutmix = recipe.cutmix,
                                  .num_classes = recipe.num_classes,
                                  .ranks = recipe.data_ranks(),
                                  .rank = recipe.place,
                                  .flip = recipe.flip,
                                  .exif_orientation = exif_orientation_of(recipe),
                                  .resize = {rule.resize},
                                  .drop_remainder = recipe.eval_drop_remainder};
  if (rule.rule == nn::ResizeRule::exact) pipeline.resize.push_back(rule.resize);
  return pipeline;
}

data::Dataset with_evaluation_transforms(const data::Dataset& source, const Recipe& recipe) {
  data::StandardPipeline pipeline = pipeline_of(recipe);
  if (recipe.parallel.pipelined()) {  // stages train on the same images, and evaluate a share of them each
    pipeline.ranks = recipe.ranks;
    pipeline.rank = recipe.rank;
  }
  return data::evaluation_pipeline(source, pipeline);
}

void check_data_dir(const Recipe& recipe, bool training) {
  if (!recipe.data_dir.empty()) return;
  throw Error(std::string("--data_dir is needed") + (training ? " (or --synthetic=True)" : ""), ErrorKind::usage);
}

RunData open_data(const Recipe& recipe, const DataNeeds& given) {
  check_data_dir(recipe, given.training);
  DataNeeds needs = given;
  RunData data;
  data.classes = needs.classes;
  data.num_classes = recipe.num_classes;
  Opener opener(recipe, needs);
  // The first split decides the number of classes.
  const auto settle_classes = [&](const Part& part) {
    if (data.num_classes == 0) data.num_classes = part.count > 0 ? part.count : kUnknownClasses;
    if (part.classes.complete && data.num_classes < part.count) {
      const bool folders = part.layout == data::Layout::class_folders;
      throw Error(fmt::format("--num_classes={} is fewer than the {} {} of {}", data.num_classes, part.count,
                              folders ? "class folders" : "classes", recipe.data_dir),
                  ErrorKind::usage);
    }
    data.label_base = part.source.label_base();
    data.layout = name_of(part.layout);
    opener.set_label_base(data.label_base);
    opener.set_num_classes(data.num_classes);
  };
  data.found = opener.shared();
  data.has_validation = opener.split() || opener.validation();
  if (needs.validation_if_there && !data.has_validation) needs.validation = false;
  if (needs.validation && !data.has_validation) refuse_without_validation(opener.found(), needs);
  if (needs.training) data::find_part(opener.found(), "train");  // there must be one
  add_found(opener, needs, recipe, data.notes);
  if (needs.training) {
    Part part = opener.train();
    check_several_classes(part, *opener.found().training(), recipe);
    settle_classes(part);
    data.training_records = part.source.num_samples();
    check_training_size(data.training_records, recipe);
    data::StandardPipeline pipeline = pipeline_of(recipe);
    pipeline.num_classes = data.num_classes;
    if (balances(recipe))
      balance(pipeline, part, opener.split() ? &opener.split()->train : nullptr, recipe, data.notes);
    data.training = data::training_pipeline(part.source, pipeline);
    add_notes(part, recipe, data.notes);
    data.classes = std::move(part.classes);
    const auto most = static_cast<std::size_t>(data.num_classes);
    if (data.classes.names.size() > most) data.classes.names.resize(most);
    if (data.classes.ids.size() > most) data.classes.ids.resize(most);
  }
  if (needs.validation) {
    Part part = opener.evaluated(data.classes);
    const bool known = needs.checkpoint || needs.model_file || needs.training;
    if (known && part.known.empty()) check_classes(part, data.classes, data.num_classes, needs, recipe);
    if (!part.known.empty() && !opener.split()) {
      const std::string who = needs.training ? "validation has" : "the data have";
      if (std::string warning = data::missing_classes(*opener.validation(), part.known, who); !warning.empty())
        data.notes.push_back(std::move(warning));
    }
    if (!needs.training) settle_classes(part);
    data.validation_records = part.source.num_samples();
    Recipe evaluation = recipe;
    if (needs.batch_fits) fit_batch(evaluation, data.validation_records, data.notes);
    data.evaluation_batch = evaluation.batch_size;
    data.validation = with_evaluation_transforms(part.source, evaluation);
    if (!known) add_notes(part, recipe, data.notes);
    if (data.classes.names.empty()) data.classes = std::move(part.classes);
  }
  return data;
}

}  // namespace ridgeline::train
