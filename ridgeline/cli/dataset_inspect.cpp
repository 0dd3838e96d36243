#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "ridgeline/cli/dataset_tools.h"
#include "ridgeline/core/atomic_file.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/data/standard/data_dir.h"
#include "ridgeline/data/standard/found_text.h"
#include "ridgeline/data/tool/inspect.h"

namespace ridgeline::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownBroken = 20;
constexpr std::size_t kShownClasses = 10;
constexpr std::size_t kShownDuplicates = 5;
constexpr std::size_t kShownEqual = 4;  // of a group

struct InspectFlags {
  std::string data_dir, list;
  data::InspectOptions options;
  bool json = false;
};

Json to_json(const data::Spread& s) { return {{"min", s.min}, {"median", s.median}, {"max", s.max}}; }

Json to_json(const data::PartReport& p) {
  Json out{{"name", p.name},
           {"place", p.place},
           {"use", p.use},
           {"layout", data::name_of(p.layout)},
           {"files", p.files},
           {"records", p.records},
           {"bytes", p.bytes},
           {"record_bytes", to_json(p.record_bytes)},
           {"height", to_json(p.height)},
           {"width", to_json(p.width)},
           {"megapixels", to_json(p.megapixels)},
           {"formats", p.formats},
           {"colours", p.colours},
           {"misnamed", p.misnamed.images},
           {"turned", p.turned.images},
           {"deep_colour", p.deep_colour.images},
           {"animated", p.animated.images},
           {"not_read", p.not_read},
           {"labels_missing", p.labels_missing},
           {"label_base", p.label_base},
           {"classes", Json::array()},
           {"broken", Json::array()}};
  for (const data::ClassCount& c : p.classes)
    out["classes"].push_back({{"label", c.label}, {"name", c.name}, {"count", c.count}});
  for (const data::BrokenItem& b : p.broken) out["broken"].push_back({{"place", b.place}, {"reason", b.reason}});
  return out;
}

