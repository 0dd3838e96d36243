// `ridgeline experiment NAME`: varies one thing between trainings that are otherwise equal, and reports it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>

#include "ridgeline/cli/commands.h"
#include "ridgeline/cli/flags.h"
#include "ridgeline/cli/program.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/train/experiment/relations.h"
#include "ridgeline/train/experiment/run_experiment.h"
#include "ridgeline/train/training_log.h"

namespace ridgeline::cli {
namespace {

// Default flags of a run: AlexNet on the embedded shapes, half a minute on two cores.
const std::array<std::string, 6> kShapesFlags = {"--preset=shapes",          "--max_epochs=3",
                                                 "--epochs_between_evals=3", "--save_summary_steps=10",
                                                 "--do_checkpoint=True",     "--max_checkpoint_to_save=1"};
// 31 steps an epoch: all experiments together, 44 runs, stay below 15 minutes at 400 images a second.
constexpr int kShapesTraining = 2000, kShapesValidation = 500;

struct ExperimentFlags {
  std::string name, out = "experiments", seeds = "auto";
  std::vector<std::string> swept, variants;
  bool keep_checkpoints = false;
};

// Separates the words of this command from those of every training.
Words own_words(const Words& words, Words& training) {
  constexpr std::array<std::string_view, 5> kOwn{"--out", "--seeds", "--flag", "--variant", "--keep_checkpoints"};
  Words own;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::string_view name = std::string_view(word).substr(0, word.find('='));
    if (word.rfind("--", 0) != 0 || word == "--help") {
      own.push_back(word);  // the experiment's name: values of flags are taken with their flags below
    } else if (std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end()) {
      own.push_back(word);
      if (name != "--keep_checkpoints" && name.size() == word.size() && i + 1 < words.size()) own.push_back(words[++i]);
    } else {
      training.push_back(word);
      if (name.size() == word.size() && i + 1 < words.size() && words[i + 1].rfind("--", 0) != 0)
        training.push_back(words[++i]);
    }
  }
  return own;
}

// "auto": 1, 2, ..., the experiment's default number of seeds.
std::vector<std::uint64_t> seeds_of(const std::string& text, const train::Experiment& experiment) {
  std::vector<std::uint64_t> seeds;
  if (text == "auto") {
    seeds.resize(static_cast<std::size_t>(experiment.seeds));
    std::iota(seeds.begin(), seeds.end(), 1);
    return seeds;
  }
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    if (part.empty() || part.size() > 18 || part.find_first_not_of("0123456789") != std::string::npos)
      throw Error(fmt::format("experiment: --seeds={} is not a comma-separated list of integers", text),
                  ErrorKind::usage);
    seeds.push_back(std::stoull(part));
    at = end + 1;
  }
  return seeds;
}

bool names_data(const Words& words) {
  for (const std::string& word : words)
    if (word.rfind("--data_dir", 0) == 0 || word.rfind("--synthetic", 0) == 0) return true;
  return false;
}

std::string names_of_all() {
  std::string text;
  for (const train::Experiment& e : train::experiments()) text += e.name + ", ";
  return text + "sweep, all";
}

void write_report(const train::Report& report, const std::string& folder) {
  write_file_atomically(folder + "/report.html", train::to_html(report));
  write_file_atomically(folder + "/report.md", train::to_markdown(report));
  write_file_atomically(folder + "/report.csv", train::to_csv(report));
}

}  // namespace

