#include "ridgeline/train/experiment/relations.h"

#include <fmt/format.h>

#include <cmath>

namespace ridgeline::train {
namespace {

using Quantity = Claim::Quantity;

std::string words(Quantity quantity, char relation) {
  switch (relation) {
    case '=': return "equal";
    case '<': return quantity == Quantity::time ? "faster" : "lower";
    case '>': return quantity == Quantity::time ? "slower" : "higher";
    default: return "unknown";
  }
}

char relation_of(Quantity quantity, const Measured& base, const Measured& other) {
  switch (quantity) {
    case Quantity::accuracy: return relation_of_accuracy(base, other);
    case Quantity::loss: return relation_of_loss(base, other);
    case Quantity::time: break;
  }
  return relation_of_time(base, other);
}

// The numbers behind a relation.
std::string figures(Quantity quantity, const Measured& base, const Measured& other) {
  if (quantity == Quantity::time)
    return fmt::format("{:.1f} ms beside {:.1f}", mean(other.milliseconds), mean(base.milliseconds));
  if (quantity == Quantity::loss && same_numbers(base, other)) return "to the bit";
  const bool loss = quantity == Quantity::loss;
  const auto paired = loss ? paired_difference(base.loss, other.loss) : paired_difference(base.top_1, other.top_1);
  if (!paired) return "no value";
  return loss ? paired->to_text(3) : paired->to_text(2) + " points";
}

const Measured* find(const Experiment& experiment, const std::vector<Measured>& measured, const std::string& label) {
  for (std::size_t v = 0; v < experiment.variants.size(); ++v)
    if (experiment.variants[v].label == label) return measured[v].failure.empty() ? &measured[v] : nullptr;
  return nullptr;
}

}  // namespace

ReportTable relations(const Experiment& experiment, const std::vector<Measured>& measured) {
  ReportTable table{.heading = kRelations,
                    .note =
                        "Times are equal within 5 % and two standard errors, accuracies within 0.5 points and two "
                        "standard errors, losses to the bit or within 1 % and two standard errors.",
                    .columns = {"compared", "the document", "here", "the same", "if not, why"},
                    .rows = {}};
  for (const Claim& claim : experiment.claims) {
    const Measured *of = find(experiment, measured, claim.of), *against = find(experiment, measured, claim.against);
    if (of == nullptr || against == nullptr) continue;
    const char* what = claim.quantity == Quantity::time       ? "batch time"
                       : claim.quantity == Quantity::accuracy ? "accuracy"
                                                              : "loss";
    // A time is based on many lines of its run; an accuracy of one seed may be chance.
    const bool by_chance = claim.quantity != Quantity::time && of->top_1.size() < 2 && !same_numbers(*against, *of);
    const char here = by_chance ? '?' : relation_of(claim.quantity, *against, *of);
    const bool same = here == claim.relation;
    table.rows.push_back({fmt::format("{}: {} beside {}", what, claim.of, claim.against),
                          fmt::format("{} ({})", words(claim.quantity, claim.relation), claim.document),
                          fmt::format("{} ({})", words(claim.quantity, here), figures(claim.quantity, *against, *of)),
                          same        ? "yes"
                          : by_chance ? "?"
                                      : "no",
                          same        ? ""
                          : by_chance ? "one seed does not tell it from chance: --seeds=1,2,3 does"
                                      : claim.otherwise});
  }
  return table;
}

}  // namespace ridgeline::train
