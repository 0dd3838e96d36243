#include "ridgeline/graph/ir/attributes.h"

#include <fmt/format.h>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

std::string real_text(double x) {
  std::string text = fmt::format("{}", x);  // shortest form that parses back to the same double
  if (text.find_first_of(".eni") == std::string::npos) text += ".0";
  return text;
}

template <class T, class F>
std::string list_text(const std::vector<T>& values, F&& item) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i ? "," : "") + item(values[i]);
  return text + "]";
}

struct Printer {
  std::string operator()(bool x) const { return x ? "true" : "false"; }
  std::string operator()(std::int64_t x) const { return std::to_string(x); }
  std::string operator()(double x) const { return real_text(x); }
  std::string operator()(DType x) const { return std::string(name_of(x)); }
  std::string operator()(const std::string& x) const {
    std::string text = "\"";
    for (char c : x) {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    return text + "\"";
  }
  std::string operator()(const std::vector<std::int64_t>& x) const {
    return list_text(x, [](std::int64_t v) { return std::to_string(v); });
  }
  std::string operator()(const std::vector<double>& x) const { return x.empty() ? "[real]" : list_text(x, real_text); }
};

}  // namespace

template <class T>
const T& Attributes::get(std::string_view name) const {
  const Attribute* attribute = find(name);
  RIDGELINE_CHECK(attribute != nullptr, "missing attribute " + std::string(name));
  const T* value = std::get_if<T>(attribute);
  RIDGELINE_CHECK(value != nullptr, "attribute of another type: " + std::string(name));
  return *value;
}
template const bool& Attributes::get<bool>(std::string_view) const;
template const std::int64_t& Attributes::get<std::int64_t>(std::string_view) const;
template const double& Attributes::get<double>(std::string_view) const;
template const std::string& Attributes::get<std::string>(std::string_view) const;
template const DType& Attributes::get<DType>(std::string_view) const;
template const std::vector<std::int64_t>& Attributes::get<std::vector<std::int64_t>>(std::string_view) const;
template const std::vector<double>& Attributes::get<std::vector<double>>(std::string_view) const;

std::string to_string(const Attribute& attribute) { return std::visit(Printer{}, attribute); }

}  // namespace ridgeline
