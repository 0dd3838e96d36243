#include "ridgeline/cli/presets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <variant>

#include "ridgeline/cli/replaced_settings.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/train/recipe/options.h"

namespace ridgeline::cli {
namespace {

constexpr std::size_t kDocuments = 3;
constexpr char kAllowedDocuments[] = "(allowed: 1 to 3: values, help, choices)";

// Only where documents begin. YAML::LoadAll() makes documents without end of a text at which the parser stops.
class DocumentStarts : public YAML::EventHandler {
 public:
  std::vector<YAML::Mark> starts;
  void OnDocumentStart(const YAML::Mark& mark) override { starts.push_back(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

class Reader {
 public:
  Reader(const std::string& where, const std::vector<std::string>& flags) : where_(where), flags_(flags) {}

  Preset read(const std::string& yaml) {
    std::vector<YAML::Node> documents;
    try {
      refuse_more_documents(yaml);
      documents = YAML::LoadAll(yaml);
    } catch (const YAML::Exception& error) {
      refuse(error.mark, "is not valid YAML: " + error.msg);
    }
    if (documents.empty()) refuse(YAML::Mark(), fmt::format("has no document {}", kAllowedDocuments));
    Preset preset;
    each(documents[0], [&](const std::string& key, const YAML::Node& key_node, const YAML::Node& value) {
      check_flag(key, key_node);
      if (value.IsSequence() && !takes_several(key)) refuse(value.Mark(), "'" + key + "' takes one value, not a list");
      for (std::string& text : texts(key, value)) preset.values.emplace_back(key, std::move(text));
      keys_.push_back(key);
    });
    if (documents.size() > 1) {
      each(documents[1], [&](const std::string& key, const YAML::Node& key_node, const YAML::Node& value) {
        const std::string text = one(key, value);
        if (key == "preset") {
          preset.description = text;
        } else {
          check_key(key, key_node, "help");
          preset.help[key] = text;
        }
      });
    }
    if (documents.size() > 2) {
      each(documents[2], [&](const std::string& key, const YAML::Node& key_node, const YAML::Node& value) {
        check_key(key, key_node, "choices");
        preset.choices[key] = texts(key, value);
      });
    }
    return preset;
  }

 private:
  [[noreturn]] void refuse(const YAML::Mark& at, const std::string& what) const {
    const std::string line = at.is_null() ? "" : fmt::format(":{}", at.line + 1);
    throw Error(fmt::format("[preset] {}{}: {}", where_, line, what), ErrorKind::usage);
  }

  void refuse_more_documents(const std::string& yaml) const {
    std::istringstream text(yaml);
    YAML::Parser parser(text);
    DocumentStarts documents;
    while (parser.HandleNextDocument(documents)) {
      if (documents.starts.size() > kDocuments)
        refuse(documents.starts.back(), fmt::format("begins a fourth document {}", kAllowedDocuments));
    }
  }

  template <class Body>
  void each(const YAML::Node& map, const Body& body) const {
    if (!map.IsMap()) refuse(map.Mark(), "is not a list of `flag: value`");
    std::vector<std::string> seen;
    for (const auto& entry : map) {
      if (!entry.first.IsScalar()) refuse(entry.first.Mark(), "a key is not a text");
      const std::string key = entry.first.Scalar();
      if (std::find(seen.begin(), seen.end(), key) != seen.end())
        refuse(entry.first.Mark(), "'" + key + "' occurs twice");
      seen.push_back(key);
      body(key, entry.first, entry.second);
    }
  }

  void check_flag(const std::string& key, const YAML::Node& at) const {
    const train::RecipeOption* option = train::find_option(key);
    if (option != nullptr && !option->in_presets) refuse(at.Mark(), "'" + key + "' is not allowed in a preset");
    if (std::find(flags_.begin(), flags_.end(), key) != flags_.end()) return;
    refuse(at.Mark(), "unknown key '" + key + "'" + did_you_mean(key, flags_));
  }
  static bool takes_several(const std::string& key) {
    const train::RecipeOption* option = train::find_option(key);
    return option == nullptr ||
           std::holds_alternative<std::vector<std::string>& (*)(train::RecipeArguments&)>(option->field);
  }
  void check_key(const std::string& key, const YAML::Node& at, const char* what) const {
    if (std::find(keys_.begin(), keys_.end(), key) != keys_.end()) return;
    refuse(at.Mark(), fmt::format("{} of '{}', which has no value{}", what, key, did_you_mean(key, keys_)));
  }

  std::string one(const std::string& key, const YAML::Node& value) const {
    if (!value.IsScalar()) refuse(value.Mark(), "'" + key + "' is not a text, number or boolean");
    return value.Scalar();
  }
  // A flag that may be given several times has a list.
  std::vector<std::string> texts(const std::string& key, const YAML::Node& value) const {
    if (!value.IsSequence()) return {one(key, value)};
    std::vector<std::string> all;
    for (const YAML::Node& item : value) all.push_back(one(key, item));
    return all;
  }

  const std::string& where_;
  const std::vector<std::string>& flags_;
  std::vector<std::string> keys_;
};

std::string yaml_of(const std::string& name) {
  if (train::is_preset_file(name)) return read_file(name);
  std::vector<std::string> names;
  for (const BuiltinPreset& preset : builtin_presets()) {
    if (preset.name == name) return std::string(preset.yaml);
    names.emplace_back(preset.name);
  }
  throw Error(fmt::format("unknown preset '{}'{} (allowed: {}, or a file *.yaml)", name, did_you_mean(name, names),
                          fmt::join(names, ", ")),
              ErrorKind::usage);
}

}  // namespace

Preset read_preset(const std::string& yaml, const std::string& where, const std::vector<std::string>& flags) {
  Preset preset = Reader(where, flags).read(yaml);
  for (const auto& [key, value] : preset.values) {
    const auto choices = preset.choices.find(key);
    if (choices == preset.choices.end()) continue;
    if (std::find(choices->second.begin(), choices->second.end(), value) != choices->second.end()) continue;
    throw Error(fmt::format("[preset] {}: {} is {}, which is not one of its choices ({})", where, key, value,
                            fmt::join(choices->second, ", ")),
                ErrorKind::usage);
  }
  return preset;
}

std::vector<std::string> with_preset(const std::vector<std::string>& words, const std::vector<std::string>& off) {
  const std::string name = value_of(words, "--preset");
  if (name.empty()) return words;
  const Preset preset = read_preset(yaml_of(name), name, train::option_names());
  std::vector<std::string> all;
  for (const auto& [key, value] : without_replaced(preset.values, words)) {
    if (std::find(off.begin(), off.end(), key) == off.end()) all.push_back(fmt::format("--{}={}", key, value));
  }
  std::fprintf(stderr, "preset %s: %s\n", printable(name).c_str(),
               printable(fmt::format("{}", fmt::join(all, " "))).c_str());
  for (const auto& [key, choices] : preset.choices) {
    const std::string value = value_of(words, "--" + key);
    if (value.empty() || std::find(choices.begin(), choices.end(), value) != choices.end()) continue;
    throw Error(fmt::format("--{}={} is not possible with --preset={} (allowed: {})", key, value, name,
                            fmt::join(choices, ", ")),
                ErrorKind::usage);
  }
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

}  // namespace ridgeline::cli
