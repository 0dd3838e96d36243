// `ridgeline launch --ranks N -- train ...`: starts one process for each device of this machine, as the ModelZoo's
// scripts do; or processes of the user's own program, `-- python3 train.py`. With --servers N it also starts parameter
// servers and is their scheduler. Under mpirun, which starts this program once for each rank, each starts its own rank.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <sstream>

#include "ridgeline/cli/commands.h"
#include "ridgeline/cli/flags.h"
#include "ridgeline/cli/program.h"
#include "ridgeline/comm/rank_environment.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/train/callback/monitors.h"
#include "ridgeline/train/launch/launch.h"
#include "ridgeline/train/launch/scheduler_thread.h"
#include "ridgeline/train/loop/interrupt.h"
#include "ridgeline/train/recipe/options.h"

namespace ridgeline::cli {
namespace {

// Seconds that the other ranks have to end after one has failed.
constexpr int kGraceSeconds = 10;

bool names_file(std::string name, const std::string& value) {
  std::replace(name.begin(), name.end(), '-', '_');
  const train::RecipeOption* option = train::find_option(name);
  return option != nullptr && option->names_file != nullptr && option->names_file(value);
}

bool is_command(const std::string& word) {
  const auto commands = command_table();
  return std::any_of(commands.begin(), commands.end(), [&](const CommandEntry& c) { return c.name == word; });
}

// A command of this program, as ranks in other folders can run it.
std::vector<std::string> command_of(const std::vector<std::string>& words) {
  std::vector<std::string> command{""};  // in the place of the program
  command.insert(command.end(), words.begin(), words.end());
  command = train::with_absolute_paths(command, names_file);
  command.erase(command.begin());
  const std::vector<std::string> own = own_command();
  command.insert(command.begin(), own.begin(), own.end());
  return command;
}

bool runs(const std::string& path) {
  std::error_code none;
  return std::filesystem::is_regular_file(path, none) && ::access(path.c_str(), X_OK) == 0;
}

// The file that a shell would find for a program; "": none.
std::string found_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return runs(name) ? std::filesystem::absolute(name).string() : "";
  const std::optional<std::string> path = comm::process_environment()("PATH");
  std::istringstream folders(path.value_or(""));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (std::filesystem::absolute(folder.empty() ? "." : folder) / name).string();
    if (runs(file)) return file;
  }
  return "";
}

// A program of the user, whose training finds the other ranks by environment variables.
std::vector<std::string> program_of(std::vector<std::string> words) {
  const std::string name = words[0];
  std::error_code none;
  if (name.ends_with(".py") && std::filesystem::is_regular_file(name, none)) {
    if (own_python().empty()) {
      throw Error(
          "launch: " + name + " is a Python program: give its interpreter, as in: ridgeline launch -- python3 " + name,
          ErrorKind::usage);
    }
    words.insert(words.begin(), own_python());
    return words;
  }
  words[0] = found_program(name);
  if (!words[0].empty()) return words;
  std::vector<std::string> commands;
  for (const CommandEntry& c : command_table()) commands.emplace_back(c.name);
  const std::string near = nearest_name(name, commands);
  throw Error("launch: there is neither a command nor a program '" + name + "'" +
                  (near.empty() ? "" : " (did you mean " + near + "?)"),
              ErrorKind::usage);
}

}  // namespace

int launch_command(const Words& words) {
  train::LaunchOptions options;
  Command app(
      "start one process for each device of this machine and wait for all: ridgeline launch [OPTIONS] -- COMMAND "
      "[FLAGS], or -- PROGRAM [ARGUMENTS]",
      "launch");
  app.option("--ranks", options.ranks,
             "number of processes; 0: as many as the rank table has devices, 1 without a rank table");
  app.option("--servers", options.servers,
             "number of additional processes that are parameter servers: they keep and update the parameters, the "
             "ranks are their workers");
  app.option("--rank_table", options.rank_table, "JSON file of the machines and devices that train together");
  app.option("--server", options.server, "server_id of this machine in the rank table, if that has several machines");
  app.option(
      "--results", options.results,
      "folder in which each command runs, in RANKSp/DEVICE/, or which gets the output of a program; never emptied");
  app.option("--job_id", options.job_id, "JOB_ID of the processes; empty: a new one");
  app.boolean("--bind_cores", options.bind_cores, "restrict each process to its share of the cores");
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (!app.parse({words.begin(), dashes})) return 0;
  if (dashes == words.end() || dashes + 1 == words.end())
    throw Error("launch: no command or program after --, as in: ridgeline launch --ranks 2 -- train --data_dir=DIR",
                ErrorKind::usage);

  const std::vector<std::string> behind(dashes + 1, words.end());
  options.own_program = !is_command(behind[0]);
  const std::vector<std::string> command = options.own_program ? program_of(behind) : command_of(behind);
  const comm::Environment environment = comm::process_environment();
  if (environment("OMPI_COMM_WORLD_SIZE")) options.by_mpirun = comm::rank_identity(environment, options.rank_table);
  train::LaunchPlan plan = train::plan_launch(options, train::allowed_cores());
  std::optional<train::SchedulerThread> scheduler;
  if (options.servers > 0) train::set_scheduler(plan, scheduler.emplace(options, train::print_line).port());
  train::print_line(options.servers > 0 ? fmt::format("job {}: {} workers and {} servers on this machine",
                                                      printable(plan.job_id), plan.world_size, options.servers)
                                        : fmt::format("job {}: {} of {} ranks on this machine", printable(plan.job_id),
                                                      plan.ranks.size(), plan.world_size));
  if (!plan.note.empty()) train::print_line(plan.note);
  const train::InterruptGuard guard;
  std::vector<train::RankEnd> ends = train::run_launch(plan, command, kGraceSeconds, train::print_line);
  // When one rank fails, the others fail, too, or are stopped. A usage error of any rank (2) is the cause.
  const auto wrong = [](const auto& end) { return end.code == 2; };
  if (std::any_of(ends.begin(), ends.end(), wrong)) return 2;
  std::sort(ends.begin(), ends.end(), [](const auto& a, const auto& b) { return a.turn < b.turn; });
  const auto first =
      std::find_if(ends.begin(), ends.end(), [](const auto& end) { return end.code != 0 && !end.stopped; });
  if (first == ends.end()) return 0;
  return first->code < 128 || first->code == train::kInterruptedCode ? first->code : 1;
}

}  // namespace ridgeline::cli
