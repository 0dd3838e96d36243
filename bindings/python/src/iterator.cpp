// Binds iterators, the batches that they lend, and single samples.
//
// Waits without the GIL, in steps of a tenth of a second, so that Ctrl-C is noticed. The lending of batches and the
// handling of forks are in bindings/shared.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <variant>

#include "arrays.h"
#include "bind.h"
#include "bindings/shared/run.h"
#include "bindings/shared/statistics.h"
#include "interruptible.h"
#include "ridgeline/core/log.h"
#include "ridgeline/data/runtime/iterator.h"
#include "ridgeline/data/runtime/iterator_settings.h"
#include "ridgeline/data/runtime/replayer.h"
#include "values.h"

namespace ridgeline::python {
namespace {

using Clock = std::chrono::steady_clock;

using bindings::HeldBatch;

// Set when the interpreter shuts down, after which Python code cannot be called.
std::atomic<bool> ending{false};

// Allocator for batches whose memory Python code registers with a device: calls register(address, bytes) after
// allocation and unregister(address) before the memory is freed.
class PageLocked : public data::BatchAllocator {
 public:
  PageLocked(nb::object lock, nb::object unlock)
      : lock_(std::make_unique<Held>(std::move(lock))), unlock_(std::make_unique<Held>(std::move(unlock))) {}

  void* allocate(std::size_t bytes, std::size_t alignment) override {
    constexpr std::size_t kPage = 4096;
    const std::size_t step = std::max(alignment, kPage), size = (bytes + step - 1) / step * step;
    void* memory = std::aligned_alloc(step, size);
    if (!memory) throw std::bad_alloc();
    try {
      with_python([&] { lock_->get()(reinterpret_cast<std::uintptr_t>(memory), size); });
    } catch (const Error& e) {
      std::free(memory);
      throw Error(std::string("[iterator] page_lock cannot register a batch's memory: ") + e.what());
    }
    return memory;
  }
  void release(void* memory) override {
    if (ending) return;  // the device also frees its registration when the process ends
    try {
      with_python([&] {
        const nb::error_scope pending;  // an exception may be dropping the batch
        unlock_->get()(reinterpret_cast<std::uintptr_t>(memory));
      });
    } catch (const Error& e) {
      bindings::log().warning(std::string("page_lock cannot unregister a batch's memory, which is lost: ") + e.what());
      return;
    }
    std::free(memory);
  }

