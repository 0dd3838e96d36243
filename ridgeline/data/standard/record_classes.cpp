#include "ridgeline/data/standard/record_classes.h"

#include <mutex>

#include "ridgeline/data/runtime/for_each.h"
#include "ridgeline/data/source/patterns.h"
#include "ridgeline/data/source/record_labels.h"
#include "ridgeline/format/record/tfrecord.h"

namespace ridgeline::data {
namespace {

// Labels so far apart do not number classes: a name for each number between would only take memory.
constexpr std::int64_t kMostGaps = 100'000;

using ByLabel = std::map<std::int64_t, RecordLabels::Texts>;

std::vector<std::string> names_of(const ByLabel& found, int label_base, std::int64_t count,
                                  std::string RecordLabels::Texts::*which) {
  std::vector<std::string> names(static_cast<std::size_t>(count));
  bool any = false;
  for (const auto& [label, texts] : found) {
    names[static_cast<std::size_t>(label - label_base)] = texts.*which;
    any |= !(texts.*which).empty();
  }
  return any ? names : std::vector<std::string>();
}

}  // namespace

RecordClasses find_record_classes(const std::vector<std::string>& files, std::optional<int> label_base, int workers) {
  RecordLabels all;
  std::mutex mutex;
  for_each(static_cast<std::int64_t>(files.size()), workers, [&](std::int64_t i, int) {
    const std::string& path = files[static_cast<std::size_t>(i)];
    const TFRecordFile file(path, {.index_cache_directory = index_directory(path), .keep_readable_prefix = true});
    const RecordLabels found = labels_of(file);
    const std::lock_guard lock(mutex);
    all.from_zero |= found.from_zero;
    for (const auto& [label, texts] : found.by_label) all.by_label[label].add(texts);
  });
  bound_index_directory();
  RecordClasses classes{.label_base = label_base ? *label_base : label_base_of(all)};
  if (!all.by_label.empty()) classes.least = all.by_label.begin()->first;
  std::erase_if(all.by_label, [&](const auto& item) {
    return item.first < classes.label_base || item.first - classes.label_base >= INT32_MAX;
  });
  if (all.by_label.empty()) return classes;
  classes.count = all.by_label.rbegin()->first - classes.label_base + 1;
  if (classes.count - static_cast<std::int64_t>(all.by_label.size()) > kMostGaps) return classes;
  classes.names = names_of(all.by_label, classes.label_base, classes.count, &RecordLabels::Texts::text);
  classes.ids = names_of(all.by_label, classes.label_base, classes.count, &RecordLabels::Texts::synset);
  if (classes.names.empty()) std::swap(classes.names, classes.ids);
  if (classes.ids == classes.names) classes.ids.clear();
  return classes;
}

}  // namespace ridgeline::data
