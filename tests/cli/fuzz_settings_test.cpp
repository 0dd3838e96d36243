// Mutated files with settings, and results that other commands read: rank tables, run configurations, presets, measured
// steps, dumped values, checkpoints, exported steps. Like fuzz_inputs_test.cpp.
#include <gtest/gtest.h>

#include "ridgeline/comm/rank_table.h"
#include "ridgeline/core/bytes.h"
#include "ridgeline/core/file.h"
#include "ridgeline/format/record/packed.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/infer/loaded_model.h"
#include "ridgeline/infer/model_file.h"
#include "ridgeline/train/report/report.h"
#include "tests/cli/fuzz.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

using Input = testing::FuzzInput;
using testing::put;
using testing::run_command;
using testing::to;
using testing::try_inputs;

TEST(FuzzSettings, RankTables) {
  const std::string servers =
      R"({"version": "1.0", "status": "completed", "server_count": "2", "server_list": [)"
      R"({"server_id": "10.0.0.1", "device": [{"device_id": "0", "device_ip": "192.1.1.6", "rank_id": "0"},)"
      R"({"device_id": "1", "device_ip": "192.1.1.7", "rank_id": "1"}]},)"
      R"({"server_id": "10.0.0.2", "device": [{"device_id": "0", "device_ip": "192.1.2.6", "rank_id": "2"}]}]})";
  const std::string groups =
      R"({"status": "completed", "group_count": "1", "group_list": [{"group_name": "g", "instance_count": "2",)"
      R"("device_count": "2", "instance_list": [)"
      R"({"pod_name": "a", "server_id": "10.0.0.1", "devices": [{"device_id": "0", "device_ip": "192.1.1.6"}]},)"
      R"({"pod_name": "b", "server_id": "10.0.0.2", "devices": [{"device_id": "0", "device_ip": "192.1.2.6"}]}]}]})";
  const auto read = [] { return comm::read_rank_table("table.json").size() > 0 ? 0 : 1; };
  try_inputs({{"rank table by servers", servers, to("table.json"), read},
              {"rank table by groups", groups, to("table.json"), read}});
}

// The smallest run: mutated sizes end in an Error before anything is computed.
int train_with(const std::string& flag) {
  return run_command({"train", flag, "--synthetic", "--model=linear", "--mode=train", "--image_size=8",
                      "--num_classes=3", "--batch_size=2", "--max_train_steps=1", "--log_dir=run",
                      "--do_checkpoint=False"});
}

TEST(FuzzSettings, RunConfigurations) {
  const std::string config =
      R"({"tf_random_seed": 3, "iterations_per_loop": 2, "save_summary_steps": 5, "keep_checkpoint_max": 2,)"
      R"("session_config": {"intra_op_parallelism_threads": 1, "allow_soft_placement": true},)"
      R"("precision_mode": "must_keep_origin_dtype", "deterministic": 1, "graph_run_mode": 1,)"
      R"("auto_parallel_context": {"parallel_mode": "stand_alone", "gradients_mean": true}, "soc_config": "x"})";
  const std::string preset =
      "lr: 0.1\nmomentum: 0.5\ndisable_pass: [simplify]\nweight_decay: 1e-4\n---\npreset: the least\nlr: the rate\n"
      "---\nlr: [0.1, 0.2]\n";
  try_inputs({{"run configuration", config, to("run.json"), [] { return train_with("--run_config=run.json"); }},
              {"preset", preset, to("own.yaml"), [] { return train_with("--preset=own.yaml"); }}});
}

