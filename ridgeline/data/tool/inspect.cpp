#include "ridgeline/data/tool/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <tuple>

#include "ridgeline/core/random.h"
#include "ridgeline/data/runtime/for_each.h"
#include "ridgeline/data/standard/data_dir.h"
#include "ridgeline/data/standard/found_text.h"
#include "ridgeline/data/tool/inspect_notes.h"
#include "ridgeline/data/tool/items.h"
#include "ridgeline/image/decode.h"

namespace ridgeline::data {
namespace {

// What distinguishes most files without reading them completely.
constexpr std::size_t kPrefix = 4096;

// The result of inspecting an item. As small as possible: a data set has millions.
struct Finding {
  std::int32_t height = 0, width = 0;
  std::int64_t label = 0;
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;  // of the first kPrefix bytes, or of all
  image::Format format = image::Format::other;
  std::uint8_t components = 0, depth = 8, orientation = 1;
  bool animated = false;
  bool has_label = false, from_zero = false, readable = false, broken = false, misnamed = false;
};

// One split being inspected.
struct Part {
  DataPart part;
  std::unique_ptr<Items> items;
  std::vector<Finding> findings;
  std::map<std::int64_t, std::string> broken;  // by item
  std::map<std::int64_t, std::string> names;   // of classes, by label
  PartReport report;
};

std::uint64_t hash_of(std::span<const std::uint8_t> bytes, std::size_t most = SIZE_MAX) {
  return hash64({reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), most)});
}

std::string colour_of(const Finding& f) {
  const bool palettes = f.format == image::Format::png || f.format == image::Format::bmp;
  if (f.components == 1) return palettes ? "grey or palette" : "grey";
  if (f.components == 3) return "colour";
  if (f.components == 4) return f.format == image::Format::jpeg ? "CMYK" : "with alpha";
  return fmt::format("{} components", f.components);
}

std::string format_of(const Finding& f) {
  return f.format == image::Format::other ? "pixels" : std::string(image::name_of(f.format));
}

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  const double median = *middle;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {*least, median, *most};
}

template <class Get>
Spread spread_over(const std::vector<Finding>& findings, Get get) {
  std::vector<double> values;
  for (const Finding& f : findings) {
    if (!f.broken) values.push_back(static_cast<double>(get(f)));
  }
  return spread_of(std::move(values));
}

class Inspector {
 public:
  Inspector(FoundData found, const InspectOptions& options) : dir_(found.dir), options_(options) {
    report_.found = std::move(found);
  }

  InspectReport run() {
    const auto begin = std::chrono::steady_clock::now();
    open();
    look();
    for (Part& part : parts_) summarize(part);
    find_duplicates();
    for (Part& part : parts_) report_.parts.push_back(std::move(part.report));
    report_.dir = dir_;
    report_.deep = options_.deep;
    report_.notes = notes_on(report_);
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::move(report_);
  }

 private:
  void open() {
    std::vector<DataPart> parts = report_.found.parts;
    if (options_.split != "all") parts = {find_part(report_.found, options_.split)};
    for (DataPart& part : parts) {
      Part p{.part = std::move(part), .items = nullptr, .findings = {}, .broken = {}, .names = {}, .report = {}};
      p.items = list_items(p.part, dir_);
      p.findings.resize(static_cast<std::size_t>(p.items->size()));
      total_ += p.items->size();
      parts_.push_back(std::move(p));
    }
  }

  // The item with that number over all splits.
  std::pair<Part*, std::int64_t> at(std::int64_t index) {
    for (Part& part : parts_) {
      if (index < part.items->size()) return {&part, index};
      index -= part.items->size();
    }
    throw InternalError("an item outside the parts");
  }

