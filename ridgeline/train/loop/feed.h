// ridgeline/train/loop/feed.h
//
// Where the inputs of steps come from: a data set, one fixed batch, or a user function. Owned by whoever runs the loop.
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/compile/run/program.h"
#include "ridgeline/core/given_function.h"
#include "ridgeline/data/runtime/iterator.h"
#include "ridgeline/nn/network.h"

namespace ridgeline::train {

class Feed {
 public:
  virtual ~Feed() = default;
  // Binds the inputs of the next step; earlier ones may be returned to their owner. False: there are no more.
  virtual bool bind_next(Program& program) = 0;
  // The batch that was bound last is not run after all: state() becomes that before it.
  virtual void give_back() {}
  // The tensor bound to that input; undefined if the feed does not know.
  virtual Tensor input(const std::string& /*name*/) const { return {}; }
  // The position in the data after the step that was fed last, as checkpoints keep it (JSON); empty: the data have no
  // position.
  virtual std::string state() const { return {}; }
  // The hash of the data's graph, under which a model keeps its position in them; 0: none.
  virtual std::uint64_t data_hash() const { return 0; }
  // Continues from that position instead of the beginning; call before the first batch.
  virtual void go_on(const data::IteratorState& /*place*/) {}
};

// Batches of a data set. On the host the program reads the slot that data workers have written, without a copy; for a
// device with its own memory, slots are pinned, come through a device queue, and are returned when they are copied.
class DatasetFeed : public Feed {
 public:
  // `columns` as in nn::Network. By default the data set is repeated for as long as the run lasts (epochs of the
  // options: kForever). A batch whose mask is 0 for some rows (padding of the last batch, skipped bad samples) is an
  // Error unless an input of the step is fed from that column: otherwise the step would learn from those rows.
  // `device`: on which programs run; null: the host's. It must outlive the feed and the programs that it has fed.
  DatasetFeed(const data::Dataset& dataset, data::IteratorOptions options, std::vector<nn::InputColumn> columns,
              Device* device = nullptr);
  ~DatasetFeed() override;
  DatasetFeed(const data::Dataset& dataset, std::vector<nn::InputColumn> columns)
      : DatasetFeed(dataset, {.epochs = data::kForever}, std::move(columns)) {}

  bool bind_next(Program& program) override;
  void give_back() override;
  Tensor input(const std::string& name) const override;
  std::string state() const override;
  std::uint64_t data_hash() const override { return data_hash_; }
  void go_on(const data::IteratorState& place) override;
  // The statistics of the run so far.
  data::RunStats stats() const;
  std::int64_t bad_samples() const;

 private:
  class Queue;
  data::IteratorState position() const;

  std::uint64_t data_hash_;
  std::unique_ptr<data::Iterator> iterator_;  // on the host
  std::unique_ptr<Queue> queue_;              // for a device
  std::vector<nn::InputColumn> columns_;
  Trace* trace_;
  std::shared_ptr<const data::Batch> batch_;  // the bound batch
  data::IteratorState before_;                // the position in the data before it
  bool given_back_ = false;
};

// Inputs are bound by a user function.
class FunctionFeed : public Feed {
 public:
  explicit FunctionFeed(GivenFunction<bool(Program&)> bind) : bind_(std::move(bind)) {}
  bool bind_next(Program& program) override { return bind_(program); }

 private:
  std::function<bool(Program&)> bind_;
};

// An Error if rows of the batch do not count (mask 0) and no input of the step is fed from the column mask.
void check_rows(const Program& program, const data::Batch& batch, const std::vector<nn::InputColumn>& columns);
// The same check before the first step: whether the last batch of an epoch will have such rows, if that is known.
void check_remainder(const Program& program, const data::Dataset& dataset, const std::vector<nn::InputColumn>& columns);

// The column of a batch that feeds an input.
const std::string& column_of(const std::string& input, const std::vector<nn::InputColumn>& columns);
// Binds the columns of a batch to the inputs of a program; those in `others` are bound by the caller. `lease` keeps the
// batch alive while the program reads it (Program::bind).
void bind_columns(Program& program, const data::Batch& batch, const std::vector<nn::InputColumn>& columns,
                  const std::vector<std::string>& others = {}, const std::shared_ptr<const void>& lease = nullptr);

}  // namespace ridgeline::train
