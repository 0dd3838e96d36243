#include "ridgeline/train/checkpoint/same_run.h"

#include <fmt/format.h>

#include "ridgeline/core/error.h"

namespace ridgeline::train {
namespace {

constexpr const char* kSeedsData = "seeds data";  // whether the seed is that of the data, too

}  // namespace

void tell_run(const Model& model, CheckpointInfo& info) {
  info.seed = model.seed();
  info.settings = RunSettings{.values = {{kSeedsData, model.seeds_data()}}};
}

void check_same_run(const LoadedCheckpoint& loaded, const Model& model) {
  const CheckpointInfo& info = loaded.info;
  if (info.model != model.network().name)
    throw Error(fmt::format("{} is of the network '{}', not '{}'", loaded.file.path, info.model, model.network().name));
  if (!info.settings) return;  // older files do not tell their seed
  const auto seeds = [](bool data, std::uint64_t seed) {
    return data ? fmt::format("set_seed({})", seed) : "no set_seed()";
  };
  const std::string there = seeds(info.settings->get<bool>(kSeedsData, false), info.seed),
                    here = seeds(model.seeds_data(), model.seed());
  if (there != here || info.seed != model.seed())
    throw Error(fmt::format("{} is of a run with {}, and the model has {}: its data and dropout would be others",
                            loaded.file.path, there, here));
}

}  // namespace ridgeline::train
