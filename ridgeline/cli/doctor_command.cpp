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
    throw Error("doctor dump: --steps is of --part=training", ErrorKind::usage);
  const train::Recipe recipe = finish_recipe(app, flags.recipe);
  const train::DumpReport report = train::write_dump(flags.out, train::subject_of(recipe, flags.rows),
                                                     {.part = part, .steps = flags.steps, .inputs = flags.inputs});
  fmt::print("{}: {} values of step {}\n", printable(flags.out), report.values, report.step);
  if (report.first_not_finite.empty()) return 0;
  fmt::print("not finite from {} on\n", printable(report.first_not_finite));
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

// The words, with those of --preset and --run_config inserted after the subcommand's name. `check` has the flags of
// both, and is the default subcommand.
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
  Command app("what costs accuracy: checks of a set-up, and two computations of a step side by side", "doctor");
  DoctorFlags checked{.rows = kRows}, dumped{.rows = kDumpedRows}, compared;
  Command& check = app.subcommand(
      "check", "look at the data, the first step and one batch of a training; exit code 1 if something is wrong");
  check.option("--rows", checked.rows, "most images a batch: all values of a step are kept in memory");
  check.option("--only", checked.only, "this check alone, may be given several times: " + check_names());
  check.flag("--all", checked.all, "also look for symptoms where a cause is found");
  check.flag("--json", checked.json, "print one JSON object");
  add_recipe_flags(check, checked.recipe);
  Command& dump =
      app.subcommand("dump", "write every value of a step into a safetensors file; exit code 1 if one is not finite");
  dump.option("--out", dumped.out, "the file").required();
  dump.option("--part", dumped.part, "training, evaluation or prediction");
  dump.option("--steps", dumped.steps, "of training: write this one, or the first whose loss is not finite");
  dump.option("--inputs", dumped.inputs, "inputs by name from this safetensors file instead of the data");
  dump.option("--rows", dumped.rows, "most images a batch");
  add_recipe_flags(dump, dumped.recipe);
  Command& compare = app.subcommand(
      "compare", "two files of dumped values, or of other programs, value by value; exit code 1 if they differ");
  compare.option("FIRST", compared.first, "a dump: its order tells which op is the first to differ").required();
  compare.option("SECOND", compared.second, "of another device, precision, instruction set, run or framework")
      .required();
  compare.option("--tolerance", compared.band.tolerance, "most difference as a share of a value's largest element");
  compare.option("--absolute", compared.band.absolute, "a difference that never counts");
  compare.option("--names", compared.names, "file with lines NAME NAME_IN_SECOND, for files of other programs");
  compare.option("--largest", compared.largest, "how many of the largest differences are printed");
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
