#include "ridgeline/data/source/class_folders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "ridgeline/core/error.h"

namespace ridgeline::data {
namespace {

namespace fs = std::filesystem;

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// Regular files below `dir` whose name ends in one of the extensions, sorted by path; hidden ones are left out.
std::vector<std::string> files_below(const fs::path& dir, const std::vector<std::string>& extensions) {
  std::vector<std::string> files;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(dir, fs::directory_options::follow_directory_symlink)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.') || !entry.is_regular_file()) continue;
    const std::string tail = lower(name);
    if (std::any_of(extensions.begin(), extensions.end(), [&](const std::string& e) { return tail.ends_with(e); })) {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

ClassFolders list_class_folders(const std::string& dir, const std::vector<std::string>& extensions) {
  ClassFolders found;
  try {
    if (!fs::exists(dir)) throw Error("[image_folder] no such directory: " + dir);
    if (!fs::is_directory(dir)) throw Error("[image_folder] not a directory: " + dir);
    for (const fs::directory_entry& entry : fs::directory_iterator(dir)) {
      const std::string name = entry.path().filename().string();
      if (entry.is_directory() && !name.starts_with('.')) found.classes.push_back(name);
    }
    std::sort(found.classes.begin(), found.classes.end());
    if (found.classes.empty())
      throw Error("[image_folder] no class folders in " + dir + " (expected " + dir + "/<class>/*.jpg)");
    for (std::size_t label = 0; label < found.classes.size(); ++label) {
      const fs::path folder = fs::path(dir) / found.classes[label];
      std::vector<std::string> files = files_below(folder, extensions);
      if (files.empty()) {
        throw Error(fmt::format("[image_folder] no images in class folder {} (looked for {})", folder.string(),
                                fmt::join(extensions, ", ")));
      }
      for (std::string& file : files) found.files.push_back({std::move(file), static_cast<std::int32_t>(label)});
    }
  } catch (const fs::filesystem_error& e) {
    throw Error(fmt::format("[image_folder] cannot list {}: {}", e.path1().string(), e.code().message()));
  }
  return found;
}

}  // namespace ridgeline::data
