// Runs: iterators, the batches that they lend, and single samples.
//
// Waiting happens without the interpreter's lock, a tenth of a second at a time, so that Ctrl-C is noticed. A batch
// keeps its slot until the last array over it is gone; where the user keeps many, later ones are copies, so that the
// run goes on. After a fork the child owns none of the threads: it may not use what came from the parent, and leaks it
// instead of taking it apart.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "arrays.h"
#include "bind.h"
#include "ridgeline/data/runtime/iterator.h"
#include "ridgeline/data/runtime/replayer.h"
#include "values.h"

namespace ridgeline::python {
namespace {

using Clock = std::chrono::steady_clock;

Log& log() {
  static auto* log = new Log;  // warnings go to standard error, also while the process ends
  return *log;
}

// One batch in Python's hands: lent, or a copy.
class HeldBatch {
 public:
  HeldBatch(data::Batch batch, std::shared_ptr<std::atomic<int>> lent, int most_lent) : lent_(std::move(lent)) {
    schema_ = batch.columns();
    for (const data::Column& column : schema_) columns_.push_back(batch.column(column.name));
    rows_ = batch.rows();
    samples_ = batch.samples();
    epoch_ = batch.epoch();
    index_ = batch.index();
    last_of_epoch_ = batch.last_of_epoch();
    records_ = batch.records();
    after_ = batch.state_after();
    if (lent_->fetch_add(1) < most_lent) {
      lease_.emplace(std::move(batch));
    } else {
      for (Tensor& column : columns_) column = column.clone();
      lent_->fetch_sub(1);
    }
  }
  ~HeldBatch() {
    if (!lease_) return;
    if (process_ != ::getpid()) {
      new data::Batch(std::move(*lease_));  // NOLINT: leaked on purpose, its slot is the parent's
      return;
    }
    lease_.reset();
    lent_->fetch_sub(1);
  }
  HeldBatch(const HeldBatch&) = delete;
  HeldBatch& operator=(const HeldBatch&) = delete;

  const data::Schema& schema() const { return schema_; }
  const Tensor& column(const std::string& name) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < schema_.size(); ++i) {
      if (schema_[i].name == name) return columns_[i];
      names.push_back(schema_[i].name);
    }
    throw Error(
        "[batch] there is no column '" + name + "'" + did_you_mean(name, names) + " among " + to_string(schema_),
        ErrorKind::usage);
  }
  std::int64_t rows() const { return rows_; }
  std::int64_t samples() const { return samples_; }
  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t index() const { return index_; }
  bool last_of_epoch() const { return last_of_epoch_; }
  bool copied() const { return !lease_; }
  const std::vector<std::uint64_t>& records() const { return records_; }
  const data::IteratorState& after() const { return after_; }

 private:
  std::optional<data::Batch> lease_;
  std::shared_ptr<std::atomic<int>> lent_;  // of the iterator
  pid_t process_ = ::getpid();
  data::Schema schema_;
  std::vector<Tensor> columns_;
  std::int64_t rows_ = 0, samples_ = 0;
  std::uint64_t epoch_ = 0, index_ = 0;
  bool last_of_epoch_ = false;
  std::vector<std::uint64_t> records_;
  data::IteratorState after_;
};

struct PyBatch {
  std::shared_ptr<HeldBatch> held;
};

