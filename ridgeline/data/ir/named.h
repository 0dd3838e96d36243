// ridgeline/data/ir/named.h
//
// Objects that users register under a name. Entries are never removed or replaced, so references to them stay valid.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace ridgeline::data {

// "no predicate 'x' is registered (registered: a, b)"
[[noreturn]] void refuse_unknown(const char* what, const std::string& name, const std::vector<std::string>& known);
// An Error if the name is empty or taken.
[[noreturn]] void refuse_name(const char* what, const std::string& name);

template <class T>
class Named {
 public:
  explicit Named(const char* what) : what_(what) {}
  void add(const std::string& name, T value) {
    const std::lock_guard lock(mutex_);
    if (name.empty() || !entries_.emplace(name, std::move(value)).second) refuse_name(what_, name);
  }
  const T& get(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    if (const auto found = entries_.find(name); found != entries_.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [known, value] : entries_) names.push_back(known);
    refuse_unknown(what_, name, names);
  }

 private:
  const char* what_;
  mutable std::mutex mutex_;
  std::map<std::string, T> entries_;
};

}  // namespace ridgeline::data
