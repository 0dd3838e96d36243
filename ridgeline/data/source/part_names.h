// ridgeline/data/source/part_names.h
//
// What folders and files call the parts of a data set. Functions of names alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::data {

enum class PartKind { train, val, test };
// "train", "val", "test": as --split says it.
std::string_view name_of(PartKind kind);

// One of the words that name a part. Where several name the same part, the lower rank is taken.
struct PartWord {
  std::string_view word;
  PartKind kind;
  int rank;
};
// The whole of `name` is such a word, in any case: train, training; val, valid, validation, dev, eval; test, testing.
std::optional<PartWord> part_named(std::string_view name);
// The last word of a file's name that is one: "flowers_train_00000-of-00001.tfrecord", "val2017.ridge".
std::optional<PartWord> part_in(std::string_view file_name);
// "train, training, val, ...", for errors.
std::string part_words();

// Whether a folder's name speaks of a part without being one of these words: "train_set", "test2017", "entrenamiento".
bool speaks_of_part(std::string_view name);

}  // namespace ridgeline::data
