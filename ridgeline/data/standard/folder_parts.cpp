#include "ridgeline/data/standard/folder_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>

#include "ridgeline/core/error.h"
#include "ridgeline/core/unicode_forms.h"
#include "ridgeline/data/source/part_names.h"
#include "ridgeline/data/standard/found_text.h"
#include "ridgeline/data/standard/record_parts.h"

namespace ridgeline::data {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_with_images(const FolderTree& tree) {
  std::vector<std::string> names;
  for (const FolderTree& folder : tree.folders) {
    if (folder.images_below() > 0) names.push_back(folder.name);
  }
  return names;
}

bool holds_records(const FolderTree& folder) {
  return has_files_of(Layout::packed, folder) || has_files_of(Layout::records, folder) ||
         (folder.images_below() == 0 && has_files_of(Layout::archives, folder));
}

// Whether it holds class folders (or records) like a split; a class has its images directly in it.
bool has_shape_of_part(const FolderTree& folder) {
  const auto own = static_cast<std::int64_t>(folder.images.size());
  return holds_records(folder) || folder.images_below() > 2 * own;
}

// A training on one class learns nothing. What the folders below it are must be said by the user.
std::string one_class(const FolderTree& tree) {
  if (tree.folders.size() != 1) return "";
  const FolderTree& only = tree.folders[0];
  const std::vector<std::string> below = names_with_images(only);
  const std::string there = fmt::format("{} holds one class folder, '{}'", tree.path, only.name);
  if (below.empty()) return there;
  return fmt::format("{}, with {} below it ({}): classes are the folders right in {}, so move these up", there,
                     counted(static_cast<std::int64_t>(below.size()), "folder") + " of images", quoted(below),
                     tree.path);
}

std::string shown_place(const FolderTree& tree, const FoundData& found) {
  const std::string place = folder_place(tree.path, found.dir);
  return place.empty() ? found.dir : place;
}

// Two folders that look the same in every listing are hardly two classes.
void note_forms(const FolderTree& tree, FoundData& found) {
  std::map<std::string, std::string> by_form;
  for (const FolderTree& folder : tree.folders) {
    const auto [same, added] = by_form.emplace(decomposed(folder.name), folder.name);
    if (added) continue;
    found.notes.push_back(fmt::format(
        "warning: the class folders '{}' ({} bytes) and '{}' ({} bytes) of {} differ only by their Unicode form (NFC, "
        "NFD): they are two classes here, move the images of one into the other",
        same->second, same->second.size(), folder.name, folder.name.size(), shown_place(tree, found)));
  }
}

// A class takes the images of the folders below it; which of the two levels has the classes is unclear.
void note_levels(const FolderTree& tree, FoundData& found) {
  std::vector<std::string> nested, first_below;
  bool alike = true;  // folders of the same names in all of them, as parts have
  for (const FolderTree& folder : tree.folders) {
    const std::vector<std::string> below = names_with_images(folder);
    if (!folder.images.empty() || below.size() < 2) continue;
    alike &= nested.empty() || below == first_below;
    if (nested.empty()) first_below = below;
    nested.push_back(folder.name);
  }
  if (nested.empty() || tree.folders.size() < 2) return;
  const bool parts = alike && nested.size() >= 2 && nested.size() == tree.folders.size();
  found.notes.push_back(fmt::format(
      "{}classes are the folders right in {}: {} {} the images of the folders below ({}){}", parts ? "warning: " : "",
      shown_place(tree, found), quoted(nested), nested.size() == 1 ? "takes" : "take", quoted(first_below),
      parts ? fmt::format("; the folders below are called alike, so if these are parts, name them {}",
                          "train, val and test")
            : ""));
}

bool named_as_image(const std::string& path) {
  const std::vector<std::string>& known = image_extensions();
  return std::find(known.begin(), known.end(), ending_of(path)) != known.end();
}

void add_faults(const FolderTree& folder, bool top, DataPart& part, const std::string& root) {
  using Kind = FolderTree::Fault::Kind;
  std::vector<ListingFault> faults;
  for (const FolderTree::Fault& fault : folder.faults) {
    if (fault.kind == Kind::closed) {
      faults.push_back({place_below(fault.path, root) + "/", fault.problem});
    } else if (top || named_as_image(fault.path)) {
      faults.push_back({place_below(fault.path, root), fault.problem});
    }
  }
  for (const FolderTree& below : folder.folders) {
    if (!top && named_as_image(below.path))
      faults.push_back({folder_place(below.path, root), "is a folder with the name of an image"});
  }
  std::sort(faults.begin(), faults.end(),
            [](const ListingFault& a, const ListingFault& b) { return a.place < b.place; });
  part.faults.insert(part.faults.end(), faults.begin(), faults.end());
}

void add_faults_below(const FolderTree& folder, DataPart& part, const std::string& root) {
  add_faults(folder, false, part, root);
  for (const FolderTree& below : folder.folders) add_faults_below(below, part, root);
}

void count_others(const FolderTree& folder, bool top, const std::string& root, DataPart& part) {
  for (const std::string& path : folder.files) add_other_file(part, path, root);
  for (const FolderTree::Fault& fault : folder.faults) {
    if (fault.kind == FolderTree::Fault::Kind::other && !top && !named_as_image(fault.path))
      add_other_file(part, fault.path, root);
  }
  for (const FolderTree& below : folder.folders) count_others(below, false, root, part);
}

// What looks like an image and is none; what cannot be listed, and empty class folders, refuse the part.
void add_no_images(const DataPart& part, FoundData& found) {
  std::vector<const ListingFault*> faults;
  for (const ListingFault& fault : part.faults) {
    if (!fault.place.ends_with('/')) faults.push_back(&fault);
  }
  if (faults.empty()) return;
  const ListingFault& first = *faults[0];
  const auto count = static_cast<std::int64_t>(faults.size());
  NotUsed item = not_used(first.place, count, "", first.reason);
  item.text = fmt::format("{}{} ({})", count == 1 ? "" : counted(count, "place") + " without an image such as ",
                          first.place, first.reason);
  found.not_used.push_back(std::move(item));
}

// The images of a folder as one split: in class folders, or loose.
DataPart part_of_images(std::string name, FolderTree& folder, FoundData& found) {
  DataPart part{.name = std::move(name), .dir = folder.path, .place = folder_place(folder.path, found.dir)};
  const bool classes = !names_with_images(folder).empty() || (folder.images.empty() && !folder.folders.empty());
  part.layout = classes ? Layout::class_folders : Layout::loose_files;
  count_others(folder, true, found.dir, part);
  add_faults(folder, true, part, found.dir);
  if (!classes) {
    part.refusal = fmt::format("{} has images but no class folders: training needs {}/<class>/*{}", folder.path,
                               folder.path, image_extensions()[0]);
    ClassFolders loose;
    for (std::string& path : folder.images) loose.files.push_back({std::move(path)});
    folder.images.clear();
    std::sort(loose.files.begin(), loose.files.end(),
              [](const ClassFolders::File& a, const ClassFolders::File& b) { return a.path < b.path; });
    part.folders = std::make_shared<const ClassFolders>(std::move(loose));
  } else {
    for (const FolderTree& below : folder.folders) {
      add_faults_below(below, part, found.dir);
      if (below.images_below() == 0)
        part.faults.push_back({folder_place(below.path, found.dir), "no images in class folder"});
    }
    try {
      check_class_folders(folder, image_extensions());
    } catch (const Error& error) {
      part.refusal = error.what();
    }
    part.empty_class = empty_class_folder(folder, image_extensions());
    part.one_class = one_class(folder);
    note_forms(folder, found);
    if (part.refusal.empty()) note_levels(folder, found);
    part.folders = std::make_shared<const ClassFolders>(take_class_folders(folder));
  }
  part.images = static_cast<std::int64_t>(part.folders->files.size());
  if (classes && !folder.images.empty()) {
    found.not_used.push_back(images_in(shown_place(folder, found), static_cast<std::int64_t>(folder.images.size()),
                                       "beside the class folders"));
  }
  add_no_images(part, found);
  return part;
}

// The split in a folder with a split's name; none where it holds nothing.
std::optional<DataPart> part_in_folder(PartKind kind, FolderTree& folder, FoundData& found) {
  for (const Layout layout : {Layout::packed, Layout::records, Layout::archives}) {
    if (!has_files_of(layout, folder)) continue;
    if (layout == Layout::archives && folder.images_below() > 0) continue;  // what these came in
    FileParts files = parts_of_files(layout, folder, kind, found.dir);
    found.not_used.insert(found.not_used.end(), files.not_used.begin(), files.not_used.end());
    if (files.parts.empty()) continue;
    if (const std::int64_t images = folder.images_below(); images > 0)
      found.not_used.push_back(
          images_in(shown_place(folder, found), images, fmt::format("{} are taken", name_of(layout))));
    return std::move(files.parts[0]);
  }
  if (folder.images.empty() && folder.folders.empty() && folder.faults.empty()) return std::nullopt;
  if (folder.images_below() == 0 && folder.folders.empty()) return std::nullopt;
  return part_of_images(std::string(name_of(kind)), folder, found);
}

struct Candidate {
  FolderTree* folder;
  PartWord word;
};

// Whether the folders named like splits are splits: see docs/data.md. Errors where that is ambiguous.
bool are_parts(const FolderTree& tree, const std::vector<Candidate>& named, const std::vector<FolderTree*>& others) {
  if (named.empty()) return false;
  std::vector<std::string> beside, shaped, flat;
  for (const FolderTree* other : others) {
    if (other->images_below() > 0) beside.push_back(other->name);
  }
  if (beside.empty()) return true;
  bool training = false;
  for (const Candidate& part : named) {
    if (has_shape_of_part(*part.folder)) {
      shaped.push_back(part.folder->name);
      training |= part.word.kind == PartKind::train;
    } else if (part.folder->images_below() > 0) {
      flat.push_back(part.folder->name);
    }
  }
  if (training) return true;
  if (!shaped.empty()) {
    throw Error(
        fmt::format("{} holds {}, with folders of images as a part has, beside {}: are these classes or parts? "
                    "Put the images to train on into {}/<class>/*",
                    tree.path, quoted(shaped), quoted(beside), (fs::path(tree.path) / "train").string()));
  }
  if (flat.size() > beside.size()) {
    throw Error(
        fmt::format("{} holds {}, names of parts, with images and no class folders, beside {}: are these "
                    "classes or parts? Training needs {}/<class>/*",
                    tree.path, quoted(flat), quoted(beside), (fs::path(tree.path) / "train").string()));
  }
  return false;
}

void add_parts(FolderTree& tree, std::vector<Candidate> named, FoundData& found) {
  std::stable_sort(named.begin(), named.end(), [](const Candidate& a, const Candidate& b) {
    return std::pair(a.word.kind, a.word.rank) < std::pair(b.word.kind, b.word.rank);
  });
  std::vector<std::string> empty;
  for (const Candidate& candidate : named) {
    const std::string kind(name_of(candidate.word.kind));
    const std::string place = folder_place(candidate.folder->path, found.dir);
    const DataPart* taken = found.part(kind);
    if (taken && candidate.word.kind == PartKind::train && candidate.folder->images_below() > 0) {
      throw Error(fmt::format("{} holds two training parts, {} and {}: which of them is meant? Give one another name",
                              tree.path, taken->place, place));
    }
    if (taken) {
      found.not_used.push_back(not_used(place, candidate.folder->images_below(), "image", taken->place + " is taken"));
      continue;
    }
    std::optional<DataPart> part = part_in_folder(candidate.word.kind, *candidate.folder, found);
    if (part) {
      found.parts.push_back(*std::move(part));
      continue;
    }
    const std::vector<FolderTree::Fault>& faults = candidate.folder->faults;
    if (candidate.word.kind == PartKind::train) {
      if (!faults.empty()) throw Error(candidate.folder->path + " " + faults[0].problem);
      throw Error(fmt::format("{} holds no data: looked for {}/<class>/* (images){}", candidate.folder->path,
                              candidate.folder->path, there_text(*candidate.folder)));
    }
    found.not_used.push_back(not_used(place, 1, "", faults.empty() ? "holds no data" : faults[0].problem));
  }
}

}  // namespace

