// ridgeline/train/checkpoint/checkpoint.h
//
// A checkpoint is one file, model.ckpt-<step>.safetensors, with everything that defines the run: parameters, slots,
// statistics, one metadata string, and a checksum over all of them. Equal runs give equal bytes: no time, host, worker
// or loop value is inside. A JSON file beside it only informs. Written under a temporary name, synced and renamed;
// `checkpoint` names the newest.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/core/given_function.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "ridgeline/train/checkpoint/run_settings.h"

namespace ridgeline::train {

// Of kernels that were all chosen by the order of their lists.
inline constexpr const char* kDefaultPlan = "default";

// Of a model of the library that classifies images: which one it is, and of which classes.
struct ClassifierInfo {
  std::string init;  // rule of initialisation
  bool final_relu = false;
  std::int64_t num_classes = 0;
  std::int64_t image_size = 0;
  int label_base = 0;
  std::vector<std::string> class_names = {};  // by label, any bytes; empty where the data do not tell
  std::vector<std::string> class_ids = {};    // the same classes by another name (synsets of records); may be empty
};

struct CheckpointInfo {
  std::string model;
  std::optional<ClassifierInfo> classifier;  // absent: a network of somebody's own
  std::int64_t step = 0;
  std::int64_t steps_per_epoch = 1;
  std::uint64_t seed = 0;
  std::string data_state;               // JSON of the iterator's state; empty with synthetic data
  std::vector<std::string> other_data;  // likewise, of other data that the run has seen
  std::optional<RunSettings> settings;  // absent in files of format version 1
  std::string precision_phase;          // of stepped precision: "reduced" or "original"; empty: the run has none
  std::string plan = kDefaultPlan;      // which kernels the step had (Model::kernel_plan)

  // Whole epochs done.
  double epoch() const {
    const std::int64_t whole = step / steps_per_epoch;
    return static_cast<double>(whole);
  }
  std::string to_json() const;
  static CheckpointInfo from_json(const std::string& text, const std::string& path);
};

struct CheckpointFile {
  std::string path;
  std::int64_t step = 0;
  std::int64_t modified = 0;  // seconds since 1970
};

std::string checkpoint_name(std::int64_t step);
// The checkpoints in a directory by step; none if it does not exist.
std::vector<CheckpointFile> list_checkpoints(const std::string& directory);

// Writes one file, whole or not at all.
void write_checkpoint(const std::string& path, const CheckpointInfo& info, const std::vector<NamedTensor>& tensors);
// Which checkpoints of a directory stay: so many of the newest, and beside them that of one step (-1: none).
struct KeptCheckpoints {
  std::int64_t newest = 5;
  std::int64_t also = -1;
};
// Writes the file, its information and the pointer, then removes the oldest that `keep` leaves out. On an Error (a full
// disk) every earlier checkpoint and the pointer are as they were.
std::string save_checkpoint(const std::string& directory, const CheckpointInfo& info,
                            const std::vector<NamedTensor>& tensors, const KeptCheckpoints& keep);
// The second half of that: the pointer names the checkpoint of `step`, and what `keep` leaves out is removed. A run
// that goes on does it for one that was killed between the two.
void settle_checkpoints(const std::string& directory, std::int64_t step, const KeptCheckpoints& keep);

struct LoadedCheckpoint {
  CheckpointFile file;
  CheckpointInfo info;
  SafetensorsFile tensors;
};
// Whether the file says that it is a checkpoint; weights of other programs are none.
bool is_checkpoint(const SafetensorsFile& file);
// Verifies the checksum, which files of format version 1 do not have. Errors name the file and what is wrong with it; a
// safetensors file that is no checkpoint is one.
LoadedCheckpoint load_checkpoint(const CheckpointFile& file);
// What every command goes by: the newest checkpoint that is whole; each newer one that is not is told to `warn`.
// nullopt: the directory holds none at all. An Error: it holds some and none is whole, so that nobody begins anew over
// what may still be saved.
std::optional<LoadedCheckpoint> load_newest(const std::string& directory,
                                            const OptionalFunction<void(std::string)>& warn);

}  // namespace ridgeline::train
