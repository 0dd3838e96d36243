// ridgeline/train/recipe/recipe.h
//
// The recipe: all settings of a training run, those of the command line's flags, as plain values with their defaults.
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

// The head of `alexnet`, as in the original; other models may have no such layer.
inline std::vector<std::string> default_restore_exclude() { return {"dense_2"}; }

struct Recipe {
  // Data.
  std::string data_dir;
  bool synthetic = false;        // random pixels and labels, no data_dir needed
  std::int64_t num_classes = 0;  // 0: as many as the data have; 1000 if they do not tell
  std::int64_t image_size = 0;   // 0: the model's own
  data::LabelBase label_base = data::LabelBase::automatic;
  int num_workers = 0;               // 0: one per core
  std::int64_t batch_memory = 0;     // bytes of prepared batches; 0: the default of data::IteratorOptions
  bool enable_data_pre_proc = true;  // flip and normalisation in the compiled step instead of the data workers
  double min_area = 0.08;            // smallest share of the image that a training crop covers
  std::int64_t crop_padding = -1;    // 0 or more: instead of that crop, a shift by at most this many pixels
  std::string augment;               // a policy of data/standard/augment.h for training; empty: none
  double random_erasing = 0;         // share of the training images that lose a rectangle
  double mixup = 0, cutmix = 0;      // of training batches, see data/standard/standard_pipeline.h; 0: off
  bool flip = true;                  // training mirrors half of the images
  // "apply": turn pictures upright by their Exif. "ignore": do not. Empty: a training ignores Exif; evaluations and
  // predictions do what the checkpoint or the model file says.
  std::string exif_orientation;
  // "balanced": losses of images of rare classes have larger weights; "none": all count equally.
  std::string class_weights = "none";
  // What an epoch of training reads: "shuffle": every image once; "balanced": images are drawn such that all classes
  // are equally frequent.
  std::string sampler = "shuffle";
  bool eval_drop_remainder = false;
  std::string split;  // that an evaluation reads: train, val or test; empty: the one for validation
  // For tar archives: "auto", or where the class is (data/standard/archive_classes.h).
  std::string label_field = "auto";
  bool allow_missing_shards = false;  // for records; false: a shard that is missing or empty ends the run
  // If class folders have no validation split: the share of their images that is held back as one; 0: none.
  double validation_split = 0;
  // For the training; each evaluation counts bad samples from 0. With `skip`, the training step has a mask by which
  // loss, gradients and batch statistics ignore bad samples. An evaluation ignores them with `skip` and with `replace`,
  // since a replacement would count twice.
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
  bool label_smoothing_of_checkpoint = true;  // an evaluation prefers the checkpoint's value, if any, to the above
  std::uint64_t seed = 1;
  std::vector<std::string> metrics;  // of evaluations, in addition to top-1, top-5 and loss: names of metric/table.h
  // The run ends when this many evaluations after the best one were not better; 0: never.
  std::int64_t early_stopping = 0;

  // The loop.
  Mode mode = Mode::train_and_evaluate;
  std::int64_t iterations_per_loop = 0;  // 0: the steps of an epoch, at most 100
  std::int64_t epochs_between_evals = 5;
  std::int64_t display_every = 1;
  std::int64_t save_summary_steps = 0;  // between log lines; 0: 100, or a shorter epoch
  std::int64_t save_checkpoints_steps = 1000;
  double save_checkpoints_secs =
      0;                // above 0: after the loop that ends this long after the last one, instead of by steps
  double max_time = 0;  // seconds after which the process must have ended; 0: no limit
  bool do_checkpoint = true;
  std::int64_t max_checkpoint_to_save = 5;
  bool benchmark = false;              // at most kBenchmarkSteps steps, and a summary of them
  std::string log_dir = "./model_1p";  // empty: an evaluation writes no log
  std::string log_name;                // in log_dir; empty: <model>_training.log
  std::string checkpoint_dir = "./model_8p";
  std::string checkpoint;  // which of that folder, or of the weights' folder (chosen_checkpoint.h); empty: not chosen

