// What weights that know the classes say about labels and about the order of channels.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ridgeline/train/doctor/checks.h"

namespace ridgeline::train {
namespace {

constexpr std::int64_t kFewestRows = 48;  // below that a difference may be chance
constexpr double kMuchBetter = 0.2;       // of an accuracy: five standard errors and more

// Shares of the images that are recognised, one for each thing that may be wrong.
struct Explanations {
  double as_is = 0, added = 0, subtracted = 0;  // 1 added to each label, 1 subtracted
  double swapped = 0;                           // red and blue exchanged
};

double share_of_hits(const std::vector<std::int64_t>& predicted, const std::vector<std::int64_t>& labels,
                     std::int64_t shift, std::int64_t classes) {
  if (predicted.size() != labels.size()) return 0;
  std::int64_t hits = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) hits += predicted[i] == (labels[i] + shift + classes) % classes;
  return static_cast<double>(hits) / static_cast<double>(labels.size());
}

Explanations explain(const Recognition& seen) {
  return {share_of_hits(seen.predicted, seen.labels, 0, seen.classes),
          share_of_hits(seen.predicted, seen.labels, 1, seen.classes),
          share_of_hits(seen.predicted, seen.labels, -1, seen.classes),
          share_of_hits(seen.predicted_swapped, seen.labels, 0, seen.classes)};
}

// The same when labels are renamed to classes one to one, the most frequent pairs first: weights that predict one class
// everywhere explain one label. With fewer than five images a label any prediction is the most frequent: 0.
double share_renamed(const Recognition& seen) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> counts;
  for (std::size_t i = 0; i < seen.labels.size(); ++i) ++counts[{seen.labels[i], seen.predicted[i]}];
  std::vector<std::pair<std::int64_t, std::pair<std::int64_t, std::int64_t>>> pairs;
  std::set<std::int64_t> labels, named, taken;
  for (const auto& [pair, count] : counts) {
    labels.insert(pair.first);
    pairs.emplace_back(-count, pair);
  }
  if (labels.size() * 5 > seen.labels.size()) return 0;
  std::sort(pairs.begin(), pairs.end());
  std::int64_t hits = 0;
  for (const auto& [negated, pair] : pairs) {
    if (named.contains(pair.first) || taken.contains(pair.second)) continue;
    named.insert(pair.first);
    taken.insert(pair.second);
    hits -= negated;
  }
  return static_cast<double>(hits) / static_cast<double>(seen.labels.size());
}

const Recognition* enough(Examination& examination, Findings& findings) {
  std::string why;
  const Recognition* seen = examination.recognition(why);
  if (seen != nullptr && static_cast<std::int64_t>(seen->labels.size()) < kFewestRows) {
    why = fmt::format("{} images are too few", seen->labels.size());
    seen = nullptr;
  }
  if (seen == nullptr) findings.leave_out(why);
  return seen;
}

}  // namespace

void check_labels(Examination& examination, Findings& findings) {
  const Recognition* seen = enough(examination, findings);
  if (seen == nullptr) return;
  const Explanations share = explain(*seen);
  const std::string known = fmt::format("{} recognises {:.0f} % of {} images", examination.subject().reference,
                                        100 * share.as_is, seen->labels.size());
  const double shifted = std::max(share.added, share.subtracted);
  const double renamed = share_renamed(*seen);
  if (shifted >= share.as_is + kMuchBetter && shifted >= share.swapped) {
    findings.wrong(fmt::format("the labels are shifted by one: {}, and {:.0f} % with 1 {} every label", known,
                               100 * shifted, share.added > share.subtracted ? "added to" : "subtracted from"),
                   "--label_base=0 or 1 for records; for folders the order of the class names, which one more or one "
                   "less folder shifts");
  } else if (renamed >= std::max(share.as_is, share.swapped) + 2 * kMuchBetter) {
    findings.wrong(fmt::format("the labels are those of other classes: {}, and {:.0f} % when each label stands for "
                               "another class",
                               known, 100 * renamed),
                   "the classes in the order that the weights were trained with");
  } else {
    findings.note(known);
  }
}

void check_channels(Examination& examination, Findings& findings) {
  const Recognition* seen = enough(examination, findings);
  if (seen == nullptr) return;
  if (seen->predicted_swapped.empty()) return findings.leave_out("images have not three channels");
  const Explanations share = explain(*seen);
  if (share.swapped < share.as_is + kMuchBetter / 2 || share.swapped <= std::max(share.added, share.subtracted)) return;
  findings.wrong(
      fmt::format("red and blue are exchanged: {} recognises {:.0f} % of the images as they are and {:.0f} % "
                  "with the channels in reverse order",
                  examination.subject().reference, 100 * share.as_is, 100 * share.swapped),
      "RGB where images are read or written: OpenCV gives BGR");
}

}  // namespace ridgeline::train
