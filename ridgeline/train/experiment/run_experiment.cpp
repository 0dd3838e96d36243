#include "ridgeline/train/experiment/run_experiment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/train/experiment/child_process.h"
#include "ridgeline/train/last_line.h"
#include "ridgeline/train/loop/interrupt.h"
#include "ridgeline/train/run_files.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

constexpr int kUsage = 2, kInterrupted = 130;

// A folder's name from a label: letters, digits, dots and hyphens.
std::string folder_name(const std::string& label) {
  std::string name;
  for (char c : label) name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' ? c : '_';
  return name;
}

// What a finished run leaves beside its log: its command, and the bytes and seconds that it took.
struct Finished {
  std::string path;

  bool read(const std::string& command, ExperimentRun& run) const {
    if (!is_regular_file(path)) return false;
    std::istringstream text(read_file(path));
    std::string line;
    return std::getline(text, line) && line == command && static_cast<bool>(text >> run.peak_bytes >> run.seconds);
  }
  void write(const std::string& command, const ExperimentRun& run) const {
    write_file_atomically(path, fmt::format("{}\n{}\n{}\n", command, run.peak_bytes, run.seconds));
  }
};

ExperimentRun run_one(const Variant& variant, std::uint64_t seed, const std::string& folder,
                      const ExperimentOptions& options, int& code) {
  ExperimentRun run;
  run.directory = (fs::path(folder) / fmt::format("{}-{}", folder_name(variant.label), seed)).string();
  run.command = options.program;
  run.command.emplace_back("train");
  run.command.insert(run.command.end(), options.flags.begin(), options.flags.end());
  run.command.insert(run.command.end(), variant.flags.begin(), variant.flags.end());
  run.command.push_back(fmt::format("--seed={}", seed));
  run.command.push_back("--log_dir=" + run.directory);
  const std::string text = printable(fmt::format("{}", fmt::join(run.command, " ")));
  const Finished finished{run.directory + "/finished"};
  code = 0;
  if (finished.read(text, run)) return run;
  options.say(text);
  fs::remove_all(run.directory);  // of another command, or not come to its end
  make_directories(run.directory);
  const std::string output = run.directory + "/output.txt";
  const auto begin = std::chrono::steady_clock::now();
  const ChildResult child = run_child(run.command, output);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  code = child.code;
  run.peak_bytes = child.peak_bytes;
  if (code == 0) {
    if (!options.keep_checkpoints)
      for (const std::string& file : glob_files(glob_escape(run.directory) + "/" + kCheckpointPrefix + "*.safetensors"))
        fs::remove(file);
    finished.write(text, run);
  } else {
    run.failure = last_line(output);
    if (run.failure.empty()) run.failure = fmt::format("ended with {}", code);
  }
  return run;
}

}  // namespace

void check(const Experiment& experiment, const ExperimentOptions& options) {
  for (const std::string& flag : options.flags) refuse_reserved(flag);
  std::map<std::string, std::string> labels;  // by folder
  for (const Variant& variant : experiment.variants) {
    const auto [it, made] = labels.try_emplace(folder_name(variant.label), variant.label);
    if (made) continue;
    throw Error(fmt::format("[experiment] {}: the variants '{}' and '{}' would have the same folder", experiment.name,
                            it->second, variant.label),
                ErrorKind::usage);
  }
  const std::set<std::uint64_t> seeds(options.seeds.begin(), options.seeds.end());
  if (seeds.size() < options.seeds.size()) {
    throw Error(fmt::format("[experiment] seeds {}: each may be given once", fmt::join(options.seeds, ", ")),
                ErrorKind::usage);
  }
}

ExperimentResult run_experiment(const Experiment& experiment, const ExperimentOptions& options) {
  check(experiment, options);
  const InterruptGuard guard;
  ExperimentResult result{experiment, options.seeds,
                          std::vector<std::vector<ExperimentRun>>(experiment.variants.size())};
  const std::string folder = (fs::path(options.out) / experiment.name).string();
  bool first = true;
  for (std::uint64_t seed : options.seeds) {  // all variants of one seed before the next: a table early
    for (std::size_t v = 0; v < experiment.variants.size(); ++v) {
      int code = 0;
      result.runs[v].push_back(run_one(experiment.variants[v], seed, folder, options, code));
      const ExperimentRun& run = result.runs[v].back();
      if (code == kInterrupted || interrupted()) {
        throw Error(fmt::format("[experiment] {}: interrupted; the same command goes on with the runs that are open",
                                experiment.name),
                    ErrorKind::interrupted);
      }
      if (first && code == kUsage)
        throw Error("[experiment] the first run was refused: " + run.failure, ErrorKind::usage);
      if (!run.failure.empty()) options.say("failed: " + run.failure);
      first = false;
    }
  }
  return result;
}

}  // namespace ridgeline::train
