#include "ridgeline/data/standard/found_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/data/standard/folder_parts.h"
#include "ridgeline/data/standard/found_text.h"
#include "ridgeline/data/standard/record_parts.h"

namespace ridgeline::data {
namespace {

namespace fs = std::filesystem;

// Ends of images that are not read, and of files that tell where records begin.
constexpr std::string_view kOtherImages[] = {".gif",  ".tif",  ".tiff", ".ppm",  ".pgm", ".pbm", ".pnm", ".heic",
                                             ".heif", ".avif", ".jp2",  ".j2k",  ".jxl", ".ico", ".svg", ".psd",
                                             ".raw",  ".dng",  ".cr2",  ".nef",  ".arw", ".exr", ".hdr", ".tga",
                                             ".dcm",  ".webp", ".bmp",  ".jfif", ".jpe"};
constexpr std::string_view kIndexes[] = {".idx", ".index", ".tfindex"};
constexpr std::string_view kArchives[] = {".tar", ".tgz", ".gz", ".zip", ".7z", ".rar", ".xz", ".bz2", ".zst"};

template <std::size_t N>
bool is_one_of(const std::string& ending, const std::string_view (&endings)[N]) {
  return std::find(std::begin(endings), std::end(endings), ending) != std::end(endings);
}

std::string reason_of(const std::string& ending) {
  if (is_one_of(ending, kOtherImages)) return "not decoded";
  if (is_one_of(ending, kIndexes)) return "an index, not needed";
  if (is_one_of(ending, kArchives)) return "an archive, not unpacked";
  if (ending == ".parquet") return "Parquet: the Python package reads it";
  return "no images";
}

// Files beside all splits, and those that splits skip, by ending.
void add_other_files(const FolderTree& tree, FoundData& found) {
  std::map<std::string, std::int64_t> endings;
  std::set<std::string> of_parts;
  bool whole = false;  // a part is the whole folder and has counted its files
  const bool archives = found.parts[0].layout == Layout::archives && found.parts[0].dir == tree.path;
  for (const DataPart& part : found.parts) {
    of_parts.insert(part.files.begin(), part.files.end());
    whole |= part.folders != nullptr && part.dir == tree.path;
    for (const auto& [ending, count] : part.other_files) endings[ending] += count;
  }
  std::vector<std::string> files = tree.files;
  std::sort(files.begin(), files.end());
  for (const std::string& path : files) {
    if (whole) break;
    if (of_parts.contains(path)) continue;
    if (only_named_as_records(path)) {
      found.not_used.push_back(not_used(place_below(path, found.dir), 1, "file", "does not begin as records do"));
    } else if (!has_layout(Layout::packed, path) && !has_layout(Layout::records, path) &&
               !(archives && has_layout(Layout::archives, path))) {  // parts_of_files named those
      ++endings[ending_of(path)];
    }
  }
  std::map<std::string, std::map<std::string, std::int64_t>> by_reason;
  for (const auto& [ending, count] : endings) by_reason[reason_of(ending)][ending] = count;
  for (const auto& [reason, same] : by_reason) found.not_used.push_back(files_by_ending(same, reason));
}

// Once for each name.
void add_droppings(const FolderTree& tree, FoundData& found) {
  struct Same {
    std::string first;
    bool folder = false;
    std::int64_t times = 0, entries = 0;
  };
  std::map<std::string, Same> by_name;
  const auto look = [&](const auto& self, const FolderTree& folder) -> void {
    for (const FolderTree::Dropping& dropping : folder.droppings) {
      Same& same = by_name[fs::path(dropping.path).filename().string()];
      if (same.times++ == 0) same.first = dropping.path;
      same.folder |= dropping.folder;
      same.entries += dropping.entries;
    }
    for (const FolderTree& below : folder.folders) self(self, below);
  };
  look(look, tree);
  // Of hidden files with different names ("._1.jpg", "._2.jpg") one represents all.
  Same others;
  for (const auto& [name, same] : by_name) {
    const bool hidden = name.starts_with('.');
    const std::string reason = hidden ? "hidden" : "of a file system";
    const std::string end = same.folder ? "/" : "";
    if (name.starts_with("._")) {
      if (others.times == 0) others.first = name;
      others.times += same.times;
      continue;
    }
    const std::string what = (same.times == 1 ? place_below(same.first, found.dir) : name) + end;
    if (same.folder) {
      const std::string times = same.times == 1 ? "" : fmt::format("{} ", same.times);
      found.not_used.push_back(not_used(times + what, same.entries, "entry", reason));
    } else {
      found.not_used.push_back(not_used(what, same.times, "", reason));
    }
  }
  if (others.times > 0) {
    found.not_used.push_back(
        not_used(others.times == 1 ? others.first : "._* such as " + others.first, others.times, "", "of a Mac"));
  }
}

// Images where files of `layout` are expected.
void add_images_beside(const FolderTree& tree, Layout layout, FoundData& found) {
  const std::string reason = fmt::format("{} are taken", layout == Layout::packed ? "packed files" : "TFRecords");
  if (!tree.images.empty())
    found.not_used.push_back(images_in(found.dir, static_cast<std::int64_t>(tree.images.size()), reason));
  for (const FolderTree& folder : tree.folders) {
    const std::string place = folder_place(folder.path, found.dir);
    if (const std::int64_t images = folder.images_below(); images > 0) {
      found.not_used.push_back(not_used(place, images, "image", reason));
    } else {
      found.not_used.push_back(not_used(place, 1, "", reason));
    }
  }
}

// Splits that are one and the same folder make every evaluation worthless.
void note_same_folders(FoundData& found) {
  for (std::size_t i = 0; i < found.parts.size(); ++i) {
    for (std::size_t j = i + 1; j < found.parts.size(); ++j) {
      const DataPart &a = found.parts[i], &b = found.parts[j];
      std::error_code ignored;
      if (a.dir == b.dir || !fs::equivalent(a.dir, b.dir, ignored)) continue;
      found.notes.push_back(
          fmt::format("warning: {} and {} are the same folder: the accuracy would be that of images "
                      "that were trained on",
                      a.place, b.place));
    }
  }
}

}  // namespace

std::string_view name_of(Layout layout) {
  switch (layout) {
    case Layout::class_folders: return "class folders";
    case Layout::records: return "TFRecords";
    case Layout::packed: return "packed file";
    case Layout::archives: return "tar archives";
    case Layout::loose_files: return "loose files";
  }
  throw InternalError("a layout without a name");
}

const DataPart* FoundData::part(std::string_view name) const {
  const auto found = std::find_if(parts.begin(), parts.end(), [&](const DataPart& part) { return part.name == name; });
  return found == parts.end() ? nullptr : &*found;
}

const DataPart* FoundData::training() const {
  const DataPart* train = part("train");
  return train ? train : part("all");
}

const DataPart* FoundData::validation() const {
  const auto labelled = [](const DataPart* part) {
    return part != nullptr && part->layout != Layout::loose_files ? part : nullptr;
  };
  const DataPart* val = labelled(part("val"));
  return val ? val : labelled(part("test"));
}

const DataPart* FoundData::evaluated() const {
  const DataPart* val = validation();
  return val ? val : part("all");
}

FoundData find_data(const std::string& dir) {
  std::error_code error;
  const fs::file_status status = fs::status(dir, error);
  if (error && status.type() != fs::file_type::not_found)
    throw Error(fmt::format("cannot list {}: {}", dir, error.message()));
  if (!fs::exists(status)) throw Error("no such directory: " + dir + " (--data_dir)");
  if (!fs::is_directory(status)) throw Error("not a directory: " + dir + " (--data_dir)");
  FoundData found{.dir = dir};
  FolderTree tree = read_folder_tree(dir);
  for (const FolderTree::Fault& fault : tree.faults) {
    if (fault.kind == FolderTree::Fault::Kind::closed) throw Error(fmt::format("{} {}", fault.path, fault.problem));
  }
  for (const Layout layout : {Layout::packed, Layout::records}) {
    FileParts files = parts_of_files(layout, tree, std::nullopt, dir);
    if (files.parts.empty()) continue;
    if (found.parts.empty()) {
      found.parts = std::move(files.parts);
      found.not_used = std::move(files.not_used);
      add_images_beside(tree, layout, found);
    } else {
      for (const DataPart& part : files.parts) {
        const auto count = static_cast<std::int64_t>(part.files.size());
        found.not_used.push_back(not_used(part.place, count, "file", "packed files are taken"));
      }
      found.not_used.insert(found.not_used.end(), files.not_used.begin(), files.not_used.end());
    }
  }
  if (found.parts.empty()) find_folder_parts(tree, found);
  // Last: an archive beside folders of images is most often what these came in.
  if (found.parts.empty()) {
    FileParts files = parts_of_files(Layout::archives, tree, std::nullopt, dir);
    found.parts = std::move(files.parts);
    found.not_used.insert(found.not_used.end(), files.not_used.begin(), files.not_used.end());
  }
  if (found.parts.empty()) {
    throw Error(fmt::format(
        "{} holds no data: looked for train/<class>/* and val/<class>/*, or <class>/* alone (images: {}), {} "
        "and validation-* (TFRecords), *.ridge (packed), *.tar (WebDataset){}",
        dir, fmt::join(image_extensions(), ", "), (fs::path(dir) / "train-*").string(), there_text(tree)));
  }
  add_other_files(tree, found);
  add_droppings(tree, found);
  note_same_folders(found);
  return found;
}

}  // namespace ridgeline::data
