#include "ridgeline/data/set/flowers102.h"

#include <array>
#include <cstdio>
#include <filesystem>

#include "ridgeline/core/error.h"
#include "ridgeline/data/set/class_names.h"
#include "ridgeline/format/tensor/matlab.h"

namespace ridgeline {
namespace {

std::string variable_of(const std::string& split) {
  if (split == "train") return "trnid";
  if (split == "val") return "valid";
  if (split == "test") return "tstid";
  throw Error("[flowers102] there is no split '" + split + "' (train, val, test)", ErrorKind::usage);
}

}  // namespace

AnnotatedFiles read_flowers102(const std::string& root, const std::string& split) {
  const std::filesystem::path folder(root);
  const std::string sets = (folder / "setid.mat").string();
  const std::string labels_file = (folder / "imagelabels.mat").string();
  const auto ids = read_matlab_integers(sets, variable_of(split));
  const auto labels = read_matlab_integers(labels_file, "labels");
  AnnotatedFiles found;
  found.class_names = known_class_names("flowers102");
  found.annotations = {sets, labels_file};
  for (const std::int64_t id : ids) {
    if (id < 1 || id > static_cast<std::int64_t>(labels.size())) {
      throw Error("[flowers102] " + sets + ": image " + std::to_string(id) + " is not among the " +
                  std::to_string(labels.size()) + " of " + labels_file);
    }
    const std::int64_t label = labels[static_cast<std::size_t>(id - 1)];
    if (label < 1 || label > 102) {
      throw Error("[flowers102] " + labels_file + ": image " + std::to_string(id) + " has the label " +
                  std::to_string(label) + " (1 to 102)");
    }
    std::array<char, 32> name{};
    std::snprintf(name.data(), name.size(), "image_%05lld.jpg", static_cast<long long>(id));
    found.files.push_back(
        {.path = (folder / "jpg" / name.data()).string(), .labels = {static_cast<std::int32_t>(label - 1)}});
  }
  return found;
}

}  // namespace ridgeline
