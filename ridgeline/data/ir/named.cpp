#include "ridgeline/data/ir/named.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ridgeline/core/error.h"

namespace ridgeline::data {

void refuse_unknown(const char* what, const std::string& name, const std::vector<std::string>& known) {
  throw Error(fmt::format("no {} '{}' is registered{} (registered: {})", what, name, did_you_mean(name, known),
                          known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
}

void refuse_name(const char* what, const std::string& name) {
  if (name.empty()) throw Error(fmt::format("a {} needs a name", what));
  throw Error(fmt::format("there is already a {} '{}'", what, name));
}

}  // namespace ridgeline::data
