#include "ridgeline/data/standard/archive_classes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <mutex>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/core/user_cache.h"
#include "ridgeline/data/runtime/for_each.h"
#include "ridgeline/data/source/patterns.h"
#include "ridgeline/data/source/tar_labels.h"

namespace ridgeline::data {
namespace {

// The labels of one or more archives, and where the first of each kind is.
struct Labels {
  std::set<std::string, std::less<>> names;
  std::int64_t greatest = -1;
  std::string first_name, first_number;  // "train-0.tar: sample a/0017 has 'cat'"

  void add(std::string_view text, const std::string& path, std::string_view key) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    std::string& first = is_number ? first_number : first_name;
    if (first.empty()) first = fmt::format("{}: sample {} has '{}'", path, key, text.substr(0, 40));
    if (is_number) greatest = std::max(greatest, number);
    if (!names.contains(text)) names.emplace(text);
  }
  void add(const Labels& other) {
    names.insert(other.names.begin(), other.names.end());
    greatest = std::max(greatest, other.greatest);
    if (first_name.empty()) first_name = other.first_name;
    if (first_number.empty()) first_number = other.first_number;
  }
};

TarSamples open_archive(const std::string& path) {
  return TarSamples(path, {.index_cache_directory = index_directory(path)});
}

std::string suggested_label(const std::vector<std::string>& files) {
  for (const std::string& path : files) {
    const TarSamples samples = open_archive(path);
    if (samples.size() == 0) continue;
    std::string label = suggested_tar_label(samples, 0);
    if (!label.empty()) return label;
    std::vector<std::string> there;
    for (const TarSamples::Field& field : samples.fields(0)) there.push_back(field.name);
    throw Error(
        fmt::format("{}: nothing in sample '{}' looks like a class (looked for the field cls, a member such as 'label' "
                    "of the field json, a folder; it has the fields {}): --label_field names where it stands",
                    path, samples.key(0), fmt::join(there, ", ")));
  }
  throw Error(fmt::format("no samples in {}", fmt::join(files, ", ")));
}

Labels labels_of(const std::string& path, const TarLabel& label) {
  Labels labels;
  const TarSamples samples = open_archive(path);
  std::string storage;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (label.kind == TarLabel::Kind::folder) {
      if (const std::string_view folder = folder_of_key(samples.key(i)); !folder.empty()) labels.names.emplace(folder);
      continue;
    }
    try {
      const auto content = samples.archive().member(tar_label_member(samples, i, label), storage);
      if (const std::string text = tar_label_text(content, label).text; !text.empty())
        labels.add(text, path, samples.key(i));
    } catch (const Error&) {  // a bad sample, for who reads it
    }
  }
  return labels;
}

}  // namespace

std::string archive_label_field(const std::vector<std::string>& files, const std::string& label) {
  return label == "auto" ? suggested_label(files) : label;
}

ArchiveClasses find_archive_classes(const std::vector<std::string>& files, const std::string& label, int workers) {
  ArchiveClasses classes;
  const TarLabel place = parse_tar_label(label);
  std::vector<Labels> by_file(files.size());
  for_each(static_cast<std::int64_t>(files.size()), workers, [&](std::int64_t i, int) {
    const auto at = static_cast<std::size_t>(i);
    by_file[at] = labels_of(files[at], place);
  });
  bound_index_directory();
  Labels all;
  for (const Labels& labels : by_file) all.add(labels);
  if (all.names.empty())
    throw Error(fmt::format("no sample of {}{} has a label in '{}' (--label_field)", files[0],
                            files.size() == 1 ? "" : fmt::format(" and {} more", files.size() - 1), label));
  if (!all.first_name.empty() && !all.first_number.empty())
    throw Error(
        fmt::format("labels in '{}' are numbers and names: {}, but {}", label, all.first_number, all.first_name));
  if (all.greatest >= 0) {
    classes.count = all.greatest + 1;
  } else {
    classes.names.assign(all.names.begin(), all.names.end());
    classes.count = static_cast<std::int64_t>(classes.names.size());
  }
  return classes;
}

}  // namespace ridgeline::data