void find_folder_parts(FolderTree& tree, FoundData& found) {
  std::vector<Candidate> named;
  std::vector<FolderTree*> others;
  for (FolderTree& folder : tree.folders) {
    if (const auto word = part_named(folder.name)) {
      named.push_back({&folder, *word});
    } else {
      others.push_back(&folder);
    }
  }
  if (!are_parts(tree, named, others)) {
    if (tree.images_below() > 0) found.parts.push_back(part_of_images("all", tree, found));
    return;
  }
  add_parts(tree, named, found);
  for (const FolderTree* other : others) {
    const std::int64_t images = other->images_below();
    const std::string place = folder_place(other->path, found.dir);
    if (images > 0) {
      found.not_used.push_back(
          not_used(place, images, "image",
                   speaks_of_part(other->name) ? "beside the parts, no name of one" : "beside the parts"));
    } else {
      found.not_used.push_back(not_used(place, 1, "", other->faults.empty() ? "no images" : other->faults[0].problem));
    }
  }
  for (const FolderTree::Fault& fault : tree.faults)
    found.not_used.push_back(not_used(place_below(fault.path, found.dir), 1, "", fault.problem));
  if (!tree.images.empty()) {
    found.not_used.push_back(images_in(found.dir, static_cast<std::int64_t>(tree.images.size()), "beside the parts"));
  }
}

}  // namespace ridgeline::data
