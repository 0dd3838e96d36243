// ridgeline/data/api/dataset.h
//
// The C++ front end of the data graph. A Dataset is a value that holds a graph and nothing that runs: every call
// returns a new Dataset with one node more. Batches come from data::Iterator (runtime/iterator.h).
//
// Sources are in source/sources.h, transforms in transform/transforms.h.
//
//   auto train = data::ImageFolder("flowers/train")
//       .shuffle()
//       .map(data::RandomResizedCrop(224), data::RandomHorizontalFlip(), data::Normalize::imagenet())
//       .batch(128, {.drop_remainder = true});
//
// Getters answer from the graph; those that need the number of records open the source's files on first use (shared by
// copies). Mistakes are Errors at the call that makes them. Distinct objects may be used from distinct threads.
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
#include "ridgeline/data/transform/transforms.h"

namespace ridgeline::data {

struct ShuffleOptions {
  std::optional<std::uint64_t> seed = {};  // absent: the graph's
  // 0: all rows, each position answered by itself. Else what a shuffle buffer of that many rows gives: for rows whose
  // number is not known or that have no end.
  std::int64_t buffer = 0;
};
struct BatchOptions {
  bool drop_remainder = false;  // false: the last batch is padded with zeros, its column "mask" tells real rows
  bool pad = false;             // rows of different shapes are filled with zeros up to the largest of their batch
  std::vector<Transform> operations = {};  // of whole batches: MixUp, CutMix
};
struct BucketOptions {
  bool drop_remainder = false;  // false: buckets that are not full at the end of an epoch are batches too
  bool pad = true;
};
struct MixOptions {
  std::int64_t count = -1;                 // rows of an epoch; -1: as many as the inputs have together
  std::optional<std::uint64_t> seed = {};  // absent: the graph's
};
struct CacheOptions {
  std::int64_t memory_limit = std::int64_t{1} << 30;
  std::string directory = "";  // where a file is kept for rows beyond it and for later runs; empty: none
};
struct Hints {
  int workers = 0;                // 0: one per core
  std::int64_t memory_limit = 0;  // bytes of prepared batches; 0: 512 MiB, or six batches, as memory allows
  std::int64_t slots = 0;         // most batches that are prepared or lent at one time; 0: 8
};

class Dataset {
 public:
  explicit Dataset(DataGraph graph);
  static Dataset from_json(const std::string& text);

  // A new random order of all samples in every epoch.
  Dataset shuffle(ShuffleOptions options = {}) const;
  // The samples `count` times; every pass is another epoch for shuffles and random transforms below.
  Dataset repeat(std::int64_t count = kForever) const;
  Dataset take(std::int64_t count) const;  // the first ones; -1: all
  Dataset skip(std::int64_t count) const;
  // Every count-th sample from `index` on: the part of rank `index` of `count`.
  Dataset shard(std::int64_t count, std::int64_t index) const;
  Dataset map(std::vector<Transform> transforms) const;
  template <class... T>
    requires(std::convertible_to<T, Transform> && ...)
  Dataset map(T... transforms) const {
    return map(std::vector<Transform>{static_cast<Transform>(transforms)...});
  }
  // Transforms of other columns than "image". With several columns every random draw is the same for all of them.
  Dataset map_columns(std::vector<std::string> columns, std::vector<Transform> transforms) const;
  // Functions of the user's own that a run calls around its batches (ir/callback.h), kept at the last map.
  Dataset with_callbacks(std::vector<std::shared_ptr<DataCallback>> callbacks) const;
  // The rows whose column passes a test, see filter.h.
  Dataset filter(const Filter& filter) const;
  Dataset project(std::vector<std::string> columns) const;  // these columns in this order
  Dataset rename(std::vector<std::string> from, std::vector<std::string> to) const;
  // Rows chosen by more than their position; samplers chain, the lower one's rows feed the upper one.
  Dataset sample(const Sampler& sampler) const;
  // Keeps the rows of the first epoch. Nothing random may lie below.
  Dataset cache(CacheOptions options = {}) const;
  Dataset batch(std::int64_t size, BatchOptions options = {}) const;
  // Batches of samples of similar length (first extent of `column`; of bytes their number): bucket i holds lengths
  // below boundaries[i] in batches of sizes[i]; sizes has one more entry, for the longest.
  Dataset bucket(const std::string& column, std::vector<std::int64_t> boundaries, std::vector<std::int64_t> sizes,
                 BucketOptions options = {}) const;
  // Seed of everything random in the graph that has none of its own. A graph has one: zip, concat and mix take that of
  // their first input, and an Error is another one that a further input was given.
  Dataset with_seed(std::uint64_t seed) const;
  // Tuning, kept with the graph; cannot change results. After batch.
  Dataset with_hints(Hints hints) const;

  // Rows the consumer sees in one epoch: batches after batch(), samples before. kForever if endless, kUnknown below a
  // filter or a bucket.
  std::int64_t size() const;
  // Samples of one epoch, whether batched or not (a dropped remainder does not count). kForever if endless.
  // An Error where batches are shuffled, repeated or sharded after batch() and one of them is short.
  std::int64_t num_samples() const;
  std::int64_t num_samples_if_known() const;  // kUnknown instead of that Error
  std::int64_t batch_size() const;            // 1 before batch()
  std::int64_t repeat_count() const;          // product of the repeats; kForever if one is endless
  Schema columns() const;
  // One more than the greatest label. An Error if the source does not know: records and manifests without the option
  // num_classes.
  std::int64_t num_classes() const;
  // By label; empty if unknown, and where labels leave gaps. Of several sources, of the first.
  std::vector<std::string> class_names() const;
  // Names and labels, by label; shows gaps, too.
  std::vector<std::pair<std::string, std::int64_t>> class_indexing() const;
  // What is subtracted from stored labels: the option label_base, and TFRecord's answer to "auto". 0 for other sources.
  int label_base() const;

  const DataGraph& graph() const { return graph_; }
  std::string to_json(int indent = -1) const;
  std::uint64_t hash() const;

 private:
  Dataset with(Node node) const;
  DataGraph graph_;
};

// Several inputs. A dataset that two of them were made from is read once a row where both ask for it.
Dataset zip(const std::vector<Dataset>& inputs);     // columns side by side; as many rows as the shortest has
Dataset concat(const std::vector<Dataset>& inputs);  // the rows of one after those of the other
// Rows in random turns by weight, exactly in every 1000 rows; each input goes through its rows again and again.
Dataset mix(const std::vector<Dataset>& inputs, std::vector<double> weights, MixOptions options = {});

}  // namespace ridgeline::data