int experiment_command(const Words& words) {
  ExperimentFlags flags;
  Words training;
  Command app(
      "run trainings that differ in one setting and compare them in a report; flags of `train` apply to all of them",
      "experiment");
  app.option("NAME", flags.name, "which experiment: " + names_of_all()).required();
  app.option("--out", flags.out, "folder for runs and reports; runs that exist there already are not repeated");
  app.option("--seeds", flags.seeds,
             "seeds, comma-separated; every variant runs with each; auto: 1, or 1,2,3 for precision_mode and "
             "accelerate, which compare accuracies");
  app.option("--flag", flags.swept,
             "sweep: NAME=VALUE,VALUE,...: values of a flag of `train`; if given several times, all combinations run");
  app.option("--variant", flags.variants, "run only the variant with this label; may be given several times");
  app.flag("--keep_checkpoints", flags.keep_checkpoints, "keep the checkpoints of finished runs");
  if (!app.parse(own_words(words, training))) return 0;
  if (flags.name != "sweep" && flags.name != "all") train::experiment_named(flags.name);  // or it is unknown
  if ((flags.name == "sweep") == flags.swept.empty())
    throw Error(flags.name == "sweep" ? "experiment sweep: give --flag=NAME=VALUE,VALUE,..."
                                      : "experiment: --flag is only for `experiment sweep`",
                ErrorKind::usage);
  std::vector<train::Experiment> chosen;
  if (flags.name == "all") {
    chosen.assign(train::experiments().begin(), train::experiments().end());
  } else {
    chosen.push_back(flags.name == "sweep" ? train::sweep(flags.swept) : train::experiment_named(flags.name));
  }
  if (!flags.variants.empty()) {
    if (chosen.size() > 1) throw Error("experiment all: --variant is only for a single experiment", ErrorKind::usage);
    chosen[0] = train::only(std::move(chosen[0]), flags.variants);
  }
  train::ExperimentOptions options{
      .program = own_command(),
      .out = flags.out,
      .seeds = {},
      .flags = {},
      .keep_checkpoints = flags.keep_checkpoints,
      .say = [](const std::string& text) { fmt::print("{}\n", text), std::fflush(stdout); }};
  options.flags = training;
  for (const train::Experiment& experiment : chosen) {
    options.seeds = seeds_of(flags.seeds, experiment);
    train::check(experiment, options);
  }
  if (!names_data(training)) {
    const std::string shapes = flags.out + "/shapes";
    data::MakeShapesOptions pictures;
    pictures.train = kShapesTraining;
    pictures.val = kShapesValidation;
    data::make_shapes(shapes, pictures);
    Words usual(kShapesFlags.begin(), kShapesFlags.end());
    usual.push_back("--data_dir=" + shapes);
    options.flags.insert(options.flags.begin(), usual.begin(), usual.end());
  }

  int runs = 0, failed = 0;
  const auto begin = std::chrono::steady_clock::now();
  const auto since = [](std::chrono::steady_clock::time_point from) {
    return train::duration_text(std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count());
  };
  train::Report whole{.title = "Experiments", .tables = {}, .runs = {}};
  train::ReportTable relations;  // of all, in one table at the head of the page
  for (const train::Experiment& experiment : chosen) {
    const auto begin_of_one = std::chrono::steady_clock::now();
    options.seeds = seeds_of(flags.seeds, experiment);
    const train::ExperimentResult result = train::run_experiment(experiment, options);
    for (const auto& variant : result.runs) {
      for (const train::ExperimentRun& made : variant) ++runs, failed += made.failure.empty() ? 0 : 1;
    }
    const train::Report report = train::report_of(result);
    const std::string folder = flags.out + "/" + experiment.name;
    write_report(report, folder);
    fmt::print("{}\nreport   {}/report.html (also .md, .csv), in {}\n",
               train::to_markdown({report.title, {report.tables[0]}, {}}), folder, since(begin_of_one));
    whole.links.push_back({experiment.name + ": " + experiment.what, experiment.name + "/report.html"});
    for (train::ReportTable table : report.tables) {
      if (table.heading == train::kRelations) {
        for (auto& row : table.rows) row.insert(row.begin(), experiment.name);
        table.columns.insert(table.columns.begin(), "experiment");
        if (relations.rows.empty()) relations = {table.heading, table.note, table.columns, {}};
        relations.rows.insert(relations.rows.end(), table.rows.begin(), table.rows.end());
        continue;
      }
      if (table.heading == "Environment" && &experiment != &chosen.back()) continue;
      if (table.heading != "Environment") table.heading = experiment.name + ": " + table.heading;
      whole.tables.push_back(std::move(table));
    }
  }
  if (chosen.size() > 1) {
    if (!relations.rows.empty()) whole.tables.insert(whole.tables.begin(), std::move(relations));
    write_report(whole, flags.out);
    fmt::print("all      {}/report.html, {} runs in {}\n", flags.out, runs, since(begin));
  }
  if (failed > 0) throw Error(fmt::format("experiment: {} of {} runs failed", failed, runs));
  return 0;
}

}  // namespace ridgeline::cli
