#include "ridgeline/data/standard/found_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "ridgeline/core/error.h"

namespace ridgeline::data {
namespace {

namespace fs = std::filesystem;

std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

}  // namespace

std::string counted(std::int64_t count, std::string_view what) {
  const bool plural = count != 1;
  if (plural && what.ends_with("ss")) return fmt::format("{} {}es", with_commas(count), what);
  if (plural && what.ends_with("y"))
    return fmt::format("{} {}ies", with_commas(count), what.substr(0, what.size() - 1));
  return fmt::format("{} {}{}", with_commas(count), what, plural ? "s" : "");
}

std::string quoted(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", names[i]);
  return names.size() <= kMost ? text : text + fmt::format(" and {} more", names.size() - kMost);
}

std::string place_below(const std::string& path, const std::string& root) {
  const fs::path relative = fs::path(path).lexically_relative(root);
  return relative.empty() || *relative.begin() == ".." ? path : relative.string();
}

std::string folder_place(const std::string& path, const std::string& root) {
  const std::string place = place_below(path, root);
  return place == "." || path == root ? "" : place + "/";
}

NotUsed not_used(std::string what, std::int64_t count, std::string_view unit, std::string reason) {
  NotUsed item{.what = std::move(what), .count = count, .reason = std::move(reason), .text = {}};
  if (!unit.empty() && count > 0) {
    item.text = fmt::format("{} ({}; {})", item.what, counted(count, unit), item.reason);
  } else if (count <= 1) {
    item.text = fmt::format("{} ({})", item.what, item.reason);
  } else {
    item.text = fmt::format("{} {} ({})", with_commas(count), item.what, item.reason);
  }
  return item;
}

NotUsed images_in(const std::string& place, std::int64_t count, std::string reason) {
  NotUsed item{.what = place, .count = count, .reason = std::move(reason), .text = {}};
  item.text = fmt::format("{} right in {} ({})", counted(count, "image"), place, item.reason);
  return item;
}

NotUsed files_by_ending(const std::map<std::string, std::int64_t>& endings, std::string reason) {
  NotUsed item{.what = {}, .count = 0, .reason = std::move(reason), .text = {}};
  for (const auto& [ending, count] : endings) {
    const std::string name = ending.empty() ? "without ending" : ending;
    item.what += (item.what.empty() ? "" : ", ") + name;
    item.text += fmt::format("{}{} {}", item.text.empty() ? "" : ", ", with_commas(count), name);
    item.count += count;
  }
  item.text += fmt::format(" ({})", item.reason);
  return item;
}

std::string there_text(const FolderTree& tree) {
  std::map<std::string, std::int64_t> endings;
  const auto count = [&](const auto& self, const FolderTree& folder) -> void {
    for (const std::string& path : folder.files) ++endings[ending_of(path)];
    for (const std::string& path : folder.images) ++endings[ending_of(path)];
    if (!folder.droppings.empty()) endings["hidden"] += static_cast<std::int64_t>(folder.droppings.size());
    for (const FolderTree& below : folder.folders) self(self, below);
  };
  count(count, tree);
  std::string text;
  std::size_t named = 0;
  for (const auto& [ending, number] : endings) {
    if (++named <= 6)
      text += fmt::format("{} {} {}", text.empty() ? "; it holds" : ",", with_commas(number),
                          ending.empty() ? "without ending" : ending);
  }
  if (named > 6) text += ", ...";
  if (endings.contains(".parquet")) text += " (Parquet is read by the Python package: ridgeline.data.FromParquet)";
  if (!tree.folders.empty() && text.empty())
    return fmt::format("; it holds {}", counted(static_cast<std::int64_t>(tree.folders.size()), "empty folder"));
  return text.empty() ? "; it is empty" : text;
}

std::string text_of(const DataPart& part) {
  const std::string place = part.place.empty() ? "" : part.place + " ";
  switch (part.layout) {
    case Layout::class_folders:
      return fmt::format("{}{} in {}", place, counted(part.images, "image"),
                         counted(static_cast<std::int64_t>(part.folders->classes.size()), "class"));
    case Layout::loose_files: return fmt::format("{}{} without class folders", place, counted(part.images, "image"));
    case Layout::records:
    case Layout::packed:
      return fmt::format("{}{} of {}", place, counted(static_cast<std::int64_t>(part.files.size()), "file"),
                         part.layout == Layout::records ? "TFRecords" : "packed images");
    case Layout::archives:
      return fmt::format("{}{}", place, counted(static_cast<std::int64_t>(part.files.size()), "tar archive"));
  }
  throw InternalError("a layout without a text");
}

std::string use_of(const FoundData& found, const DataPart& part) {
  if (part.layout == Layout::loose_files) return "predict, there are no class folders";
  if (part.name == "train" || part.name == "all") return "training";
  const DataPart* validation = found.validation();
  return validation && part.name == validation->name ? "validation" : "evaluate --split=" + part.name;
}

std::string validation_note(const FoundData& found) {
  const DataPart* validation = found.validation();
  if (validation == nullptr || validation->name != "test") return "";
  return fmt::format("validation is read from {}, the only part {}: a model that is chosen by it is not tested by it",
                     validation->place, found.training() ? "beside training" : "there is");
}

std::string data_line(const FoundData& found, std::span<const PartUse> used) {
  std::string line;
  for (const PartUse& use : used)
    line += fmt::format("{}{} ({})", line.empty() ? "" : ", ", text_of(*use.part), use.use);
  return fmt::format("data: {}: {}", found.dir, line);
}

std::string not_used_line(const FoundData& found, std::span<const PartUse> used, std::size_t most) {
  std::vector<std::string> texts;
  for (const DataPart& part : found.parts) {
    if (std::any_of(used.begin(), used.end(), [&](const PartUse& use) { return use.part == &part; })) continue;
    const bool files = part.folders == nullptr;
    const auto count = files ? static_cast<std::int64_t>(part.files.size()) : part.images;
    const std::string place = part.place.empty() ? part.dir : part.place;
    texts.push_back(not_used(place, count, files ? "file" : "image", use_of(found, part)).text);
  }
  for (const NotUsed& item : found.not_used) texts.push_back(item.text);
  std::string line;
  const std::size_t shown = most == 0 || texts.size() <= most ? texts.size() : most;
  for (std::size_t i = 0; i < shown; ++i) line += (i == 0 ? "not used: " : ", ") + texts[i];
  if (shown < texts.size()) line += fmt::format(", and {} more (dataset inspect lists them)", texts.size() - shown);
  return line;
}

}  // namespace ridgeline::data
