// What the files of the data directory show without any training.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ridgeline/data/standard/found_text.h"
#include "ridgeline/train/doctor/checks.h"

namespace ridgeline::train {
namespace {

// Below so many pixels a side an image is too small for windows of 3 to 11.
constexpr double kTinySide = 8;
// As in dataset inspect: a class with so many times fewer images hardly influences the loss.
constexpr double kUnequalFactor = 10;

// `upright`: the training turns pictures as their Exif says.
void look_at_part(const data::PartReport& part, bool upright, Findings& findings) {
  if (!part.broken.empty()) {
    findings.wrong(fmt::format("{}: {} of {} images are broken, the first is {}: {}", part.name, part.broken.size(),
                               part.records, part.broken[0].place, part.broken[0].reason),
                   "remove them, or train with --bad_samples=replace; dataset inspect --list names all");
  }
  if (part.labels_missing > 0) {
    findings.wrong(fmt::format("{}: {} of {} records have no label", part.name, part.labels_missing, part.records),
                   "write them again with labels");
  }
  if (part.records > 0 && part.height.median > 0 && (part.height.min < kTinySide || part.width.min < kTinySide)) {
    findings.suspect(
        fmt::format("{}: some images are tiny, the smallest height is {:.0f} and the smallest width {:.0f}", part.name,
                    part.height.min, part.width.min),
        "leave out what is smaller than the figures that it should show");
  }
  if (part.turned.images > 0 && !upright) {
    findings.suspect(
        fmt::format("{}: {} of {} images are stored lying or mirrored, as their Exif says, the first is {}", part.name,
                    part.turned.images, part.records, part.turned.example),
        "--exif_orientation=apply");
  }
  const data::ClassCount *least = nullptr, *most = nullptr;
  for (const data::ClassCount& c : part.classes) {
    if (!least || c.count < least->count) least = &c;
    if (!most || c.count > most->count) most = &c;
  }
  const auto title = [](const data::ClassCount& c) {
    return c.name.empty() ? fmt::format("label {}", c.label) : c.name;
  };
  if (least && least->count == 0) {
    findings.suspect(fmt::format("{}: class {} has no image", part.name, title(*least)), "fill it or leave it out");
  } else if (least && static_cast<double>(most->count) >= kUnequalFactor * static_cast<double>(least->count)) {
    findings.suspect(fmt::format("{}: classes are unequal, {} images of {} beside {} of {}", part.name, most->count,
                                 title(*most), least->count, title(*least)),
                     "--class_weights=balanced or --sampler=balanced; read top-1 by class (--metrics)");
  }
}

// Compares stored labels with where training takes them to start.
void look_at_labels(const data::PartReport& part, int base, Findings& findings) {
  if (part.layout != data::Layout::records || part.classes.empty()) return;
  const std::int64_t first = part.classes.front().label;
  const std::string seen =
      fmt::format("{}: the stored labels start from {}, training takes them to start from {}", part.name, first, base);
  const std::string advice = first == 0 || first == 1 ? fmt::format("--label_base={}", first) : "write them again";
  if (first < base) {
    findings.wrong(seen + ": the first ones are below 0 and refused", advice);
  } else if (first == base + 1) {
    findings.wrong(seen + ": all are shifted and the first class has no image", advice);
  } else if (first > base) {
    findings.suspect(seen + ": the classes between have no image", "leave them out, or give them images");
  }
}

constexpr std::string_view kWarning = "warning: ";

// So that only files outside of all splits are left over.
std::vector<data::PartUse> every_part(const data::FoundData& found) {
  std::vector<data::PartUse> uses;
  for (const data::DataPart& part : found.parts) uses.push_back({&part, data::use_of(found, part)});
  return uses;
}

std::string title_of(const std::string& part) {
  return part == "train" ? "training" : part == "val" ? "validation" : part;
}

std::int64_t images_of(const data::InspectReport& report, const std::string& name) {
  for (const data::PartReport& part : report.parts) {
    if (part.name == name) return part.records;
  }
  return 0;
}

}  // namespace

void check_files(Examination& examination, Findings& findings) {
  const data::InspectReport* report = examination.files();
  if (report == nullptr) return findings.leave_out("no data directory");
  if (const std::string line = data::not_used_line(report->found, every_part(report->found), 0); !line.empty())
    findings.note(line);
  for (const std::string& note : report->found.notes) {
    if (note.starts_with(kWarning)) findings.suspect(note.substr(kWarning.size()), "look at the folders");
  }
  for (const data::PartReport& part : report->parts) {
    look_at_part(part, examination.subject().upright, findings);
    if (part.name == "train" && examination.subject().training_data)
      look_at_labels(part, examination.subject().training_data->label_base(), findings);
  }
}

void check_duplicates(Examination& examination, Findings& findings) {
  const data::InspectReport* report = examination.files();
  if (report == nullptr) return findings.leave_out("no data directory");
  if (examination.subject().split_by_content)
    return findings.leave_out("--validation_split divides by content: equal images lie in one part");
  if (report->parts.size() < 2) return findings.leave_out("there is no other part than the one to train on");
  for (const data::SharedImages& shared : report->shared) {
    findings.wrong(fmt::format("{} {} in both the {} and the {} part, which has {}: {}", shared.images,
                               shared.images == 1 ? "image is" : "images are", title_of(shared.first),
                               title_of(shared.second), images_of(*report, shared.second), shared.example),
                   "remove them from one of the parts: the accuracy looks better than it is");
  }
  const auto within = static_cast<std::int64_t>(report->duplicates.size()) - report->duplicates_across_parts;
  if (within > 0) findings.note(fmt::format("{} images come more than once within a part", within));
}

}  // namespace ridgeline::train
