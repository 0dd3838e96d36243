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
  std::uint64_t seed = 1;  // of initial parameters and dropout; Model::set_seed() also of the data
  // A dump directory gets a folder for each part: training, evaluation, prediction.
  CompileOptions compile = {};
  // Of training steps, over ranks that the session has as that group. Evaluation and prediction are a rank's own.
  Distribution distribution = {};
  // The network is that of one part of a rank's batch; training takes batches of all parts (graph/pass/in_parts.h).
  BatchParts parts = {};
  // Of the step's layers: how ranks divide them ("data", "columns", "rows"), and in which stage of a pipeline they run.
  std::vector<Annotation> shards = {}, stages = {};
  // Of a distribution with servers: the parameters that they keep, by patterns of names (nn/parameter_groups.h); none:
  // all that are trained.
  std::vector<std::string> server_parameters = {};
};

// The policy for a training step of nn/: what decides about steps keeps its types.
PrecisionPolicy with_exact_scope(PrecisionPolicy policy, const Graph& step);

class Model {
 public:
  Model(Session& session, nn::Network network, ModelSettings settings = {});

  // One seed for all that is random in a training: initial parameters, dropout, and in train_epochs() the order and the
  // augmentation of data whose graph was given no seed of its own (0). The same seed, the same bits. Before the first
  // prepare_...(); afterwards it is an Error.
  void set_seed(std::uint64_t seed);
  std::uint64_t seed() const { return settings_.seed; }
  bool seeds_data() const { return seeds_data_; }  // set_seed() was called

  // Each prepare_...() is an Error where the session holds a parameter of that name already, another model's or the
  // caller's: its value would be lost.

  // Compiles the step, makes slots and global_step, and draws the initial parameters. Of several ranks all do it, and
  // an Error on all of them says where their steps differ.
  // `precision`: the precision of the training step, if it is another one than that of the settings.
  void prepare_training(const nn::TrainingOptions& options, const PrecisionPolicy* precision = nullptr);
  // What the training step would launch without these passes; it is not made. After prepare_training().
  LaunchCounts count_without(const std::vector<std::string>& passes);
  void prepare_evaluation();
  void prepare_prediction();
  // The next prepare_evaluation() builds it anew: of a network that evaluates batches of other types from now on.
  void drop_evaluation() { evaluation_.reset(); }
  // Each is an Error before the prepare_...() of the same name was called.
  Program& prediction() const;
  Program& training() const;
  Program& evaluation() const;

  std::int64_t global_step() const;
  // Runs of the training program that make a step, and how many of them are done of the one that is begun.
  std::int64_t runs_per_step() const { return runs_per_step_; }
  std::int64_t runs_done() const;
  // Whether a run may leave global_step as it is (accumulation, overflows).
  bool may_keep_step() const { return gradients_.may_keep_step(); }
  // With a loss scale: whether a step that overflows is skipped; the scale, if it never changes; how many steps in a
  // row have overflowed so far.
  bool skips_overflows() const { return gradients_.loss_scale && gradients_.loss_scale->skip_overflow; }
  std::optional<double> fixed_loss_scale() const;
  double overflows_in_a_row() const;
  double loss_scale() const;  // of the next step; 1 where there is none
  // Where training stands in data of that graph, as loops left it or a checkpoint says; nullptr: it has seen none.
  const data::IteratorState* place_in(std::uint64_t graph_hash) const;
  // The same of all data but those, as JSON, for checkpoints.
  std::vector<std::string> other_places(std::uint64_t graph_hash) const;
  void stands_at(const data::IteratorState& place) { places_[place.graph_hash] = place; }
  // Runs `body` while the parameters have the values of their averages, where training keeps those; within another such
  // call they stay as they are.
  void with_averages(FunctionRef<void()> body);
  // The training step in another precision from now on, over the same parameters, slots and counters, with the bits of
  // a run that loads them and begins in that precision. All programs of the model are made anew: references to them end
  // here. Where a program that is not the model's borrows a parameter, that keeps its layout and the bits may differ.
  void recompile_training(const PrecisionPolicy& precision);
  // A program of a callback over this model's parameters, kept here by its name: made by `compiled` where there is
  // none, at the first call and behind recompile_training().
  Program& beside(const std::string& name, FunctionRef<std::unique_ptr<Program>()> compiled);
  // Everything a checkpoint holds, in file form, in the order of declaration.
  // Where ranks hold parts of values, all of them call it.
  std::vector<NamedTensor> to_file() const;
  // Of these values.
  std::size_t file_bytes() const;
  // Sets every parameter, statistic and slot from a checkpoint's tensors; anything missing or of another shape is an
  // Error that names it, and nothing is set. Without training, slots and counters in the file are passed over, and
  // averages stand for their parameters.
  void load(const SafetensorsFile& file);
  // Sets what this model has from another one of the same network. Where ranks hold parts of that one's values, all of
  // them call it, and this one gets whole values.
  void set_values(const Model& from);
  // Sets what take_weights() takes of tensors as files hold them (stored_weights.h) for this model; returns the lists
  // for the log.
  WeightMatch load_weights(std::span<const NamedTensor> stored, WeightRules rules);

  // After the main rank has loaded or drawn values, on every rank: all have its values, or their parts of them. Returns
  // their checksum, which is that of the same values on one rank; an Error where it is not the same on all.
  std::string share();
  // Of several ranks: whether ops of the step draw random numbers, and each rank others than one rank alone would.
  bool ranks_draw_apart() const;
  // What this rank holds of the values.
  const Holdings& holdings() const { return holdings_; }
  // Which kernels the training step has: kDefaultPlan (checkpoint.h), or a hash of those chosen by time.
  std::string kernel_plan() const;
  // How the ranks divide the training step, for the log; empty: the data alone.
  const std::string& parallel_plan() const { return parallel_plan_.text; }
  // A step of that plan, as it was estimated; 0: it was not made by cost.
  double estimated_seconds() const { return parallel_plan_.seconds; }

  // The training step as it stands: written to a file it goes on elsewhere, bit by bit (infer/loaded_model.h), where it
  // is compiled in the same precision.
  infer::Model exported_training() const;
  // As it was built. After prepare_training().
  const Graph& training_graph() const { return training_graph_; }
  // As the step was compiled last, for programs beside it; they write no dumps.
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
  nn::GradientRules gradients_;  // of the training
  Graph training_graph_;         // as it was built
  Holdings holdings_;
  ShardPlan parallel_plan_;
  std::map<std::string, Tensor> unshared_;  // whole values that were set here and are not all this rank's, by name
  CompileOptions training_compile_options_;
  std::unique_ptr<Program> training_;
  std::unique_ptr<Program> evaluation_;
  std::unique_ptr<Program> prediction_;
  std::map<std::string, std::unique_ptr<Program>> beside_;
};

}  // namespace ridgeline::train
