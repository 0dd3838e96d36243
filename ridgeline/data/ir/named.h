// ridgeline/data/ir/named.h
//
// What users register under a name. Entries are never removed or replaced, so references to them stay valid.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "ridgeline/core/error.h"

namespace ridgeline::data {

template <class T>
class Named {
 public:
  explicit Named(const char* what) : what_(what) {}
  void add(const std::string& name, T value) {
    const std::lock_guard lock(mutex_);
    if (name.empty()) throw Error(fmt::format("a {} needs a name", what_));
    if (!entries_.emplace(name, std::move(value)).second)
      throw Error(fmt::format("there is already a {} '{}'", what_, name));
  }
  const T& get(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    if (const auto found = entries_.find(name); found != entries_.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [known, value] : entries_) names.push_back(known);
    throw Error(fmt::format("no {} '{}' is registered (registered: {})", what_, name,
                            names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }

 private:
  const char* what_;
  mutable std::mutex mutex_;
  std::map<std::string, T> entries_;
};

}  // namespace ridgeline::data
