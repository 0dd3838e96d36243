#include "ridgeline/device/cuda/plans/plan_folder.h"

#include <fmt/format.h>

#include <cctype>
#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/core/random.h"
#include "ridgeline/core/user_cache.h"

namespace ridgeline::cuda {
namespace {

constexpr std::string_view kFirstLine = "ridgeline plan 1";

// The first line of the text, which is removed from it; nullopt where there is none.
std::optional<std::string> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  std::string line(text.substr(0, end));
  text.remove_prefix(end + 1);
  return line;
}

// The lines before the plan: the format, the key, the plan's name, whether it was timed, and a hash of it.
std::string head_of(const std::string& key, const StoredPlan& plan) {
  return fmt::format("{}\n{}\n{}\n{}\n{:016x}\n", kFirstLine, key, plan.name, plan.timed ? "timed" : "first",
                     hash64(plan.plan));
}

}  // namespace

PlanFolder::PlanFolder(std::string folder, std::function<void(const std::string&)> warn)
    : folder_(std::move(folder)), warn_(std::move(warn)) {}

std::string PlanFolder::folder_of(std::string_view card, int driver_version, std::string_view library) {
  const std::string cache = user_cache_directory();
  if (cache.empty()) return "";
  std::string name = fmt::format("{}-driver-{}-{}", card, driver_version, library);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  }
  return cache + "/cuda/" + name;
}

std::string PlanFolder::file_of(const std::string& key) const {
  return fmt::format("{}/{:016x}.plan", folder_, hash64(key));
}

std::optional<StoredPlan> PlanFolder::read(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  const std::string path = file_of(key);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  std::string content;
  try {
    content = read_file(path);
  } catch (const std::exception& failure) {
    warn_(fmt::format("{} is not read ({}): the plan is made anew", path, failure.what()));
    return std::nullopt;
  }
  std::string_view rest = content;
  StoredPlan plan;
  const std::optional<std::string> first = take_line(rest), stored_key = take_line(rest), name = take_line(rest),
                                   timed = take_line(rest), hash = take_line(rest);
  if (hash) {
    plan.name = *name;
    plan.timed = *timed == "timed";
    plan.plan = rest;
  }
  if (!hash || content != head_of(*stored_key, plan) + plan.plan) {
    warn_(path + " is damaged, or of another version: the plan is made anew");
    return std::nullopt;
  }
  if (*stored_key != key) return std::nullopt;  // two keys of one hash: the later one has the file
  return plan;
}

void PlanFolder::write(const std::string& key, const StoredPlan& plan) {
  if (folder_.empty() || !writable_) return;
  try {
    std::filesystem::create_directories(folder_);
    write_file_atomically(file_of(key), head_of(key, plan) + plan.plan);
  } catch (const std::exception& failure) {
    writable_ = false;
    warn_(fmt::format("plans are not kept in {} ({})", folder_, failure.what()));
  }
}

}  // namespace ridgeline::cuda
