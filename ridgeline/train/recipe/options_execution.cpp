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
       "launches of a step side by side, which divide the compute threads; 0: one after the other",
       [](A& a) -> int& { return a.recipe.inter_op_parallelism_threads; },
       verdict::own(),
       {"0 or more", 0}},
      {"device", evaluated, "where steps run: " + device_names(), [](A& a) -> std::string& { return a.recipe.device; },
       // The ordinal may differ. Ranks on other kinds of device would have other fusions and exchanges.
       verdict::alike([](const Recipe& r) { return SettingValue(r.device.substr(0, r.device.find(':'))); })},
      {"allow_soft_placement", evaluated,
       "run ops that the device has no kernel for on the CPU instead of refusing them",
       [](A& a) -> bool& { return a.recipe.allow_soft_placement; }, verdict::own()},
      {"log_device_placement", evaluated, "name each op that is moved, and why",
       [](A& a) -> bool& { return a.recipe.log_device_placement; }, verdict::own()},
      {"precision_mode", evaluated, modes(&PrecisionMode::name),
       [](A& a) -> std::string& { return a.recipe.precision.mode; },
       verdict::changes({.kept = [](const Recipe& r) { return SettingValue(name_of(mode_of(precision_of(r)))); }})},
      {.name = "precision_mode_v2",
       .group = evaluated,
       .help = "the same by its newer names, instead: " + modes(&PrecisionMode::v2_name),
       .field = [](A& a) -> std::string& { return a.recipe.precision.mode_v2; },
       .verdict = verdict::part_of("precision_mode"),
       .instead_of = {{"precision_mode"}}},
      {.name = "modify_mixlist",
       .group = evaluated,
       .help = "JSON file that moves ops between the lists of the mixed modes",
       .field = [](A& a) -> std::string& { return a.recipe.precision.modify_mixlist; },
       .verdict = verdict::part_of("types of ops"),
       .names_file = is_path},
      {.name = "keep_dtype",
       .group = evaluated,
       .help = "file of ops, scopes or OpType::NAME, one a line, that keep their types",
       .field = [](A& a) -> std::string& { return a.recipe.precision.keep_dtype; },
       .verdict = verdict::part_of("types of ops"),
       .names_file = is_path},
      {.name = "customize_dtypes",
       .group = evaluated,
       .help = "file of NAME::InputDtype:float16,OutputDtype:float32 or OpType::NAME:.., one a line",
       .field = [](A& a) -> std::string& { return a.recipe.precision.customize_dtypes; },
       .verdict = verdict::part_of("types of ops"),
       .names_file = is_path},
      {"fp16_compute", evaluated,
       "what float16 stands for: exact (rounded exactly, emulated where the device has no kernel) or bf16",
       [](A& a) -> std::string& { return a.recipe.precision.fp16_compute; }, verdict::changes({.kept_later = true})},
      {.name = "amp_level",
       .group = evaluated,
       .help = "in the place of a precision mode: O0, O1, O2, O3 or auto",
       .field = [](A& a) -> std::string& { return a.recipe.precision.amp_level; },
       .verdict = verdict::part_of("precision_mode"),
       .instead_of = {{"precision_mode"}, {"precision_mode_v2"}, {"accelerate_train_mode"}}},
      {"accelerate_train_mode", group,
       "experimental: fast or fast1 (16 bits first, f16 or bf16), step or loss, and a ratio: 'fast1|step|0.9'",
       [](A& a) -> std::string& { return a.accelerate_train_mode; }, verdict::changes({.kept = accelerate_of})},
      {"final_loss", group, "the loss that accelerate_train_mode by loss aims at",
       [](A& a) -> double& { return a.final_loss; },
       verdict::changes(
           {.kept = [](const Recipe& r) { return SettingValue(r.final_loss.value_or(0)); }, .kept_later = true})},
      {"reproducibility", evaluated,
       "the same bits: fast (same machine and threads), deterministic (any number of threads), portable (any machine)",
       [](A& a) -> std::string& { return a.recipe.reproducibility; }, verdict::changes()},
      {"op_select_implmode", evaluated,
       "high_performance, or high_precision: no algorithms that save multiplications at the cost of accuracy",
       [](A& a) -> std::string& { return a.recipe.op_select_implmode; },
       verdict::changes({.kept = [](const Recipe& r) { return SettingValue(implmode_of(r)); }})},
      {"fp32_compute", evaluated,
       "how f32 convolutions and dense layers multiply: f32, or bf16x3: three products of bf16 halves on tile "
       "registers, "
       "errors of about 5e-6",
       [](A& a) -> std::string& { return a.recipe.fp32_compute; }, verdict::changes()},
      {.name = "tune",
       .group = evaluated,
       .help =
           "choose kernels by time: each is measured once, and this file keeps the times (auto: one among the user's "
           "caches)",
       .field = [](A& a) -> std::string& { return a.recipe.tune; },
       .verdict = verdict::own(),
       .names_file = [](std::string_view value) { return value != "auto"; }},
      {"fusion", evaluated,
       "merge chains of elementwise ops: True or False; not given: where the device has a compiler for them",
       [](A& a) -> std::optional<bool>& { return a.recipe.fusion; }, verdict::changes({.kept_later = true})},
      {"memory_limit",
       evaluated,
       "most bytes of a step: cheap values are computed twice rather than kept; 0: no limit",
       [](A& a) -> std::int64_t& { return a.recipe.memory_limit; },
       verdict::alike(),
       {"0 (none) or more", 0}},
      {"disable_pass", evaluated, "leave this compiler pass out; may be given several times",
       [](A& a) -> std::vector<std::string>& { return a.recipe.disabled_passes; },
       verdict::changes({.kept_later = true})},
      {"dump_ir", evaluated, "write the graph after every compiler pass into this directory",
       [](A& a) -> std::string& { return a.recipe.dump_ir; }, verdict::own()},
      {"log", evaluated, "diagnostics by commas: dispatch, placement, memory, passes, data",
       [](A& a) -> std::string& { return a.recipe.log; }, verdict::own()},
      {"export_compile_stat",
       group,
       "write into log_dir how many ops each fusing pass merged (fusion_result.json): 1: when the run is over, 2: when "
       "the step is compiled, 0: not",
       [](A& a) -> int& { return a.recipe.export_compile_stat; },
       verdict::own(),
       {"0, 1, 2", 0, 2}},
      {"histogram_steps",
       group,
       "steps between histograms of weights and gradients in the event file, each a step more of time; 0: none",
       [](A& a) -> std::int64_t& { return a.recipe.histogram_steps; },
       verdict::own(),
       {"0 (none) or more", 0}},
      {"picture_steps",
       group,
       "steps between pictures of a batch in the event file; 0: none",
       [](A& a) -> std::int64_t& { return a.recipe.picture_steps; },
       verdict::own(),
       {"0 (none) or more", 0}},
      {"save_graph", group, "write the training step's graph into the event file",
       [](A& a) -> bool& { return a.recipe.save_graph; }, verdict::own()},
      {"export_step", group,
       "when the run is over, write its training step into this file (*.rdgm): a program without the model's source "
       "goes on with it",
       [](A& a) -> std::string& { return a.recipe.export_step; }, verdict::own()},
      {"trace", evaluated, "write a Chrome trace to this file", [](A& a) -> std::string& { return a.recipe.trace; },
       verdict::own()},
      {"explain", group,
       "when the run is over, measure the machine's limits and write what each launch of the last step took beside "
       "them "
       "into launches.jsonl",
       [](A& a) -> bool& { return a.recipe.explain; }, verdict::own()},
      {.name = "dump_path",
       .group = group,
       .help = "folder for the values of training steps, a file a step",
       .field = [](A& a) -> std::string& { return a.recipe.dump.path; },
       .verdict = verdict::own(),
       .names_file = is_path},
      {"dump_step", group, "of dump_path: which steps, from 0 on: '0|3-5|10'; empty: all",
       [](A& a) -> std::string& { return a.recipe.dump.step; }, verdict::own()},
      {"dump_mode", group, "of dump_path: what ops read (input), make (output), or both (all)",
       [](A& a) -> std::string& { return a.recipe.dump.mode; }, verdict::own()},
      {"dump_debug_mode", group,
       "of dump_path: aicore_overflow or all: only the ops that make a number that is not finite",
       [](A& a) -> std::string& { return a.recipe.dump.debug_mode; }, verdict::own()},
      {"dump_data", group, "of dump_path: tensor, or stats: a table of numbers",
       [](A& a) -> std::string& { return a.recipe.dump.data; }, verdict::own()},
      {"dump_layer", group, "of dump_path: names of ops by blanks, with * and ?; empty: all",
       [](A& a) -> std::string& { return a.recipe.dump.layer; }, verdict::own()},
  };
}

}  // namespace ridgeline::train