 private:
  std::unique_ptr<Held> lock_, unlock_;
};

struct PyBatch {
  std::shared_ptr<HeldBatch> held;
};

// The run of one Python iterator, with the tokens of the Python objects that its graph uses.
class Run {
 public:
  Run(const PyDataset& d, data::IteratorOptions options, std::shared_ptr<data::BatchAllocator> memory)
      : tokens_(d.tokens) {
    const auto open = [&] { run_ = std::make_unique<bindings::Run>(d.dataset, std::move(options), std::move(memory)); };
    // Like `ask` in dataset.cpp. Also creates iterators in the calling thread if Python registers their memory.
    if (tokens_.empty() && !memory) {
      run_interruptibly(open);
    } else {
      const nb::gil_scoped_release unlocked;
      open();
    }
  }
  ~Run() { close(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // nullopt at the end. `seconds`: how long to wait; 0: without limit.
  std::optional<PyBatch> next(double seconds) {
    const Clock::time_point begin = Clock::now();
    while (true) {
      std::shared_ptr<HeldBatch> batch;
      bindings::Run::Came came{};
      {
        const nb::gil_scoped_release unlocked;
        came = run_->next(std::chrono::milliseconds(100), batch);
      }
      if (came == bindings::Run::Came::batch) return PyBatch{std::move(batch)};
      if (came == bindings::Run::Came::end) return std::nullopt;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (seconds > 0 && std::chrono::duration<double>(Clock::now() - begin).count() >= seconds)
        throw Error("[iterator] no batch came within timeout=" + std::to_string(seconds) + " seconds");
    }
  }

  template <class F>
  auto with(F&& f) const {
    const nb::gil_scoped_release unlocked;
    return run_->with(f);
  }

  // Needs the GIL.
  void close() {
    if (!run_->of_this_process()) {
      run_->close();
      return;
    }
    const nb::gil_scoped_release unlocked;
    run_->close();
  }

 private:
  std::unique_ptr<bindings::Run> run_;
  Tokens tokens_;
};

// All runs of the process, to end them before the interpreter shuts down.
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

nb::dict dict_of(const bindings::Statistics& statistics) {
  nb::dict dict;
  for (const auto& [name, value] : statistics) std::visit([&](const auto& v) { dict[name] = v; }, value);
  return dict;
}

nb::dict stats_to_python(const data::RunStats& stats) {
  nb::list stages;
  for (const data::StageStats& stage : stats.stages) stages.append(dict_of(bindings::statistics_of(stage)));
  nb::dict dict;
  dict["stages"] = stages;
  for (const auto& [name, value] : dict_of(bindings::statistics_of(stats))) dict[name] = value;
  return dict;
}

// One sample, without an iterator: (columns, record, origin).
nb::object sample(const data::Replayer& replayer, std::uint64_t epoch, std::uint64_t index) {
  std::optional<data::Sample> sample;
  {
    const nb::gil_scoped_release unlocked;
    sample = replayer.sample(epoch, index);
  }
  if (!sample) return nb::none();
  nb::dict columns;
  for (const NamedTensor& column : sample->columns) {
    const nb::object value = to_numpy(column.tensor.clone());
    const bool one = column.tensor.dtype() == DType::bytes && nb::len(value) == 1;
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

// Removes page_lock=(register, unregister) from the arguments; null if there is none.
std::shared_ptr<data::BatchAllocator> page_locked(nb::kwargs& given) {
  if (!given.contains("page_lock")) return nullptr;
  const nb::object pair = given["page_lock"];
  nb::del(given["page_lock"]);
  if (pair.is_none()) return nullptr;
  if (!PyTuple_Check(pair.ptr()) || nb::len(pair) != 2 || !PyCallable_Check(nb::object(pair[0]).ptr()) ||
      !PyCallable_Check(nb::object(pair[1]).ptr()))
    throw Error("[iterator] argument 'page_lock' is " + shown(nb::repr(pair)) +
                    ", it must be a pair of functions: register(address, bytes) and unregister(address)",
                ErrorKind::usage);
  return std::make_shared<PageLocked>(pair[0], pair[1]);
}

// By default a batch has no padding rows.
data::IteratorOptions usual_options() {
  data::IteratorOptions options;
  options.pad_last = false;
  return options;
}

data::Value value_of(const data::IteratorSetting& setting, nb::handle given) {
  if (setting.all_bits) return static_cast<std::int64_t>(nb::cast<std::uint64_t>(given));
  const data::ArgSpec spec{.name = std::string(setting.name), .type = setting.type, .doc = std::string(setting.help)};
  return python::value_of("iterator", spec, given);
}

}  // namespace

void set_iterator_options(data::IteratorOptions& options, nb::handle given) {
  for (const auto& [key, value] : nb::borrow<nb::dict>(given)) {
    const std::string name = text_of(key);
    const data::IteratorSetting& setting = data::iterator_setting(name);
    if (value.is_none()) continue;
    try {
      data::set(options, setting, value_of(setting, value));
    } catch (const nb::cast_error&) {
      throw Error("[iterator] argument '" + name + "' is " + shown(nb::repr(value)) +
                      ", which has the wrong type or does not fit",
                  ErrorKind::usage);
    }
  }
}

namespace {

data::IteratorOptions options_of(nb::kwargs given) {
  data::IteratorOptions options = usual_options();
  set_iterator_options(options, given);
  return options;
}

// {name: (help, default)}; the default of an optional setting is None.
nb::dict settings_to_python() {
  const data::IteratorOptions usual = usual_options();
  nb::dict all;
  for (const data::IteratorSetting& setting : data::iterator_settings()) {
    const nb::object value = setting.may_be_absent ? nb::none() : to_python(setting.get(usual));
    all[to_python(std::string(setting.name))] = nb::make_tuple(to_python(std::string(setting.help)), value);
  }
  return all;
}

}  // namespace

void bind_iterator(nb::module_& m) {
  nb::class_<PyParts>(m, "Parts",
                      "A byte string in parts, objects that lend their memory: what a row may have for one.")
      .def("__init__", [](PyParts* self, nb::args parts) { new (self) PyParts{nb::tuple(std::move(parts))}; });
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
          "byte_arrays",
          [](const PyBatch& b, const std::string& name) { return to_numpy_of_bytes(b.held->column(name), b.held); },
          "A column of byte strings as a list of NumPy arrays over the batch's memory.")
      .def(
          "dlpack",
          [](const PyBatch& b, const std::string& name, bool channels_first) {
            return to_dlpack(b.held->column(name), b.held, channels_first);
          },
          nb::arg("name"), nb::arg("channels_first") = false,
          "The column's memory as an object with __dlpack__. channels_first shows [N,H,W,C] as [N,C,H,W].")
      .def_prop_ro(
          "rows", [](const PyBatch& b) { return b.held->rows(); }, "Of this batch, padding included.")
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

  m.def("iterator_settings", settings_to_python);

  nb::class_<PyIterator>(m, "Iterator")
      .def("__init__",
           [](PyIterator* self, const PyDataset& d, nb::kwargs options) {
             std::shared_ptr<data::BatchAllocator> memory = page_locked(options);
             new (self) PyIterator(std::make_shared<Run>(d, options_of(std::move(options)), std::move(memory)));
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

  // When the interpreter shuts down, no worker may still wait for the GIL.
  m.def("close_all", [] {
    ending = true;
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
