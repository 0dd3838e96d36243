// ridgeline/data/minddata/tree.h
//
// One object of a MindData file, with the checks that all its readers share. A value; copies share the file's contents.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "ridgeline/data/ir/registry.h"

namespace ridgeline::data {

class MindDataTree {
 public:
  // The root of a file; of AutoTune's files the object under "tree". An Error unless it is an object.
  static MindDataTree parse(const std::string& text);

  // The same object, with another name for Errors.
  MindDataTree called(std::string what) const;
  Error wrong(const std::string& message) const;

  bool has(const std::string& key) const;
  // An Error for a key that is not known, with the nearest.
  void check_keys(const std::vector<std::string>& known) const;
  // The value of a key. Errors: "Failed to find <key>"; a value of another type.
  Value value(const std::string& key, ArgType type) const;
  template <class T>
  T get(const std::string& key) const {
    return std::get<T>(value(key, static_cast<ArgType>(Value(T{}).index())));
  }
  // A list of objects; an object (null counts as empty); whether that is empty.
  std::vector<MindDataTree> list(const std::string& key) const;
  MindDataTree object(const std::string& key) const;
  bool empty() const;
  std::vector<std::string> keys() const;
  // The value of an existing key, as it was written.
  std::string text_of(const std::string& key) const;

 private:
  MindDataTree(std::shared_ptr<const nlohmann::json> json, std::string what);
  std::shared_ptr<const nlohmann::json> json_;
  std::string what_;
};

}  // namespace ridgeline::data
