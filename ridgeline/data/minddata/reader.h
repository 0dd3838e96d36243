// ridgeline/data/minddata/reader.h
//
// Makes a data graph from MindData's tree, children first. Used once, by from_minddata_json.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/data/minddata/forms.h"
#include "ridgeline/data/minddata/tree.h"

namespace ridgeline::data {

class MindDataReader {
 public:
  explicit MindDataReader(const MindDataOptions& options) : options_(options) {}
  DataGraph read(const MindDataTree& root);
  std::vector<Transform> operations(const MindDataTree& map) const;

 private:
  // Each adds a node with all nodes below it, and returns its id.
  // read.cpp
  std::string node(const MindDataTree& given, int depth);
  std::string map(const MindDataTree& object, const std::string& input);
  std::string join(const MindDataTree& object, const std::string& op_type, std::vector<std::string> inputs);
  void operation(const MindDataTree& object, std::vector<Transform>& to) const;
  // The name of the first column of a node's rows.
  std::string first_column(const std::string& id) const;
  // read_sources.cpp
  std::string image_folder(const MindDataTree& object);
  std::string mnist(const MindDataTree& object);
  std::string cifar10(const MindDataTree& object);
  // `names`: names for its columns image/encoded and image/class/label; empty: keep them.
  std::string tfrecord(const MindDataTree& object, std::vector<std::string> names);
  std::string renamed_tfrecord(const MindDataTree& rename, const MindDataTree& records, int depth);
  // The nodes of a sampler over `id`, child first. `depth` 0: the source's own.
  std::string sampler(const MindDataTree& given, std::string id, int depth = 0);

  // read_fields.cpp: our arguments for the keys of the table row `form`. `around`: keys that the caller reads. Tuning
  // keys are allowed where `node`.
  Args fields(const MindDataTree& object, const MindDataForm& form, const std::vector<ArgSpec>& specs,
              std::vector<std::string> around = {}, bool node = false) const;
  Value value(const MindDataTree& object, const MindDataField& field, const ArgSpec& spec) const;

  const MindDataOptions& options_;
  DataGraph graph_;
};

// Trees and chains of samplers deeper than this are refused: reading recurses.
inline constexpr int kMindDataDepth = 500;

// The table row of that name; an unknown one is an Error with the nearest.
const MindDataForm& form_named(const std::vector<MindDataForm>& forms, const std::string& name, const char* kind);

}  // namespace ridgeline::data
