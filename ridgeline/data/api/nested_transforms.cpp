#include "ridgeline/data/api/nested_transforms.h"

namespace ridgeline::data {

Transform Compose(std::vector<Transform> operations) { return {"compose", {}, "", std::move(operations)}; }
Transform RandomApply(std::vector<Transform> operations, double p) {
  return {"random_apply", {{"p", p}}, "", std::move(operations)};
}
Transform RandomChoice(std::vector<Transform> operations, std::vector<double> weights) {
  return {"random_choice", {{"weights", std::move(weights)}}, "", std::move(operations)};
}
Transform RandomOrder(std::vector<Transform> operations) { return {"random_order", {}, "", std::move(operations)}; }

}  // namespace ridgeline::data
