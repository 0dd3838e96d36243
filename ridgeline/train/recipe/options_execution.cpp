#include "ridgeline/core/joined_names.h"
#include "ridgeline/device/devices.h"
#include "ridgeline/train/recipe/options.h"

namespace ridgeline::train {

std::vector<RecipeOption> execution_options() {
  using A = RecipeArguments;
  const std::string_view group = "Execution";
  const auto modes = [](std::string_view PrecisionMode::*column) {
    return joined_names(precision_modes(), [column](const PrecisionMode& mode) { return mode.*column; });
  };
  return {
      {"intra_op_parallelism_threads",
       group,
       "compute threads; 0: one per core",
       [](A& a) -> int& { return a.recipe.intra_op_parallelism_threads; },
       {"0 (automatic) or more", 0}},
      {"inter_op_parallelism_threads",
       group,
       "launches of a step side by side, which divide the compute threads; 0: one after the other",
       [](A& a) -> int& { return a.recipe.inter_op_parallelism_threads; },
       {"0 or more", 0}},
      {"device", group, "where steps run: " + device_names(), [](A& a) -> std::string& { return a.recipe.device; }},
      {"allow_soft_placement", group, "run ops that the device has no kernel for on the CPU instead of refusing them",
       [](A& a) -> bool& { return a.recipe.allow_soft_placement; }},
      {"log_device_placement", group, "name each op that is moved, and why",
       [](A& a) -> bool& { return a.recipe.log_device_placement; }},
      {"precision_mode", group, modes(&PrecisionMode::name),
       [](A& a) -> std::string& { return a.recipe.precision.mode; }},
      {"precision_mode_v2", group, "the same by its newer names, instead: " + modes(&PrecisionMode::v2_name),
       [](A& a) -> std::string& { return a.recipe.precision.mode_v2; }},
      {"modify_mixlist", group, "JSON file that moves ops between the lists of the mixed modes",
       [](A& a) -> std::string& { return a.recipe.precision.modify_mixlist; }},
      {"keep_dtype", group, "file of ops, scopes or OpType::NAME, one a line, that keep their types",
       [](A& a) -> std::string& { return a.recipe.precision.keep_dtype; }},
      {"customize_dtypes", group, "file of NAME::InputDtype:float16,OutputDtype:float32 or OpType::NAME:.., one a line",
       [](A& a) -> std::string& { return a.recipe.precision.customize_dtypes; }},
      {"fp16_compute", group,
       "what float16 stands for: exact (rounded exactly, emulated where the device has no kernel) or bf16",
       [](A& a) -> std::string& { return a.recipe.precision.fp16_compute; }},
      {"amp_level", group, "in the place of a precision mode: O0, O1, O2, O3 or auto",
       [](A& a) -> std::string& { return a.recipe.precision.amp_level; }},
      {"accelerate_train_mode", group,
       "experimental: fast or fast1 (16 bits first, f16 or bf16), step or loss, and a ratio: 'fast1|step|0.9'",
       [](A& a) -> std::string& { return a.accelerate_train_mode; }},
      {"final_loss", group, "the loss that accelerate_train_mode by loss aims at",
       [](A& a) -> double& { return a.final_loss; }},
      {"reproducibility", group,
       "the same bits: fast (same machine and threads), deterministic (any number of threads), portable (any machine)",
       [](A& a) -> std::string& { return a.recipe.reproducibility; }},
      {"op_select_implmode", group,
       "high_performance, or high_precision: no algorithms that save multiplications at the cost of accuracy",
       [](A& a) -> std::string& { return a.recipe.op_select_implmode; }},
      {"fp32_compute", group,
       "how f32 convolutions and dense layers multiply: f32, or bf16x3: three products of bf16 halves on tile "
       "registers, "
       "errors of about 5e-6",
       [](A& a) -> std::string& { return a.recipe.fp32_compute; }},
      {"tune", group,
       "choose kernels by time: each is measured once, and this file keeps the times (auto: one among the user's "
       "caches)",
       [](A& a) -> std::string& { return a.recipe.tune; }},
      {"fusion", group,
       "merge chains of elementwise ops: True or False; not given: where the device has a compiler for them",
       [](A& a) -> std::optional<bool>& { return a.recipe.fusion; }},
      {"memory_limit",
       group,
       "most bytes of a step: cheap values are computed twice rather than kept; 0: no limit",
       [](A& a) -> std::int64_t& { return a.recipe.memory_limit; },
       {"0 (none) or more", 0}},
      {"disable_pass", group, "leave this compiler pass out; may be given several times",
       [](A& a) -> std::vector<std::string>& { return a.recipe.disabled_passes; }},
      {"dump_ir", group, "write the graph after every compiler pass into this directory",
       [](A& a) -> std::string& { return a.recipe.dump_ir; }},
      {"log", group, "diagnostics by commas: dispatch, placement, memory, passes, data",
       [](A& a) -> std::string& { return a.recipe.log; }},
      {"histogram_steps",
       group,
       "steps between histograms of weights and gradients in the event file, each a step more of time; 0: none",
       [](A& a) -> std::int64_t& { return a.recipe.histogram_steps; },
       {"0 (none) or more", 0}},
      {"picture_steps",
       group,
       "steps between pictures of a batch in the event file; 0: none",
       [](A& a) -> std::int64_t& { return a.recipe.picture_steps; },
       {"0 (none) or more", 0}},
      {"save_graph", group, "write the training step's graph into the event file",
       [](A& a) -> bool& { return a.recipe.save_graph; }},
      {"export_step", group,
       "when the run is over, write its training step into this file (*.rdgm): a program without the model's source "
       "goes on with it",
       [](A& a) -> std::string& { return a.recipe.export_step; }},
      {"trace", group, "write a Chrome trace to this file", [](A& a) -> std::string& { return a.recipe.trace; }},
      {"explain", group,
       "when the run is over, measure the machine's limits and write what each launch of the last step took beside "
       "them "
       "into launches.jsonl",
       [](A& a) -> bool& { return a.recipe.explain; }},
      {"dump_path", group, "folder for the values of training steps, a file a step",
       [](A& a) -> std::string& { return a.recipe.dump.path; }},
      {"dump_step", group, "of dump_path: which steps, from 0 on: '0|3-5|10'; empty: all",
       [](A& a) -> std::string& { return a.recipe.dump.step; }},
      {"dump_mode", group, "of dump_path: what ops read (input), make (output), or both (all)",
       [](A& a) -> std::string& { return a.recipe.dump.mode; }},
      {"dump_debug_mode", group,
       "of dump_path: aicore_overflow or all: only the ops that make a number that is not finite",
       [](A& a) -> std::string& { return a.recipe.dump.debug_mode; }},
      {"dump_data", group, "of dump_path: tensor, or stats: a table of numbers",
       [](A& a) -> std::string& { return a.recipe.dump.data; }},
      {"dump_layer", group, "of dump_path: names of ops by blanks, with * and ?; empty: all",
       [](A& a) -> std::string& { return a.recipe.dump.layer; }},
  };
}

}  // namespace ridgeline::train
