#include "ridgeline/train/recipe/session_options.h"

#include "ridgeline/core/error.h"

namespace ridgeline::train {

std::string implmode_of(const Recipe& recipe) {
  return promise_of(recipe).high_precision ? "high_precision" : "high_performance";
}

namespace {

// The device entry's name, which is static; empty for f32.
std::string_view fp32_compute_of(const Recipe& recipe) {
  if (recipe.fp32_compute == "f32") return {};
  std::string allowed = "f32";
  for (const std::string_view name : device_named(recipe.device).entry->fp32_computes) {
    if (name == recipe.fp32_compute) return name;
    allowed += ", " + std::string(name);
  }
  throw Error("--fp32_compute=" + recipe.fp32_compute + " (allowed: " + allowed + ")", ErrorKind::usage);
}

}  // namespace

KernelPromise promise_of(const Recipe& recipe) {
  // The original's two, each also under the name that says that it applies to all ops, as it does here.
  const std::string& mode = recipe.op_select_implmode;
  const bool precise = mode == "high_precision" || mode == "high_precision_for_all";
  if (!precise && mode != "high_performance" && mode != "high_performance_for_all") {
    throw Error("--op_select_implmode=" + mode +
                    " (allowed: high_precision, high_performance, high_precision_for_all, high_performance_for_all)",
                ErrorKind::usage);
  }
  return {reproducibility_named(recipe.reproducibility), precise, fp32_compute_of(recipe)};
}

PrecisionOptions precision_of(const Recipe& recipe) {
  PrecisionOptions options = recipe.precision;
  options.device = recipe.device;
  return options;
}

SessionOptions session_options(const Recipe& recipe) {
  SessionOptions options{.compute_threads = recipe.intra_op_parallelism_threads,
                         .parallel_launches = recipe.inter_op_parallelism_threads,
                         .device = recipe.device,
                         .promise = promise_of(recipe),
                         .tune = recipe.tune,
                         .log = recipe.log,
                         .trace = !recipe.trace.empty()};
  if (recipe.log_device_placement) options.log += options.log.empty() ? "placement" : ",placement";
  return options;
}

}  // namespace ridgeline::train