void print_json(const data::InspectReport& report) {
  Json out{{"data_dir", report.dir},          {"deep", report.deep},
           {"broken", report.broken()},       {"parts", Json::array()},
           {"duplicates", report.duplicates}, {"duplicates_across_parts", report.duplicates_across_parts},
           {"not_used", Json::array()},       {"notes", report.notes},
           {"seconds", report.seconds}};
  for (const data::PartReport& part : report.parts) out["parts"].push_back(to_json(part));
  for (const data::NotUsed& item : report.found.not_used)
    out["not_used"].push_back({{"what", item.what}, {"count", item.count}, {"reason", item.reason}});
  // Names of files need not be UTF-8.
  fmt::print("{}\n", out.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string shares(const std::map<std::string, std::int64_t>& counts) {
  std::string text;
  for (const auto& [name, count] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  return text;
}

void print_classes(const data::PartReport& p) {
  if (p.classes.empty()) return;
  std::vector<data::ClassCount> classes = p.classes;
  std::stable_sort(classes.begin(), classes.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
  fmt::print("  classes    {}, labels {} to {}", p.classes.size(), p.classes.front().label, p.classes.back().label);
  if (p.labels_missing > 0) fmt::print(", {} records without one", p.labels_missing);
  fmt::print("; most images first:\n");
  const auto line = [&](const data::ClassCount& c) {
    fmt::print("    {:>6}  {:<24} {:>9}  {:5.2f} %\n", c.label, printable(c.name), c.count,
               100.0 * static_cast<double>(c.count) / static_cast<double>(std::max<std::int64_t>(1, p.records)));
  };
  const std::size_t shown = classes.size() <= 2 * kShownClasses ? classes.size() : kShownClasses;
  for (std::size_t i = 0; i < shown; ++i) line(classes[i]);
  if (shown == classes.size()) return;
  fmt::print("    {:>6}  {} more\n", "...", classes.size() - 2 * kShownClasses);
  for (std::size_t i = classes.size() - kShownClasses; i < classes.size(); ++i) line(classes[i]);
}

void print_part(const data::PartReport& p) {
  fmt::print("{}: {} in {} ({}, {:.1f} MB){}, for {}\n", p.name, data::counted(p.records, "image"),
             data::counted(p.files, "file"), data::name_of(p.layout), static_cast<double>(p.bytes) / 1e6,
             p.place.empty() ? "" : " from " + printable(p.place), p.use);
  if (!p.formats.empty()) {
    fmt::print("  {:<10} {:>10} {:>10} {:>10}\n", "", "min", "median", "max");
    const auto row = [](const char* name, const data::Spread& s, int digits) {
      fmt::print("  {:<10} {:>10.{}f} {:>10.{}f} {:>10.{}f}\n", name, s.min, digits, s.median, digits, s.max, digits);
    };
    row("bytes", p.record_bytes, 0);
    row("height", p.height, 0);
    row("width", p.width, 0);
    row("megapixels", p.megapixels, 3);
    fmt::print("  formats    {}\n  colours    {}\n", shares(p.formats), shares(p.colours));
  }
  print_classes(p);
}

void print_equal(const std::vector<std::string>& places) {
  const std::size_t shown = std::min(kShownEqual, places.size());
  const std::string text =
      fmt::format("{}", fmt::join(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(shown), " = "));
  fmt::print("  {}{}\n", printable(text),
             shown == places.size() ? "" : fmt::format(" = {} more", places.size() - shown));
}

void print_not_used(const data::FoundData& found) {
  if (found.not_used.empty()) return;
  fmt::print("not used:\n");
  for (const data::NotUsed& item : found.not_used) fmt::print("  {}\n", printable(item.text));
}

void print_text(const data::InspectReport& report) {
  for (const data::PartReport& part : report.parts) print_part(part);
  print_not_used(report.found);
  if (!report.duplicates.empty()) {
    fmt::print("equal images: {} {}\n", report.duplicates.size(), report.duplicates.size() == 1 ? "group" : "groups");
    for (std::size_t i = 0; i < std::min(kShownDuplicates, report.duplicates.size()); ++i)
      print_equal(report.duplicates[i]);
    if (report.duplicates.size() > kShownDuplicates) fmt::print("  ... (--json lists all)\n");
  }
  if (report.broken() > 0) fmt::print("broken: {}\n", report.broken());
  std::size_t shown = 0;
  for (const data::PartReport& part : report.parts) {
    for (const data::BrokenItem& item : part.broken) {
      if (shown++ < kShownBroken) fmt::print("  {}: {}\n", printable(item.place), printable(item.reason));
    }
  }
  if (shown > kShownBroken) fmt::print("  ... {} more (--list FILE writes all)\n", shown - kShownBroken);
  for (const std::string& note : report.notes) fmt::print("note: {}\n", printable(note));
  fmt::print("{} {:.1f} s{}\n", report.deep ? "every image decoded in" : "headers read in", report.seconds,
             report.broken() > 0 ? ""
             : report.deep       ? ": nothing broken"
                                 : ": nothing broken (--deep decodes all)");
}

int run_inspect(const InspectFlags& flags) {
  data::InspectOptions options = flags.options;
  if (options.workers < 0) throw Error("--workers must not be negative", ErrorKind::usage);
  if (options.split != "all") options.split = data::parse_split(options.split);
  std::optional<AtomicFile> list;
  if (!flags.list.empty())
    list.emplace(flags.list);  // fails now and not after an hour; an old list stays until the end
  options.progress = counter("inspecting");
  const data::InspectReport report = data::inspect(flags.data_dir, options);
  if (list) {
    for (const data::PartReport& part : report.parts) {
      for (const data::BrokenItem& item : part.broken) {
        const std::string line = printable(item.place) + "\t" + printable(item.reason) + "\n";
        list->write(line.data(), line.size());
      }
    }
    list->commit();
  }
  if (flags.json) {
    print_json(report);
  } else {
    print_text(report);
  }
  return report.broken() > 0 ? 1 : 0;
}

}  // namespace

DatasetTool add_dataset_inspect(Command& dataset) {
  auto flags = std::make_shared<InspectFlags>();
  Command& app = dataset.subcommand(
      "inspect", "list what a data set folder contains and which images are broken; exit code 1 if any is");
  app.option("--data_dir", flags->data_dir,
             "data set folder: TFRecords (train-*, validation-*, *.tfrecord), class folders (train/<class>/*, "
             "val/<class>/*, test/<class>/*, or <class>/* alone) or packed files (*.ridge)")
      .required();
  app.option("--split", flags->options.split, "split to inspect: train, val, test or all");
  app.flag("--deep", flags->options.deep, "decode every image instead of reading only headers");
  app.option("--workers", flags->options.workers, "threads; 0: one per core");
  app.option("--list", flags->list,
             "write all broken images to this file, one per line: place, tab, reason; control characters in names are "
             "escaped");
  app.flag("--json", flags->json, "print one JSON object");
  return {&app, [flags] { return run_inspect(*flags); }};
}

}  // namespace ridgeline::cli
