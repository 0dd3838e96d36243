#include "callables.h"

#include <nanobind/stl/string.h>
#include <pthread.h>

#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "arrays.h"
#include "ridgeline/core/ends_run_error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/random.h"
#include "ridgeline/data/ir/functions.h"
#include "ridgeline/data/ir/generators.h"
#include "ridgeline/data/ir/registered_name.h"
#include "values.h"

namespace ridgeline::python {

namespace {

// " (FILE:LINE)" in the user's code, or nothing.
std::string place_of(const nb::object& traceback) {
  if (!traceback.is_valid()) return "";
  try {
    return shown(nb::module_::import_("ridgeline._place").attr("place_of")(traceback));
  } catch (const nb::python_error&) {  // the interpreter ends
    return "";
  }
}

}  // namespace

Error error_of(const nb::python_error& e) {
  std::string text = shown(e.type().attr("__name__"));
  if (const auto reason = shown(e.value()); !reason.empty()) text += ": " + reason;
  text += place_of(e.traceback());
  return Error(text, e.matches(PyExc_KeyboardInterrupt) ? ErrorKind::interrupted : ErrorKind::failure);
}

void throw_error_of(const nb::python_error& e) {
  constexpr const char* of_worker_process = "ends_run";  // Told in ridgeline/data/_process.py
  if (!nb::hasattr(e.value(), of_worker_process)) throw error_of(e);
  const std::string text = shown(e.value());
  if (nb::cast<bool>(e.value().attr(of_worker_process))) throw EndsRunError(text);
  throw Error(text);
}

namespace {

// The Python object that a name refers to now.
template <class T>
class Slot {
 public:
  std::shared_ptr<T> get() const {
    const std::lock_guard lock(mutex_);
    if (std::shared_ptr<T> object = object_.lock()) return object;
    throw Error("the Python object that this graph names is gone: keep the dataset that it was made for");
  }
  bool take(const std::shared_ptr<T>& object) {
    const std::lock_guard lock(mutex_);
    if (!object_.expired()) return false;
    object_ = object;
    return true;
  }

 private:
  mutable std::mutex mutex_;
  std::weak_ptr<T> object_;
};

// All names of one kind. `shape` is what the engine stores permanently about a name: only an object of the same shape
// can reuse it.
template <class T>
class Pool {
 public:
  // `add(name, slot)` registers a new name with the engine.
  template <class Add>
  Named name(const std::string& wish, const std::string& shape, std::shared_ptr<T> object, Add&& add) {
    const std::lock_guard lock(mutex_);
    for (int i = 0;; ++i) {
      const std::string name = data::numbered(wish, i);
      const auto found = slots_.find(name);
      if (found == slots_.end()) {
        auto slot = std::make_shared<Slot<T>>();
        slot->take(object);
        add(name, std::shared_ptr<const Slot<T>>(slot));  // an Error if C++ code uses the name
        slots_.emplace(name, std::pair{shape, std::move(slot)});
        return {name, std::move(object)};
      }
      if (found->second.first == shape && found->second.second->take(object)) return {name, std::move(object)};
    }
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::pair<std::string, std::shared_ptr<Slot<T>>>> slots_;
};

// Never destroyed, since workers may use it until the process ends.
template <class T, int kind>
Pool<T>& pool() {
  static auto* pool = new Pool<T>;
  return *pool;
}

nb::object to_value(const Tensor& tensor) {
  if (tensor.dtype() == DType::bytes && tensor.string_values().size() == 1) {
    const std::string& text = tensor.string_values()[0];
    return nb::bytes(text.data(), text.size());
  }
  return to_numpy(tensor.clone());  // the memory of the row will be reused
}

std::vector<Tensor> row_of(const data::Schema& schema, nb::handle row) {
  const nb::object values = nb::steal(PySequence_Fast(row.ptr(), "a row must be a tuple of values, one a column"));
  if (!values.is_valid()) throw nb::python_error();
  if (nb::len(values) != schema.size())
    throw Error("the row has " + std::to_string(nb::len(values)) + " values, " + std::to_string(schema.size()) +
                " columns are declared");
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < schema.size(); ++i)
    tensors.push_back(value_of_row("column '" + schema[i].name + "'", values[i], schema[i].dtype));
  return tensors;
}

struct FileList {
  std::vector<std::string> paths;
  std::vector<std::int32_t> labels;
};

class PythonCallback : public data::DataCallback {
 public:
  PythonCallback(nb::object object, std::int64_t step_size)
      : DataCallback(step_size), object_(std::make_shared<Held>(std::move(object))) {}
  void begin(const data::CallbackInfo& info) override { call("begin", info); }
  void epoch_begin(const data::CallbackInfo& info) override { call("epoch_begin", info); }
  void step_begin(const data::CallbackInfo& info) override { call("step_begin", info); }
  void step_end(const data::CallbackInfo& info) override { call("step_end", info); }
  void epoch_end(const data::CallbackInfo& info) override { call("epoch_end", info); }
  void end(const data::CallbackInfo& info) override { call("end", info); }

