// ridgeline/infer/loaded_model.h
//
// A model in a session: its values in the session's store, its graph compiled. For predictions and training steps: an
// exported step continues here, with the same bits as where it was built, without the source of its model. Borrows the
// session, which must live longer. One thread.
#pragma once

#include <memory>

#include "ridgeline/compile/compile.h"
#include "ridgeline/infer/model.h"

namespace ridgeline::infer {

class LoadedModel {
 public:
  // An Error if the store already holds an entry of the same name and another type, or if the model has unusable values
  // (unusable_values.h).
  LoadedModel(Session& session, const Model& model, const CompileOptions& options = {});

  // Bind its inputs by name, run it, read its results.
  Program& program() { return *program_; }
  const Graph& graph() const { return graph_; }
  // The model with its present values; written by write_model(), it can continue elsewhere.
  Model current() const;

 private:
  Session& session_;
  Graph graph_;
  Model described_;  // name, preprocessing and class names
  std::unique_ptr<Program> program_;
};

}  // namespace ridgeline::infer
