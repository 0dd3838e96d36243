// ridgeline/format/record/example.h
//
// tf.train.Example: a map from key to a list of byte strings, floats or int64s.
// (TensorFlow core/example/{example,feature}.proto.)
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ridgeline {

// `none` is a feature whose list was never set; it reads as an empty list of any kind.
enum class FeatureKind : std::uint8_t { none, bytes, floats, int64s };
// "bytes", "floats", "int64s", "none".
std::string_view name_of(FeatureKind kind);

// A parsed view of one serialized Example. Borrows the record: keys and byte strings point into it. Parsing finds the
// features; numbers are decoded when asked for. Immutable: any thread may read.
// Errors name the key and the kind: "[example] feature 'image/class/label' holds floats, not int64s".
class Example {
 public:
  struct Feature {
    std::string_view key;
    FeatureKind kind = FeatureKind::none;
    std::span<const std::uint8_t> message;  // the serialized Feature
  };

  explicit Example(std::span<const std::uint8_t> record);

  // In the order of the record; of a repeated key the last one counts, as in protocol buffers' maps.
  const std::vector<Feature>& features() const { return features_; }
  bool has(std::string_view key) const { return find(key) != nullptr; }
  const Feature* find(std::string_view key) const;

  // The whole list of a feature. A missing key or another kind is an Error.
  std::vector<std::string_view> bytes(std::string_view key) const;
  std::vector<float> floats(std::string_view key) const;
  std::vector<std::int64_t> int64s(std::string_view key) const;
  // The value of a list that must hold exactly one.
  std::string_view one_bytes(std::string_view key) const;
  float one_float(std::string_view key) const;
  std::int64_t one_int64(std::string_view key) const;

 private:
  const Feature& get(std::string_view key, FeatureKind kind) const;

  std::vector<Feature> features_;
};

// Builds a serialized Example; keys come out sorted, so equal content gives equal bytes. Setting a key again replaces
// it.
class ExampleBuilder {
 public:
  ExampleBuilder& bytes(std::string_view key, std::vector<std::string> values);
  ExampleBuilder& bytes(std::string_view key, std::string_view value);
  ExampleBuilder& floats(std::string_view key, std::vector<float> values);
  ExampleBuilder& int64s(std::string_view key, std::vector<std::int64_t> values);
  ExampleBuilder& int64s(std::string_view key, std::int64_t value);
  std::string serialize() const;

 private:
  using Values = std::variant<std::vector<std::string>, std::vector<float>, std::vector<std::int64_t>>;
  std::map<std::string, Values, std::less<>> features_;
};

}  // namespace ridgeline
