#include "ridgeline/data/api/filter.h"

namespace ridgeline::data {

Filter compare(std::string column, std::string test, double value) {
  return {.column = std::move(column), .test = std::move(test), .values = {value}};
}
Filter is_in(std::string column, std::vector<double> values) {
  return {.column = std::move(column), .test = "in", .values = std::move(values)};
}
Filter is_in(std::string column, std::vector<std::string> texts) {
  return {.column = std::move(column), .test = "in", .texts = std::move(texts)};
}
Filter is_not_in(std::string column, std::vector<double> values) {
  return {.column = std::move(column), .test = "not_in", .values = std::move(values)};
}
Filter passes(std::string column, std::string function) {
  return {.column = std::move(column), .test = "function", .function = std::move(function)};
}

}  // namespace ridgeline::data
