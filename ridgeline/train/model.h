// ridgeline/train/model.h
//
// A network in a session: its parameters in the store, and the programs that use them, compiled when first needed.
// Borrows the session, which must live longer. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/compile/compile.h"
#include "ridgeline/core/function_ref.h"
#include "ridgeline/data/runtime/state.h"
#include "ridgeline/graph/pass/annotate.h"
#include "ridgeline/graph/pass/in_parts.h"
#include "ridgeline/graph/pass/shard_plan.h"
#include "ridgeline/infer/model.h"
#include "ridgeline/infer/weights.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/train/ranks/holdings.h"

namespace ridgeline::train {

struct ModelSettings {
  std::uint64_t seed = 1;  // of initial parameters and dropout; Model::set_seed() also sets it for the data
  // A dump directory gets a folder for each phase: training, evaluation, prediction.
  CompileOptions compile = {};
  // Of training steps, over ranks that the session has as that group. Each rank evaluates and predicts by itself.
  Distribution distribution = {};
  // The network is that of one part of a rank's batch; training takes batches of all parts (graph/pass/in_parts.h).
  BatchParts parts = {};
  // For layers of the step: how ranks divide them ("data", "columns", "rows"), and in which stage of a pipeline they
  // run.
  std::vector<Annotation> shards = {}, stages = {};
  // For a distribution with servers: the parameters that they keep, by patterns of names (nn/parameter_groups.h); none:
  // all trained ones.
  std::vector<std::string> server_parameters = {};
};

// The policy for a training step of nn/: ops that control steps keep their types.
PrecisionPolicy with_exact_scope(PrecisionPolicy policy, const Graph& step);

class Model {
 public:
  Model(Session& session, nn::Network network, ModelSettings settings = {});

  // One seed for all that is random in a training: initial parameters, dropout, and in train_epochs() the order and the
  // augmentation of data whose graph was given no seed of its own (0). The same seed gives the same bits. Call before
  // the first prepare_...(); afterwards it is an Error.
  void set_seed(std::uint64_t seed);
  std::uint64_t seed() const { return settings_.seed; }
  bool seeds_data() const { return seeds_data_; }  // set_seed() was called

  // Each prepare_...() is an Error if the session already holds a parameter of the same name, another model's or the
  // caller's, whose value would be lost.

  // Compiles the step, makes slots and global_step, and draws the initial parameters. All ranks must call it, and an
  // Error on all of them says where their steps differ.
  // `precision`: the precision of the training step, if it differs from the settings'.
  void prepare_training(const nn::TrainingOptions& options, const PrecisionPolicy* precision = nullptr);
  // Counts what the training step would launch without these passes, without making it. After prepare_training().
  LaunchCounts count_without(const std::vector<std::string>& passes);
  void prepare_evaluation();
  void prepare_prediction();
  // Makes the next prepare_evaluation() rebuild it: for a network that evaluates batches of other types from now on.
  void drop_evaluation() { evaluation_.reset(); }
  // Each is an Error until the prepare_...() of the same name was called.
  Program& prediction() const;
  Program& training() const;
  Program& evaluation() const;

