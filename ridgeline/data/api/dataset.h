// ridgeline/data/api/dataset.h
//
// The C++ front end of the data graph. A Dataset is a value that holds a graph and nothing that runs: every call
// returns a new Dataset with one more node. Batches come from data::Iterator (runtime/iterator.h).
//
// Sources are in source/sources.h, transforms in transform/transforms.h.
//
//   auto train = data::ImageFolder("flowers/train")
//       .shuffle()
//       .map(data::RandomResizedCrop(224), data::RandomHorizontalFlip(), data::Normalize::imagenet())
//       .batch(128, {.drop_remainder = true});
//
// Getters answer from the graph; those that need the number of records open the source's files on first use (shared by
// copies). A mistake is an Error of the call that makes it. Distinct objects may be used from distinct threads.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/data/api/filter.h"
#include "ridgeline/data/api/samplers.h"
#include "ridgeline/data/ir/graph.h"
#include "ridgeline/data/pass/image_tail.h"
#include "ridgeline/data/transform/transforms.h"

namespace ridgeline::data {

struct ShuffleOptions {
  std::optional<std::uint64_t> seed = {};  // absent: the graph's
  // 0: a random order of all rows, where each position is computed on its own. Else a shuffle buffer of that many rows:
  // for rows whose number is unknown or infinite.
  std::int64_t buffer = 0;
};
struct BatchOptions {
  bool drop_remainder = false;  // false: the last batch is padded with zeros, its column "mask" marks real rows
  bool pad = false;             // rows of different shapes are padded with zeros to the largest of their batch
  std::vector<Transform> operations = {};  // of whole batches: MixUp, CutMix
};
struct BucketOptions {
  bool drop_remainder = false;  // false: buckets that are not full at the end of an epoch become batches, too
  bool pad = true;
};
struct MixOptions {
  std::int64_t count = -1;                 // rows of an epoch; -1: as many as the inputs have together
  std::optional<std::uint64_t> seed = {};  // absent: the graph's
};
struct CacheOptions {
  std::int64_t memory_limit = std::int64_t{1} << 30;
  std::string directory = "";  // folder of a file for rows that do not fit in memory and for later runs; empty: none
};
struct Hints {
  int workers = 0;                // 0: one per core
  std::int64_t memory_limit = 0;  // bytes of prepared batches; 0: 512 MiB, or six batches, as memory allows
  std::int64_t slots = 0;         // largest number of batches prepared or lent at one time; 0: 8
};

class Dataset {
 public:
  explicit Dataset(DataGraph graph);
  static Dataset from_json(const std::string& text);

  // A new random order of all samples in every epoch.
  Dataset shuffle(ShuffleOptions options = {}) const;
  // The samples `count` times; each time is another epoch for shuffles and random transforms below.
  Dataset repeat(std::int64_t count = kForever) const;
  Dataset take(std::int64_t count) const;  // the first ones; -1: all
  Dataset skip(std::int64_t count) const;
  // Every count-th sample from `index` on: the shard of rank `index` of `count`.
  Dataset shard(std::int64_t count, std::int64_t index) const;
  Dataset map(std::vector<Transform> transforms) const;
  template <class... T>
    requires(std::convertible_to<T, Transform> && ...)
  Dataset map(T... transforms) const {
    return map(std::vector<Transform>{static_cast<Transform>(transforms)...});
  }
  // Transforms of other columns than "image". With several columns every random draw is the same for all of them.
  Dataset map_columns(std::vector<std::string> columns, std::vector<Transform> transforms) const;
  // User functions that a run calls around its batches (ir/callback.h); they belong to the last map.
  Dataset with_callbacks(std::vector<std::shared_ptr<DataCallback>> callbacks) const;
  // The rows whose column passes a test, see filter.h.
  Dataset filter(const Filter& filter) const;
  Dataset project(std::vector<std::string> columns) const;  // these columns in this order
  Dataset rename(std::vector<std::string> from, std::vector<std::string> to) const;
  // Rows chosen by a sampler; samplers can be chained: the upper one chooses among the lower one's rows.
  Dataset sample(const Sampler& sampler) const;
  // Keeps the rows of the first epoch. Nothing below may be random.
  Dataset cache(CacheOptions options = {}) const;
  Dataset batch(std::int64_t size, BatchOptions options = {}) const;
  // Batches of samples of similar length (first extent of `column`; of byte strings, their length): bucket i holds
  // lengths below boundaries[i] in batches of sizes[i]; sizes has one more entry, for the longest.
  Dataset bucket(const std::string& column, std::vector<std::int64_t> boundaries, std::vector<std::int64_t> sizes,
                 BucketOptions options = {}) const;
  // Seed of everything random in the graph that has no seed of its own. A graph has one: zip, concat and mix take that
  // of their first input; another input with a different seed is an Error.
  Dataset with_seed(std::uint64_t seed) const;
  // Tuning, kept with the graph; cannot change results. After batch.
  Dataset with_hints(Hints hints) const;

  // Rows the consumer sees in one epoch: batches after batch(), samples before. kForever if endless, kUnknown below a
  // filter or a bucket.
  std::int64_t size() const;
  // Samples of one epoch, whether batched or not (a dropped remainder does not count). kForever if endless.
  // An Error if batches are shuffled, repeated or sharded after batch() and one of them is short.
  std::int64_t num_samples() const;
  std::int64_t num_samples_if_known() const;  // kUnknown instead of that Error
  std::int64_t batch_size() const;            // 1 before batch()
  std::int64_t repeat_count() const;          // product of the repeats; kForever if one is endless
  Schema columns() const;
  // One more than the greatest label. An Error if the source does not know: records and manifests without the option
  // num_classes.
  std::int64_t num_classes() const;
  // By label; empty if unknown or if labels have gaps. With several sources, those of the first.
  std::vector<std::string> class_names() const;
  // Names with their labels, in the order of labels; these may have gaps.
  std::vector<std::pair<std::string, std::int64_t>> class_indexing() const;
  // What is subtracted from stored labels: the option label_base, or what TFRecord found for "auto". 0 for other
  // sources.
  int label_base() const;

  // What an Iterator with raw_images leaves to the consumer, without making one. An Error if the images cannot be raw.
  ImageTail image_tail() const { return image_tail_of(graph_); }

  const DataGraph& graph() const { return graph_; }
  std::string to_json(int indent = -1) const;
  std::uint64_t hash() const;

 private:
  Dataset with(Node node) const;
  DataGraph graph_;
};

// Several inputs. If two of them were made from the same dataset, its rows are read once for both.
Dataset zip(const std::vector<Dataset>& inputs);     // columns side by side; as many rows as the shortest has
Dataset concat(const std::vector<Dataset>& inputs);  // the rows of one after those of the other
// Rows of the inputs in random order, in proportion to the weights, exactly so in every 1000 rows; each input repeats
// its rows.
Dataset mix(const std::vector<Dataset>& inputs, std::vector<double> weights, MixOptions options = {});

}  // namespace ridgeline::data
