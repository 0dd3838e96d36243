#include "ridgeline/train/recipe/compile_statistics.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "ridgeline/compile/count_fusions.h"
#include "ridgeline/core/file.h"

namespace ridgeline::train {

void write_compile_statistics(Model& model, const std::string& directory, TrainingLog& log) {
  nlohmann::ordered_json passes = nlohmann::ordered_json::object();
  std::size_t merged = 0;
  for (const FusionCount& count :
       count_fusions(model.training_graph(), model.session(), model.training_compile_options())) {
    nlohmann::ordered_json& row = passes[std::string(count.pass)];
    row["effect_times"] = std::to_string(count.effective);
    row["match_times"] = std::to_string(count.matched);
    merged += count.effective;
  }
  nlohmann::ordered_json graph = nlohmann::ordered_json::object();
  graph["session_and_graph_id"] = "0_0";
  graph["graph_fusion"] = std::move(passes);
  graph["ub_fusion"] = nlohmann::ordered_json::object();
  nlohmann::ordered_json result = nlohmann::ordered_json::array();
  result.push_back(std::move(graph));
  const std::string path = (std::filesystem::path(directory) / "fusion_result.json").string();
  write_file_atomically(path, result.dump(2) + "\n");
  log.line(fmt::format("fusion merged {} ops of the training step: {}", merged, path));
}

}  // namespace ridgeline::train
