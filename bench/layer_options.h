// bench/layer_options.h
//
// Command line options (--name=value) of the programs that time kernels layer by layer.
#pragma once

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace ridgeline::bench {

struct LayerOptions {
  int repetitions = 1;
  std::int64_t batch = 0;   // replaces the batch size of every layer; 0: their own
  std::string layer, pass;  // only layers whose name contains the text
};

// Reads the words into `options`. Each of `switches` is a complete word ("--rules=all") and the flag that it sets.
// False if a word is unknown or its number is less than 1.
inline bool read_options(int argc, char** argv, LayerOptions& options,
                         std::initializer_list<std::pair<std::string_view, bool*>> switches) {
  const auto number = [](std::string_view text, auto& value) {
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && rest == text.data() + text.size() && value > 0;
  };
  const auto read = [&](std::string_view word) {
    for (const auto& [name, set] : switches) {
      if (word == name) return *set = true;
    }
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view name = word.substr(0, equals), value = word.substr(equals + 1);
    if (name == "--repetitions") return number(value, options.repetitions);
    if (name == "--batch") return number(value, options.batch);
    if (name != "--layer" && name != "--pass") return false;
    (name == "--layer" ? options.layer : options.pass) = value;
    return true;
  };
  for (int i = 1; i < argc; ++i) {
    if (!read(argv[i])) return false;
  }
  return true;
}

inline bool contains(std::string_view name, std::string_view text) { return name.find(text) != std::string_view::npos; }

}  // namespace ridgeline::bench
