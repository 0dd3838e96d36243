#include "ridgeline/data/ir/functions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <mutex>
#include <vector>

namespace ridgeline::data {
namespace {

// Entries are never removed or replaced: references to them stay valid.
template <class Function>
class Functions {
 public:
  explicit Functions(const char* what) : what_(what) {}
  void add(const std::string& name, Function function) {
    const std::lock_guard lock(mutex_);
    if (name.empty() || !function) throw Error(fmt::format("a {} needs a name and a function", what_));
    if (!entries_.emplace(name, std::move(function)).second)
      throw Error(fmt::format("there is already a {} '{}'", what_, name));
  }
  const Function& get(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    if (const auto found = entries_.find(name); found != entries_.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [known, function] : entries_) names.push_back(known);
    throw Error(fmt::format("no {} '{}' is registered (registered: {})", what_, name,
                            names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }

 private:
  const char* what_;
  mutable std::mutex mutex_;
  std::map<std::string, Function> entries_;
};

Functions<Predicate>& predicates() {
  static Functions<Predicate> all("predicate");
  return all;
}
Functions<SampleFunction>& functions() {
  static Functions<SampleFunction> all("sample function");
  return all;
}

}  // namespace

void register_predicate(const std::string& name, Predicate predicate) { predicates().add(name, std::move(predicate)); }
void register_function(const std::string& name, SampleFunction function) { functions().add(name, std::move(function)); }
const Predicate& predicate_named(const std::string& name) { return predicates().get(name); }
const SampleFunction& function_named(const std::string& name) { return functions().get(name); }

}  // namespace ridgeline::data