// The run behind one Python iterator.
class Run {
 public:
  Run(const PyDataset& d, data::IteratorOptions options) : tokens_(d.tokens) {
    options.log = &log();
    const nb::gil_scoped_release unlocked;
    iterator_ = std::make_unique<data::Iterator>(d.dataset, std::move(options));
  }
  ~Run() { close(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // nullopt at the end. `seconds`: how long to wait, 0 for ever.
  std::optional<PyBatch> next(double seconds) {
    const Clock::time_point begin = Clock::now();
    while (true) {
      {
        const nb::gil_scoped_release unlocked;
        const std::lock_guard lock(use_);
        if (running().wait_for(std::chrono::milliseconds(100))) {
          std::optional<data::Batch> batch = running().next();
          if (!batch) return std::nullopt;
          const auto slots = static_cast<int>(running().slots());
          return PyBatch{std::make_shared<HeldBatch>(*std::move(batch), lent_, slots < 2 ? 0 : std::max(1, slots - 2))};
        }
      }
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (seconds > 0 && std::chrono::duration<double>(Clock::now() - begin).count() >= seconds)
        throw Error("[iterator] no batch came within timeout=" + std::to_string(seconds) + " seconds");
    }
  }

  template <class F>
  auto with(F&& f) const {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard lock(use_);
    return f(running());
  }

  // Stops the workers; batches stay valid. What comes after is an Error. Needs the interpreter's lock.
  void close() {
    if (process_ != ::getpid()) {
      iterator_.release();  // NOLINT: leaked on purpose, its threads are the parent's
      return;
    }
    const nb::gil_scoped_release unlocked;
    const std::lock_guard lock(use_);
    iterator_.reset();
  }

 private:
  data::Iterator& running() const {
    if (process_ != ::getpid())
      throw Error("[iterator] was made before this process was forked, its workers are in the other one: make another",
                  ErrorKind::usage);
    if (!iterator_) throw Error("[iterator] is closed", ErrorKind::usage);
    return *iterator_;
  }

  mutable std::mutex use_;
  std::unique_ptr<data::Iterator> iterator_;
  Tokens tokens_;
  std::shared_ptr<std::atomic<int>> lent_ = std::make_shared<std::atomic<int>>(0);
  pid_t process_ = ::getpid();
};

// All runs of the process, so that they can be ended before the interpreter is.
struct Living {
  std::mutex mutex;
  std::vector<std::weak_ptr<Run>> runs;
};
Living& living() {
  static auto* living = new Living;
  return *living;
}

struct PyIterator {
  explicit PyIterator(std::shared_ptr<Run> made) : run(std::move(made)) {
    const std::lock_guard lock(living().mutex);
    std::erase_if(living().runs, [](const std::weak_ptr<Run>& r) { return r.expired(); });
    living().runs.push_back(run);
  }
  std::shared_ptr<Run> run;
};

nb::dict stats_to_python(const data::RunStats& stats) {
  nb::list stages;
  for (const data::StageStats& stage : stats.stages) {
    nb::dict entry;
    entry["name"] = stage.name;
    entry["busy_seconds"] = stage.busy_seconds;
    entry["samples"] = stage.samples;
    entry["bytes"] = stage.bytes;
    stages.append(entry);
  }
  nb::dict dict;
  dict["stages"] = stages;
  dict["seconds"] = stats.seconds;
  dict["consumer_wait_seconds"] = stats.consumer_wait_seconds;
  dict["worker_wait_seconds"] = stats.worker_wait_seconds;
  dict["batches"] = stats.batches;
  dict["workers"] = stats.workers;
  dict["bad_samples"] = stats.bad_samples;
  dict["jpeg_indices"] = stats.jpeg_indices;
  dict["jpeg_index_bytes"] = stats.jpeg_index_bytes;
  dict["advice"] = stats.advice();
  return dict;
}

// One sample outside any run: (columns, record, origin).
nb::object sample(const data::Replayer& replayer, std::uint64_t epoch, std::uint64_t index) {
  std::optional<data::Sample> sample;
  {
    const nb::gil_scoped_release unlocked;
    sample = replayer.sample(epoch, index);
  }
  if (!sample) return nb::none();
  nb::dict columns;
  for (const data::NamedTensor& column : sample->columns) {
    const nb::object value = to_numpy(column.values.clone());
    const bool one = column.values.dtype() == DType::bytes && nb::len(value) == 1;
    columns[to_python(column.name)] = one ? nb::object(value[0]) : value;
  }
  return nb::make_tuple(columns, sample->record, to_python(sample->origin));
}

struct PyReplayer {
  PyReplayer(const PyDataset& d, std::optional<std::uint64_t> seed)
      : tokens(d.tokens), replayer(d.dataset, data::IteratorOptions{.seed = seed}) {}
  Tokens tokens;
  data::Replayer replayer;
};

data::IteratorOptions options_of(nb::kwargs given) {
  data::IteratorOptions options;
  const std::map<std::string, std::function<void(nb::handle)>> known{
      {"workers", [&](nb::handle v) { options.workers = nb::cast<int>(v); }},
      {"memory_limit", [&](nb::handle v) { options.memory_limit = nb::cast<std::int64_t>(v); }},
      {"slots", [&](nb::handle v) { options.slots = nb::cast<std::int64_t>(v); }},
      {"epochs", [&](nb::handle v) { options.epochs = nb::cast<std::int64_t>(v); }},
      {"seed", [&](nb::handle v) { options.seed = nb::cast<std::uint64_t>(v); }},
      {"start", [&](nb::handle v) { options.start = data::IteratorState::from_json(nb::cast<std::string>(v)); }},
      {"raw_images", [&](nb::handle v) { options.raw_images = nb::cast<bool>(v); }},
      {"pull", [&](nb::handle v) { options.pull = nb::cast<bool>(v); }},
      {"disabled_passes",
       [&](nb::handle v) { options.disabled_passes = nb::cast<std::vector<std::string>>(nb::list(nb::borrow(v))); }},
      {"bad_samples",
       [&](nb::handle v) { options.bad_samples.policy = data::parse_bad_sample_policy(nb::cast<std::string>(v)); }},
      {"bad_sample_budget", [&](nb::handle v) { options.bad_samples.budget = nb::cast<std::int64_t>(v); }},
      {"quarantine", [&](nb::handle v) { options.bad_samples.quarantine = text_of(v); }},
      {"jpeg_index_memory", [&](nb::handle v) { options.jpeg_index_memory = nb::cast<std::int64_t>(v); }},
      {"autotune", [&](nb::handle v) { options.autotune = nb::cast<bool>(v); }},
  };
  std::vector<std::string> names;
  for (const auto& [name, set] : known) names.push_back(name);
  for (const auto& [key, value] : given) {
    const std::string name = text_of(key);
    const auto found = known.find(name);
    if (found == known.end())
      throw Error("[iterator] unknown argument '" + name + "'" + did_you_mean(name, names), ErrorKind::usage);
    if (value.is_none()) continue;
    try {
      found->second(value);
    } catch (const nb::cast_error&) {
      throw Error("[iterator] argument '" + name + "' is " + shown(nb::repr(value)) +
                      ", which has the wrong type or does not fit",
                  ErrorKind::usage);
    }
  }
  return options;
}

}  // namespace

void bind_iterator(nb::module_& m) {
  nb::class_<PyBatch>(m, "Batch",
                      "Named columns of one batch. Arrays are views of the batch's memory, which stays theirs as long "
                      "as one of them lives.")
      .def(
          "columns", [](const PyBatch& b) { return columns_to_python(b.held->schema()); },
          "[(name, dtype, shape)]; the first extent of every shape is the batch's rows.")
      .def("keys",
           [](const PyBatch& b) {
             nb::list names;
             for (const data::Column& column : b.held->schema()) names.append(to_python(column.name));
             return names;
           })
      .def("__contains__", [](const PyBatch& b,
                              const std::string& name) { return data::find_column(b.held->schema(), name) != nullptr; })
      .def(
          "__getitem__",
          [](const PyBatch& b, const std::string& name) { return to_numpy(b.held->column(name), b.held); },
          "The column as a NumPy array over the batch's memory; a list of bytes for byte strings (copied).")
      .def(
          "dlpack",
          [](const PyBatch& b, const std::string& name, bool channels_first) {
            return to_dlpack(b.held->column(name), b.held, channels_first);
          },
          nb::arg("name"), nb::arg("channels_first") = false,
          "The column's memory as an object with __dlpack__. channels_first shows [N,H,W,C] as [N,C,H,W].")
      .def_prop_ro(
          "rows", [](const PyBatch& b) { return b.held->rows(); }, "Batch size, padding included.")
      .def_prop_ro(
          "samples", [](const PyBatch& b) { return b.held->samples(); },
          "Rows that belong to samples; they come first. Bad ones that were skipped have mask 0.")
      .def_prop_ro(
          "epoch", [](const PyBatch& b) { return b.held->epoch(); }, "From 0.")
      .def_prop_ro(
          "index", [](const PyBatch& b) { return b.held->index(); }, "Of this batch in its epoch, from 0.")
      .def_prop_ro("last_of_epoch", [](const PyBatch& b) { return b.held->last_of_epoch(); })
      .def_prop_ro(
          "records", [](const PyBatch& b) { return b.held->records(); }, "Record of the source, one a sample.")
      .def_prop_ro(
          "copied", [](const PyBatch& b) { return b.held->copied(); },
          "Whether the memory is a copy, because too many batches were kept.")
      .def("state_after", [](const PyBatch& b) { return b.held->after().to_json(); });

  nb::class_<PyIterator>(m, "Iterator")
      .def("__init__",
           [](PyIterator* self, const PyDataset& d, nb::kwargs options) {
             new (self) PyIterator(std::make_shared<Run>(d, options_of(std::move(options))));
           })
      .def(
          "next", [](PyIterator& it, double timeout) { return it.run->next(timeout); }, nb::arg("timeout") = 0.0)
      .def("state", [](const PyIterator& it) { return it.run->with([](auto& i) { return i.state().to_json(); }); })
      .def("restore",
           [](PyIterator& it, const std::string& state) {
             it.run->with([&](auto& i) { i.restore(data::IteratorState::from_json(state)); });
           })
      .def("columns",
           [](const PyIterator& it) { return columns_to_python(it.run->with([](auto& i) { return i.columns(); })); })
      .def("batches_per_epoch",
           [](const PyIterator& it) { return it.run->with([](auto& i) { return i.batches_per_epoch(); }); })
      .def("workers", [](const PyIterator& it) { return it.run->with([](auto& i) { return i.workers(); }); })
      .def("slots", [](const PyIterator& it) { return it.run->with([](auto& i) { return i.slots(); }); })
      .def("slot_bytes", [](const PyIterator& it) { return it.run->with([](auto& i) { return i.slot_bytes(); }); })
      .def("bad_samples", [](const PyIterator& it) { return it.run->with([](auto& i) { return i.bad_samples(); }); })
      .def("image_tail",
           [](const PyIterator& it) {
             const data::ImageTail tail = it.run->with([](auto& i) { return i.image_tail(); });
             return nb::make_tuple(tail.normalize, nb::cast(tail.mean), nb::cast(tail.std), tail.flip);
           })
      .def("stats",
           [](const PyIterator& it) { return stats_to_python(it.run->with([](auto& i) { return i.stats(); })); })
      .def("close", [](PyIterator& it) { it.run->close(); });

  nb::class_<PyReplayer>(m, "Replayer")
      .def(
          "__init__",
          [](PyReplayer* self, const PyDataset& d, std::optional<std::uint64_t> seed) {
            const nb::gil_scoped_release unlocked;
            new (self) PyReplayer(d, seed);
          },
          nb::arg("dataset"), nb::arg("seed").none() = nb::none())
      .def("sample", [](const PyReplayer& r, std::uint64_t epoch, std::uint64_t index) {
        return sample(r.replayer, epoch, index);
      });

  // When the interpreter ends, no worker may wait for its lock any more.
  m.def("close_all", [] {
    std::vector<std::weak_ptr<Run>> all;
    {
      const std::lock_guard lock(living().mutex);
      all.swap(living().runs);
    }
    for (const std::weak_ptr<Run>& weak : all) {
      if (const std::shared_ptr<Run> run = weak.lock()) run->close();
    }
  });
}

}  // namespace ridgeline::python
