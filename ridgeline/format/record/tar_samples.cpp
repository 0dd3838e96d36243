#include "ridgeline/format/record/tar_samples.h"

#include <algorithm>
#include <set>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

// Not std::tolower: that one follows the locale.
std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool is_meta(std::string_view name) {
  const std::string_view first = name.substr(0, name.find('/'));
  return first.size() >= 4 && first.starts_with("__") && first.ends_with("__");
}

}  // namespace

TarSampleName split_sample_name(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = name.find('.', base);
  if (dot == std::string_view::npos || dot == base || is_meta(name)) return {};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

TarSamples::TarSamples(TarFile archive) : archive_(std::move(archive)) {
  std::set<std::string> fields;
  std::string_view key;
  for (std::size_t m = 0; m < archive_.size(); ++m) {
    const TarSampleName name = split_sample_name(archive_.name(m));
    if (name.key.empty()) continue;
    if (samples_.empty() || name.key != key) {
      samples_.push_back(kept_.size());
      fields.clear();
      key = name.key;
    }
    if (!fields.insert(lower(name.field)).second) {
      throw Error("[tar] " + archive_.path() + ": header at byte " + std::to_string(archive_.header_offset(m)) + " (" +
                  std::string(archive_.name(m)) + ") gives sample '" + std::string(key) + "' the field '" +
                  lower(name.field) + "' a second time");
    }
    kept_.push_back(m);
  }
  samples_.push_back(kept_.size());
}

std::string_view TarSamples::key(std::size_t i) const {
  RIDGELINE_CHECK(i < size(), "sample number out of range");
  return split_sample_name(archive_.name(kept_[samples_[i]])).key;
}

std::vector<TarSamples::Field> TarSamples::fields(std::size_t i) const {
  RIDGELINE_CHECK(i < size(), "sample number out of range");
  std::vector<Field> fields;
  for (std::size_t k = samples_[i]; k < samples_[i + 1]; ++k) {
    fields.push_back({lower(split_sample_name(archive_.name(kept_[k])).field), kept_[k]});
  }
  return fields;
}

std::size_t TarSamples::find(std::size_t i, std::string_view name) const {
  RIDGELINE_CHECK(i < size(), "sample number out of range");
  for (std::size_t k = samples_[i]; k < samples_[i + 1]; ++k) {
    if (lower(split_sample_name(archive_.name(kept_[k])).field) == name) return k;
  }
  return kept_.size();
}

bool TarSamples::has(std::size_t i, std::string_view field) const { return find(i, field) < kept_.size(); }

std::size_t TarSamples::member(std::size_t i, std::string_view name) const {
  const std::size_t found = find(i, name);
  if (found < kept_.size()) return kept_[found];
  std::string message = "[tar] " + archive_.path() + ": sample " + std::to_string(i) + " ('" + std::string(key(i)) +
                        "') at byte " + std::to_string(offset(i)) + " has no field '" + std::string(name) +
                        "' (it has:";
  for (const Field& field : fields(i)) message += " " + field.name;
  throw Error(message + ")");
}

std::span<const std::uint8_t> TarSamples::field(std::size_t i, std::string_view name, std::string& storage) const {
  return archive_.member(member(i, name), storage);
}

}  // namespace ridgeline
