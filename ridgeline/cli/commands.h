// ridgeline/cli/commands.h
//
// The commands of the program. Each takes the words after its name and returns the exit code; mistakes are Errors,
// which main() prints as one line.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::cli {

using Words = std::vector<std::string>;

int train_command(const Words& words);
int evaluate_command(const Words& words);
int predict_command(const Words& words);
int export_command(const Words& words);
int dataset_command(const Words& words);
int graph_command(const Words& words);
int info_command(const Words& words);
int doctor_command(const Words& words);
int bench_command(const Words& words);
int experiment_command(const Words& words);
int report_command(const Words& words);
int launch_command(const Words& words);
int plan_command(const Words& words);

struct CommandEntry {
  std::string_view name;
  std::string_view summary;
  int (*run)(const Words&);
};
// All of them, in the order in which --help lists them.
std::span<const CommandEntry> command_table();

}  // namespace ridgeline::cli