  void look() {
    std::vector<image::Decoder> decoders(static_cast<std::size_t>(worker_count(options_.workers)));
    std::mutex mutex;
    for_each(
        total_, options_.workers,
        [&](std::int64_t index, int worker) {
          const auto [part, i] = at(index);
          Item item;
          Finding& finding = part->findings[static_cast<std::size_t>(i)];
          std::string reason;
          try {
            look_at(*part, i, item, finding, decoders[static_cast<std::size_t>(worker)]);
          } catch (const Error& e) {
            reason = e.what();
            finding.broken = true;
          }
          finding.has_label = item.label.has_value();
          finding.label = item.label.value_or(0);
          finding.from_zero = item.from_zero;
          if (reason.empty() && !(item.label && !item.class_name.empty())) return;
          const std::lock_guard lock(mutex);
          if (!reason.empty()) part->broken[i] = std::move(reason);
          if (item.label && !item.class_name.empty()) part->names.try_emplace(*item.label, item.class_name);
        },
        options_.progress);
  }

  void look_at(const Part& part, std::int64_t i, Item& item, Finding& finding, image::Decoder& decoder) const {
    part.items->read(i, item);
    finding.readable = true;
    finding.bytes = item.bytes.size();
    finding.hash = hash_of(item.bytes, options_.deep ? SIZE_MAX : kPrefix);
    const image::Header header = item.pixels ? *item.pixels : image::read_header(item.bytes);
    finding.format = header.format;
    finding.height = header.height;
    finding.width = header.width;
    finding.components = static_cast<std::uint8_t>(header.components);
    finding.depth = static_cast<std::uint8_t>(header.depth);
    finding.animated = header.animated;
    if (!item.pixels) finding.orientation = static_cast<std::uint8_t>(image::exif_orientation(item.bytes));
    const image::Format named = image::format_of_ending(item.extension);
    finding.misnamed = named != image::Format::other && named != header.format;
    if (options_.deep && !item.pixels) decoder.decode(item.bytes);
    if (!item.label && part.part.layout == Layout::records) throw Error("it has no label");
  }

  void summarize(Part& part) {
    PartReport& r = part.report;
    r.name = part.part.name;
    r.layout = part.part.layout;
    r.place = part.part.place;
    r.use = use_of(report_.found, part.part);
    r.files = part.items->files;
    r.records = part.items->size();
    r.not_read = part.items->not_read;
    r.not_read_example = part.items->not_read_example;
    if (r.layout == Layout::records) r.label_base = label_base_of(part);
    std::map<std::int64_t, std::int64_t> labels;
    for (std::size_t label = 0; label < part.items->class_names.size(); ++label)
      labels[static_cast<std::int64_t>(label)] = 0;
    for (std::size_t i = 0; i < part.findings.size(); ++i) {
      const Finding& f = part.findings[i];
      r.bytes += static_cast<std::int64_t>(f.bytes);
      if (f.has_label) {
        ++labels[f.label];
      } else {
        ++r.labels_missing;
      }
      if (f.broken) continue;
      ++r.formats[format_of(f)];
      ++r.colours[colour_of(f)];
      const auto count = [&](bool is_one, Counted& counted) {
        if (is_one && counted.images++ == 0) counted.example = part.items->place(static_cast<std::int64_t>(i));
      };
      count(f.misnamed, r.misnamed);
      count(f.orientation != 1, r.turned);
      count(f.depth > 8, r.deep_colour);
      count(f.animated, r.animated);
    }
    for (const auto& [label, count] : labels) {
      const auto index = static_cast<std::size_t>(label);
      std::string name =
          label >= 0 && index < part.items->class_names.size() ? part.items->class_names[index] : part.names[label];
      r.classes.push_back({label, std::move(name), count});
    }
    r.record_bytes = spread_over(part.findings, [](const Finding& f) { return f.bytes; });
    r.height = spread_over(part.findings, [](const Finding& f) { return f.height; });
    r.width = spread_over(part.findings, [](const Finding& f) { return f.width; });
    r.megapixels =
        spread_over(part.findings, [](const Finding& f) { return static_cast<double>(f.height) * f.width / 1e6; });
    if (part.items->size() == 0 && part.items->faults.empty()) r.broken.push_back({part.part.dir, "no images in it"});
    for (const ListingFault& fault : part.items->faults) r.broken.push_back({fault.place, fault.reason});
    for (auto& [i, reason] : part.broken) r.broken.push_back({part.items->place(i), std::move(reason)});
  }

