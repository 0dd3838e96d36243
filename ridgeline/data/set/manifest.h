// ridgeline/data/set/manifest.h
//
// Manifests as ModelArts writes and MindData's ManifestDataset reads them: a JSON object a line,
// {"source":"a/1.jpg","usage":"TRAIN","annotation":[{"name":"cat",...}],...}.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/data/set/annotated_files.h"

namespace ridgeline {

struct ManifestOptions {
  // Lines with another usage are left out; case does not matter.
  std::string usage = "train";
  // The names of the classes, in the order of their labels; files of other classes are left out. Empty: all names of
  // that usage, sorted.
  std::vector<std::string> class_names;
  // The folder of relative sources. Empty: the current folder, as MindData does.
  std::string root;
};

// Of every line "source", "usage" and "annotation" are read, and of an annotation "name"; lines of usage "inference"
// need no annotation. Having no matching file is an Error, and so are missing and mistyped keys: "[manifest] FILE: line
// 3: ...".
AnnotatedFiles read_manifest(const std::string& path, const ManifestOptions& options = {});

}  // namespace ridgeline
