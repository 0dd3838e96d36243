// ridgeline/train/doctor/dump.h
//
// Dumps all values of a step into a safetensors file, in the order in which they are computed, and compares two such
// files. The second may come from anywhere: another device, precision or instruction set, another run, another
// framework.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/train/doctor/subject.h"

namespace ridgeline::train {

enum class DumpPart { training, evaluation, prediction };
// The phase (training, evaluation, prediction) of that name; another one is an Error (usage).
DumpPart dump_part_named(const std::string& name);

struct DumpOptions {
  DumpPart part = DumpPart::training;
  // For training: how many steps to run, of one batch each; the last one is written, or the first whose loss is not
  // finite.
  std::int64_t steps = 1;
  std::string inputs;  // safetensors file with inputs by name, used for all steps; empty: the data's
};
struct DumpReport {
  std::int64_t step = 0;  // the step that was written, counted from 1
  std::size_t values = 0;
  std::string first_not_finite;  // the op that makes the first value that is not finite, with its line; empty: none
};
// In the format of value_dump.h.
DumpReport write_dump(const std::string& path, const Subject& subject, const DumpOptions& options);

struct CompareOptions {
  // A value is inside the tolerance if the largest difference is at most `tolerance` times its largest absolute value,
  // or at most `absolute`.
  double tolerance = 1e-3;
  double absolute = 1e-6;
  std::map<std::string, std::string> names;  // names of the first file to those of the second
};
struct ValueDifference {
  std::string name, op, where;
  double largest = 0;     // of the first file's absolute values
  double difference = 0;  // the largest difference
  std::int64_t at = 0;    // the element where it is
  bool inside = true;
  bool moved = false;  // the second file has channels before height and width
};
struct DumpComparison {
  std::vector<ValueDifference> values;  // of values that both have, in the order of the first
  std::optional<std::size_t> first_outside;
  std::string first_origin, second_origin;  // the op of each file's first value that is not finite; empty: none
  std::vector<std::string> only_first, only_second, other_shapes;

  bool equal() const { return !first_outside && first_origin.empty() && second_origin.empty(); }
  std::string to_text(std::size_t most) const;  // with at most this many of the largest differences
  std::string to_json() const;
};
// An Error if they have no value in common.
DumpComparison compare_dumps(const std::string& first, const std::string& second, const CompareOptions& options = {});
// Lines "NAME NAME_IN_THE_SECOND"; blank lines and those that begin with # are ignored.
std::map<std::string, std::string> read_dump_names(const std::string& text, const std::string& where);

}  // namespace ridgeline::train
