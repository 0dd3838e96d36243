#include "ridgeline/data/sample/geometry.h"

#include <fmt/format.h>

#include <iterator>

namespace ridgeline::data {

void record_geometry(Frame& frame, std::string_view op, std::span<const double> numbers) {
  if (!frame.geometry) return;
  auto out = std::back_inserter(*frame.geometry);
  fmt::format_to(out, "{}", op);
  for (const double number : numbers) fmt::format_to(out, " {}", number);
  frame.geometry->push_back('\n');
}

}  // namespace ridgeline::data
