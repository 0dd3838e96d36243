#include "ridgeline/train/recipe/run_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ridgeline/core/error.h"
#include "ridgeline/format/text/json_value.h"
#include "ridgeline/train/recipe/run_option_readers.h"

namespace ridgeline::train {
namespace {

constexpr RunOptionDecision kAccept = RunOptionDecision::accept;
constexpr RunOptionDecision kWarn = RunOptionDecision::warn;
constexpr RunOptionDecision kRefuse = RunOptionDecision::refuse;
constexpr std::string_view kChip = "of another chip";
constexpr std::string_view kStatic = "shapes are static";
constexpr std::string_view kNoCompiler = "no kernels are compiled at run time";

constexpr RunOption kOptions[] = {
    {"model_dir", kAccept, "log_dir", "log, metrics and checkpoints"},
    {"tf_random_seed", kAccept, "seed", ""},
    {"iterations_per_loop", kAccept, "iterations_per_loop", "loops are also cut at logs, checkpoints and evaluations"},
    {"save_summary_steps", kAccept, "save_summary_steps", ""},
    {"save_checkpoints_steps", kAccept, "save_checkpoints_steps", "any number, not only multiples of the loop"},
    {"save_checkpoints_secs", kAccept, "save_checkpoints_secs",
     "looked at where loops end; excludes save_checkpoints_steps"},
    {"keep_checkpoint_max", kAccept, "max_checkpoint_to_save", ""},
    {"keep_checkpoint_every_n_hours", kWarn, "", "checkpoints are kept by number"},
    {"log_step_count_steps", kAccept, "display_every", ""},
    {"intra_op_parallelism_threads", kAccept, "intra_op_parallelism_threads", "of session_config"},
    {"inter_op_parallelism_threads", kAccept, "inter_op_parallelism_threads", "of session_config; 0 is 1"},
    {"allow_soft_placement", kAccept, "allow_soft_placement", "of session_config"},
    {"log_device_placement", kAccept, "log_device_placement", "of session_config"},
    {"enable_data_pre_proc", kAccept, "enable_data_pre_proc", ""},
    {"precision_mode", kAccept, "precision_mode", ""},
    {"precision_mode_v2", kAccept, "precision_mode_v2", ""},
    {"modify_mixlist", kAccept, "modify_mixlist", ""},
    {"customize_dtypes", kAccept, "customize_dtypes", ""},
    {"enable_reduce_precision", kWarn, "", "precision_mode says it"},
    {"accelerate_train_mode", kAccept, "accelerate_train_mode", "of experimental_config; empty: off", "",
     read_accelerate_train_mode},
    {"deterministic", kAccept, "reproducibility", "0: fast, 1: deterministic", "", read_deterministic},
    {"op_select_implmode", kAccept, "op_select_implmode", ""},
    {"optypelist_for_implmode", kRefuse, "", "op_select_implmode holds for all ops"},
    {"op_precision_mode", kRefuse, "", "op_select_implmode holds for all ops"},
    {"mix_compile_mode", kRefuse, "", "ops that the device lacks run on the CPU: allow_soft_placement", "False"},
    {"graph_run_mode", kRefuse, "", "1 trains; to infer, use evaluate and predict", "1"},
    {"session_device_id", kRefuse, "", "cards are chosen by number with --device=cuda:N", "0"},
    {"variable_placement", kRefuse, "", "parameters lie on the device", "Device"},
    {"distribute", kRefuse, "", "the environment says it: ridgeline launch, with --servers for parameter servers"},
    {"hcom_parallel", kAccept, "hcom_parallel", ""},
    {"is_weight_update_sharding", kAccept, "is_weight_update_sharding", "of NPUDistributedOptimizer"},
    {"parallel_mode", kAccept, "parallel_mode", "of auto_parallel_context"},
    {"device_num", kAccept, "rank_size", "of auto_parallel_context"},
    {"global_rank", kWarn, "", "the launcher says it"},
    {"gradients_mean", kRefuse, "", "gradients are means over the ranks", "True"},
    {"gradient_fp32_sync", kWarn, "", "narrow gradients are added in f32 and rounded once"},
    {"parameter_broadcast", kWarn, "", "all ranks begin with the parameters of rank 0"},
    {"full_batch", kRefuse, "", "each rank reads its own images", "False"},
    {"pipeline_stages", kAccept, "pipeline_stages", "of auto_parallel_context"},
    {"enable_parallel_optimizer", kAccept, "is_weight_update_sharding", "of auto_parallel_context"},
    {"all_reduce_fusion_config", kAccept, "split_strategy_by_idx", "of auto_parallel_context; a list of numbers", "",
     read_all_reduce_fusion},
    {"auto_parallel_search_mode", kWarn, "", "all choices of up to six dense layers are compared"},
    {"strategy_ckpt_load_file", kRefuse, "", "a plan is made anew for each run; shard_layer says one"},
    {"strategy_ckpt_save_file", kWarn, "", "the log has the plan"},
    {"is_tailing_optimization", kWarn, "", "the last bucket is exchanged as any other"},
    {"hccl_timeout", kWarn, "", "the environment says it: HCCL_EXEC_TIMEOUT"},
    {"HCCL_algorithm", kWarn, "", "the engine has one algorithm for each exchange"},
    {"horovod_mode", kWarn, "", "there is no Horovod"},
    {"local_rank_id", kRefuse, "", "which worker a process is the environment says: MS_NODE_ID", "0"},
    {"local_device_list", kWarn, "", "which workers there are the environment says: MS_WORKER_NUM"},
    {"op_wait_timeout", kWarn, "", "nothing waits for another device"},
    {"op_execute_timeout", kWarn, "", "a step cannot hang on the device"},
    {"stream_sync_timeout", kWarn, "", "a step cannot hang on the device"},
    {"event_sync_timeout", kWarn, "", "a step cannot hang on the device"},
    {"dump_config", kAccept, "dump_path",
     "and `--dump_step`, `--dump_mode`, `--dump_debug_mode`, `--dump_data`, `--dump_layer`; one safetensors file a "
     "step",
     "", read_dump},
    {"profiling_config", kAccept, "trace", "a Chrome trace, `trace.json` in the folder `output` of its options", "",
     read_profiling},
    {"fusion_switch_file", kAccept, "disable_pass",
     "passes by the names they have here; `ALL`: those that merge ops; `ALL` on asks for `--fusion`", "",
     read_fusion_switch},
    {"enable_scope_fusion_passes", kWarn, "", "no pass depends on scopes"},
    {"buffer_optimize", kWarn, "", "the memory plan is always made"},
    {"oo_level", kWarn, "", "all passes run; disable_pass leaves one out"},
    {"oo_constant_folding", kWarn, "", "all passes run; disable_pass leaves one out"},
    {"optimization_switch", kWarn, "", "all passes run; disable_pass leaves one out"},
    {"export_compile_stat", kAccept, "export_compile_stat",
     "`fusion_result.json` in log_dir; 1: at the end, 2: at once"},
    {"op_compiler_cache_mode", kWarn, "", kNoCompiler},
    {"op_compiler_cache_dir", kWarn, "", kNoCompiler},
    {"jit_compile", kWarn, "", kNoCompiler},
    {"debug_dir", kWarn, "", kNoCompiler},
    {"op_debug_level", kWarn, "", kNoCompiler},
    {"op_debug_config", kWarn, "", kNoCompiler},
    {"memory_config", kWarn, "", "memory is planned before the first step"},
    {"graph_memory_max_size", kWarn, "", "without effect in the original, too; memory_limit is what limits a step"},
    {"variable_memory_max_size", kWarn, "", "without effect in the original, too"},
    {"external_weight", kWarn, "", "weights lie in checkpoints"},
    {"frozen_variable", kWarn, "", "freeze names parameters that are not trained"},
    {"enable_exception_dump", kWarn, "", "an error tells op and line"},
    {"aoe_mode", kRefuse, "", "nothing is tuned during a run; --tune measures kernels before it"},
    {"work_path", kWarn, "", "of aoe_mode"},
    {"aoe_config_file", kWarn, "", "of aoe_mode"},
    {"input_fusion_size", kWarn, "", "batches reach the step without a copy"},
    {"input_batch_cpy", kWarn, "", "batches reach the step without a copy"},
    {"dynamic_input", kRefuse, "", kStatic, "False"},
    {"dynamic_graph_execute_mode", kRefuse, "", kStatic},
    {"dynamic_inputs_shape_range", kRefuse, "", kStatic},
    {"dynamic_input_config", kRefuse, "", kStatic},
    {"compile_dynamic_mode", kRefuse, "", kStatic, "False"},
    {"shape_generalization_mode", kRefuse, "", kStatic},
    {"all_tensor_not_empty", kWarn, "", kStatic},
    {"enable_small_channel", kWarn, "", kChip},
    {"stream_max_parallel_num", kWarn, "", kChip},
    {"aicore_num", kWarn, "", kChip},
    {"auto_multistream_parallel_mode", kWarn, "", kChip},
    {"variable_format_optimize", kWarn, "", kChip},
    {"soc_config", kWarn, "", kChip},
    {"enable_compress_weight", kWarn, "", kChip},
};

// Objects that hold options of their own.
constexpr std::array<std::string_view, 3> kGroups = {"session_config", "experimental_config", "auto_parallel_context"};

const RunOption& option_named(const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  for (const RunOption& option : kOptions) {
    if (option.name == name) return option;
    names.emplace_back(option.name);
  }
  throw Error(where + ": unknown option '" + name + "'" + did_you_mean(name, names), ErrorKind::usage);
}

void read(const JsonValue& object, const std::string& where, RunConfig& config) {
  if (object.object() == nullptr)
    throw Error(where + " is " + std::string(object.kind()) + "; an object is meant", ErrorKind::usage);
  for (const JsonMember& member : *object.object()) {
    const std::string at = where + ": " + member.key;
    if (member.value.is_null()) continue;  // not given
    if (std::find(kGroups.begin(), kGroups.end(), member.key) != kGroups.end()) {
      read(member.value, at, config);
      continue;
    }
    const RunOption& option = option_named(member.key, where);
    if (option.decision == RunOptionDecision::warn) {
      config.warnings.push_back(fmt::format("{} has no effect: {}", member.key, option.note));
      continue;
    }
    const bool refused = option.decision == RunOptionDecision::refuse;
    if (refused && option.only.empty())
      throw Error(fmt::format("{} is not supported: {}", at, option.note), ErrorKind::usage);
    if (option.read) {
      option.read(member.value, at, config);
      continue;
    }
    const std::string value = scalar_text(member.value, at);
    if (!refused) {
      config.settings.emplace_back(option.setting, value);
    } else if (value != option.only) {
      throw Error(fmt::format("{}={} is not supported: {} (allowed: {})", at, value, option.note, option.only),
                  ErrorKind::usage);
    }
  }
}

}  // namespace

std::string_view name_of(RunOptionDecision decision) {
  switch (decision) {
    case RunOptionDecision::accept: return "accept";
    case RunOptionDecision::warn: return "warn";
    case RunOptionDecision::refuse: return "refuse";
  }
  return "";
}

std::span<const RunOption> run_options() { return kOptions; }

RunConfig read_run_config(const std::string& json, const std::string& where) {
  RunConfig config;
  read(parse_json(json, where), where, config);
  return config;
}

std::string run_options_table() {
  std::string table = "| option | decision | here |\n|---|---|---|\n";
  for (const RunOption& option : kOptions) {
    std::string here(option.note);
    if (!option.setting.empty()) here = fmt::format("`--{}`{}{}", option.setting, here.empty() ? "" : "; ", here);
    if (!option.only.empty()) here += fmt::format(" (`{}` is accepted)", option.only);
    table += fmt::format("| `{}` | {} | {} |\n", option.name, name_of(option.decision), here);
  }
  return table;
}

}  // namespace ridgeline::train
