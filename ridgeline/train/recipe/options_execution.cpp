#include "ridgeline/core/joined_names.h"
#include "ridgeline/device/devices.h"
#include "ridgeline/train/recipe/options.h"
#include "ridgeline/train/recipe/session_options.h"

namespace ridgeline::train {
namespace {

SettingValue accelerate_of(const Recipe& recipe) {
  return recipe.experimental.accelerate ? text_of(*recipe.experimental.accelerate) : std::string();
}

}  // namespace

std::vector<RecipeOption> execution_options() {
  using A = RecipeArguments;
  const OptionGroup group{"Execution"}, evaluated{"Execution", kInEvaluations};
  const auto modes = [](std::string_view PrecisionMode::*column) {
    return joined_names(precision_modes(), [column](const PrecisionMode& mode) { return mode.*column; });
  };
  return {
      {"intra_op_parallelism_threads",
       evaluated,
       "compute threads; 0: one per core",
       [](A& a) -> int& { return a.recipe.intra_op_parallelism_threads; },
       verdict::own(),
       {"0 (automatic) or more", 0}},
      {"inter_op_parallelism_threads",
       evaluated,
       "launches of a step that run at the same time and share the compute threads; 0: one after the other",
       [](A& a) -> int& { return a.recipe.inter_op_parallelism_threads; },
       verdict::own(),
       {"0 or more", 0}},
      {"device", evaluated, "device that runs the steps: " + device_names(),
       [](A& a) -> std::string& { return a.recipe.device; },
       // The ordinal may differ. Ranks on other kinds of device would have other fusions and exchanges.
       verdict::alike([](const Recipe& r) { return SettingValue(r.device.substr(0, r.device.find(':'))); })},
      {"allow_soft_placement", evaluated, "run ops for which the device has no kernel on the CPU; False: refuse them",
       [](A& a) -> bool& { return a.recipe.allow_soft_placement; }, verdict::own()},
      {"log_device_placement", evaluated, "log each op that is moved to the CPU, and why",
       [](A& a) -> bool& { return a.recipe.log_device_placement; }, verdict::own()},
      {"precision_mode", evaluated, "precision of ops: " + modes(&PrecisionMode::name),
       [](A& a) -> std::string& { return a.recipe.precision.mode; },
       verdict::changes({.kept = [](const Recipe& r) { return SettingValue(name_of(mode_of(precision_of(r)))); }})},
      {.name = "precision_mode_v2",
       .group = evaluated,
       .help = "the same as precision_mode under its newer names: " + modes(&PrecisionMode::v2_name),
       .field = [](A& a) -> std::string& { return a.recipe.precision.mode_v2; },
       .verdict = verdict::part_of("precision_mode"),
       .instead_of = {{"precision_mode"}}},
      {.name = "modify_mixlist",
       .group = evaluated,
       .help = "JSON file that moves ops between the op lists of the mixed precision modes",
       .field = [](A& a) -> std::string& { return a.recipe.precision.modify_mixlist; },
       .verdict = verdict::part_of("types of ops"),
       .names_file = is_path},
      {.name = "keep_dtype",
       .group = evaluated,
       .help = "file of ops that keep their types, one per line: an op, a scope or OpType::NAME",
       .field = [](A& a) -> std::string& { return a.recipe.precision.keep_dtype; },
       .verdict = verdict::part_of("types of ops"),
       .names_file = is_path},
      {.name = "customize_dtypes",
       .group = evaluated,
       .help = "file of types by op, one per line: NAME::InputDtype:float16,OutputDtype:float32 or OpType::NAME:..",
       .field = [](A& a) -> std::string& { return a.recipe.precision.customize_dtypes; },
       .verdict = verdict::part_of("types of ops"),
       .names_file = is_path},
      {"fp16_compute", evaluated,
       "how float16 is computed: exact (as float16, emulated where the device has no kernel) or bf16 (as bfloat16)",
       [](A& a) -> std::string& { return a.recipe.precision.fp16_compute; }, verdict::changes({.kept_later = true})},
      {.name = "amp_level",
       .group = evaluated,
       .help = "mixed precision level, instead of precision_mode: O0, O1, O2, O3 or auto",
       .field = [](A& a) -> std::string& { return a.recipe.precision.amp_level; },
       .verdict = verdict::part_of("precision_mode"),
       .instead_of = {{"precision_mode"}, {"precision_mode_v2"}, {"accelerate_train_mode"}}},
      {"accelerate_train_mode", group,
       "experimental: reduced precision first, full precision at the end: TYPE|TRIGGER|RATIO with TYPE fast (f16) or "
       "fast1 (bf16) and TRIGGER step or loss: 'fast1|step|0.9'",
       [](A& a) -> std::string& { return a.accelerate_train_mode; }, verdict::changes({.kept = accelerate_of})},
      {"final_loss", group, "accelerate_train_mode with the trigger loss: the target loss",
       [](A& a) -> double& { return a.final_loss; },
       verdict::changes(
           {.kept = [](const Recipe& r) { return SettingValue(r.final_loss.value_or(0)); }, .kept_later = true})},
      {"reproducibility", evaluated,
       "when results are bitwise the same: fast (same machine and number of threads), deterministic (any number of "
       "threads), portable (any machine)",
       [](A& a) -> std::string& { return a.recipe.reproducibility; }, verdict::changes()},
      {"op_select_implmode", evaluated,
       "kernels: high_performance, or high_precision (no algorithms that save multiplications at the cost of accuracy)",
       [](A& a) -> std::string& { return a.recipe.op_select_implmode; },
       verdict::changes({.kept = [](const Recipe& r) { return SettingValue(implmode_of(r)); }})},
      {"fp32_compute", evaluated,
       "how f32 convolutions and dense layers multiply: f32, or bf16x3 (three bf16 products on tile registers, errors "
       "of about 5e-6)",
       [](A& a) -> std::string& { return a.recipe.fp32_compute; }, verdict::changes()},
      {.name = "tune",
       .group = evaluated,
       .help = "choose kernels by measured time; each is measured once and its time kept in this file (auto: in the "
               "user's cache folder)",
       .field = [](A& a) -> std::string& { return a.recipe.tune; },
       .verdict = verdict::own(),
       .names_file = [](std::string_view value) { return value != "auto"; }},
      {"fusion", evaluated,
       "merge chains of elementwise ops: True or False; default: True if the device has a compiler for them",
       [](A& a) -> std::optional<bool>& { return a.recipe.fusion; }, verdict::changes({.kept_later = true})},
      {"memory_limit",
       evaluated,
       "memory limit of a step in bytes; cheap values are recomputed instead of kept to meet it; 0: no limit",
       [](A& a) -> std::int64_t& { return a.recipe.memory_limit; },
       verdict::alike(),
       {"0 (none) or more", 0}},
      {"disable_pass", evaluated, "skip this compiler pass; may be given several times",
       [](A& a) -> std::vector<std::string>& { return a.recipe.disabled_passes; },
       verdict::changes({.kept_later = true})},
      {"dump_ir", evaluated, "write the graph after every compiler pass into this folder",
       [](A& a) -> std::string& { return a.recipe.dump_ir; }, verdict::own()},
      {"log", evaluated, "diagnostics to log, comma-separated: dispatch, placement, memory, passes, data",
       [](A& a) -> std::string& { return a.recipe.log; }, verdict::own()},
      {"export_compile_stat",
       group,
       "write fusion_result.json into log_dir, the number of ops that each fusion pass merged: 0: never, 1: at the end "
       "of the run, 2: after compilation",
       [](A& a) -> int& { return a.recipe.export_compile_stat; },
       verdict::own(),
       {"0, 1, 2", 0, 2}},
      {"histogram_steps",
       group,
       "steps between histograms of weights and gradients in the TensorBoard event file (each costs the time of a "
       "step); 0: none",
       [](A& a) -> std::int64_t& { return a.recipe.histogram_steps; },
       verdict::own(),
       {"0 (none) or more", 0}},
      {"picture_steps",
       group,
       "steps between sample images in the TensorBoard event file; 0: none",
       [](A& a) -> std::int64_t& { return a.recipe.picture_steps; },
       verdict::own(),
       {"0 (none) or more", 0}},
      {"save_graph", group, "write the graph of the training step into the TensorBoard event file",
       [](A& a) -> bool& { return a.recipe.save_graph; }, verdict::own()},
      {"export_step", group,
       "at the end of the run, write the training step to this file (*.rdgm), so that a program without the model's "
       "source can continue the training",
       [](A& a) -> std::string& { return a.recipe.export_step; }, verdict::own()},
      {"trace", evaluated, "write a Chrome trace to this file", [](A& a) -> std::string& { return a.recipe.trace; },
       verdict::own()},
      {"explain", group,
       "at the end of the run, measure the machine's limits and write the time of each launch of the last step next to "
       "its limit into launches.jsonl",
       [](A& a) -> bool& { return a.recipe.explain; }, verdict::own()},
      {.name = "dump_path",
       .group = group,
       .help = "folder for the values of ops in training steps, one file per step",
       .field = [](A& a) -> std::string& { return a.recipe.dump.path; },
       .verdict = verdict::own(),
       .names_file = is_path},
      {"dump_step", group, "with dump_path: steps to write, counted from 0: '0|3-5|10'; empty: all",
       [](A& a) -> std::string& { return a.recipe.dump.step; }, verdict::own()},
      {"dump_mode", group, "with dump_path: values to write of each op: input, output or all (both)",
       [](A& a) -> std::string& { return a.recipe.dump.mode; }, verdict::own()},
      {"dump_debug_mode", group,
       "with dump_path: write only ops with infinite or NaN results: aicore_overflow or all (here the same)",
       [](A& a) -> std::string& { return a.recipe.dump.debug_mode; }, verdict::own()},
      {"dump_data", group, "with dump_path: what to write: tensor (the values) or stats (a table of statistics)",
       [](A& a) -> std::string& { return a.recipe.dump.data; }, verdict::own()},
      {"dump_layer", group,
       "with dump_path: ops to write: names separated by blanks, with wildcards * and ?; empty: all",
       [](A& a) -> std::string& { return a.recipe.dump.layer; }, verdict::own()},
  };
}

}  // namespace ridgeline::train
