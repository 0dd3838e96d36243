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
      row<[](O& o) -> auto& { return o.epochs; }>("epochs", "number of passes over the data; -1: endless", -1),
      row<[](O& o) -> auto& { return o.workers; }>(
          "workers", "number of worker threads; 0: the graph's hint, else one per core", 0),
      row<[](O& o) -> auto& { return o.memory_limit; }>(
          "memory_limit",
          "most memory for prefetched batches, in bytes; 0: the graph's hint, else 512 MiB or, if larger, six batches, "
          "as far as memory allows",
          0),
      row<[](O& o) -> auto& { return o.slots; }>(
          "slots",
          "largest number of batches that are prefetched or in use at the same time; 0: the graph's hint, else 8", 0),
      row<[](O& o) -> auto& { return o.seed; }>("seed", "random seed, instead of the graph's; absent: the graph's"),
      {.name = "start",
       .help = "iterator state to resume from, as JSON",
       .type = ArgType::text,
       .set = [](O& o, const Value& value) { o.start = IteratorState::from_json(std::get<std::string>(value)); },
       .get = [](const O& o) -> Value { return o.start ? o.start->to_json() : std::string(); },
       .may_be_absent = true},
      row<[](O& o) -> auto& { return o.raw_images; }>(
          "raw_images", "give u8 images and a column flip; the consumer does a final flip and Normalize itself"),
      row<[](O& o) -> auto& { return o.pad_last; }>("pad_last",
                                                    "make all batches the same size: missing and skipped samples are "
                                                    "rows of zeros whose value in the column mask is 0"),
      row<[](O& o) -> auto& { return o.pull; }>(
          "pull", "no worker threads: the consumer's thread makes the batches; the reference for results"),
      row<[](O& o) -> auto& { return o.disabled_passes; }>("disabled_passes", "names of passes to skip"),
      {.name = "bad_samples",
       .help = "what happens on a bad sample: raise, skip, or replace (another sample takes its place)",
       .type = ArgType::text,
       .set = [](O& o,
                 const Value& value) { o.bad_samples.policy = parse_bad_sample_policy(std::get<std::string>(value)); },
       .get = [](const O& o) -> Value { return name_of(o.bad_samples.policy); }},
      row<[](O& o) -> auto& { return o.bad_samples.budget; }>(
          "bad_sample_budget", "number of bad samples that a run tolerates; one more ends it", 0),
      row<[](O& o) -> auto& { return o.bad_samples.quarantine; }>(
          "quarantine", "write a JSON line for each bad sample to this file; empty: none"),
      row<[](O& o) -> auto& { return o.jpeg_index_memory; }>(
          "jpeg_index_memory",
          "most memory for JPEG indices, by which later epochs decode only the crop, in bytes; 0: none; -1: a "
          "sixteenth of the available memory",
          -1),
      row<[](O& o) -> auto& { return o.jpeg_index_directory; }>(
          "jpeg_index_directory",
          "folder that keeps JPEG indices for later runs; empty: none; absent: the user's cache folder, for runs of "
          "several epochs whose indices reach 1 MiB"),
      row<[](O& o) -> auto& { return o.jpeg_index_disk; }>(
          "jpeg_index_disk", "most disk space for JPEG indices in jpeg_index_directory, in bytes", 0),
      row<[](O& o) -> auto& { return o.autotune; }>("autotune",
                                                    "adapt the number of workers to what the consumer needs"),
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
