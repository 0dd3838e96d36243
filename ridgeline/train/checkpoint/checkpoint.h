// ridgeline/train/checkpoint/checkpoint.h
//
// A checkpoint is one file, model.ckpt-<step>.safetensors, with everything that defines the run: parameters, slots,
// statistics, one metadata string, and a checksum over all of them. Equal runs give equal bytes: it contains no time,
// host, worker or loop value. A JSON file with it is only informative. Written under a temporary name, synced and
// renamed; the file `checkpoint` names the newest.
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

// The kernel plan if all kernels were chosen by the order of their lists.
inline constexpr const char* kDefaultPlan = "default";

// For a classifier of the library: which model it is, and its classes.
struct ClassifierInfo {
  std::string init;  // rule of initialisation
  bool final_relu = false;
  std::int64_t num_classes = 0;
  std::int64_t image_size = 0;
  int label_base = 0;
  std::vector<std::string> class_names = {};  // by label, any bytes; empty if the data do not tell
  std::vector<std::string> class_ids = {};    // the same classes by another name (synsets of records); may be empty
};

struct CheckpointInfo {
  std::string model;
  std::optional<ClassifierInfo> classifier;  // absent: a user's own network
  std::int64_t step = 0;
  std::int64_t steps_per_epoch = 1;
  std::uint64_t seed = 0;
  std::string data_state;               // JSON of the iterator's state; empty with synthetic data
  std::vector<std::string> other_data;  // likewise, of other data that the run has used
  std::optional<RunSettings> settings;  // absent in files of format version 1
  std::string precision_phase;          // of stepped precision: "reduced" or "original"; empty: the run has none
  std::string plan = kDefaultPlan;      // identifies the step's kernels (Model::kernel_plan)

  // Complete epochs done.
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

// Writes one file, completely or not at all.
void write_checkpoint(const std::string& path, const CheckpointInfo& info, const std::vector<NamedTensor>& tensors);
// Which checkpoints of a directory are kept: a number of the newest, and that of one step (-1: none).
struct KeptCheckpoints {
  std::int64_t newest = 5;
  std::int64_t also = -1;
};
// Writes the file, its information and the pointer, then removes those that `keep` does not include. On an Error (a
// full disk) every earlier checkpoint and the pointer are unchanged.
std::string save_checkpoint(const std::string& directory, const CheckpointInfo& info,
                            const std::vector<NamedTensor>& tensors, const KeptCheckpoints& keep);
// The second half of that: sets the pointer to the checkpoint of `step`, and removes those that `keep` does not
// include. A resumed run does it in case the earlier process was killed between the two.
void settle_checkpoints(const std::string& directory, std::int64_t step, const KeptCheckpoints& keep);

struct LoadedCheckpoint {
  CheckpointFile file;
  CheckpointInfo info;
  SafetensorsFile tensors;
};
// Whether the file is a checkpoint, and not weights of another program.
bool is_checkpoint(const SafetensorsFile& file);
// Verifies the checksum, which files of format version 1 do not have. Errors name the file and what is wrong with it; a
// safetensors file that is not a checkpoint is an Error, too.
LoadedCheckpoint load_checkpoint(const CheckpointFile& file);
// The newest intact checkpoint, for all commands; each newer damaged one is reported to `warn`. nullopt: the directory
// has none. An Error if it has some but none is intact, so that no run starts over and overwrites what could still be
// rescued.
std::optional<LoadedCheckpoint> load_newest(const std::string& directory,
                                            const OptionalFunction<void(std::string)>& warn);

}  // namespace ridgeline::train
