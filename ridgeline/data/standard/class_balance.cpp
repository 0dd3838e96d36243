#include "ridgeline/data/standard/class_balance.h"

#include "ridgeline/core/error.h"
#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/runtime/for_each.h"
#include "ridgeline/data/source/source.h"

namespace ridgeline::data {

std::vector<std::int64_t> labels_of(const Dataset& source, bool raise, int workers) {
  const DataGraph graph = source.graph();
  const std::vector<const Node*> sources = sources_of(graph);
  RIDGELINE_CHECK(sources.size() == 1, "labels of a dataset with several sources");
  const Source& records = source_of(*sources.front());
  std::vector<std::int64_t> labels(records.size(), -1);
  for_each(static_cast<std::int64_t>(labels.size()), workers, [&](std::int64_t i, int) {
    const auto index = static_cast<std::size_t>(i);
    try {
      labels[index] = read_label(records, index);
    } catch (const Error&) {
      if (raise) throw;
    }
  });
  return labels;
}

double ClassBalance::weight(std::int64_t label) const {
  const std::int64_t count = counts[static_cast<std::size_t>(label)];
  return count == 0 ? 1 : static_cast<double>(rows) / (static_cast<double>(classes) * static_cast<double>(count));
}

ClassBalance class_balance(const std::vector<std::int64_t>& labels, std::int64_t classes) {
  ClassBalance balance;
  balance.counts.resize(static_cast<std::size_t>(classes));
  for (const std::int64_t label : labels) {
    if (label >= 0 && label < classes) ++balance.counts[static_cast<std::size_t>(label)];
  }
  for (std::int64_t label = 0; label < classes; ++label) {
    const auto count_of = [&](std::int64_t of) { return balance.counts[static_cast<std::size_t>(of)]; };
    if (count_of(label) == 0) continue;
    if (balance.classes++ == 0) balance.rarest = balance.commonest = label;
    balance.rows += count_of(label);
    if (count_of(label) < count_of(balance.rarest)) balance.rarest = label;
    if (count_of(label) > count_of(balance.commonest)) balance.commonest = label;
  }
  if (balance.classes == 0) throw Error("no training image has a label: classes cannot be balanced");
  return balance;
}

}  // namespace ridgeline::data
