#include "ridgeline/image/resample/filter.h"

#include <array>
#include <utility>

#include "ridgeline/core/error.h"

namespace ridgeline::image {
namespace {

constexpr std::pair<Filter, std::string_view> kNames[] = {{Filter::nearest, "nearest"},
                                                          {Filter::box, "box"},
                                                          {Filter::bilinear, "bilinear"},
                                                          {Filter::bicubic, "bicubic"},
                                                          {Filter::lanczos, "lanczos"},
                                                          {Filter::tf1_bilinear, "tf1_bilinear"},
                                                          {Filter::torch_bilinear, "torch_bilinear"},
                                                          {Filter::torch_bicubic, "torch_bicubic"},
                                                          {Filter::opencv_nearest, "opencv_nearest"},
                                                          {Filter::opencv_linear, "opencv_linear"},
                                                          {Filter::opencv_cubic, "opencv_cubic"},
                                                          {Filter::opencv_area, "opencv_area"}};

}  // namespace

std::span<const Filter> all_filters() {
  static constexpr auto filters = [] {
    std::array<Filter, std::size(kNames)> result{};
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = kNames[i].first;
    return result;
  }();
  return filters;
}

std::string_view name_of(Filter filter) {
  for (const auto& [value, name] : kNames) {
    if (value == filter) return name;
  }
  return "unknown";
}

Filter parse_filter(std::string_view name) {
  std::vector<std::string> names;
  std::string list;
  for (const auto& [value, known] : kNames) {
    if (known == name) return value;
    names.emplace_back(known);
    list += (list.empty() ? "" : ", ") + std::string(known);
  }
  throw Error(
      "[resize] unknown filter '" + std::string(name) + "'" + did_you_mean(name, names) + " (allowed: " + list + ")",
      ErrorKind::usage);
}

}  // namespace ridgeline::image
