#include "ridgeline/format/text/json_value.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 7> kKinds{"null", "boolean", "integer", "real", "text", "array", "object"};

// Builds the value from the library's events, and refuses what the library would accept: equal keys, deep nesting.
class Builder : public nlohmann::json_sax<Json> {
 public:
  Builder(std::string_view where, const JsonOptions& options) : where_(where), options_(options) {}

  JsonValue take() { return std::move(root_); }

  bool null() override { return put(JsonValue()); }
  bool boolean(bool value) override { return put(JsonValue(value)); }
  bool number_integer(number_integer_t value) override { return put(JsonValue(std::int64_t{value})); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return put(JsonValue(static_cast<double>(value)));
    }
    return put(JsonValue(static_cast<std::int64_t>(value)));
  }
  bool number_float(number_float_t value, const string_t&) override { return put(JsonValue(value)); }
  bool string(string_t& value) override { return put(JsonValue(std::move(value))); }
  bool binary(binary_t&) override { return false; }  // not in JSON texts

  bool start_object(std::size_t) override { return open(JsonValue(JsonValue::Object())); }
  bool start_array(std::size_t) override { return open(JsonValue(JsonValue::Array())); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (ignoring()) return true;
    if (!keys_.back().insert(name).second) throw Error(where_ + " has the key '" + name + "' twice in one object");
    const auto& ignored = options_.ignored_keys;
    if (std::find(ignored.begin(), ignored.end(), name) != ignored.end()) {
      ignored_depth_ = depth_;
    } else {
      key_ = std::move(name);
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    std::string reason = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while ...": the position is added
    // by us.
    if (const std::size_t bracket = reason.find("] "); bracket != std::string::npos) reason.erase(0, bracket + 2);
    if (const std::size_t colon = reason.find(": "); reason.starts_with("parse error at") && colon != std::string::npos)
      reason.erase(0, colon + 2);
    throw Error(where_ + " is no valid JSON at byte " +
                std::to_string(options_.first_byte + (position > 0 ? position - 1 : 0)) + ": " + reason);
  }

 private:
  // The value of an ignored member is being read.
  bool ignoring() const { return ignored_depth_ >= 0; }
  void end_of_value() {
    if (ignored_depth_ == depth_) ignored_depth_ = -1;
  }

  JsonValue* place(JsonValue value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (auto* array = stack_.back()->array()) return &array->emplace_back(std::move(value));
    return &stack_.back()->object()->emplace_back(JsonMember{std::move(key_), std::move(value)}).value;
  }

  bool put(JsonValue value) {
    if (!ignoring()) place(std::move(value));
    end_of_value();
    return true;
  }

  bool open(JsonValue value) {
    if (depth_ >= options_.max_depth) {
      throw Error(where_ + " nests deeper than " + std::to_string(options_.max_depth) + " levels");
    }
    if (!ignoring()) {
      stack_.push_back(place(std::move(value)));
      keys_.emplace_back();
    }
    ++depth_;
    return true;
  }

  bool close() {
    --depth_;
    if (ignoring()) {
      end_of_value();
    } else {
      stack_.pop_back();
      keys_.pop_back();
    }
    return true;
  }

  std::string where_;
  const JsonOptions& options_;
  JsonValue root_;
  // Open arrays and objects. A pointer stays valid while it is open: only the innermost one grows.
  std::vector<JsonValue*> stack_;
  std::vector<std::set<std::string>> keys_;
  std::string key_;
  int depth_ = 0;
  int ignored_depth_ = -1;
};

void append(std::string& out, const JsonValue& value) {
  if (const auto* array = value.array()) {
    out += '[';
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (i > 0) out += ',';
      append(out, (*array)[i]);
    }
    out += ']';
  } else if (const auto* object = value.object()) {
    out += '{';
    for (std::size_t i = 0; i < object->size(); ++i) {
      if (i > 0) out += ',';
      append(out, JsonValue((*object)[i].key));
      out += ':';
      append(out, (*object)[i].value);
    }
    out += '}';
  } else if (const auto* text = value.text()) {
    try {
      out += Json(*text).dump();
    } catch (const Json::exception&) {
      throw Error("[json] a text is no UTF-8: " + Json(*text).dump(-1, ' ', false, Json::error_handler_t::replace));
    }
  } else if (const auto* integer = value.integer()) {
    out += std::to_string(*integer);
  } else if (const auto* real = value.real()) {
    out += Json(*real).dump();
  } else if (const auto* boolean = value.boolean()) {
    out += *boolean ? "true" : "false";
  } else {
    out += "null";
  }
}

}  // namespace

bool JsonValue::as_double(double& number) const {
  if (const auto* whole = integer()) {
    number = static_cast<double>(*whole);
    return true;
  }
  if (const auto* value = real()) {
    number = *value;
    return true;
  }
  return false;
}

const JsonValue* JsonValue::find(std::string_view key) const {
  const Object* members = object();
  if (members == nullptr) return nullptr;
  for (const JsonMember& member : *members) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

std::string_view JsonValue::kind() const { return kKinds[value_.index()]; }

JsonValue parse_json(std::string_view text, std::string_view where, const JsonOptions& options) {
  Builder builder(where, options);
  Json::sax_parse(text, &builder);
  return builder.take();
}

std::string to_json_text(const JsonValue& value) {
  std::string out;
  append(out, value);
  return out;
}

}  // namespace ridgeline
