#include "ridgeline/data/standard/data_dir.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/data/source/part_names.h"
#include "ridgeline/data/source/tar.h"
#include "ridgeline/data/standard/archive_classes.h"
#include "ridgeline/data/standard/class_labels.h"

namespace ridgeline::data {
namespace {

// A pattern that these files and no others match, where there is one: graphs of one folder are then the same text when
// shards are added.
std::vector<std::string> patterns_of(const DataPart& part) {
  for (const char* pattern : {"train-*", "validation-*"}) {
    std::string files = (std::filesystem::path(glob_escape(part.dir)) / pattern).string();
    if (glob_files(files) == part.files) return {std::move(files)};
  }
  return part.files;
}

Dataset open_records(const FoundData& found, const DataPart& part, const OpenOptions& options) {
  if (!options.allow_missing_shards) refuse_missing_shards(found, part);
  TFRecordOptions records{.label_base = options.label_base, .num_classes = options.num_classes};
  if (options.label_base == LabelBase::automatic && options.found_label_base)
    return TFRecord(patterns_of(part), records, *options.found_label_base);
  const DataPart* train = found.part("train");
  if (&part != train && train && train->layout == Layout::records && options.label_base == LabelBase::automatic) {
    const int base = TFRecord(train->files, records).label_base();
    records.label_base = base == 0 ? LabelBase::zero : LabelBase::one;
  }
  return TFRecord(patterns_of(part), records);
}

Dataset open_archives(const FoundData& found, const DataPart& part, const OpenOptions& options) {
  const DataPart* train = found.part("train");
  const bool as_training = train && &part != train && train->layout == Layout::archives;
  const std::vector<std::string>& first = as_training ? train->files : part.files;
  TarOptions archives{.label = archive_label_field(first, options.label_field), .class_names = options.classes};
  if (archives.class_names.empty() && !options.numbered_labels)
    archives.class_names = find_archive_classes(first, archives.label).names;
  if (archives.class_names.empty()) archives.num_classes = options.num_classes;
  return Tar(part.files, std::move(archives));
}

}  // namespace

std::string parse_split(const std::string& text) {
  if (text.empty()) return text;
  if (const auto word = part_named(text)) return std::string(name_of(word->kind));
  throw Error("unknown split '" + text + "' (--split; allowed: train, val, test)", ErrorKind::usage);
}

const DataPart& find_part(const FoundData& found, std::string_view split) {
  const std::string wanted = parse_split(std::string(split));
  const DataPart* part = wanted == "val"    ? found.validation()
                         : wanted == "test" ? found.part("test")
                                            : found.training();
  if (part) return *part;
  const DataPart* named = found.part(wanted);
  if (named) return *named;  // of loose files: opening it says so
  if (wanted == "val" && found.part("all"))
    throw Error(found.dir + " does not tell parts apart: there is no validation part");
  std::vector<std::string> there;
  for (const DataPart& each : found.parts) there.push_back(fmt::format("{} as {}", each.name, name_of(each.layout)));
  throw Error(fmt::format("{} has no part '{}' (there: {})", found.dir, wanted.empty() ? "train" : wanted,
                          fmt::join(there, ", ")));
}

void refuse_missing_shards(const FoundData& found, const DataPart& part) {
  if (part.missing_shards.empty()) return;
  throw Error(fmt::format("{}: {} (--allow_missing_shards reads what is there)", found.dir, part.missing_shards));
}

Dataset open_source(const FoundData& found, const DataPart& part, const OpenOptions& options) {
  switch (part.layout) {
    case Layout::class_folders:
      if (!part.refusal.empty()) throw Error(part.refusal);
      if (!options.classes.empty() && part.images > 0) {
        NamedLabels named = labels_by_names(found, part, options.classes);
        if (named.same) return ImageFolder(part.dir, {}, part.folders);
        const ImageFolderOptions by_names{.classes = named.folders.classes, .labels = std::move(named.labels)};
        return ImageFolder(part.dir, by_names, std::make_shared<const ClassFolders>(std::move(named.folders)));
      }
      if (!part.empty_class.empty()) throw Error(part.empty_class);
      return ImageFolder(part.dir, {}, part.folders);
    case Layout::records: return open_records(found, part, options);
    case Layout::packed: return Packed(part.files);
    case Layout::archives: return open_archives(found, part, options);
    case Layout::loose_files: break;
  }
  throw Error(part.refusal);
}

Dataset open_source(const std::string& dir, const std::string& split, const OpenOptions& options) {
  const FoundData found = find_data(dir);
  return open_source(found, find_part(found, split), options);
}

}  // namespace ridgeline::data
