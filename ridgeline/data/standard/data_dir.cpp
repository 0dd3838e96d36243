#include "ridgeline/data/standard/data_dir.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "ridgeline/core/file.h"

namespace ridgeline::data {
namespace {

namespace fs = std::filesystem;

std::string pattern_in(const fs::path& dir, const char* pattern) {
  return (fs::path(glob_escape(dir.string())) / pattern).string();
}

std::vector<std::string> matches(const fs::path& dir, std::initializer_list<const char*> patterns) {
  std::vector<std::string> files;
  for (const char* pattern : patterns) {
    for (std::string& file : glob_files(pattern_in(dir, pattern))) files.push_back(std::move(file));
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

// Parts told apart by the names of files; one part where no name does.
std::vector<DataPart> parts_of_files(Layout layout, const fs::path& dir, std::initializer_list<const char*> train,
                                     std::initializer_list<const char*> val, std::initializer_list<const char*> any) {
  std::vector<DataPart> parts;
  if (auto files = matches(dir, train); !files.empty())
    parts.push_back({.name = "train", .layout = layout, .dir = dir.string(), .files = std::move(files)});
  if (auto files = matches(dir, val); !files.empty())
    parts.push_back({.name = "val", .layout = layout, .dir = dir.string(), .files = std::move(files)});
  if (!parts.empty()) return parts;
  if (auto files = matches(dir, any); !files.empty())
    parts.push_back({.name = "all", .layout = layout, .dir = dir.string(), .files = std::move(files)});
  return parts;
}

bool has_entries(const fs::path& dir, bool folders) {
  for (const fs::directory_entry& entry : fs::directory_iterator(dir)) {
    if (entry.path().filename().string().starts_with('.')) continue;
    if (folders ? entry.is_directory() : entry.is_regular_file()) return true;
  }
  return false;
}

// Class folders, or images that lie there without. The folders of parts are never classes.
std::vector<DataPart> parts_of_folders(const fs::path& dir) {
  std::vector<DataPart> parts;
  const auto add = [&](const char* name, const fs::path& folder) {
    const bool folders = has_entries(folder, true);
    if (!folders && !has_entries(folder, false)) return false;
    parts.push_back({name, folders ? Layout::class_folders : Layout::loose_files, folder.string(), {}, {}});
    return true;
  };
  const auto add_part = [&](const char* name, const fs::path& folder) {
    if (add(name, folder)) return;
    throw Error(fmt::format("{} holds no data: looked for {}/<class>/* (images)", folder.string(), folder.string()));
  };
  if (fs::is_directory(dir / "train")) add_part("train", dir / "train");
  if (const ValidationFolder validation = find_validation_folder(dir.string()); !validation.name.empty()) {
    add_part("val", dir / validation.name);
    parts.back().note = validation.note();
  }
  if (parts.empty()) add("all", dir);
  return parts;
}

}  // namespace

std::string_view name_of(Layout layout) {
  switch (layout) {
    case Layout::class_folders: return "class folders";
    case Layout::records: return "TFRecords";
    case Layout::packed: return "packed file";
    case Layout::loose_files: return "loose files";
  }
  throw InternalError("a layout without a name");
}

std::vector<DataPart> find_parts(const std::string& dir) {
  const fs::path root(dir);
  try {
    if (!fs::exists(root)) throw Error("no such directory: " + dir + " (--data_dir)");
    if (!fs::is_directory(root)) throw Error("not a directory: " + dir + " (--data_dir)");
    std::vector<DataPart> parts = parts_of_files(Layout::packed, root, {"train*.ridge"}, {"val*.ridge"}, {"*.ridge"});
    if (parts.empty()) {
      parts = parts_of_files(Layout::records, root, {"train-*"}, {"validation-*"}, {"*.tfrecord", "*.tfrecords"});
    }
    if (parts.empty()) parts = parts_of_folders(root);
    if (!parts.empty()) return parts;
  } catch (const fs::filesystem_error& e) {
    throw Error(fmt::format("cannot list {}: {}", e.path1().string(), e.code().message()));
  }
  throw Error(fmt::format(
      "{} holds no data: looked for {}/train-* and validation-* (TFRecords), train/<class>/* and val/<class>/* (or "
      "test/<class>/*) or <class>/* alone (images), *.ridge (packed)",
      dir, dir));
}

bool has_validation(std::span<const DataPart> parts) {
  return std::any_of(parts.begin(), parts.end(), [](const DataPart& part) { return part.name == "val"; });
}

DataPart find_part(const std::string& dir, const std::string& split) {
  if (!split.empty() && split != "train" && split != "val") {
    throw Error("unknown split '" + split + "' (--split; allowed: train, val)", ErrorKind::usage);
  }
  const std::vector<DataPart> parts = find_parts(dir);
  if (parts[0].name == "all") {
    if (split == "val") throw Error(dir + " does not tell parts apart: there is no validation part");
    return parts[0];
  }
  const std::string wanted = split.empty() ? "train" : split;
  std::vector<std::string> there;
  for (const DataPart& part : parts) {
    if (part.name == wanted) return part;
    there.push_back(fmt::format("{} as {}", part.name, name_of(part.layout)));
  }
  throw Error(fmt::format("{} has no part '{}' (there: {})", dir, wanted, fmt::join(there, ", ")));
}

Dataset open_source(const std::string& dir, const std::string& split, const OpenOptions& options) {
  const DataPart part = find_part(dir, split);
  switch (part.layout) {
    case Layout::class_folders: return ImageFolder(part.dir);
    case Layout::records: {
      TFRecordOptions records{.label_base = options.label_base, .num_classes = options.num_classes};
      if (part.name == "val" && options.label_base == LabelBase::automatic) {
        const std::vector<DataPart> parts = find_parts(dir);
        if (parts[0].name == "train") {
          const int base = TFRecord(parts[0].files, records).label_base();
          records.label_base = base == 0 ? LabelBase::zero : LabelBase::one;
        }
      }
      // The pattern and not the files, so that graphs of one folder are the same text when shards are added.
      if (part.name == "train") return TFRecord(pattern_in(dir, "train-*"), records);
      if (part.name == "val") return TFRecord(pattern_in(dir, "validation-*"), records);
      return TFRecord(part.files, records);
    }
    case Layout::packed: return Packed(part.files);
    case Layout::loose_files: break;
  }
  throw Error(fmt::format("{} has images but no class folders: training needs {}/<class>/*.jpg", part.dir, part.dir));
}

}  // namespace ridgeline::data
