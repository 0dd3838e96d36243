#include "ridgeline/train/callback/model_checkpoint.h"

#include <fmt/format.h>

#include <filesystem>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"

namespace ridgeline::train {
namespace {

constexpr const char* kWeightsSuffix = ".safetensors";

// The first of prefix, prefix_1, prefix_2, ... that begins no file's name.
std::string free_prefix(const std::string& directory, const std::string& prefix) {
  for (int n = 0;; ++n) {
    const std::string name = n == 0 ? prefix : fmt::format("{}_{}", prefix, n);
    if (glob_files(glob_escape(directory + "/" + name) + "-*").empty()) return name;
  }
}

}  // namespace

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

ModelCheckpoint::ModelCheckpoint(std::string prefix, std::string directory, const CheckpointConfig& config)
    : prefix_(std::move(prefix)), directory_(std::move(directory)), config_(config) {
  if (prefix_.empty() || prefix_.find('/') != std::string::npos) {
    throw Error("The argument 'prefix' must be a name without '/', but got '" + prefix_ + "'", ErrorKind::usage);
  }
  config_.check();
}

std::int64_t ModelCheckpoint::next_stop(std::int64_t step) const {
  return next_multiple(step, config_.save_checkpoint_steps);
}

void ModelCheckpoint::begin(RunContext&) {
  make_directories(directory_);
  if (name_.empty()) name_ = free_prefix(directory_, prefix_);
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
  if (config_.exception_save && context.step() > 0) save(context, "_breakpoint");
}

void ModelCheckpoint::save(const RunContext& context, const char* suffix) {
  if (context.torn() || (saved_at_ == context.step() && *suffix == '\0')) return;
  CheckpointInfo info;
  info.model = context.model().network().name;
  info.step = context.step();
  info.steps_per_epoch = context.steps_per_epoch();
  info.data_state = context.feed().state();
  info.plan = context.model().kernel_plan();
  latest_ = (std::filesystem::path(directory_) /
             fmt::format("{}-{}_{}{}{}", name_, context.epoch(), context.step_in_epoch(), suffix, kWeightsSuffix))
                .string();
  write_checkpoint(latest_, info, context.model().to_file());
  saved_at_ = context.step();
  const auto now = std::chrono::steady_clock::now();
  saved_ = now;
  std::erase(files_, latest_);
  files_.push_back(latest_);
  if (config_.keep_checkpoint_max > 0) {
    while (files_.size() > static_cast<std::size_t>(config_.keep_checkpoint_max)) {
      std::error_code ignored;
      std::filesystem::remove(files_.front(), ignored);
      files_.erase(files_.begin());
    }
  } else if (config_.keep_checkpoint_per_n_minutes > 0) {
    // One file for every so many minutes: the newest takes the place of the one before it until they are over.
    if (now - kept_ >= std::chrono::minutes(config_.keep_checkpoint_per_n_minutes)) {
      kept_ = now;
    } else if (files_.size() > 1) {
      std::error_code ignored;
      std::filesystem::remove(files_[files_.size() - 2], ignored);
      files_.erase(files_.end() - 2);
    }
  }
}

}  // namespace ridgeline::train
