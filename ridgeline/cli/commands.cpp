#include "ridgeline/cli/commands.h"

namespace ridgeline::cli {

std::span<const CommandEntry> command_table() {
  static constexpr CommandEntry kTable[] = {
      {"train", "train a model, or resume the run of the same --log_dir", train_command},
      {"evaluate", "compute accuracy and loss of checkpoints on the validation split", evaluate_command},
      {"predict", "print the most probable classes of image files", predict_command},
      {"export", "write a trained model into one self-contained file", export_command},
      {"dataset", "make, inspect, preview and pack data sets; show and time data pipelines", dataset_command},
      {"graph", "show, check, run or time a computation graph from a file", graph_command},
      {"info", "show the machine, the built-in models, devices, or the contents of model files", info_command},
      {"experiment", "run trainings that differ in one setting and compare them in a report", experiment_command},
      {"report", "compare finished runs on one page with tables and curves", report_command},
      {"launch", "start a training on several devices, one process each", launch_command},
      {"doctor", "find out why accuracy is low: check a set-up, compare two computations of a step", doctor_command},
      {"plan", "estimate the time of a measured step on clusters of machines", plan_command},
      {"bench", "time a compiled training step and compare it with the machine's limits", bench_command},
  };
  return kTable;
}

}  // namespace ridgeline::cli
