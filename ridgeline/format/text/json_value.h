// ridgeline/format/text/json_value.h
//
// A parsed JSON text as plain values, for the readers of this folder: strict (no equal keys, no text after the value,
// limited nesting), keys in the order of the text, errors with the byte. The JSON library stays in the .cpp file.
// Values own what they hold; reading them from several threads is safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ridgeline {

struct JsonMember;

class JsonValue {
 public:
  using Array = std::vector<JsonValue>;
  using Object = std::vector<JsonMember>;

  JsonValue();
  JsonValue(bool value);
  JsonValue(std::int64_t value);
  JsonValue(double value);
  JsonValue(std::string value);
  JsonValue(const char* value);
  JsonValue(Array value);
  JsonValue(Object value);

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  // nullptr where the value is of another kind. Whole numbers that fit are integers, all others reals.
  const bool* boolean() const { return std::get_if<bool>(&value_); }
  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&value_); }
  const double* real() const { return std::get_if<double>(&value_); }
  const std::string* text() const { return std::get_if<std::string>(&value_); }
  const Array* array() const { return std::get_if<Array>(&value_); }
  const Object* object() const { return std::get_if<Object>(&value_); }
  Array* array() { return std::get_if<Array>(&value_); }
  Object* object() { return std::get_if<Object>(&value_); }

  // An integer or a real as a double, into `number`.
  bool as_double(double& number) const;
  // The member of an object; nullptr if there is none, or if this is no object.
  const JsonValue* find(std::string_view key) const;
  // "integer", "real", "text", "array", "object", "boolean", "null": for messages.
  std::string_view kind() const;

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

struct JsonMember {
  std::string key;
  JsonValue value;
};

// Defined after JsonMember, which must be complete: a constructor that fails destroys what it made.
inline JsonValue::JsonValue() = default;
inline JsonValue::JsonValue(bool value) : value_(value) {}
inline JsonValue::JsonValue(std::int64_t value) : value_(value) {}
inline JsonValue::JsonValue(double value) : value_(value) {}
inline JsonValue::JsonValue(std::string value) : value_(std::move(value)) {}
inline JsonValue::JsonValue(const char* value) : value_(std::string(value)) {}
inline JsonValue::JsonValue(Array value) : value_(std::move(value)) {}
inline JsonValue::JsonValue(Object value) : value_(std::move(value)) {}

struct JsonOptions {
  int max_depth = 64;
  // Members with these keys are skipped, at any depth: what a caller does not need may be most of a file.
  std::vector<std::string> ignored_keys;
  // Added to the bytes in messages: where in its file the text begins.
  std::uint64_t first_byte = 0;
};

// Errors: "`where` is no valid JSON at byte N: ...", "`where` has the key 'x' twice ...". `where` is the beginning of a
// message: "[coco] instances.json:".
JsonValue parse_json(std::string_view text, std::string_view where, const JsonOptions& options = {});

// On one line, members in their order; equal values give equal text. Text that is not UTF-8 is an Error.
std::string to_json_text(const JsonValue& value);

}  // namespace ridgeline
