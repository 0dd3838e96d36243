// ridgeline/train/doctor/dump.h
//
// All values of a step in a safetensors file, in the order in which they are made, and two such files side by side.
// The second may come from anywhere: another device, precision or instruction set, another run, another framework.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/train/doctor/subject.h"

namespace ridgeline::train {

enum class DumpPart { training, evaluation, prediction };
// By the name of the part; another one is an Error (usage).
DumpPart dump_part_named(const std::string& name);

struct DumpOptions {
  DumpPart part = DumpPart::training;
  // Of training, each of one batch: the last one is written, or the first whose loss is not finite.
  std::int64_t steps = 1;
  std::string inputs;  // safetensors file with inputs by name, for all steps; empty: the data
};
struct DumpReport {
  std::int64_t step = 0;  // that was written, from 1 on
  std::size_t values = 0;
  std::string first_not_finite;  // the op that makes it, with its line; empty: there is none
};
// As value_dump.h writes it.
DumpReport write_dump(const std::string& path, const Subject& subject, const DumpOptions& options);

struct CompareOptions {
  // A value is inside the band where the largest difference is at most `tolerance` times its largest absolute value, or
  // at most `absolute`.
  double tolerance = 1e-3;
  double absolute = 1e-6;
  std::map<std::string, std::string> names;  // what a value of the first file is called in the second
};
struct ValueDifference {
  std::string name, op, where;
  double largest = 0;     // of the first file's absolute values
  double difference = 0;  // the largest
  std::int64_t at = 0;    // its element
  bool inside = true;
  bool moved = false;  // the second file has channels before height and width
};
struct DumpComparison {
  std::vector<ValueDifference> values;  // that both have, in the order of the first
  std::optional<std::size_t> first_outside;
  std::string first_origin, second_origin;  // where each file has its first value that is not finite; empty: nowhere
  std::vector<std::string> only_first, only_second, other_shapes;

  bool equal() const { return !first_outside && first_origin.empty() && second_origin.empty(); }
  std::string to_text(std::size_t most) const;  // with so many of the largest differences
  std::string to_json() const;
};
// An Error where they have no value in common.
DumpComparison compare_dumps(const std::string& first, const std::string& second, const CompareOptions& options = {});
// Lines "NAME NAME_IN_THE_SECOND"; blank ones and those that begin with # count for nothing.
std::map<std::string, std::string> read_dump_names(const std::string& text, const std::string& where);

}  // namespace ridgeline::train
