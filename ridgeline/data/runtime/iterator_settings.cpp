#include "ridgeline/data/runtime/iterator_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ridgeline/core/error.h"

namespace ridgeline::data {
namespace {

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::min();

// The type in which the table holds a field.
template <class T>
Value value_of(const T& field) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string> || std::is_same_v<T, Texts>) {
    return field;
  } else {
    return static_cast<std::int64_t>(field);
  }
}

template <class T>
void assign(T& field, const Value& value) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string> || std::is_same_v<T, Texts>) {
    field = std::get<T>(value);
  } else {
    field = static_cast<T>(std::get<std::int64_t>(value));
  }
}

template <class T>
constexpr ArgType type_of() {
  if constexpr (std::is_same_v<T, bool>) return ArgType::boolean;
  if constexpr (std::is_same_v<T, std::string>) return ArgType::text;
  if constexpr (std::is_same_v<T, Texts>) return ArgType::texts;
  return ArgType::integer;
}

template <class T>
T& present(T& field) {
  return field;
}
template <class T>
T& present(std::optional<T>& field) {
  return field.emplace();
}
template <class T>
Value held(const T& field) {
  return value_of(field);
}
template <class T>
Value held(const std::optional<T>& field) {
  return value_of(field.value_or(T()));
}
template <class T>
struct Held {
  using Type = T;
  static constexpr bool kMayBeAbsent = false;
};
template <class T>
struct Held<std::optional<T>> {
  using Type = T;
  static constexpr bool kMayBeAbsent = true;
};

// `Field` gives the member of the options.
template <auto Field>
IteratorSetting row(std::string_view name, std::string_view help, std::int64_t least = kAny) {
  using H = Held<std::remove_cvref_t<decltype(Field(std::declval<IteratorOptions&>()))>>;
  return {.name = name,
          .help = help,
          .type = type_of<typename H::Type>(),
          .set = [](IteratorOptions& o, const Value& value) { assign(present(Field(o)), value); },
          .get = [](const IteratorOptions& o) { return held(Field(const_cast<IteratorOptions&>(o))); },
          .may_be_absent = H::kMayBeAbsent,
          .least = least,
          .all_bits = std::is_same_v<typename H::Type, std::uint64_t>};
}

using O = IteratorOptions;

std::string name_of(BadSamplePolicy policy) {
  switch (policy) {
    case BadSamplePolicy::skip: return "skip";
    case BadSamplePolicy::replace: return "replace";
    case BadSamplePolicy::raise: break;
  }
  return "raise";
}

std::string_view type_text(ArgType type) {
  switch (type) {
    case ArgType::boolean: return "true or false";
    case ArgType::integer: return "a whole number";
    case ArgType::texts: return "a list of texts";
    default: return "a text";
  }
}

}  // namespace

std::span<const IteratorSetting> iterator_settings() {
  static const std::vector<IteratorSetting> table{
      row<[](O& o) -> auto& { return o.epochs; }>("epochs", "passes over the data; -1: without end", -1),
      row<[](O& o) -> auto& { return o.workers; }>("workers", "threads; 0: the graph's hint, else one per core", 0),
      row<[](O& o) -> auto& { return o.memory_limit; }>(
          "memory_limit",
          "bytes of prepared batches; 0: the graph's hint, else 512 MiB, or six batches, as memory allows", 0),
      row<[](O& o) -> auto& { return o.slots; }>(
          "slots", "most batches that are prepared or lent at one time; 0: the graph's hint, else 8", 0),
      row<[](O& o) -> auto& { return o.seed; }>("seed", "instead of the graph's, where it is given"),
      {.name = "start",
       .help = "a state to go on from, as JSON",
       .type = ArgType::text,
       .set = [](O& o, const Value& value) { o.start = IteratorState::from_json(std::get<std::string>(value)); },
       .get = [](const O& o) -> Value { return o.start ? o.start->to_json() : std::string(); },
       .may_be_absent = true},
      row<[](O& o) -> auto& { return o.raw_images; }>(
          "raw_images", "u8 images and a column flip; a trailing flip and Normalize are left to the consumer"),
      row<[](O& o) -> auto& { return o.pad_last; }>(
          "pad_last",
          "batches of one size: what is missing at the end, and samples that are skipped, are rows of zeros "
          "that the column mask tells"),
      row<[](O& o) -> auto& { return o.pull; }>(
          "pull", "no threads: the consumer does the work itself, the reference for results"),
      row<[](O& o) -> auto& { return o.disabled_passes; }>("disabled_passes", "names of passes that are left out"),
      {.name = "bad_samples",
       .help = "what a sample that cannot be made does: raise, skip, or replace (another one takes its place)",
       .type = ArgType::text,
       .set = [](O& o,
                 const Value& value) { o.bad_samples.policy = parse_bad_sample_policy(std::get<std::string>(value)); },
       .get = [](const O& o) -> Value { return name_of(o.bad_samples.policy); }},
      row<[](O& o) -> auto& { return o.bad_samples.budget; }>("bad_sample_budget",
                                                              "bad samples of a run; one more ends it", 0),
      row<[](O& o) -> auto& { return o.bad_samples.quarantine; }>(
          "quarantine", "a file that gets a JSON line for each bad sample; empty: none"),
      row<[](O& o) -> auto& { return o.jpeg_index_memory; }>(
          "jpeg_index_memory",
          "bytes for the indices that let later epochs skip to their crops; 0: none; -1: a sixteenth of the memory "
          "there is",
          -1),
      row<[](O& o) -> auto& { return o.jpeg_index_directory; }>(
          "jpeg_index_directory",
          "folder that keeps these indices for later runs; empty: none are kept or read; absent: "
          "the user's cache folder, in runs of several epochs and once they are 1 MiB"),
      row<[](O& o) -> auto& { return o.jpeg_index_disk; }>("jpeg_index_disk",
                                                           "bytes that all of them may take in that folder", 0),
      row<[](O& o) -> auto& { return o.autotune; }>("autotune", "as few workers as the consumer needs"),
  };
  return table;
}

const IteratorSetting& iterator_setting(std::string_view name) {
  std::vector<std::string> names;
  for (const IteratorSetting& setting : iterator_settings()) {
    if (setting.name == name) return setting;
    names.emplace_back(setting.name);
  }
  std::string all;
  for (const std::string& known : names) all += (all.empty() ? "" : ", ") + known;
  throw Error(fmt::format("[iterator] there is no setting '{}'{} (allowed: {})", name,
                          did_you_mean(std::string(name), names), all),
              ErrorKind::usage);
}

void set(IteratorOptions& options, const IteratorSetting& setting, const Value& value) {
  if (static_cast<ArgType>(value.index()) != setting.type)
    throw Error(fmt::format("[iterator] {} must be {}", setting.name, type_text(setting.type)), ErrorKind::usage);
  if (const auto* number = std::get_if<std::int64_t>(&value); number != nullptr && *number < setting.least) {
    throw Error(
        fmt::format("[iterator] {} is {}, out of range (allowed: {} or more)", setting.name, *number, setting.least),
        ErrorKind::usage);
  }
  setting.set(options, value);
}

}  // namespace ridgeline::data
