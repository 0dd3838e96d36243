#include "ridgeline/format/record/example.h"

#include <algorithm>
#include <array>

#include "ridgeline/core/error.h"
#include "ridgeline/format/wire/protobuf_wire.h"

namespace ridgeline {
namespace {

// Field numbers of the messages.
constexpr std::uint32_t kExampleFeatures = 1;
constexpr std::uint32_t kFeaturesEntry = 1;
constexpr std::uint32_t kEntryKey = 1;
constexpr std::uint32_t kEntryValue = 2;
constexpr std::uint32_t kListValue = 1;

constexpr std::array<std::string_view, 4> kKindNames{"none", "bytes", "floats", "int64s"};

// In Feature's oneof the field number of a list is its kind: bytes_list 1, float_list 2, int64_list 3.
bool is_list(std::uint32_t field) { return field >= 1 && field <= 3; }

Example::Feature parse_entry(ProtobufReader entry) {
  Example::Feature feature;
  while (entry.next()) {
    if (entry.field() == kEntryKey) {
      feature.key = entry.text();
    } else if (entry.field() == kEntryValue) {
      feature.message = entry.bytes();
    }
  }
  ProtobufReader message(feature.message, "Feature");
  while (message.next()) {
    if (is_list(message.field())) feature.kind = static_cast<FeatureKind>(message.field());
  }
  return feature;
}

// Runs `use(list)` on each list of the feature's kind. A list given in pieces is their concatenation; another kind
// before them was overwritten, as in any oneof. `values` is what `use` appends to.
template <class Values, class Use>
Values decode(const Example::Feature& feature, Use use) {
  Values values;
  ProtobufReader message(feature.message, "Feature");
  while (message.next()) {
    if (!is_list(message.field())) continue;
    if (static_cast<FeatureKind>(message.field()) != feature.kind) {
      values.clear();
      continue;
    }
    ProtobufReader list = message.message("list of a Feature");
    while (list.next()) {
      if (list.field() == kListValue) use(list, values);
    }
  }
  return values;
}

template <class Values>
auto only(std::string_view key, FeatureKind kind, const Values& values) {
  if (values.size() != 1) {
    throw Error("[example] feature '" + std::string(key) + "' holds " + std::to_string(values.size()) + " " +
                std::string(name_of(kind)) + ", exactly 1 is wanted");
  }
  return values.front();
}

}  // namespace

std::string_view name_of(FeatureKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

Example::Example(std::span<const std::uint8_t> record) {
  ProtobufReader example(record, "Example");
  while (example.next()) {
    if (example.field() != kExampleFeatures) continue;
    ProtobufReader features = example.message("Features");
    while (features.next()) {
      if (features.field() != kFeaturesEntry) continue;
      const Feature feature = parse_entry(features.message("entry of Features"));
      const auto same =
          std::find_if(features_.begin(), features_.end(), [&](const Feature& f) { return f.key == feature.key; });
      if (same == features_.end()) {
        features_.push_back(feature);
      } else {
        *same = feature;
      }
    }
  }
}

// Records have about ten features: a walk is faster than a tree.
const Example::Feature* Example::find(std::string_view key) const {
  for (const Feature& feature : features_) {
    if (feature.key == key) return &feature;
  }
  return nullptr;
}

const Example::Feature& Example::get(std::string_view key, FeatureKind kind) const {
  const Feature* feature = find(key);
  if (feature == nullptr) {
    std::vector<std::string> keys;
    keys.reserve(features_.size());
    for (const Feature& f : features_) keys.emplace_back(f.key);
    std::string message = "[example] no feature '" + std::string(key) + "'";
    message += did_you_mean(key, keys);
    message += " (the record has:";
    for (const std::string& k : keys) message += " " + k;
    throw Error(message + ")");
  }
  if (feature->kind != kind && feature->kind != FeatureKind::none) {
    throw Error("[example] feature '" + std::string(key) + "' holds " + std::string(name_of(feature->kind)) + ", not " +
                std::string(name_of(kind)));
  }
  return *feature;
}

std::vector<std::string_view> Example::bytes(std::string_view key) const {
  return decode<std::vector<std::string_view>>(
      get(key, FeatureKind::bytes), [](ProtobufReader& list, auto& values) { values.push_back(list.text()); });
}

std::vector<float> Example::floats(std::string_view key) const {
  return decode<std::vector<float>>(get(key, FeatureKind::floats),
                                    [](ProtobufReader& list, auto& values) { list.append_to(values); });
}

std::vector<std::int64_t> Example::int64s(std::string_view key) const {
  return decode<std::vector<std::int64_t>>(get(key, FeatureKind::int64s),
                                           [](ProtobufReader& list, auto& values) { list.append_to(values); });
}

std::string_view Example::one_bytes(std::string_view key) const { return only(key, FeatureKind::bytes, bytes(key)); }

float Example::one_float(std::string_view key) const { return only(key, FeatureKind::floats, floats(key)); }

std::int64_t Example::one_int64(std::string_view key) const { return only(key, FeatureKind::int64s, int64s(key)); }

ExampleBuilder& ExampleBuilder::bytes(std::string_view key, std::vector<std::string> values) {
  features_.insert_or_assign(std::string(key), std::move(values));
  return *this;
}

ExampleBuilder& ExampleBuilder::bytes(std::string_view key, std::string_view value) {
  return bytes(key, std::vector<std::string>{std::string(value)});
}

ExampleBuilder& ExampleBuilder::floats(std::string_view key, std::vector<float> values) {
  features_.insert_or_assign(std::string(key), std::move(values));
  return *this;
}

ExampleBuilder& ExampleBuilder::int64s(std::string_view key, std::vector<std::int64_t> values) {
  features_.insert_or_assign(std::string(key), std::move(values));
  return *this;
}

ExampleBuilder& ExampleBuilder::int64s(std::string_view key, std::int64_t value) {
  return int64s(key, std::vector<std::int64_t>{value});
}

std::string ExampleBuilder::serialize() const {
  ProtobufWriter features;
  for (const auto& [key, values] : features_) {
    ProtobufWriter list;
    if (const auto* strings = std::get_if<std::vector<std::string>>(&values)) {
      for (const std::string& s : *strings) list.bytes(kListValue, s);
    } else if (const auto* floats = std::get_if<std::vector<float>>(&values)) {
      list.packed(kListValue, *floats);
    } else {
      list.packed(kListValue, std::get<std::vector<std::int64_t>>(values));
    }
    ProtobufWriter feature;
    feature.message(static_cast<std::uint32_t>(values.index() + 1), list);  // the order of FeatureKind
    ProtobufWriter entry;
    entry.bytes(kEntryKey, key);
    entry.message(kEntryValue, feature);
    features.message(kFeaturesEntry, entry);
  }
  ProtobufWriter example;
  example.message(kExampleFeatures, features);
  return example.buffer();
}

}  // namespace ridgeline
