// ridgeline/infer/loaded_model.h
//
// A model in a session: its values in the session's store, its graph compiled. Of a prediction and of a training step
// alike: a step that was exported goes on here, bit by bit as where it was built, without the source of its model.
// Borrows the session, which must live longer. One thread.
#pragma once

#include <memory>

#include "ridgeline/compile/compile.h"
#include "ridgeline/infer/model.h"

namespace ridgeline::infer {

class LoadedModel {
 public:
  // An Error where the store already holds an entry of the same name and another type, and where the model has values
  // that nothing can be computed with.
  LoadedModel(Session& session, const Model& model, const CompileOptions& options = {});

  // Bind its inputs by name, run it, read what it returns.
  Program& program() { return *program_; }
  const Graph& graph() const { return graph_; }
  // The model with the values as they are now; write_model() of it goes on elsewhere.
  Model current() const;

 private:
  Session& session_;
  Graph graph_;
  Model described_;  // name, preprocessing and class names
  std::unique_ptr<Program> program_;
};

}  // namespace ridgeline::infer
