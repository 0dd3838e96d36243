#include "ridgeline/cli/replaced_settings.h"

#include <algorithm>
#include <string_view>

#include "ridgeline/cli/optimization_flags.h"

namespace ridgeline::cli {
namespace {

// Flags of one row set the same thing in different ways.
struct Ways {
  std::vector<std::string_view> flags;
};
const std::vector<Ways>& all_ways() {
  static const std::vector<Ways> ways = {
      {{"min_area", "crop_padding"}},
      {{"save_checkpoints_steps", "save_checkpoints_secs"}},
      {{"precision_mode", "precision_mode_v2", "amp_level"}},
      {{"amp_level", "accelerate_train_mode"}},
  };
  return ways;
}

// Whether the word sets something: the value for "nothing" does not replace the other flag.
bool says(const std::vector<std::string>& words, std::string_view flag) {
  const std::string value = value_of(words, "--" + std::string(flag));
  const bool off = flag == "crop_padding" && value == "-1";
  return !value.empty() && !off;
}

bool is_replaced(const std::string& setting, const std::vector<std::string>& words) {
  for (const Ways& ways : all_ways()) {
    if (std::find(ways.flags.begin(), ways.flags.end(), setting) == ways.flags.end()) continue;
    for (const std::string_view other : ways.flags)
      if (other != setting && says(words, other)) return true;
  }
  return is_unread(setting, value_of(words, "--optimizer"), value_of(words, "--lr_schedule"));
}

}  // namespace

std::string value_of(const std::vector<std::string>& words, const std::string& flag) {
  std::string value;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with(flag + "=")) value = words[i].substr(flag.size() + 1);
    if (words[i] == flag && i + 1 < words.size()) value = words[i + 1];
  }
  return value;
}

FlagValues without_replaced(FlagValues settings, const std::vector<std::string>& words) {
  std::erase_if(settings, [&](const auto& setting) { return is_replaced(setting.first, words); });
  return settings;
}

}  // namespace ridgeline::cli
