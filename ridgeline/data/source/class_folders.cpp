#include "ridgeline/data/source/class_folders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "ridgeline/core/error.h"
#include "ridgeline/data/source/part_names.h"

namespace ridgeline::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNamed = 6;

void take_files(FolderTree& folder, std::int32_t label, std::vector<ClassFolders::File>& files) {
  for (std::string& path : folder.images) files.push_back({std::move(path), label});
  folder.images.clear();
  for (FolderTree& below : folder.folders) take_files(below, label, files);
}

// The first fault that ends a listing, in the order of the names.
const FolderTree::Fault* closed_in(const FolderTree& folder) {
  for (const FolderTree::Fault& fault : folder.faults) {
    if (fault.kind == FolderTree::Fault::Kind::closed) return &fault;
  }
  for (const FolderTree& below : folder.folders) {
    if (const FolderTree::Fault* fault = closed_in(below)) return fault;
  }
  return nullptr;
}

std::vector<std::string> folder_names(const FolderTree& tree) {
  std::vector<std::string> names;
  for (const FolderTree& folder : tree.folders) names.push_back(folder.name);
  return names;
}

bool is_wanted(const FolderTree& folder, const std::vector<std::string>& classes) {
  return classes.empty() || std::find(classes.begin(), classes.end(), folder.name) != classes.end();
}

std::vector<const FolderTree*> with_images(const FolderTree& tree) {
  std::vector<const FolderTree*> found;
  for (const FolderTree& folder : tree.folders) {
    if (folder.images_below() > 0) found.push_back(&folder);
  }
  return found;
}

bool all_are_parts(const std::vector<const FolderTree*>& folders) {
  return !folders.empty() &&
         std::all_of(folders.begin(), folders.end(), [](const FolderTree* f) { return part_named(f->name); });
}

// "'bus', 'car'", at most kMostNamed.
std::string quoted(const std::vector<const FolderTree*>& folders) {
  std::string text;
  for (std::size_t i = 0; i < std::min(folders.size(), kMostNamed); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", folders[i]->name);
  return text + (folders.size() > kMostNamed ? ", ..." : "");
}

// The folders below one that has no image of its own.
std::vector<const FolderTree*> below_alone(const FolderTree& folder) {
  return folder.images.empty() ? with_images(folder) : std::vector<const FolderTree*>();
}

}  // namespace

std::string parts_instead_of_classes(const FolderTree& tree) {
  const std::vector<const FolderTree*> folders = with_images(tree);
  if (folders.empty()) return "";
  const std::string there = fmt::format("{} holds {}", tree.path, quoted(folders));
  if (all_are_parts(folders)) {
    return fmt::format("{}, {} and no classes: read {} by itself", there,
                       folders.size() == 1 ? "the name of a part" : "names of parts", folders[0]->path);
  }
  if (std::all_of(folders.begin(), folders.end(),
                  [](const FolderTree* f) { return part_named(f->name) || speaks_of_part(f->name); })) {
    return fmt::format("{}, which speak of parts and not of classes: name them train, val and test (a link will do)",
                       there);
  }
  std::vector<const FolderTree*> around;  // folders that hold parts
  for (const FolderTree* folder : folders) {
    const std::vector<const FolderTree*> below = below_alone(*folder);
    if (all_are_parts(below) && (below.size() > 1 || folders.size() == 1)) around.push_back(folder);
  }
  if (around.empty()) return "";
  const FolderTree& first = *around[0];
  const std::string parts = quoted(with_images(first));
  if (around.size() == folders.size() && around.size() > 1) {
    return fmt::format("{}, each of which holds folders named as parts ({}): the parts come first, {}/{}/{}", there,
                       parts, tree.path, with_images(first)[0]->name, first.name);
  }
  const std::string which = folders.size() == 1 ? "alone, which" : fmt::format("of which '{}'", first.name);
  return fmt::format("{}{} {} holds {}, names of parts: give {}", there, folders.size() == 1 ? "" : ",", which, parts,
                     first.path);
}

void check_class_folders(const FolderTree& tree, const std::vector<std::string>& extensions,
                         const std::vector<std::string>& classes) {
  for (const FolderTree::Fault& fault : tree.faults) {
    if (fault.kind == FolderTree::Fault::Kind::closed)
      throw Error("[image_folder] " + fault.path + " " + fault.problem);
  }
  if (tree.folders.empty()) {
    throw Error(fmt::format("[image_folder] no class folders in {} (expected {}/<class>/*{})", tree.path, tree.path,
                            extensions[0]));
  }
  for (const std::string& name : classes) {
    const std::vector<std::string> names = folder_names(tree);
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    throw Error(
        fmt::format("[image_folder] {} has no class folder '{}'{}", tree.path, name, did_you_mean(name, names)));
  }
  if (classes.empty()) {
    if (const std::string meant = parts_instead_of_classes(tree); !meant.empty())
      throw Error("[image_folder] " + meant);
  }
  for (const FolderTree& folder : tree.folders) {
    if (!is_wanted(folder, classes)) continue;
    if (const FolderTree::Fault* fault = closed_in(folder))
      throw Error("[image_folder] " + fault->path + " " + fault->problem);
  }
}

std::string empty_class_folder(const FolderTree& tree, const std::vector<std::string>& extensions,
                               const std::vector<std::string>& classes) {
  for (const FolderTree& folder : tree.folders) {
    if (!is_wanted(folder, classes) || folder.images_below() > 0) continue;
    return fmt::format("[image_folder] no images in class folder {} (looked for {})", folder.path,
                       fmt::join(extensions, ", "));
  }
  return "";
}

ClassFolders take_class_folders(FolderTree& tree, const std::vector<std::string>& classes) {
  ClassFolders found;
  found.classes = classes.empty() ? folder_names(tree) : classes;
  found.files.reserve(static_cast<std::size_t>(tree.images_below()));
  for (std::size_t i = 0; i < found.classes.size(); ++i) {
    const auto folder = std::lower_bound(tree.folders.begin(), tree.folders.end(), found.classes[i],
                                         [](const FolderTree& f, const std::string& name) { return f.name < name; });
    const auto first = static_cast<std::ptrdiff_t>(found.files.size());
    take_files(*folder, static_cast<std::int32_t>(i), found.files);
    std::sort(found.files.begin() + first, found.files.end(),
              [](const ClassFolders::File& a, const ClassFolders::File& b) { return a.path < b.path; });
  }
  return found;
}

ClassFolders list_class_folders(const std::string& dir, const std::vector<std::string>& extensions,
                                const ClassFolderOptions& options) {
  std::error_code ignored;
  if (!fs::exists(dir, ignored)) throw Error("[image_folder] no such directory: " + dir);
  if (!fs::is_directory(dir, ignored)) throw Error("[image_folder] not a directory: " + dir);
  FolderTree tree =
      read_folder_tree(dir, {.extensions = extensions, .folders = options.classes, .recursive = options.recursive});
  check_class_folders(tree, extensions, options.classes);
  if (const std::string empty = empty_class_folder(tree, extensions, options.classes); !empty.empty())
    throw Error(empty);
  return take_class_folders(tree, options.classes);
}

}  // namespace ridgeline::data
