// ridgeline/train/recipe/recipe.h
//
// Everything that a run is told: the flags of the command line, as plain values with the recipe's defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/data/runtime/bad_samples.h"
#include "ridgeline/data/source/sources.h"
#include "ridgeline/graph/pass/split_strategy.h"
#include "ridgeline/nn/models.h"
#include "ridgeline/train/accelerate.h"
#include "ridgeline/train/precision_options.h"
#include "ridgeline/train/recipe/dump_settings.h"
#include "ridgeline/train/recipe/optimization.h"
#include "ridgeline/train/recipe/parallel.h"

namespace ridgeline::train {

enum class Mode { train, evaluate, train_and_evaluate };
// "train", "evaluate" or "train_and_evaluate"; anything else is a usage Error "Invalid type of mode ...".
Mode parse_mode(const std::string& text);

// The head of `alexnet`, as the original; in other models it may be the name of nothing.
inline std::vector<std::string> default_restore_exclude() { return {"dense_2"}; }

struct Recipe {
  // Data.
  std::string data_dir;
  bool synthetic = false;        // random pixels and labels, no data_dir needed
  std::int64_t num_classes = 0;  // 0: as many as the data have; 1000 where they do not tell
  std::int64_t image_size = 0;   // 0: the model's own
  data::LabelBase label_base = data::LabelBase::automatic;
  int num_workers = 0;               // 0: one per core
  std::int64_t batch_memory = 0;     // bytes of prepared batches; 0: as data::IteratorOptions has it
  bool enable_data_pre_proc = true;  // flip and normalisation in the compiled step instead of the data workers
  double min_area = 0.08;            // smallest share of the image that a training crop covers
  std::int64_t crop_padding = -1;    // 0 or more: a shift by at most so many pixels instead of that crop
  std::string augment;               // a policy of data/standard/augment.h for training; empty: none
  double random_erasing = 0;         // share of the training images that lose a rectangle
  double mixup = 0, cutmix = 0;      // of training batches, see data/standard/standard_pipeline.h; 0: off
  bool flip = true;                  // training mirrors half of the images
  // "apply": turn pictures as their Exif says. "ignore": do not. Empty: a training ignores Exif; evaluations and
  // predictions do what the checkpoint or the model file says.
  std::string exif_orientation;
  // "balanced": the loss of an image is weighted, more for a rare class; "none": all count alike.
  std::string class_weights = "none";
  // What an epoch of training reads: "shuffle": every image once; "balanced": images drawn so that all classes come
  // equally often.
  std::string sampler = "shuffle";
  bool eval_drop_remainder = false;
  std::string split;  // the part that an evaluation reads: train, val or test; empty: that for validation
  // Of tar archives: "auto", or where the class stands (data/standard/archive_classes.h).
  std::string label_field = "auto";
  bool allow_missing_shards = false;  // of records; else a shard that is missing or empty ends the run
  // If class folders have no validation part: the share of their images that is held back as one; 0: none.
  double validation_split = 0;
  // For the training; each evaluation counts bad samples from 0. Under skip the training step has a mask, by which
  // loss, gradients and batch statistics leave bad samples out. An evaluation leaves them out under skip and under
  // replace, since an image that replaced one would count twice.
  data::BadSampleOptions bad_samples;

  // Model.
  std::string model = "alexnet";  // empty (evaluate, predict, export): the checkpoint's
  nn::ModelOptions model_options;
  std::string restore_path;  // weights to begin with, see stored_weights.h
  std::vector<std::string> restore_exclude = default_restore_exclude();
  bool reset_head = false;  // the last layer is drawn anew instead of restored

  // Optimization.
  std::int64_t batch_size = 128;
  std::int64_t max_epochs = 150;
  std::optional<std::int64_t> max_train_steps;
  std::int64_t warmup_epochs = 5;
  double lr = 0.06;
  double weight_decay = 1e-4;
  Optimization optimization;
  double label_smoothing = 0.1;
  bool label_smoothing_of_checkpoint = true;  // in an evaluation of checkpoints that tell it, whatever stands above
  std::uint64_t seed = 1;
  std::vector<std::string> metrics;  // of evaluations, beside top-1, top-5 and loss: names of metric/table.h
  // The run ends when so many evaluations behind the best one were not better; 0: never.
  std::int64_t early_stopping = 0;

