#include "ridgeline/data/tool/inspect_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "ridgeline/data/source/class_folders.h"

#include "ridgeline/data/source/folder_tree.h"
#include "ridgeline/data/standard/found_text.h"

namespace ridgeline::data {
namespace {

// A class with so many times the images of another is worth a sentence: the loss hardly sees the small one.
constexpr std::int64_t kUnequal = 10;

std::string label_text(const ClassCount& c) {
  return c.name.empty() ? fmt::format("label {}", c.label) : fmt::format("{} (label {})", c.name, c.label);
}

void note_labels(const PartReport& part, std::vector<std::string>& notes) {
  if (part.classes.empty()) return;
  const std::int64_t first = part.classes.front().label, last = part.classes.back().label;
  if (part.layout == Layout::records) {
    if (first < 0) {
      notes.push_back(fmt::format("{}: labels start from {}: training refuses those below 0", part.name, first));
    } else if (first > 1 && part.label_base == 1) {
      notes.push_back(
          fmt::format("{}: labels start from {}, not from 0 or 1: --label_base=auto takes them to start from 1, and "
                      "classes 1 to {} "
                      "stay empty",
                      part.name, first, first - 1));
    } else if (first == 0 && (part.name == "train" || part.name == "all")) {
      notes.push_back(
          fmt::format("{}: labels start from 0 (slim ImageNet counts from 1); --label_base=auto sees it", part.name));
    }
  }
  // Labels of records can be any i64, so the span needs all 64 bits.
  const std::uint64_t steps = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
  const std::uint64_t missing = steps - (static_cast<std::uint64_t>(part.classes.size()) - 1);
  if (missing > 0) {
    notes.push_back(fmt::format("{}: {} of the labels {} to {} do not occur", part.name, missing, first, last));
  }
}

void note_balance(const PartReport& part, std::vector<std::string>& notes) {
  const ClassCount *least = nullptr, *most = nullptr;
  for (const ClassCount& c : part.classes) {
    if (c.count == 0) continue;
    if (!least || c.count < least->count) least = &c;
    if (!most || c.count > most->count) most = &c;
  }
  if (least && most->count >= kUnequal * least->count) {
    notes.push_back(fmt::format("{}: very unequal classes: {} images of {}, {} of {}", part.name, most->count,
                                label_text(*most), least->count, label_text(*least)));
  }
}

void note_files(const PartReport& part, std::vector<std::string>& notes) {
  const auto note = [&](const Counted& counted, std::string_view what) {
    if (counted.images == 0) return;
    notes.push_back(fmt::format("{}: {} {}, the first is {}", part.name,
                                counted.images == 1 ? "1 image is" : fmt::format("{} images are", counted.images), what,
                                counted.example));
  };
  note(part.misnamed, "not what their names say (read all the same)");
  note(part.turned,
       "stored lying or mirrored as the camera held it, which only --exif_orientation=apply makes upright");
  note(part.deep_colour, "of 16 bits a channel, of which the upper 8 are used");
  note(part.animated, "animations, of which the first picture is used");
  if (part.not_read > 0) {
    notes.push_back(fmt::format("{}: {} files are skipped, the first is {} (read are {} in class folders)",
                                part.name, part.not_read, part.not_read_example, fmt::join(image_extensions(), ", ")));
  }
  if (part.layout == Layout::loose_files)
    notes.push_back(fmt::format("{}: there are no class folders: training needs <class>/*.jpg", part.name));
}

// Classes of another part that training does not know, and the other way round.
void note_parts(const PartReport& train, const PartReport& other, std::vector<std::string>& notes) {
  const bool names = train.layout == Layout::class_folders && other.layout == Layout::class_folders;
  const auto keys = [&](const PartReport& part) {
    std::set<std::string> out;
    for (const ClassCount& c : part.classes) {
      if (c.count > 0) out.insert(names ? c.name : std::to_string(c.label));
    }
    return out;
  };
  const auto missing = [&](const PartReport& in, const PartReport& of) {
    const std::set<std::string> have = keys(in);
    std::vector<std::string> lacking;
    for (const std::string& key : keys(of)) {
      if (!have.contains(key)) lacking.push_back(key);
    }
    if (lacking.empty()) return false;
    notes.push_back(fmt::format("{} lacks {} of {}, such as {}", in.name,
                                counted(static_cast<std::int64_t>(lacking.size()), names ? "class" : "label"), of.name,
                                lacking.front()));
    return true;
  };
  if (train.layout == Layout::records && !other.classes.empty() && other.classes.front().label < train.label_base) {
    notes.push_back(fmt::format("{}: labels start from {}, below the base {} that --label_base=auto takes from train",
                                other.name, other.classes.front().label, train.label_base));
  }
  const bool unknown = missing(train, other);
  missing(other, train);
  if (names && unknown)
    notes.push_back(fmt::format("training and evaluation refuse {} with classes that train does not have", other.name));
}

// What training would say of a part before it reads any of it.
void note_refusals(const DataPart& part, std::vector<std::string>& notes) {
  if (part.layout == Layout::loose_files) return;
  if (!part.refusal.empty()) notes.push_back("training refuses: " + part.refusal);
  const bool trained = part.name == "train" || part.name == "all";
  if (trained && part.refusal.empty() && !part.one_class.empty())
    notes.push_back("training refuses: " + part.one_class);
  if (!part.missing_shards.empty())
    notes.push_back(fmt::format("training refuses {} unless told --allow_missing_shards", part.place));
}

}  // namespace

std::vector<std::string> notes_on(const InspectReport& report) {
  std::vector<std::string> notes = report.found.notes;
  if (std::string note = validation_note(report.found); !note.empty()) notes.push_back(std::move(note));
  for (const DataPart& part : report.found.parts) note_refusals(part, notes);
  for (const PartReport& part : report.parts) {
    note_labels(part, notes);
    note_balance(part, notes);
    note_files(part, notes);
  }
  for (const PartReport& part : report.parts) {
    if (report.parts[0].name == "train" && part.name != "train" && part.layout != Layout::loose_files)
      note_parts(report.parts[0], part, notes);
  }
  for (const SharedImages& shared : report.shared) {
    notes.push_back(fmt::format("{} {} in {} and in {}: the accuracy will look better than it is", shared.images,
                                shared.images == 1 ? "image is" : "images are", shared.first, shared.second));
  }
  return notes;
}

}  // namespace ridgeline::data
