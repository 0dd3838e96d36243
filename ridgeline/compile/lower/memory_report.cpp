#include "ridgeline/compile/lower/memory_report.h"

#include <cstdint>
#include <cstdio>

namespace ridgeline {
namespace {

std::string megabytes(std::size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1e6);
  return text;
}

}  // namespace

std::size_t MemoryReport::total() const {
  std::size_t sum = 0;
  for (std::size_t part : {parameters, states, derived, inputs, activations_peak}) {
    if (__builtin_add_overflow(sum, part, &sum)) return SIZE_MAX;
  }
  return sum;
}

std::string MemoryReport::to_text() const {
  return "parameters " + megabytes(parameters) + ", states " + megabytes(states) +
         (derived > 0 ? ", derived forms " + megabytes(derived) : "") + ", inputs " + megabytes(inputs) +
         ", intermediate values " + megabytes(activations) + " (gradients " + megabytes(gradients) + ") in " +
         megabytes(activations_peak) + " of memory (workspace " + megabytes(scratch) + " included" +
         (again > 0 ? ", " + std::to_string(again) + " ops run again to spare " + megabytes(spared) : "") +
         (side_by_side > 0 ? ", and " + megabytes(side_by_side) + " for launches side by side" : "") + ")";
}

}  // namespace ridgeline
