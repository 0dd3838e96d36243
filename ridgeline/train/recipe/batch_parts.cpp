#include "ridgeline/train/recipe/batch_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/pass/in_parts.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/train/recipe/recipe_model.h"

namespace ridgeline::train {
namespace {

constexpr std::int64_t kMostParts = 64;  // that a user may ask for
constexpr std::int64_t kLargeParts = 8, kLeastRowsOfLarge = 32;

bool power_of_two(std::int64_t n) { return n > 0 && std::has_single_bit(static_cast<std::uint64_t>(n)); }

// A batch norm over each rank's own batch is not that of one rank with all rows, whatever the order of sums. With a row
// mask there is no batch norm op.
bool has_own_statistics(const Recipe& recipe) {
  if (recipe.sync_batch_norm) return false;
  nn::StepOptions options = step_options(recipe, nn::model_named(recipe.model).classes);
  options.row_mask = false;
  const nn::Step step = nn::build_training_step(options, {});
  return std::any_of(step.graph.nodes.begin(), step.graph.nodes.end(),
                     [](const Node& node) { return node.op == "batch_norm_train"; });
}

}  // namespace

std::int64_t parts_of_rows(std::int64_t rows, std::int64_t wanted) {
  if (wanted != 0) {
    if (!power_of_two(wanted) || wanted > kMostParts || rows % wanted != 0) {
      throw Error(fmt::format("--batch_parts={} does not divide the {} rows of a batch of all ranks (allowed: 0 for "
                              "automatic, or a power of two up to {} that divides them)",
                              wanted, rows, kMostParts),
                  ErrorKind::usage);
    }
    return wanted;
  }
  if (rows % kLargeParts == 0 && rows / kLargeParts >= kLeastRowsOfLarge) return kLargeParts;
  for (const std::int64_t parts : {4, 2}) {
    if (rows % parts == 0) return parts;
  }
  return 1;
}

Recipe with_batch_parts(Recipe recipe) {
  recipe.parts = 1;
  recipe.place = recipe.data_rank();
  recipe.ordered = false;
  if (recipe.reproducibility == "fast") {
    if (recipe.batch_parts > 1) {
      throw Error(
          "--batch_parts is for runs whose bits do not follow from the number of ranks: it needs "
          "--reproducibility=deterministic or portable",
          ErrorKind::usage);
    }
    return recipe;
  }
  if (recipe.ranks > 1 && recipe.parallel.divides()) {
    if (recipe.batch_parts > 1)
      throw Error("--batch_parts goes with --parallel_mode=data_parallel, without stages", ErrorKind::usage);
    return recipe;
  }
  const std::int64_t rows = recipe.batch_size * recipe.ranks;
  const std::int64_t all = parts_of_rows(rows, recipe.batch_parts);
  if (recipe.batch_parts == 1) return recipe;
  if (has_own_statistics(recipe)) {
    if (recipe.batch_parts == 0) return recipe;
    throw Error(fmt::format("--batch_parts={}: {} has batch norms, whose statistics would be those of a part (allowed: "
                            "with --sync_batch_norm, or 0 or 1 without)",
                            recipe.batch_parts, recipe.model),
                ErrorKind::usage);
  }
  if (all % recipe.ranks != 0) {
    throw Error(fmt::format("--reproducibility={} computes a batch of {} rows in {} parts, which {} ranks cannot share "
                            "(allowed: a number of ranks that divides the parts; --batch_parts=N for N parts, in all "
                            "runs that shall have the same bits; --batch_parts=1 where they need not)",
                            recipe.reproducibility, rows, all, recipe.ranks),
                ErrorKind::usage);
  }
  recipe.ordered = true;
  recipe.parts = all / recipe.ranks;
  recipe.place = place_of_rank(recipe.data_rank(), recipe.ranks);
  return recipe;
}

Tensor rows_of_part(const Tensor& rows, std::int64_t part, std::int64_t parts) {
  Shape shape = rows.shape();
  const std::size_t row = rows.byte_size() / static_cast<std::size_t>(shape[0]);
  shape[0] /= parts;
  Tensor result(rows.dtype(), shape);
  const auto* from = static_cast<const std::uint8_t*>(rows.raw());
  auto* to = static_cast<std::uint8_t*>(result.raw());
  for (std::int64_t i = 0; i < shape[0]; ++i)
    std::memcpy(to + static_cast<std::size_t>(i) * row, from + static_cast<std::size_t>(i * parts + part) * row, row);
  return result;
}

}  // namespace ridgeline::train
