#include "ridgeline/data/source/class_folders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "ridgeline/core/error.h"
#include "ridgeline/data/source/walk_folder.h"
#include "ridgeline/image/sniff.h"

namespace ridgeline::data {
namespace {

namespace fs = std::filesystem;

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// Regular files below `dir`, a folder in `within`, whose name ends in one of the extensions, sorted by path; hidden
// ones are left out.
std::vector<std::string> files_below(const fs::path& dir, const std::string& within,
                                     const std::vector<std::string>& extensions, bool recursive) {
  std::vector<std::string> files;
  walk_folder(dir.string(), within, recursive, [&](const FolderEntry& entry) {
    if (entry.kind == FolderEntry::Kind::closed) throw Error("[image_folder] " + entry.path + " " + entry.problem);
    const std::string name = lower(fs::path(entry.path).filename().string());
    if (entry.kind != FolderEntry::Kind::file || name.starts_with('.')) return;
    if (std::any_of(extensions.begin(), extensions.end(), [&](const std::string& e) { return name.ends_with(e); }))
      files.push_back(entry.path);
  });
  std::sort(files.begin(), files.end());
  return files;
}

// The folders that are classes.
std::vector<std::string> class_names(const std::string& dir, const ClassFolderOptions& options) {
  std::vector<std::string> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && !name.starts_with('.')) found.push_back(name);
  }
  std::sort(found.begin(), found.end());
  if (found.empty()) throw Error("[image_folder] no class folders in " + dir + " (expected " + dir + "/<class>/*.jpg)");
  for (const std::string& name : options.classes) {
    if (std::find(found.begin(), found.end(), name) != found.end()) continue;
    throw Error(fmt::format("[image_folder] {} has no class folder '{}'{}", dir, name, did_you_mean(name, found)));
  }
  return options.classes.empty() ? found : options.classes;
}

}  // namespace

const std::vector<std::string>& image_extensions() {
  static const std::vector<std::string> extensions = [] {
    std::vector<std::string> all;
    for (const image::DecodedFormat& format : image::decoded_formats())
      all.insert(all.end(), format.endings.begin(), format.endings.end());
    return all;
  }();
  return extensions;
}

ClassFolders list_class_folders(const std::string& dir, const std::vector<std::string>& extensions,
                                const ClassFolderOptions& options) {
  ClassFolders found;
  try {
    if (!fs::exists(dir)) throw Error("[image_folder] no such directory: " + dir);
    if (!fs::is_directory(dir)) throw Error("[image_folder] not a directory: " + dir);
    found.classes = class_names(dir, options);
    for (std::size_t i = 0; i < found.classes.size(); ++i) {
      const fs::path folder = fs::path(dir) / found.classes[i];
      std::vector<std::string> files = files_below(folder, dir, extensions, options.recursive);
      if (files.empty()) {
        throw Error(fmt::format("[image_folder] no images in class folder {} (looked for {})", folder.string(),
                                fmt::join(extensions, ", ")));
      }
      const auto label =
          static_cast<std::int32_t>(options.labels.empty() ? static_cast<std::int64_t>(i) : options.labels[i]);
      for (std::string& file : files) found.files.push_back({std::move(file), label});
    }
  } catch (const fs::filesystem_error& e) {
    throw Error(fmt::format("[image_folder] cannot list {}: {}", e.path1().string(), e.code().message()));
  }
  return found;
}

std::string ValidationFolder::note() const {
  if (name.empty() || (name == "val" && passed_by.empty())) return "";
  return "validation is read from " + name + "/" + (passed_by.empty() ? "" : "; " + passed_by + "/ is not used");
}

ValidationFolder find_validation_folder(const std::string& root) {
  std::vector<std::string> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with('.') && entry.is_directory()) folders.push_back(name);
  }
  const auto there = [&](const char* name) { return std::find(folders.begin(), folders.end(), name) != folders.end(); };
  ValidationFolder found;
  for (const char* name : {"val", "validation", "test"}) {
    const bool is_val = std::string_view(name) == "val";
    if (!there(name)) continue;
    if (!is_val && ((!there("train") && folders.size() > 1) || fs::is_empty(fs::path(root) / name))) continue;
    std::string& place = found.name.empty() ? found.name : found.passed_by;
    if (place.empty()) place = name;
  }
  return found;
}

}  // namespace ridgeline::data
