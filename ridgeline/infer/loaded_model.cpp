#include "ridgeline/infer/loaded_model.h"

#include "ridgeline/core/threads.h"

namespace ridgeline::infer {

LoadedModel::LoadedModel(Session& session, const Model& model, const CompileOptions& options)
    : session_(session), graph_(model.graph) {
  check(model);
  check_values(model);
  described_.name = model.name;
  described_.preprocessing = model.preprocessing;
  described_.class_names = model.class_names;
  // After compilation, which refuses what does not fit into memory and fixes the parameters' layouts.
  program_ = compile(graph_, session, options);
  const ComputeScope team(session.compute_threads());
  for (const auto& [name, tensor] : model.tensors) {
    session.parameters().set(name, tensor, graph_.value(graph_.find_argument(name)).kind);
  }
}

Model LoadedModel::current() const {
  Model model = capture(session_.parameters(), graph_, described_.name);
  model.preprocessing = described_.preprocessing;
  model.class_names = described_.class_names;
  return model;
}

}  // namespace ridgeline::infer
