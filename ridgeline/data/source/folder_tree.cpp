#include "ridgeline/data/source/folder_tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "ridgeline/core/ascii.h"
#include "ridgeline/image/sniff.h"

namespace ridgeline::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDroppings[] = {
    "thumbs.db", "ehthumbs.db",         "desktop.ini",  "icon\r",     "__macosx",    "@eadir",
    "#recycle",  "#snapshot",           "$recycle.bin", "lost+found", "__pycache__", "system volume information",
    "@recycle",  "network trash folder"};

// What identifies a folder.
using Identity = std::pair<dev_t, ino_t>;

bool identify(const fs::path& path, Identity& identity) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return false;
  identity = {info.st_dev, info.st_ino};
  return true;
}

std::string problem_of(const fs::directory_entry& entry, fs::file_type type) {
  std::error_code ignored;
  switch (type) {
    case fs::file_type::not_found: return "is a link to nothing";
    case fs::file_type::fifo: return "is a FIFO";
    case fs::file_type::socket: return "is a socket";
    case fs::file_type::block:
    case fs::file_type::character: return "is a device";
    default: break;
  }
  // Links that lead to each other cannot be followed at all.
  return entry.is_symlink(ignored) ? "is a link that cannot be followed" : "is neither file nor folder";
}

std::int64_t entries_of(const fs::path& dir) {
  std::int64_t count = 0;
  std::error_code error;
  for (fs::directory_iterator at(dir, error), end; !error && at != end; at.increment(error)) ++count;
  return count;
}

class Reader {
 public:
  explicit Reader(const FolderTreeOptions& options) : options_(options) {}

  // The folder, and those around it wherever it really is.
  void begin_inside(const std::string& folder) {
    std::error_code error;
    for (fs::path at = fs::canonical(folder, error); !error; at = at.parent_path()) {
      if (Identity identity; identify(at, identity)) around_.push_back(identity);
      if (at == at.parent_path()) break;
    }
  }

  void list(FolderTree& folder, int level) {
    std::error_code error;
    // Closed before the walk goes below: a descriptor for each level would be too many.
    for (fs::directory_iterator at(folder.path, error), end; !error && at != end; at.increment(error))
      sort_in(folder, *at);
    if (error) close(folder, "cannot be listed: " + error.message());
    std::sort(folder.folders.begin(), folder.folders.end(),
              [](const FolderTree& a, const FolderTree& b) { return a.name < b.name; });
    if (level > 0 && !options_.recursive) {
      folder.folders.clear();
      return;
    }
    for (FolderTree& below : folder.folders) {
      if (level > 0 || wanted(below.name)) enter(below, level + 1);
    }
  }

 private:
  void sort_in(FolderTree& folder, const fs::directory_entry& entry) const {
    std::string path = entry.path().string();
    std::string name = entry.path().filename().string();
    std::error_code ignored;
    const fs::file_type type = entry.status(ignored).type();
    const bool is_folder = type == fs::file_type::directory;
    if (is_dropping(name)) {
      folder.droppings.push_back({std::move(path), is_folder, is_folder ? entries_of(entry.path()) : 0});
    } else if (is_folder) {
      folder.folders.emplace_back();
      folder.folders.back().path = std::move(path);
      folder.folders.back().name = std::move(name);
    } else if (type != fs::file_type::regular) {
      folder.faults.push_back({std::move(path), FolderTree::Fault::Kind::other, problem_of(entry, type)});
    } else {
      (is_image(name) ? folder.images : folder.files).push_back(std::move(path));
    }
  }

  bool is_image(const std::string& name) const {
    const std::string lower = lower_ascii(name);
    return std::any_of(options_.extensions.begin(), options_.extensions.end(),
                       [&](const std::string& extension) { return lower.ends_with(extension); });
  }

  bool wanted(const std::string& name) const {
    return options_.folders.empty() ||
           std::find(options_.folders.begin(), options_.folders.end(), name) != options_.folders.end();
  }

  void enter(FolderTree& folder, int level) {
    Identity identity;
    if (!identify(folder.path, identity))
      return close(folder, "cannot be listed: " + std::generic_category().message(errno));
    if (std::find(around_.begin(), around_.end(), identity) != around_.end())
      return close(folder, "is a link to a folder around it");
    around_.push_back(identity);
    list(folder, level);
    around_.pop_back();
  }

  static void close(FolderTree& folder, std::string problem) {
    folder.faults.push_back({folder.path, FolderTree::Fault::Kind::closed, std::move(problem)});
  }

  const FolderTreeOptions& options_;
  std::vector<Identity> around_;  // the folders that the walk is in
};

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

std::string ending_of(std::string_view path) { return lower_ascii(fs::path(path).extension().string()); }

bool is_dropping(std::string_view name) {
  if (name.starts_with('.')) return true;
  const std::string lower = lower_ascii(name);
  return std::find(std::begin(kDroppings), std::end(kDroppings), lower) != std::end(kDroppings);
}

std::int64_t FolderTree::images_below() const {
  auto count = static_cast<std::int64_t>(images.size());
  for (const FolderTree& folder : folders) count += folder.images_below();
  return count;
}

FolderTree read_folder_tree(const std::string& dir, const FolderTreeOptions& options) {
  FolderTree tree;
  tree.path = dir;
  tree.name = fs::path(dir).filename().string();
  Reader reader(options);
  reader.begin_inside(dir);
  reader.list(tree, 0);
  return tree;
}

}  // namespace ridgeline::data
