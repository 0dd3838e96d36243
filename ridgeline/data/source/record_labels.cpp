#include "ridgeline/data/source/record_labels.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "ridgeline/core/error.h"
#include "ridgeline/data/source/patterns.h"
#include "ridgeline/data/source/record_keys.h"
#include "ridgeline/format/record/example.h"
#include "ridgeline/format/wire/index_cache.h"

namespace ridgeline::data {
namespace {

// Payload: whether labels are from 0, then of each class the stored label, and text and synset with their lengths
// before them.
constexpr IndexKind kKind{"RDGCLS02", ".record-classes"};

// For smaller files all records are read each time.
constexpr std::uintmax_t kWorthKeeping = 1u << 20;

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

void look_at(std::span<const std::uint8_t> record, RecordLabels& found) {
  const Example example(record);
  const RecordKeys& keys = keys_of(example);
  found.by_label[example.one_int64(keys.label)].add({.text = std::string(text_of(example, "image/class/text")),
                                                     .synset = std::string(text_of(example, "image/class/synset"))});
  found.from_zero |= keys.from_zero;
}

// `whole`: every record could be read.
RecordLabels look_through(const TFRecordFile& file, bool& whole) {
  RecordLabels found;
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

std::string to_payload(const RecordLabels& found) {
  std::string out(1, static_cast<char>(found.from_zero));
  for (const auto& [label, texts] : found.by_label) {
    out.append(reinterpret_cast<const char*>(&label), sizeof label);
    out += static_cast<char>(texts.several_texts);
    out += static_cast<char>(texts.several_synsets);
    put(out, texts.text);
    put(out, texts.synset);
  }
  return out;
}

std::optional<RecordLabels> from_payload(std::string_view in) {
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
  RecordLabels found;
  const auto from_zero = take(1);
  if (!from_zero) return std::nullopt;
  found.from_zero = (*from_zero)[0] != 0;
  while (!in.empty()) {
    std::int64_t label = 0;
    const auto number = take(sizeof label), several = take(2);
    const auto text = take_text(), synset = take_text();
    if (!number || !several || !text || !synset) return std::nullopt;
    std::memcpy(&label, number->data(), sizeof label);
    found.by_label[label] = {std::string(*text), std::string(*synset), (*several)[0] != 0, (*several)[1] != 0};
  }
  return found;
}

}  // namespace

void RecordLabels::Texts::add(const Texts& other) {
  several_texts |= other.several_texts;
  several_synsets |= other.several_synsets;
  note(text, several_texts, other.text);
  note(synset, several_synsets, other.synset);
  if (several_texts) text.clear();
  if (several_synsets) synset.clear();
}

RecordLabels labels_of(const TFRecordFile& file) {
  const std::string directory = index_directory(file.path(), kWorthKeeping);
  bool whole = false;
  if (directory.empty() || file.compression() != Compression::none) return look_through(file, whole);
  const std::uint64_t bytes = file.offset(file.size());
  if (const auto payload = load_index_cache(directory, indexed_file(file.path(), bytes), kKind)) {
    if (auto found = from_payload(*payload)) return *std::move(found);
  }
  RecordLabels found = look_through(file, whole);
  if (whole) store_index_cache(directory, indexed_file(file.path(), bytes), kKind, to_payload(found));
  return found;
}

int label_base_of(const RecordLabels& labels) { return labels.from_zero || labels.by_label.contains(0) ? 0 : 1; }

}  // namespace ridgeline::data
