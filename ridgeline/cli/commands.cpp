#include "ridgeline/cli/commands.h"

namespace ridgeline::cli {

std::span<const CommandEntry> command_table() {
  static constexpr CommandEntry kTable[] = {
      {"train", "train a model, and continue where an earlier run of the same --log_dir stopped", train_command},
      {"evaluate", "accuracy and loss of checkpoints on the validation part", evaluate_command},
      {"predict", "the most probable classes of image files", predict_command},
      {"export", "a trained model as one file that needs nothing else", export_command},
      {"dataset", "make, inspect, preview, pack data sets; show and time pipelines", dataset_command},
      {"graph", "show, check, run and time a step graph from a file", graph_command},
      {"info", "models, machine, checkpoints", info_command},
      {"experiment", "vary one thing between trainings and compare them in a report", experiment_command},
      {"report", "runs side by side: one page with tables and curves", report_command},
      {"launch", "start a process for each device, with ranks, cores and folders", launch_command},
      {"doctor", "what costs accuracy: checks of a set-up, two computations of a step side by side", doctor_command},
      {"plan", "what a step measured here would take on clusters that are not", plan_command},
      {"bench", "time the compiled step against the machine's limit", bench_command},
  };
  return kTable;
}

}  // namespace ridgeline::cli