  std::int64_t global_step() const;
  // How many runs of the training program make a step, and how many of them are done of the current step.
  std::int64_t runs_per_step() const { return runs_per_step_; }
  std::int64_t runs_done() const;
  // Whether a run may leave global_step unchanged (accumulation, overflows).
  bool may_keep_step() const { return gradients_.may_keep_step(); }
  // With a loss scale: whether a step that overflows is skipped; the scale, if it never changes; how many steps in a
  // row have overflowed so far.
  bool skips_overflows() const { return gradients_.loss_scale && gradients_.loss_scale->skip_overflow; }
  std::optional<double> fixed_loss_scale() const;
  double overflows_in_a_row() const;
  double loss_scale() const;  // of the next step; 1 if there is none
  // The position of training in the data of that graph, from loops or a checkpoint; nullptr: none of it was used.
  const data::IteratorState* place_in(std::uint64_t graph_hash) const;
  // The same for all other data, as JSON, for checkpoints.
  std::vector<std::string> other_places(std::uint64_t graph_hash) const;
  void stands_at(const data::IteratorState& place) { places_[place.graph_hash] = place; }
  // Runs `body` while the parameters have the values of their averages, if training keeps those; a nested call changes
  // nothing.
  void with_averages(FunctionRef<void()> body);
  // Compiles the training step in another precision, over the same parameters, slots and counters; the bits are those
  // of a run that loads them and begins in that precision. All programs of the model are remade, which invalidates
  // references to them. If another program borrows a parameter, that keeps its layout, and the bits may differ.
  void recompile_training(const PrecisionPolicy& precision);
  // A callback's program over this model's parameters, kept here by its name: made by `compiled` at the first call and
  // after recompile_training().
  Program& beside(const std::string& name, FunctionRef<std::unique_ptr<Program>()> compiled);
  // Everything that a checkpoint holds, in the file's layout, in the order of declaration. If ranks hold shards of
  // values, all ranks must call it.
  std::vector<NamedTensor> to_file() const;
  // The bytes of these values.
  std::size_t file_bytes() const;
  // Sets every parameter, statistic and slot from a checkpoint's tensors; anything missing or of another shape is an
  // Error that names it, and nothing is set. Without training, slots and counters in the file are skipped, and averages
  // replace their parameters.
  void load(const SafetensorsFile& file);
  // Sets this model's values from another one of the same network. If ranks hold shards of the other's values, all
  // ranks must call it, and this model gets whole values.
  void set_values(const Model& from);
  // Sets the weights that take_weights() selects for this model from the tensors of a file (stored_weights.h); returns
  // the lists for the log.
  WeightMatch load_weights(std::span<const NamedTensor> stored, WeightRules rules);

  // Called on every rank after the main rank has loaded or drawn values: gives all ranks its values, or their shards of
  // them. Returns the checksum, which equals that of the same values on one rank; an Error if it is not the same on
  // all.
  std::string share();
  // With several ranks: whether ops of the step draw random numbers, and other ones than a single rank would.
  bool ranks_draw_apart() const;
  // Which values, and shards of values, this rank holds.
  const Holdings& holdings() const { return holdings_; }
  // Identifies the kernels of the training step: kDefaultPlan (checkpoint.h), or a hash of those chosen by time.
  std::string kernel_plan() const;
  // How the ranks divide the training step, for the log; empty: only the data.
  const std::string& parallel_plan() const { return parallel_plan_.text; }
  // The estimated time of a step divided so; 0: not chosen by cost.
  double estimated_seconds() const { return parallel_plan_.seconds; }

  // The training step with its present values: written to a file, it continues elsewhere with the same bits
  // (infer/loaded_model.h), if compiled in the same precision.
  infer::Model exported_training() const;
  // As it was built. After prepare_training().
  const Graph& training_graph() const { return training_graph_; }
  // The options with which the step was last compiled, for other programs over its parameters, without dumps.
  const CompileOptions& training_compile_options() const { return training_compile_options_; }

  const nn::Network& network() const { return network_; }
  // All that is declared so far: parameters, statistics, slots, counters.
  const std::vector<nn::ParameterSpec>& parameters() const { return parameters_; }
  Session& session() const { return session_; }

 private:
  void claim(const nn::Step& step);
  void declare(const nn::Step& step);
  void begin_averages();
  void swap_averages();
  CompileOptions compile_options(const char* part) const;
  void compile_training(const Graph& graph, const PrecisionPolicy& precision, const char* part);
  static CompileOptions by_annotations(CompileOptions options);
  void place_on_servers(const nn::Step& step);
  void compare_ranks() const;
  void check_whole(const char* part) const;
  void set_value(const nn::ParameterSpec& spec, const Tensor& whole);

  Session& session_;
  nn::Network network_;
  ModelSettings settings_;
  std::vector<nn::ParameterSpec> parameters_;
  std::set<std::string> claimed_;  // names of parameters
  bool seeds_data_ = false;
  std::map<std::uint64_t, data::IteratorState> places_;  // by the hash of the data's graph
  bool averaged_ = false;                                // within with_averages()
  std::vector<nn::Step::Average> averages_;
  std::int64_t runs_per_step_ = 1;
  nn::GradientRules gradients_;  // for training
  Graph training_graph_;         // as it was built
  Holdings holdings_;
  ShardPlan parallel_plan_;
  std::map<std::string, Tensor> unshared_;  // whole values set here of which this rank holds only some
  CompileOptions training_compile_options_;
  std::unique_ptr<Program> training_;
  std::unique_ptr<Program> evaluation_;
  std::unique_ptr<Program> prediction_;
  std::map<std::string, std::unique_ptr<Program>> beside_;
};

}  // namespace ridgeline::train