 private:
  void call(const char* method, const data::CallbackInfo& info) {
    with_python([&] {
      if (nb::hasattr(object_->get(), method)) object_->get().attr(method)(info.epoch, info.step, info.run_steps);
    });
  }
  std::shared_ptr<Held> object_;
};

}  // namespace

Held::~Held() {
  if (!Py_IsInitialized()) return;  // the interpreter has already destroyed the objects
  const PythonLock lock;
  Py_DECREF(object_);
}

namespace {

// Never destroyed, since its objects may live until the process ends. A fork happens with the GIL held, so the mutex is
// free in the child.
struct Turns {
  std::mutex mutex;
  std::map<PyObject*, std::weak_ptr<Turn>> by_object;

  Turns() {
    ::pthread_atfork(nullptr, nullptr, [] {
      for (const auto& [object, weak] : turns().by_object) {
        if (const std::shared_ptr<Turn> turn = weak.lock()) turn->begin_anew();
      }
    });
  }
  static Turns& turns() {
    static auto* turns = new Turns;
    return *turns;
  }
};

}  // namespace

std::shared_ptr<Turn> turn_of(nb::object object) {
  Turns& turns = Turns::turns();
  const std::lock_guard lock(turns.mutex);
  std::erase_if(turns.by_object, [](const auto& turn) { return turn.second.expired(); });
  std::weak_ptr<Turn>& found = turns.by_object[object.ptr()];
  std::shared_ptr<Turn> turn = found.lock();
  if (!turn) found = turn = std::make_shared<Turn>(std::move(object));
  return turn;
}

Code::Code(nb::object function, nb::object turn, nb::object version)
    : function(std::move(function)),
      version(std::move(version)),
      turn(turn.is_none() ? nullptr : turn_of(std::move(turn))) {}

namespace {

// The version of the code to which the name refers now.
data::CodeVersion version_of(std::shared_ptr<const Slot<Code>> slot) {
  return {[slot = std::move(slot)]() -> std::uint64_t {
    const auto code = slot->get();
    return with_python([&] {
      const nb::object version = code->version.get()();
      if (PyUnicode_Check(version.ptr())) throw Error(text_of(version), ErrorKind::usage);
      return nb::cast<std::uint64_t>(version);
    });
  }};
}

}  // namespace

Named name_function(const std::string& wish, std::shared_ptr<Code> function, std::optional<DType> result) {
  return pool<Code, 0>().name(wish, std::string(result ? name_of(*result) : ""), std::move(function),
                              [result](const std::string& name, const std::shared_ptr<const Slot<Code>>& slot) {
                                const auto call = [slot, result](const Tensor& value) {
                                  const auto code = slot->get();
                                  return in_turn(code->turn, [&] {
                                    return value_of_row("the result", code->function.get()(to_value(value)),
                                                        result.value_or(value.dtype()));
                                  });
                                };
                                data::register_function(name, call, version_of(slot));
                              });
}

Named name_predicate(const std::string& wish, std::shared_ptr<Code> predicate) {
  return pool<Code, 1>().name(wish, "", std::move(predicate),
                              [](const std::string& name, const std::shared_ptr<const Slot<Code>>& slot) {
                                const auto call = [slot](const Tensor& value) {
                                  const auto code = slot->get();
                                  return in_turn(code->turn, [&] {
                                    const nb::object answer = code->function.get()(to_value(value));
                                    if (answer.is_none()) throw Error("the result is None, it must be true or false");
                                    const int truth = PyObject_IsTrue(answer.ptr());
                                    if (truth < 0) throw nb::python_error();
                                    return truth == 1;
                                  });
                                };
                                data::register_predicate(name, call);
                              });
}

Named name_generator(const std::string& wish, const data::Schema& schema, std::int64_t rows,
                     std::shared_ptr<Code> row) {
  return pool<Code, 2>().name(
      wish, to_string(schema) + " " + std::to_string(rows), std::move(row),
      [&](const std::string& name, const std::shared_ptr<const Slot<Code>>& slot) {
        const auto call = [slot, schema](std::int64_t index) {
          const auto code = slot->get();
          return in_turn(code->turn, [&] { return row_of(schema, code->function.get()(index)); });
        };
        data::register_generator(name, {.schema = schema, .rows = rows, .row = call, .version = version_of(slot)});
      });
}

Named name_stream(const std::string& wish, const data::Schema& schema, std::int64_t rows, std::shared_ptr<Code> open,
                  std::int64_t window) {
  return pool<Code, 3>().name(
      wish, to_string(schema) + " " + std::to_string(rows) + " " + std::to_string(window), std::move(open),
      [&](const std::string& name, const std::shared_ptr<const Slot<Code>>& slot) {
        const auto call = [slot, schema] {
          const auto code = slot->get();
          auto iterator =
              in_turn(code->turn, [&] { return std::make_shared<Held>(nb::object(nb::iter(code->function.get()()))); });
          // Iterators of one function may share what it opened, so each of them takes the function's lock.
          return [iterator, schema, turn = code->turn]() -> std::vector<Tensor> {
            return in_turn(turn, [&]() -> std::vector<Tensor> {
              const nb::object row = nb::steal(PyIter_Next(iterator->get().ptr()));
              if (row.is_valid()) return row_of(schema, row);
              if (PyErr_Occurred()) throw nb::python_error();
              return {};
            });
          };
        };
        data::register_stream(
            name, {.schema = schema, .rows = rows, .open = call, .window = window, .version = version_of(slot)});
      });
}

Named name_files(const std::string& wish, std::vector<std::string> paths, std::vector<std::int64_t> labels) {
  if (paths.size() != labels.size())
    throw Error(std::to_string(paths.size()) + " files have " + std::to_string(labels.size()) + " labels",
                ErrorKind::usage);
  auto list = std::make_shared<FileList>();
  std::uint64_t version = 0;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (labels[i] < 0 || labels[i] > std::numeric_limits<std::int32_t>::max())
      throw Error("label " + std::to_string(labels[i]) + " of " + paths[i] + " is negative or does not fit 32 bits",
                  ErrorKind::usage);
    list->labels.push_back(static_cast<std::int32_t>(labels[i]));
    version = hash64(paths[i], version + static_cast<std::uint64_t>(labels[i]));
  }
  list->paths = std::move(paths);
  const auto rows = static_cast<std::int64_t>(list->paths.size());
  return pool<FileList, 4>().name(
      wish, std::to_string(rows) + " " + std::to_string(version), std::move(list),
      [&](const std::string& name, std::shared_ptr<const Slot<FileList>> slot) {
        data::register_generator(name, {.schema = {{"image", DType::bytes, Shape{}}, {"label", DType::i32, Shape{}}},
                                        .rows = rows,
                                        .row =
                                            [slot](std::int64_t index) {
                                              const auto files = slot->get();
                                              const auto i = static_cast<std::size_t>(index);
                                              return std::vector<Tensor>{
                                                  Tensor::strings({read_file(files->paths[i])}),
                                                  Tensor::scalar<std::int32_t>(files->labels[i])};
                                            },
                                        .version = version});
      });
}

std::shared_ptr<data::DataCallback> callback_of(nb::object object, std::int64_t step_size) {
  return std::make_shared<PythonCallback>(std::move(object), step_size);
}

}  // namespace ridgeline::python
