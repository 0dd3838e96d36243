#include "ridgeline/train/callback/model_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string_view>
#include <tuple>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/train/checkpoint/same_run.h"
#include "ridgeline/train/ranks/ranks.h"

namespace ridgeline::train {
namespace {

constexpr const char* kBreakpoint = "_breakpoint";

// The first of prefix, prefix_1, prefix_2, ... that begins no file's name.
std::string free_prefix(const std::string& directory, const std::string& prefix) {
  for (int n = 0;; ++n) {
    const std::string name = n == 0 ? prefix : fmt::format("{}_{}", prefix, n);
    if (glob_files(glob_escape(directory + "/" + name) + "-*").empty()) return name;
  }
}

// The fields of a file's name: <prefix>[_<run>]-<epoch>_<step in epoch>[_breakpoint]<ending>.
struct SavedName {
  std::int64_t run = 0, epoch = 0, step = 0;
  std::string prefix, path;
  auto order() const { return std::tuple(run, epoch, step, path); }
};

std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return value;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::optional<SavedName> parsed(const std::string& path, const std::string& prefix, const std::string& ending) {
  const std::string name = std::filesystem::path(path).filename().string();
  std::string_view rest = name;
  SavedName saved{.path = path};
  if (!take(rest, prefix)) return std::nullopt;
  if (take(rest, "_")) {
    const auto run = take_number(rest);
    if (!run) return std::nullopt;
    saved.run = *run;
  }
  saved.prefix = name.substr(0, name.size() - rest.size());
  if (!take(rest, "-")) return std::nullopt;
  const auto epoch = take_number(rest);
  if (!epoch || !take(rest, "_")) return std::nullopt;
  const auto step = take_number(rest);
  if (!step) return std::nullopt;
  take(rest, kBreakpoint);
  if (rest != ending) return std::nullopt;
  saved.epoch = *epoch;
  saved.step = *step;
  return saved;
}

// Of the last run under the prefix, the oldest first.
std::vector<SavedName> saved_files(const std::string& directory, const std::string& prefix, const std::string& ending) {
  std::vector<SavedName> files;
  for (const std::string& path : glob_files(glob_escape(directory + "/" + prefix) + "*")) {
    if (std::optional<SavedName> saved = parsed(path, prefix, ending)) files.push_back(std::move(*saved));
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.order() < b.order(); });
  std::erase_if(files, [last = files.empty() ? 0 : files.back().run](const SavedName& f) { return f.run != last; });
  return files;
}

}  // namespace

void print_warning(const std::string& text) { std::fprintf(stderr, "warning: %s\n", printable(text).c_str()); }

void CheckpointConfig::check() const {
  const auto not_negative = [](std::int64_t value, const char* name) {
    if (value < 0)
      throw Error(fmt::format("The argument '{}' must be >= 0, but got {}", name, value), ErrorKind::usage);
  };
  not_negative(save_checkpoint_steps, "save_checkpoint_steps");
  not_negative(save_checkpoint_seconds, "save_checkpoint_seconds");
  not_negative(keep_checkpoint_max, "keep_checkpoint_max");
  not_negative(keep_checkpoint_per_n_minutes, "keep_checkpoint_per_n_minutes");
  if (save_checkpoint_steps == 0 && save_checkpoint_seconds == 0 && keep_checkpoint_max == 0 &&
      keep_checkpoint_per_n_minutes == 0) {
    throw Error(
        "The input arguments 'save_checkpoint_steps', 'save_checkpoint_seconds', 'keep_checkpoint_max' and "
        "'keep_checkpoint_per_n_minutes' can't be all 0",
        ErrorKind::usage);
  }
}

ModelCheckpoint::ModelCheckpoint(std::string prefix, std::string directory, const CheckpointConfig& config,
                                 CheckpointFiles files)
    : prefix_(std::move(prefix)), directory_(std::move(directory)), config_(config), form_(std::move(files)) {
  if (prefix_.empty() || prefix_.find('/') != std::string::npos) {
    throw Error("The argument 'prefix' must be a name without '/', but got '" + prefix_ + "'", ErrorKind::usage);
  }
  config_.check();
}

