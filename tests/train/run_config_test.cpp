// Ascend's run configuration: each option is a setting, a warning or a refusal, as its page says.
#include "ridgeline/train/recipe/run_config.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "ridgeline/core/file.h"
#include "ridgeline/graph/pass/passes.h"
#include "ridgeline/train/recipe/kept_settings.h"
#include "ridgeline/train/recipe/options.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace ridgeline::train {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

TEST(RunConfig, OptionsBecomeSettingsOfTheRecipe) {
  const RunConfig config = read_run_config(
      R"({"model_dir": "m", "iterations_per_loop": 100, "deterministic": 1, "enable_data_pre_proc": true,
          "save_checkpoints_steps": null,
          "session_config": {"allow_soft_placement": false, "intra_op_parallelism_threads": 2,
                             "inter_op_parallelism_threads": 5},
          "experimental_config": {"accelerate_train_mode": "fast|step|0.9"}})",
      "c.json");
  EXPECT_EQ(config.settings, (Settings{{"log_dir", "m"},
                                       {"iterations_per_loop", "100"},
                                       {"reproducibility", "deterministic"},
                                       {"enable_data_pre_proc", "True"},
                                       {"allow_soft_placement", "False"},
                                       {"intra_op_parallelism_threads", "2"},
                                       {"inter_op_parallelism_threads", "5"},
                                       {"accelerate_train_mode", "fast|step|0.9"}}));
  EXPECT_TRUE(config.warnings.empty());
}

TEST(RunConfig, SettingsOfSeveralRanksAreThoseOfTheRecipe) {
  const RunConfig config = read_run_config(
      R"({"hcom_parallel": true, "is_weight_update_sharding": true,
          "auto_parallel_context": {"device_num": 8, "parallel_mode": "auto_parallel", "gradients_mean": true,
                                    "pipeline_stages": 1, "all_reduce_fusion_config": [20, 35], "global_rank": 3}})",
      "c");
  EXPECT_EQ(config.settings, (Settings{{"hcom_parallel", "True"},
                                       {"is_weight_update_sharding", "True"},
                                       {"rank_size", "8"},
                                       {"parallel_mode", "auto_parallel"},
                                       {"pipeline_stages", "1"},
                                       {"split_strategy_by_idx", "20,35"}}));
  EXPECT_EQ(config.warnings, (std::vector<std::string>{"global_rank has no effect: the launcher says it"}));
  const auto error = [](const char* json) { return error_of([&] { read_run_config(json, "c"); }); };
  EXPECT_EQ(error(R"({"auto_parallel_context": {"gradients_mean": false}})"),
            "c: auto_parallel_context: gradients_mean=False is not supported: gradients are means over the ranks "
            "(allowed: True)");
  EXPECT_EQ(error(R"({"auto_parallel_context": {"all_reduce_fusion_config": [20, "x"]}})"),
            "c: auto_parallel_context: all_reduce_fusion_config: text in a list of numbers");
}

TEST(RunConfig, NothingIsSilentlyIgnored) {
  EXPECT_EQ(read_run_config(R"({"horovod_mode": true, "soc_config": "x"})", "c").warnings,
            (std::vector<std::string>{"horovod_mode has no effect: there is no Horovod",
                                      "soc_config has no effect: of another chip"}));
  EXPECT_EQ(read_run_config(R"({"graph_run_mode": 1})", "c").settings.size(), 0u);
  const auto error = [](const char* json) { return error_of([&] { read_run_config(json, "c"); }); };
  EXPECT_EQ(error(R"({"graph_run_mode": 2})"),
            "c: graph_run_mode=2 is not supported: 1 trains; to infer, use evaluate and predict (allowed: 1)");
  EXPECT_EQ(error(R"({"dynamic_input_config": "x"})"), "c: dynamic_input_config is not supported: shapes are static");
  EXPECT_EQ(error(R"({"iteration_per_loop": 1})"),
            "c: unknown option 'iteration_per_loop': did you mean 'iterations_per_loop'?");
  EXPECT_EQ(error(R"({"deterministic": 2})"), "c: deterministic=2 (allowed: 0, 1)");
  EXPECT_EQ(error(R"({"experimental_config": "fast|step|0.9"})"), "c: experimental_config is text; an object is meant");
  EXPECT_EQ(error(R"({"model_dir": []})"), "c: model_dir is array; a text, a number or a boolean is meant");
  EXPECT_NE(error(R"({"model_dir")").find("no valid JSON"), std::string::npos);
}

TEST(RunConfig, ProfilingIsATrace) {
  const RunConfig config = read_run_config(
      R"({"profiling_config": {"enable": true, "options": "{\"output\": \"p\", \"training_trace\": \"on\", \"bp_point\": \"x\"}"}})",
      "c");
  EXPECT_EQ(config.settings, (Settings{{"trace", "p/trace.json"}}));
  EXPECT_EQ(config.warnings,
            (std::vector<std::string>{"profiling_config: bp_point has no effect: the trace names each launch"}));
  EXPECT_TRUE(read_run_config(R"({"profiling_config": {"enable": false, "options": {}}})", "c").settings.empty());
  const auto error = [](const char* json) { return error_of([&] { read_run_config(json, "c"); }); };
  EXPECT_EQ(error(R"({"profiling_config": {"enable": true}})"),
            "c: profiling_config: options: output is needed, the folder that gets trace.json");
  EXPECT_EQ(error(R"({"profiling_config": {"enable": true, "options": {"outputs": "p"}}})"),
            "c: profiling_config: options: unknown key 'outputs': did you mean 'output'?");
}

