// ridgeline/data/source/part_names.h
//
// Recognises splits (training, validation, test) by the names of folders and files. Depends only on names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::data {

enum class PartKind { train, val, test };
// "train", "val", "test", as in --split.
std::string_view name_of(PartKind kind);

// One of the words for a split. If several folders are for the same split, the one with the lower rank is taken.
struct PartWord {
  std::string_view word;
  PartKind kind;
  int rank;
};
// If all of `name` is such a word, in upper or lower case: train, training; val, valid, validation, dev, eval; test,
// testing.
std::optional<PartWord> part_named(std::string_view name);
// The last such word in a file's name: "flowers_train_00000-of-00001.tfrecord", "val2017.ridge".
std::optional<PartWord> part_in(std::string_view file_name);
// "train, training, val, ...", for errors.
std::string part_words();

// Whether a folder's name suggests a split without being one of these words: "train_set", "test2017", "entrenamiento".
bool speaks_of_part(std::string_view name);

}  // namespace ridgeline::data
