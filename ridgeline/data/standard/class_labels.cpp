#include "ridgeline/data/standard/class_labels.h"

#include <fmt/format.h>

#include <unordered_map>

#include "ridgeline/core/error.h"
#include "ridgeline/core/unicode_forms.h"
#include "ridgeline/data/standard/found_text.h"

namespace ridgeline::data {
namespace {

std::vector<std::int64_t> images_by_class(const ClassFolders& folders) {
  std::vector<std::int64_t> images(folders.classes.size());
  for (const ClassFolders::File& file : folders.files) ++images[static_cast<std::size_t>(file.label)];
  return images;
}

// The known name that is probably meant by one with another spelling.
std::string meant_by(const std::string& name, const std::vector<std::string>& known) {
  for (const std::string& other : known) {
    if (decomposed(other) == decomposed(name))
      return fmt::format(": '{}' there differs only by its Unicode form (NFC, NFD)", other);
  }
  return did_you_mean(name, known);
}

}  // namespace

NamedLabels labels_by_names(const FoundData& found, const DataPart& part, const std::vector<std::string>& known) {
  const ClassFolders& own = *part.folders;
  const std::vector<std::int64_t> images = images_by_class(own);
  std::unordered_map<std::string, std::int64_t> label_of;
  for (std::size_t i = 0; i < known.size(); ++i) label_of.emplace(known[i], static_cast<std::int64_t>(i));
  NamedLabels named;
  std::vector<std::int32_t> place(own.classes.size(), -1);
  std::vector<std::string> unknown;
  for (std::size_t i = 0; i < own.classes.size(); ++i) {
    const auto label = label_of.find(own.classes[i]);
    if (label == label_of.end()) unknown.push_back(own.classes[i]);
    if (label == label_of.end() || images[i] == 0) continue;
    place[i] = static_cast<std::int32_t>(named.folders.classes.size());
    named.folders.classes.push_back(own.classes[i]);
    named.labels.push_back(label->second);
  }
  if (!unknown.empty()) {
    throw Error(
        fmt::format("{} has {}, {}, that the training does not know{}",
                    part.place.empty() ? found.dir : found.dir + ": " + part.place,
                    unknown.size() == 1 ? "a class" : counted(static_cast<std::int64_t>(unknown.size()), "class"),
                    quoted(unknown), meant_by(unknown[0], known)));
  }
  named.same = named.folders.classes == known && own.classes == known;
  named.folders.files.reserve(own.files.size());
  for (const ClassFolders::File& file : own.files)
    named.folders.files.push_back({file.path, place[static_cast<std::size_t>(file.label)]});
  return named;
}

std::string missing_classes(const DataPart& part, const std::vector<std::string>& known, const std::string& who) {
  const std::vector<std::int64_t> images = images_by_class(*part.folders);
  std::unordered_map<std::string, std::int64_t> there;
  for (std::size_t i = 0; i < images.size(); ++i) there.emplace(part.folders->classes[i], images[i]);
  std::vector<std::string> missing;
  for (const std::string& name : known) {
    const auto found = there.find(name);
    if (found == there.end() || found->second == 0) missing.push_back(name);
  }
  if (missing.empty()) return "";
  return fmt::format("warning: {} no image of {}{}", who,
                     missing.size() == 1 ? "" : counted(static_cast<std::int64_t>(missing.size()), "class") + ": ",
                     quoted(missing));
}

}  // namespace ridgeline::data