  // Execution.
  int intra_op_parallelism_threads = 0;
  int inter_op_parallelism_threads = 0;  // launches of a step side by side; 0, 1: one after the other
  std::string device = "cpu";            // by name, see device/devices.h
  bool allow_soft_placement = true;      // ops for which the device has no kernel run on the CPU
  bool log_device_placement = false;
  PrecisionOptions precision;
  ExperimentalConfig experimental;
  std::optional<double> final_loss;                     // target of the trigger `loss` of accelerate_train_mode
  std::string reproducibility = "fast";                 // or deterministic, portable
  std::string op_select_implmode = "high_performance";  // or high_precision
  std::string fp32_compute = "f32";                     // or bf16x3: f32 products from bf16 halves
  std::string tune;  // file of kernel times that choose kernels; "auto": the user's cache; empty: by their order
  std::optional<bool> fusion;                // not set: if the device can; true is an Error if it cannot
  std::vector<std::string> disabled_passes;  // of the compiler
  std::int64_t memory_limit = 0;             // bytes of a compiled step; 0: none
  std::string dump_ir;                       // directory, one text file per compiler pass
  std::string log;                           // diagnostic components
  int export_compile_stat = 0;               // when fusion_result.json is written: see recipe/compile_statistics.h
  std::string trace;                         // file for a Chrome trace
  bool explain = false;                      // where the last step's time went (callback/step_times.h)
  DumpSettings dump;                         // of values of steps during the run

  // Of several ranks that train together. Each has batches of batch_size.
  std::int64_t rank_size = 0;                       // the number that the user wants; 0: any
  std::string_view rank_size_flag = "--rank_size";  // the flag of that number
  // Ranks that have a batch, and this one's number: set by train(). Parameter servers have the numbers after them.
  std::int64_t ranks = 1, rank = 0, servers = 0;
  std::int64_t batch_parts = 0;  // of a step's batch over all ranks, whose sums are added in pairs; 0: by its rows
  // The parts of this rank's batch, and where its rows begin among all: set by with_batch_parts(). `ordered`: the bits
  // do not depend on the number of ranks.
  std::int64_t parts = 1, place = 0;
  bool ordered = false;
  bool shard = true;           // each rank reads its own shard of the data; false is refused with several ranks
  bool hcom_parallel = false;  // gradients are exchanged during the rest of the backward pass, not after it
  bool is_weight_update_sharding = false;  // slots and updates are split over the ranks
  bool sync_batch_norm = false;            // batch norms compute statistics over the batches of all ranks
  SplitStrategy gradient_split;            // buckets of gradients that are exchanged together
  ParallelSettings parallel;
  // The number of ranks with different images, and this one's number: the stages of a pipeline share theirs.
  std::int64_t data_ranks() const { return parallel.pipelined() ? 1 : ranks; }
  std::int64_t data_rank() const { return parallel.pipelined() || serves() ? 0 : rank; }
  bool serves() const { return rank >= ranks; }
  // Whether ranks hold shards of the model, or may.
  bool divides() const { return parallel.divides() || servers > 0; }

  // Further contents of the event file, by the steps between two of them; 0: none.
  std::int64_t histogram_steps = 0;  // weights and gradients: each costs one more step, and its memory
  std::int64_t picture_steps = 0;    // the first images of a batch
  bool save_graph = false;           // the training step, once
  std::string export_step;           // file for the training step, written at the end of the run
};

// Whether images of a training batch are mixed, so that its labels are probabilities.
bool mixes(const Recipe& recipe);
// Whether the images of each class have to be counted.
bool balances(const Recipe& recipe);

// The file of the human log: log_name, or the one named after the model.
std::string log_name_of(const Recipe& recipe);

// An Error (usage) for a text that is none of its values.
void check_exif_orientation(const std::string& text);

// Checks ranges that do not depend on data: an Error (usage) names the flag, the value and what is allowed.
void check(const Recipe& recipe);

}  // namespace ridgeline::train