TEST(FuzzSettings, ResultsThatOthersRead) {
  const std::string folder = testing::temporary_directory();
  const std::string step = R"({"model": "linear", "batch_size": 4, "ms_per_step": 2.5, "timeline": [)"
                           R"({"name": "a", "ms": 1.5, "gradient_bytes": 0, "update": false},)"
                           R"({"name": "b", "ms": 0.5, "gradient_bytes": 4000, "update": false},)"
                           R"({"name": "c", "ms": 0.5, "gradient_bytes": 400, "update": true}]})";
  const std::string values = R"([{"name": "x", "op": "argument", "where": "m.cpp:3", "inputs": []},)"
                             R"({"name": "y", "op": "relu", "where": "", "inputs": ["x"]}])";
  write_safetensors(folder + "/dump",
                    {{"x", Tensor::zeros(DType::f32, {1, 2, 2, 3})}, {"y", Tensor::zeros(DType::u8, {3})}},
                    {{"ridgeline_dump", values}});
  const std::string dump = read_file(folder + "/dump");
  const auto compare = [] { return run_command({"doctor", "compare", "a", "b", "--names=names", "--largest=3"}); };
  const auto beside = [dump](const char* mutated) {
    return [dump, mutated](const std::string& bytes) {
      put("a", dump);
      put("b", dump);
      put("names", "x x\n# no pair\ny y\n");
      put(mutated, bytes);
    };
  };
  const std::string log =
      R"({"kind":"train","step":1,"epoch":0.5,"loss":0.5,"images_per_second":10,"time":1.5,"lr":0.1})"
      "\n"
      R"({"kind":"evaluation","step":1,"epoch":1,"val-loss":0.25,"val-top1acc":0.5,"rows":8,"time":2})"
      "\n";
  const auto report = [] {
    return run_command({"report", "log", "--out=r.html"}) + run_command({"report", "log", "--out=r.csv"}) +
           run_command({"report", "log", "--out=r.md"});
  };
  const auto in_log = [log](const char* mutated) {
    return [log, mutated](const std::string& bytes) {
      put("log/metrics.jsonl", log);
      put("log/model.ckpt-1.json", "{}");
      put(mutated, bytes);
    };
  };
  try_inputs({{"measured step", step, to("step.json"),
               [] { return run_command({"plan", "step.json"}) + run_command({"plan", "step.json", "--json"}); }},
              {"measured step of a cluster", step, to("step.json"),
               [] { return run_command({"plan", "step.json", "--cluster=h200x8_ib_64", "--auto_parallel"}); }},
              {"first dump", dump, beside("a"), compare},
              {"second dump", dump, beside("b"), compare},
              {"names of values", "x x\n# no pair\ny y\n", beside("names"), compare},
              {"log of a run", log, in_log("log/metrics.jsonl"), report},
              {"settings of a run", R"({"model":"linear","seed":3,"settings":{"lr":"0.1","batch_size":"4"}})",
               in_log("log/model.ckpt-1.json"), report}});
}

// A file that the program writes when it runs once, in its own folder.
std::string made_by(const std::string& words, const std::string& file) {
  const std::string folder = testing::temporary_directory() + "/made";
  testing::expect(testing::run_shell("rm -rf " + folder + " && mkdir -p " + folder + " && cd " + folder + " && " +
                                     testing::program() + " " + words),
                  0, {});
  return read_file(folder + "/" + file);
}

constexpr const char* kTraining =
    "train --synthetic --model=linear --mode=train --image_size=4 --num_classes=3 --batch_size=2 --max_train_steps=1 "
    "--log_dir=. --export_step=step.rdgm";

// Loads an exported step and runs it on zeros.
int run_step() {
  const infer::Model model = infer::read_model("step.rdgm");
  Session session;
  infer::LoadedModel step(session, model);
  for (const ValueId id : step.graph().arguments) {
    const ValueInfo& value = step.graph().value(id);
    if (value.kind == ValueKind::input)
      step.program().bind(value.name, Tensor::zeros(value.type.dtype, value.type.shape));
  }
  return step.program().run() ? 0 : 1;
}

// Replaces the graph of a model file, with correct checksums.
std::string graph_in(const std::string& path) { return to_text(infer::read_model(path).graph, {.locations = false}); }

void put_with_graph(const std::string& original, const std::string& graph) {
  const PackedFile file(original);
  PackedSchema schema = file.schema();
  std::vector<PackedValue> values;
  const PackedRow row = file.row(0);
  for (std::size_t i = 0; i < row.size(); ++i)
    values.push_back({schema.columns[i].dtype == DType::bytes ? as_bytes(graph) : row[i].bytes});
  PackedWriter writer("step.rdgm", schema, file.metadata());
  writer.add(0, values);
  writer.finish(1);
}

TEST(FuzzSettings, ExportedSteps) {
  const std::string bytes = made_by(kTraining, "step.rdgm");
  const std::string whole = testing::temporary_directory() + "/whole.rdgm";
  put(whole, bytes);
  try_inputs({{"exported step", bytes, to("step.rdgm"), run_step},
              {"graph of an exported step", graph_in(whole),
               [whole](const std::string& graph) { put_with_graph(whole, graph); }, run_step}});
}

TEST(FuzzSettings, CheckpointsCutAnywhere) {
  const std::string bytes = made_by(kTraining, "model.ckpt-1.safetensors");
  const int count = testing::fuzz_count(40);
  const auto size_of_case = [&](int i) {
    SampleRandom random(philox_key(5, "cuts"), 0, static_cast<std::uint64_t>(i));
    // Half of the mutations are in the header.
    return static_cast<std::size_t>(random.integer(0, i % 2 == 0 ? 2000 : static_cast<std::int64_t>(bytes.size()) - 1));
  };
  testing::try_all(
      count,
      [&](int i) {
        put("done/model.ckpt-1.safetensors", bytes.substr(0, size_of_case(i)));
        for (const std::vector<std::string>& words : {std::vector<std::string>{"info", "done"},
                                                      {"export", "--checkpoint_dir=done", "--out=m.rdgm"},
                                                      {"predict", "--checkpoint_dir=done", "x.jpg"}})
          EXPECT_EQ(run_command(words), 1) << words[0];
      },
      [&](int i) { return "a checkpoint of " + std::to_string(size_of_case(i)) + " bytes"; });
}

}  // namespace
}  // namespace ridgeline
