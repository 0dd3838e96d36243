// ridgeline/data/ir/named.h
//
// What users register under a name. Entries are never removed or replaced, so references to them stay valid.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "ridgeline/core/error.h"

namespace ridgeline::data {

template <class T>
class Named {
 public:
  explicit Named(const char* what) : what_(what) {}
  void add(const std::string& name, T value) {
    const std::lock_guard lock(mutex_);
    if (name.empty()) throw Error(std::string("a ") + what_ + " needs a name");
    if (!entries_.emplace(name, std::move(value)).second)
      throw Error(std::string("there is already a ") + what_ + " '" + name + "'");
  }
  const T& get(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    if (const auto found = entries_.find(name); found != entries_.end()) return found->second;
    std::string known;
    for (const auto& [other, value] : entries_) known += (known.empty() ? "" : ", ") + other;
    throw Error(std::string("no ") + what_ + " '" + name +
                "' is registered (registered: " + (known.empty() ? "none" : known) + ")");
  }

 private:
  const char* what_;
  mutable std::mutex mutex_;
  std::map<std::string, T> entries_;
};

}  // namespace ridgeline::data