bool ModelCheckpoint::resume(Model& model, const std::function<void(const std::string&)>& warn) {
  const std::vector<SavedName> files = saved_files(directory_, prefix_, form_.ending);
  std::vector<std::string> faults;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    std::optional<LoadedCheckpoint> loaded;
    try {
      loaded = load_checkpoint({.path = file->path});
    } catch (const Error& error) {
      faults.emplace_back(error.what());
      continue;
    }
    check_same_run(*loaded, model);
    model.load(loaded->tensors);
    if (!loaded->info.data_state.empty()) model.stands_at(data::IteratorState::from_json(loaded->info.data_state));
    for (const std::string& state : loaded->info.other_data) model.stands_at(data::IteratorState::from_json(state));
    for (const std::string& fault : faults) warn(fault + "; falling back to the checkpoint before it");
    name_ = file->prefix;
    latest_ = file->path;
    files_.clear();
    for (auto kept = files.begin(); kept != file.base(); ++kept)
      files_.push_back({kept->path, (kept->epoch - 1) * loaded->info.steps_per_epoch + kept->step});
    return true;
  }
  if (files.empty()) return false;
  throw Error(fmt::format("no checkpoint {}/{}* is whole ({} there), the newest: {}", directory_, prefix_, files.size(),
                          faults.front()));
}

std::int64_t ModelCheckpoint::next_stop(std::int64_t step) const {
  return next_multiple(step, config_.save_checkpoint_steps);
}

void ModelCheckpoint::begin(RunContext& context) {
  make_directories(directory_);
  if (name_.empty()) {
    name_ = free_prefix(directory_, prefix_);
    if (form_.graph && Ranks(context.model().session()).main()) {
      write_file_atomically((std::filesystem::path(directory_) / (name_ + "-graph.meta")).string(),
                            to_text(context.model().training_graph()));
    }
  }
  saved_at_ = -1;  // the run may be of another model
  saved_ = kept_ = std::chrono::steady_clock::now();
}

bool ModelCheckpoint::due(const RunContext& context) const {
  if (config_.save_checkpoint_steps > 0) return is_multiple(context.step(), config_.save_checkpoint_steps);
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - saved_;
  return config_.save_checkpoint_seconds > 0 && since.count() >= static_cast<double>(config_.save_checkpoint_seconds);
}

void ModelCheckpoint::step_end(RunContext& context) {
  if (!context.failing() && due(context)) save(context);
}

void ModelCheckpoint::end(RunContext& context) {
  if (context.step() > 0) save(context);
}

void ModelCheckpoint::failed(RunContext& context) {
  if (config_.exception_save && context.step() > 0) write(context, kBreakpoint);
}

void ModelCheckpoint::write(const RunContext& context, const char* suffix) {
  if (context.torn() || (saved_at_ == context.step() && *suffix == '\0')) return;
  const Model& model = context.model();
  const std::vector<NamedTensor> tensors = model.to_file();  // of several ranks, all put the values together
  saved_at_ = context.step();
  if (!Ranks(model.session()).main()) return;
  CheckpointInfo info;
  info.model = model.network().name;
  info.step = context.step();
  info.steps_per_epoch = context.steps_per_epoch();
  info.data_state = context.feed().state();
  info.other_data = model.other_places(context.feed().data_hash());
  info.plan = model.kernel_plan();
  tell_run(model, info);
  latest_ = (std::filesystem::path(directory_) /
             fmt::format("{}-{}_{}{}{}", name_, context.epoch(), context.step_in_epoch(), suffix, form_.ending))
                .string();
  write_checkpoint(latest_, info, tensors);
  saved_ = std::chrono::steady_clock::now();
  std::erase_if(files_, [&](const Saved& file) { return file.path == latest_; });
  files_.push_back({latest_, context.step()});
  prune();
}

void ModelCheckpoint::prune() {
  const auto remove = [&](std::size_t at) {
    std::error_code ignored;
    std::filesystem::remove(files_[at].path, ignored);
    files_.erase(files_.begin() + static_cast<std::ptrdiff_t>(at));
  };
  if (config_.keep_checkpoint_max > 0) {
    const auto others = [&] {
      return std::count_if(files_.begin(), files_.end(), [&](const Saved& file) { return file.step != kept_step_; });
    };
    for (std::size_t at = 0; at < files_.size() && others() > config_.keep_checkpoint_max;) {
      if (files_[at].step == kept_step_) {
        ++at;
      } else {
        remove(at);
      }
    }
  } else if (config_.keep_checkpoint_per_n_minutes > 0) {
    // One file for every so many minutes: until then the newest replaces the one before it.
    if (saved_ - kept_ >= std::chrono::minutes(config_.keep_checkpoint_per_n_minutes)) {
      kept_ = saved_;
    } else if (files_.size() > 1 && files_[files_.size() - 2].step != kept_step_) {
      remove(files_.size() - 2);
    }
  }
}

}  // namespace ridgeline::train
