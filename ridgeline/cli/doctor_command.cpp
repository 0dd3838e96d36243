// `ridgeline doctor`: what is wrong with a set-up, and where two computations of it begin to differ.
#include <fmt/format.h>

#include <cstdio>

#include "ridgeline/cli/commands.h"
#include "ridgeline/cli/recipe_flags.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/train/doctor/checks.h"
#include "ridgeline/train/doctor/dump.h"
#include "ridgeline/train/loop/interrupt.h"

namespace ridgeline::cli {
namespace {

constexpr std::int64_t kRows = 32, kDumpedRows = 8;

struct DoctorFlags {
  train::RecipeArguments recipe;
  std::int64_t rows = 0, steps = 1;
  std::vector<std::string> only;
  std::string out, part = "training", inputs, first, second, names;
  train::CompareOptions band;
  int largest = 10;
  bool all = false, json = false;
};

std::string check_names() { return joined_names(train::checks()); }

int check_setup(const Command& app, DoctorFlags& flags) {
  const train::Recipe recipe = finish_recipe(app, flags.recipe);
  const train::Diagnosis diagnosis =
      train::examine(train::subject_of(recipe, flags.rows),
                     {.only = flags.only, .symptoms = flags.all, .say = [](const std::string& text) {
                        std::fprintf(stderr, "%s\n", text.c_str());
                      }});
  fmt::print("{}{}", flags.json ? diagnosis.to_json() : diagnosis.to_text(), flags.json ? "\n" : "");
  return diagnosis.sound() ? 0 : 1;
}

int dump_step(const Command& app, DoctorFlags& flags) {
  if (flags.steps < 1) throw Error("doctor dump: --steps must be 1 or more", ErrorKind::usage);
  const train::DumpPart part = train::dump_part_named(flags.part);
  if (part != train::DumpPart::training && flags.steps != 1)
    throw Error("doctor dump: --steps is only for --part=training", ErrorKind::usage);
  const train::Recipe recipe = finish_recipe(app, flags.recipe);
  const train::DumpReport report = train::write_dump(flags.out, train::subject_of(recipe, flags.rows),
                                                     {.part = part, .steps = flags.steps, .inputs = flags.inputs});
  fmt::print("{}: {} values of step {}\n", printable(flags.out), report.values, report.step);
  if (report.first_not_finite.empty()) return 0;
  fmt::print("the first value that is infinite or NaN: {}\n", printable(report.first_not_finite));
  return 1;
}

int compare_files(DoctorFlags& flags) {
  if (!(flags.band.tolerance >= 0 && flags.band.absolute >= 0) || flags.largest < 0)
    throw Error("doctor compare: --tolerance, --absolute and --largest must not be negative", ErrorKind::usage);
  if (!flags.names.empty()) flags.band.names = train::read_dump_names(read_file(flags.names), flags.names);
  const train::DumpComparison comparison = train::compare_dumps(flags.first, flags.second, flags.band);
  fmt::print("{}{}", flags.json ? comparison.to_json() : comparison.to_text(static_cast<std::size_t>(flags.largest)),
             flags.json ? "\n" : "");
  return comparison.equal() ? 0 : 1;
}

// The words, with the settings of --preset and --run_config inserted after the subcommand's name. `check` is the
// default subcommand; it has every flag of a recipe, as `dump` has.
Words with_config(const Command& check, const Words& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "--help_all") return words;
  const bool flags = words[0].starts_with("--");
  Words all{flags ? "check" : words[0]};
  const Words rest = with_files(check, {words.begin() + (flags ? 0 : 1), words.end()});
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

}  // namespace

int doctor_command(const Words& words) {
  Command app("find out why accuracy is low: check a set-up, compare two computations of a step", "doctor");
  DoctorFlags checked{.rows = kRows}, dumped{.rows = kDumpedRows}, compared;
  Command& check = app.subcommand(
      "check", "check the data, the first step and one batch of a training; exit code 1 if something is wrong");
  check.option("--rows", checked.rows, "most images per batch: all values of a step are kept in memory");
  check.option("--only", checked.only, "run only this check; may be given several times: " + check_names());
  check.flag("--all", checked.all, "also look for symptoms after a cause is found");
  check.flag("--json", checked.json, "print one JSON object");
  add_recipe_flags(check, checked.recipe);
  Command& dump = app.subcommand(
      "dump", "write all values of a step into a safetensors file; exit code 1 if one is infinite or NaN");
  dump.option("--out", dumped.out, "safetensors file to write").required();
  dump.option("--part", dumped.part, "which step: training, evaluation or prediction");
  dump.option("--steps", dumped.steps,
              "training: number of steps to run; the last is written, or the first whose loss is infinite or NaN");
  dump.option("--inputs", dumped.inputs, "take inputs from this safetensors file, by name, instead of from the data");
  dump.option("--rows", dumped.rows, "most images per batch");
  add_recipe_flags(dump, dumped.recipe);
  Command& compare = app.subcommand(
      "compare", "compare two files of values, of `doctor dump` or of other programs; exit code 1 if they differ");
  compare.option("FIRST", compared.first, "file written by `doctor dump`; its order tells which op differs first")
      .required();
  compare.option("SECOND", compared.second, "file from another device, precision, instruction set, run or framework")
      .required();
  compare.option("--tolerance", compared.band.tolerance,
                 "largest allowed difference, relative to the largest element of a value");
  compare.option("--absolute", compared.band.absolute, "absolute difference that is always allowed");
  compare.option("--names", compared.names,
                 "file with lines NAME NAME_IN_SECOND that maps names to those of the second file");
  compare.option("--largest", compared.largest, "number of largest differences to print");
  compare.flag("--json", compared.json, "print one JSON object");
  if (!app.parse(with_config(check, words))) return 0;
  for (const DoctorFlags* flags : {&checked, &dumped})
    if (flags->rows < 1) throw Error("doctor: --rows must be 1 or more", ErrorKind::usage);
  const train::InterruptGuard guard;
  if (check.called()) return check_setup(check, checked);
  if (dump.called()) return dump_step(dump, dumped);
  return compare_files(compared);
}

}  // namespace ridgeline::cli