TEST(RunConfig, DumpsAreSettingsOfTheSameNames) {
  const auto settings = [](const std::string& dump) {
    return read_run_config(R"({"dump_config": )" + dump + "}", "c");
  };
  EXPECT_EQ(settings(R"({"enable_dump": true, "dump_path": "d", "dump_step": "0|3-5", "dump_mode": "all",
                         "dump_layer": "conv1 conv2", "dump_data": "stats", "dump_debug_mode": "all"})")
                .settings,
            (Settings{{"dump_path", "d"},
                      {"dump_step", "0|3-5"},
                      {"dump_mode", "all"},
                      {"dump_data", "stats"},
                      {"dump_layer", "conv1 conv2"}}));
  const RunConfig overflows = settings(R"({"enable_dump_debug": true, "dump_path": "d", "dump_mode": "all"})");
  EXPECT_EQ(overflows.settings, (Settings{{"dump_path", "d"}, {"dump_debug_mode", "all"}}));
  EXPECT_EQ(overflows.warnings,
            (std::vector<std::string>{"dump_config: dump_mode has no effect with enable_dump_debug"}));
  EXPECT_TRUE(settings(R"({"enable_dump": false, "dump_path": "d"})").settings.empty());
  const auto error = [&](const char* dump) { return error_of([&] { settings(dump); }); };
  EXPECT_EQ(error(R"({"enable_dump": true})"), "c: dump_config: if use dump function, dump_path must be set.");
  EXPECT_EQ(error(R"({"enable_dump": true, "enable_dump_debug": true})"),
            "c: dump_config: enable_dump and enable_dump_debug cannot both be on");
  EXPECT_EQ(error(R"({"enable_dumps": true})"),
            "c: dump_config: unknown key 'enable_dumps': did you mean 'enable_dump'?");
}

TEST(RunConfig, FusionIsSwitchedByPassAndANameBeatsAll) {
  const std::string path = ::testing::TempDir() + "/fusion_switch.json";
  const auto settings = [&](const std::string& json) {
    write_file_atomically(path, json);
    return read_run_config(R"({"fusion_switch_file": ")" + path + R"("})", "c");
  };
  const std::vector<std::string> fusing = fusion_passes();
  ASSERT_GE(fusing.size(), 2u);
  Settings all_but_first;
  for (const std::string& name : fusing)
    if (name != fusing[0]) all_but_first.emplace_back("disable_pass", name);
  EXPECT_EQ(settings(R"({"Switch": {"GraphFusion": {"ALL": "off", ")" + fusing[0] + R"(": "on"}}})").settings,
            all_but_first);
  EXPECT_EQ(settings(R"({"Switch": {"GraphFusion": {")" + fusing[1] + R"(": "off"}}})").settings,
            (Settings{{"disable_pass", fusing[1]}}));
  const Settings asked{{"fusion", "True"}};
  EXPECT_EQ(settings(R"({"Switch": {"GraphFusion": {"ALL": "on"}}})").settings, asked);
  EXPECT_EQ(settings(R"({"Switch": {"GraphFusion": {"fuse_pointwise": "on"}}})").settings, asked);
  EXPECT_TRUE(settings(R"({"Switch": {"GraphFusion": {"fuse_updates": "on"}}})").settings.empty());
  const RunConfig other =
      settings(R"({"Switch": {"GraphFusion": {"ConvBnFusion": "off"}, "UBFusion": {"ALL": "off"}}})");
  EXPECT_TRUE(other.settings.empty());
  EXPECT_EQ(other.warnings.size(), 2u);
  EXPECT_NE(error_of([&] { settings(R"({"Switch": {"GraphFusion": {"ALL": "of"}}})"); }).find("(allowed: on, off)"),
            std::string::npos);
}

TEST(RunConfig, EverySettingIsAnOptionOfTheRecipe) {
  for (const RunOption& option : run_options()) {
    const bool accepted = option.decision == RunOptionDecision::accept;
    EXPECT_EQ(accepted, !option.setting.empty()) << option.name;
    if (accepted) {
      EXPECT_NE(find_option(option.setting), nullptr) << option.name;
    }
  }
  for (const SettingRow& row : setting_rows()) {
    if (row.flag) {
      EXPECT_NE(find_option(row.name), nullptr) << row.name;
    }
  }
}

// RIDGELINE_UPDATE_DOCS=1 writes it.
TEST(RunConfig, ThePageHoldsTheTable) {
  const std::string path = testing::source_directory() + "/docs/compatibility.md";
  const std::string page = read_file(path), table = run_options_table();
  const std::size_t begin = page.find("| option | decision |"), end = page.find("\n\n", begin);
  ASSERT_NE(begin, std::string::npos);
  if (std::getenv("RIDGELINE_UPDATE_DOCS")) {
    std::ofstream(path) << page.substr(0, begin) << table << (end == std::string::npos ? "" : page.substr(end + 1));
    return;
  }
  EXPECT_EQ(page.substr(begin, end + 1 - begin), table);
}

}  // namespace
}  // namespace ridgeline::train