  // The loop.
  Mode mode = Mode::train_and_evaluate;
  std::int64_t iterations_per_loop = 0;  // 0: the steps of an epoch, at most 100
  std::int64_t epochs_between_evals = 5;
  std::int64_t display_every = 1;
  std::int64_t save_summary_steps = 0;  // between log lines; 0: 100, or a shorter epoch
  std::int64_t save_checkpoints_steps = 1000;
  double save_checkpoints_secs =
      0;                // above 0: behind the loop that ends so long after the last one, instead of by steps
  double max_time = 0;  // seconds after which the process shall be over; 0: none
  bool do_checkpoint = true;
  std::int64_t max_checkpoint_to_save = 5;
  bool benchmark = false;              // at most kBenchmarkSteps steps, and a summary of them
  std::string log_dir = "./model_1p";  // empty: an evaluation writes no log
  std::string log_name;                // in log_dir; empty: <model>_training.log
  std::string checkpoint_dir = "./model_8p";
  std::string checkpoint;  // of that folder, or of the weights' one: see chosen_checkpoint.h; empty: not chosen

  // Execution.
  int intra_op_parallelism_threads = 0;
  int inter_op_parallelism_threads = 0;  // launches of a step side by side; 0, 1: one after the other
  std::string device = "cpu";            // by name, see device/devices.h
  bool allow_soft_placement = true;      // ops that the device has no kernel for run on the CPU
  bool log_device_placement = false;
  PrecisionOptions precision;
  ExperimentalConfig experimental;
  std::optional<double> final_loss;                     // that the trigger `loss` of accelerate_train_mode aims at
  std::string reproducibility = "fast";                 // or deterministic, portable
  std::string op_select_implmode = "high_performance";  // or high_precision
  std::string fp32_compute = "f32";                     // or bf16x3: f32 products from bf16 halves
  std::string tune;  // file of kernel times by which kernels are chosen; "auto": the user's; empty: by their order
  std::optional<bool> fusion;                // not said: where the device can; true is an Error where it cannot
  std::vector<std::string> disabled_passes;  // of the compiler
  std::int64_t memory_limit = 0;             // bytes of a compiled step; 0: none
  std::string dump_ir;                       // directory, one text file per compiler pass
  std::string log;                           // diagnostic components
  int export_compile_stat = 0;               // when fusion_result.json is written: see recipe/compile_statistics.h
  std::string trace;                         // file for a Chrome trace
  bool explain = false;                      // where the last step's time went (callback/step_times.h)
  DumpSettings dump;                         // values of steps, while the run goes on

  // Of several ranks that train together. Each has batches of batch_size.
  std::int64_t rank_size = 0;                       // as many as the user wants; 0: those that are there
  std::string_view rank_size_flag = "--rank_size";  // that said so
  // That are there and have a batch, and which this one is: train() says so. Parameter servers are numbered behind
  // them.
  std::int64_t ranks = 1, rank = 0, servers = 0;
  std::int64_t batch_parts = 0;  // of a step's batch over all ranks, whose sums are added in pairs; 0: by its rows
  // Of them, those of this rank's batch, and where its rows begin among all; with_batch_parts() says so. `ordered`: the
  // bits do not follow from the number of ranks.
  std::int64_t parts = 1, place = 0;
  bool ordered = false;
  bool shard = true;           // each reads its own part of the data; several ranks refuse false
  bool hcom_parallel = false;  // gradients are exchanged beside the rest of the backward pass, not behind it
  bool is_weight_update_sharding = false;  // slots and updates are split over the ranks
  bool sync_batch_norm = false;            // batch norms take their statistics over the batches of all ranks
  SplitStrategy gradient_split;            // into buckets that are exchanged together
  ParallelSettings parallel;
  // Ranks that have images of their own, and which of them this one is: the stages of a pipeline have the same.
  std::int64_t data_ranks() const { return parallel.pipelined() ? 1 : ranks; }
  std::int64_t data_rank() const { return parallel.pipelined() || serves() ? 0 : rank; }
  bool serves() const { return rank >= ranks; }
  // Whether ranks hold parts of the model, or may.
  bool divides() const { return parallel.divides() || servers > 0; }

  // What else the event file gets, by steps between two of them; 0: none.
  std::int64_t histogram_steps = 0;  // weights and gradients: a step more each time, and the memory of one
  std::int64_t picture_steps = 0;    // the first images of a batch
  bool save_graph = false;           // the training step, once
  std::string export_step;           // file for the training step, written when the run is over
};

// Whether images of a training batch are mixed, so that its labels are shares of classes.
bool mixes(const Recipe& recipe);
// Whether it is counted how many images each class has.
bool balances(const Recipe& recipe);

// The file of the human log: log_name, or the one named after the model.
std::string log_name_of(const Recipe& recipe);

// An Error (usage) for a text that is none of its values.
void check_exif_orientation(const std::string& text);

// Ranges that need no data: an Error (usage) names the flag, the value and what is allowed.
void check(const Recipe& recipe);

}  // namespace ridgeline::train
