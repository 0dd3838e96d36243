#include "ridgeline/data/standard/record_classes.h"

#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>

#include "ridgeline/core/error.h"
#include "ridgeline/data/runtime/for_each.h"
#include "ridgeline/data/source/patterns.h"
#include "ridgeline/format/record/example.h"
#include "ridgeline/format/record/tfrecord.h"
#include "ridgeline/format/wire/index_cache.h"

namespace ridgeline::data {
namespace {

// Payload: of each class the stored label, then text and synset with their lengths before them.
constexpr IndexKind kKind{"RDGCLS01", ".record-classes"};

// Of smaller files all records are looked at anew.
constexpr std::uintmax_t kWorthKeeping = 1u << 20;

// "" if no record has one; records that call a class otherwise leave it without a name.
struct ClassTexts {
  std::string text, synset;
  bool several_texts = false, several_synsets = false;
};
using Found = std::map<std::int64_t, ClassTexts>;  // by stored label

void note(std::string& kept, bool& several, std::string_view text) {
  if (several || text.empty() || kept == text) return;
  if (!kept.empty()) {
    several = true;
    kept.clear();
  } else {
    kept = text;
  }
}

std::string_view text_of(const Example& example, std::string_view key) {
  const Example::Feature* feature = example.find(key);
  if (!feature || feature->kind != FeatureKind::bytes) return "";
  const std::vector<std::string_view> values = example.bytes(key);
  return values.size() == 1 ? values[0] : "";
}

void look_at(std::span<const std::uint8_t> record, Found& found) {
  const Example example(record);
  ClassTexts& texts = found[example.one_int64("image/class/label")];
  note(texts.text, texts.several_texts, text_of(example, "image/class/text"));
  note(texts.synset, texts.several_synsets, text_of(example, "image/class/synset"));
}

// `whole`: every record could be read.
Found look_through(const TFRecordFile& file, bool& whole) {
  Found found;
  std::string fault;
  std::string storage;
  whole = !file.damage();
  for (std::size_t i = 0; i < file.size(); ++i) {
    try {
      if (const auto record = file.record(i, storage, fault)) {
        look_at(*record, found);
      } else {
        whole = false;
      }
    } catch (const Error&) {  // no label, or no Example at all: said when the record is read
    }
  }
  return found;
}

void put(std::string& out, std::string_view text) {
  const std::uint64_t size = text.size();
  out.append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
}

std::string to_payload(const Found& found) {
  std::string out;
  for (const auto& [label, texts] : found) {
    out.append(reinterpret_cast<const char*>(&label), sizeof label);
    out += static_cast<char>(texts.several_texts);
    out += static_cast<char>(texts.several_synsets);
    put(out, texts.text);
    put(out, texts.synset);
  }
  return out;
}

std::optional<Found> from_payload(std::string_view in) {
  const auto take = [&](std::size_t size) -> std::optional<std::string_view> {
    if (size > in.size()) return std::nullopt;
    const std::string_view piece = in.substr(0, size);
    in.remove_prefix(size);
    return piece;
  };
  const auto take_text = [&]() -> std::optional<std::string_view> {
    std::uint64_t size = 0;
    const auto bytes = take(sizeof size);
    if (!bytes) return std::nullopt;
    std::memcpy(&size, bytes->data(), sizeof size);
    return take(static_cast<std::size_t>(size));
  };
  Found found;
  while (!in.empty()) {
    std::int64_t label = 0;
    const auto number = take(sizeof label), several = take(2);
    const auto text = take_text(), synset = take_text();
    if (!number || !several || !text || !synset) return std::nullopt;
    std::memcpy(&label, number->data(), sizeof label);
    found[label] = {std::string(*text), std::string(*synset), (*several)[0] != 0, (*several)[1] != 0};
  }
  return found;
}

Found classes_of_file(const std::string& path) {
  const std::string directory = index_directory(path, kWorthKeeping);
  const TFRecordFile file(path, {.index_cache_directory = index_directory(path), .keep_readable_prefix = true});
  bool whole = false;
  if (directory.empty() || file.compression() != Compression::none) return look_through(file, whole);
  const std::uint64_t bytes = file.offset(file.size());
  if (const auto payload = load_index_cache(directory, indexed_file(path, bytes), kKind)) {
    if (auto found = from_payload(*payload)) return *std::move(found);
  }
  Found found = look_through(file, whole);
  if (whole) store_index_cache(directory, indexed_file(path, bytes), kKind, to_payload(found));
  return found;
}

// Labels so far apart are no numbering of classes: a name for each number between would only take memory.
constexpr std::int64_t kMostGaps = 100'000;

std::vector<std::string> names_of(const Found& found, int label_base, std::int64_t count,
                                  std::string ClassTexts::*which) {
  std::vector<std::string> names(static_cast<std::size_t>(count));
  bool any = false;
  for (const auto& [label, texts] : found) {
    names[static_cast<std::size_t>(label - label_base)] = texts.*which;
    any |= !(texts.*which).empty();
  }
  return any ? names : std::vector<std::string>();
}

}  // namespace

RecordClasses find_record_classes(const std::vector<std::string>& files, int label_base, int workers) {
  Found all;
  std::mutex mutex;
  for_each(static_cast<std::int64_t>(files.size()), workers, [&](std::int64_t i, int) {
    const Found found = classes_of_file(files[static_cast<std::size_t>(i)]);
    const std::lock_guard lock(mutex);
    for (const auto& [label, texts] : found) {
      if (label < label_base || label - label_base >= INT32_MAX) continue;
      ClassTexts& kept = all[label];
      kept.several_texts |= texts.several_texts;
      kept.several_synsets |= texts.several_synsets;
      note(kept.text, kept.several_texts, texts.text);
      note(kept.synset, kept.several_synsets, texts.synset);
      if (kept.several_texts) kept.text.clear();
      if (kept.several_synsets) kept.synset.clear();
    }
  });
  bound_index_directory();
  RecordClasses classes;
  if (all.empty()) return classes;
  classes.count = all.rbegin()->first - label_base + 1;
  if (classes.count - static_cast<std::int64_t>(all.size()) > kMostGaps) return classes;
  classes.names = names_of(all, label_base, classes.count, &ClassTexts::text);
  classes.ids = names_of(all, label_base, classes.count, &ClassTexts::synset);
  if (classes.names.empty()) std::swap(classes.names, classes.ids);
  if (classes.ids == classes.names) classes.ids.clear();
  return classes;
}

}  // namespace ridgeline::data