  // As training finds it.
  static int label_base_of(const Part& part) {
    const bool zero = std::any_of(part.findings.begin(), part.findings.end(),
                                  [](const Finding& f) { return f.from_zero || (f.has_label && f.label == 0); });
    return zero ? 0 : 1;
  }

  // Equal sizes and beginnings first; only those are read completely.
  void find_duplicates() {
    struct Key {
      std::uint64_t bytes, hash;
      std::int64_t index;
      bool same(const Key& other) const { return bytes == other.bytes && hash == other.hash; }
    };
    std::vector<Key> keys;
    std::int64_t index = 0;
    for (const Part& part : parts_) {
      for (const Finding& f : part.findings) {
        if (f.readable && f.bytes > 0) keys.push_back({f.bytes, f.hash, index});
        ++index;
      }
    }
    const auto group = [&] {
      std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
        return std::tie(a.bytes, a.hash, a.index) < std::tie(b.bytes, b.hash, b.index);
      });
      std::vector<Key> several;
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if ((i > 0 && keys[i].same(keys[i - 1])) || (i + 1 < keys.size() && keys[i].same(keys[i + 1])))
          several.push_back(keys[i]);
      }
      keys = std::move(several);
    };
    group();
    if (!options_.deep) {
      for_each(static_cast<std::int64_t>(keys.size()), options_.workers, [&](std::int64_t k, int) {
        Key& key = keys[static_cast<std::size_t>(k)];
        const auto [part, i] = at(key.index);
        Item item;
        try {
          part->items->read(i, item);
          key.hash = hash_of(item.bytes);
        } catch (const Error&) {
          key.hash = static_cast<std::uint64_t>(key.index);  // gone meanwhile: equal to nothing
        }
      });
      group();
    }
    std::vector<std::vector<Key>> groups;
    for (std::size_t i = 0; i < keys.size();) {
      groups.emplace_back();
      for (const Key key = keys[i]; i < keys.size() && keys[i].same(key); ++i) groups.back().push_back(keys[i]);
    }
    std::sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a[0].index < b[0].index; });
    for (const std::vector<Key>& equal : groups) {
      std::map<std::size_t, std::string> first_of_part;
      std::vector<std::string> places;
      for (const Key& key : equal) {
        const auto [part, item] = at(key.index);
        places.push_back(part->items->place(item));
        first_of_part.emplace(static_cast<std::size_t>(part - parts_.data()), places.back());
      }
      if (first_of_part.size() > 1) ++report_.duplicates_across_parts;
      for (auto a = first_of_part.begin(); a != first_of_part.end(); ++a) {
        for (auto b = std::next(a); b != first_of_part.end(); ++b) {
          SharedImages& shared = shared_[{a->first, b->first}];
          if (shared.images++ == 0) shared.example = a->second + " = " + b->second;
        }
      }
      report_.duplicates.push_back(std::move(places));
    }
    for (auto& [between, shared] : shared_) {
      shared.first = parts_[between.first].part.name;
      shared.second = parts_[between.second].part.name;
      report_.shared.push_back(std::move(shared));
    }
  }

  std::string dir_;
  const InspectOptions& options_;
  std::vector<Part> parts_;
  std::int64_t total_ = 0;
  std::map<std::pair<std::size_t, std::size_t>, SharedImages> shared_;  // by the numbers of the two parts
  InspectReport report_;
};

}  // namespace

std::int64_t InspectReport::broken() const {
  std::int64_t count = 0;
  for (const PartReport& part : parts) count += static_cast<std::int64_t>(part.broken.size());
  return count;
}

InspectReport inspect(const std::string& dir, const InspectOptions& options) {
  return inspect(find_data(dir), options);
}

InspectReport inspect(FoundData found, const InspectOptions& options) {
  return Inspector(std::move(found), options).run();
}

}  // namespace ridgeline::data
