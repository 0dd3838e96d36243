// Iterators.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "bindings/c/ridgeline_data.h"
#include "bindings/c/src/columns.h"
#include "bindings/c/src/guard.h"
#include "bindings/c/src/handles.h"
#include "bindings/shared/run.h"
#include "bindings/shared/statistics.h"
#include "ridgeline/data/api/dataset.h"
#include "ridgeline/data/runtime/iterator_settings.h"

using ridgeline::Error;
using ridgeline::ErrorKind;
using ridgeline::bindings::HeldBatch;
using ridgeline::bindings::Run;
using ridgeline::bindings::statistics_of;
using ridgeline::c::guarded;
using ridgeline::c::HeldColumns;
using ridgeline::c::put_text;
using ridgeline::c::require;
namespace data = ridgeline::data;
using Datasets = ridgeline::c::Handles<data::Dataset>;
using Runs = ridgeline::c::Handles<Run>;
using Batches = ridgeline::c::Handles<HeldColumns>;

namespace {

// Allocates through the caller's functions.
class CallersMemory : public data::BatchAllocator {
 public:
  explicit CallersMemory(const ridgeline_options& o)
      : allocate_(o.allocate), release_(o.release), user_(o.memory_user) {}
  void* allocate(std::size_t bytes, std::size_t alignment) override {
    void* memory = allocate_(user_, bytes, alignment);
    if (!memory) throw Error("[iterator] allocate has no " + std::to_string(bytes) + " bytes for a batch");
    if (reinterpret_cast<std::uintptr_t>(memory) % alignment != 0) {
      release_(user_, memory);
      throw Error("[iterator] allocate gave memory that is not aligned to " + std::to_string(alignment) + " bytes",
                  ErrorKind::usage);
    }
    return memory;
  }
  void release(void* memory) override { release_(user_, memory); }

 private:
  void* (*allocate_)(void*, size_t, size_t);
  void (*release_)(void*, void*);
  void* user_;
};

bool flag(std::int32_t value, const char* name) {
  if (value != 0 && value != 1)
    throw Error(std::string("options.") + name + " is " + std::to_string(value) + ", it must be 0 or 1",
                ErrorKind::usage);
  return value == 1;
}

// The size of the struct in the first version of the header.
constexpr std::size_t kLeastOptions = offsetof(ridgeline_options, memory_user) + sizeof(void*);

ridgeline_options defaults(std::size_t size) {
  const data::IteratorOptions engine;
  ridgeline_options options;
  std::memset(&options, 0, sizeof options);
  options.struct_size = size;
  options.epochs = engine.epochs;
  options.jpeg_index_memory = engine.jpeg_index_memory;
  options.bad_sample_budget = engine.bad_samples.budget;
  return options;
}

// Reads a struct of this or an older header: fields that it lacks keep their defaults.
ridgeline_options complete(const ridgeline_options* given) {
  ridgeline_options options = defaults(sizeof options);
  if (!given) return options;
  if (given->struct_size < kLeastOptions || given->struct_size > sizeof options)
    throw Error("options.struct_size is " + std::to_string(given->struct_size) + ", this library's is " +
                    std::to_string(sizeof options) + ": call ridgeline_options_init first",
                ErrorKind::usage);
  std::memcpy(&options, given, given->struct_size);
  if (!options.allocate != !options.release)
    throw Error("options.allocate and options.release come together", ErrorKind::usage);
  return options;
}

// The value of a setting from JSON; nullopt: of a type that no setting has.
std::optional<data::Value> value_of(const nlohmann::json& given) {
  if (given.is_boolean()) return given.get<bool>();
  if (given.is_number_integer()) return given.get<std::int64_t>();
  if (given.is_string()) return given.get<std::string>();
  if (!given.is_array()) return std::nullopt;
  data::Texts texts;
  for (const nlohmann::json& text : given) {
    if (!text.is_string()) return std::nullopt;
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

void read_settings(const char* text, data::IteratorOptions& options) {
  const nlohmann::json all = nlohmann::json::parse(text, nullptr, false);
  if (!all.is_object()) throw Error("options.settings is no JSON object: " + std::string(text), ErrorKind::usage);
  for (const auto& [name, given] : all.items()) {
    const data::IteratorSetting& setting = data::iterator_setting(name);
    if (given.is_null() && setting.may_be_absent) continue;
    const std::optional<data::Value> value = value_of(given);
    if (!value) throw Error("options.settings: " + name + " cannot be " + given.dump(), ErrorKind::usage);
    data::set(options, setting, *value);
  }
}

nlohmann::ordered_json json_of(const data::Value& value) {
  if (const auto* texts = std::get_if<data::Texts>(&value)) return *texts;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* truth = std::get_if<bool>(&value)) return *truth;
  return std::get<std::int64_t>(value);
}

data::IteratorOptions options_of(const ridgeline_options& o) {
  data::IteratorOptions options;
  options.workers = o.workers;
  options.pull = flag(o.pull, "pull");
  options.raw_images = flag(o.raw_images, "raw_images");
  options.pad_last = flag(o.pad_last, "pad_last");
  options.autotune = flag(o.autotune, "autotune");
  if (flag(o.has_seed, "has_seed")) options.seed = o.seed;
  options.memory_limit = o.memory_limit;
  options.slots = o.slots;
  options.epochs = o.epochs;
  options.jpeg_index_memory = o.jpeg_index_memory;
  if (o.start) options.start = data::IteratorState::from_json(o.start);
  if (o.bad_samples) options.bad_samples.policy = data::parse_bad_sample_policy(o.bad_samples);
  options.bad_samples.budget = o.bad_sample_budget;
  if (o.quarantine) options.bad_samples.quarantine = o.quarantine;
  if (o.settings) read_settings(o.settings, options);
  return options;
}

nlohmann::ordered_json json_of(const ridgeline::bindings::Statistics& statistics) {
  nlohmann::ordered_json all;
  for (const auto& [name, value] : statistics) std::visit([&](const auto& v) { all[name] = v; }, value);
  return all;
}

std::string stats_json(const data::RunStats& stats) {
  nlohmann::ordered_json all{{"stages", nlohmann::ordered_json::array()}};
  for (const data::StageStats& stage : stats.stages) all["stages"].push_back(json_of(statistics_of(stage)));
  all.update(json_of(statistics_of(stats)));
  return all.dump();
}

// Calls f(data::Iterator&) with the iterator of a handle.
template <class F>
ridgeline_status of_run(const char* function, ridgeline_iterator* iterator, F&& f) {
  return guarded(function, [&] {
    Runs::table().get(iterator)->with(f);
    return RIDGELINE_OK;
  });
}

}  // namespace

ridgeline_status ridgeline_options_init_sized(ridgeline_options* options, size_t size) {
  return guarded("ridgeline_options_init", [&] {
    require(options, "options");
    if (size < kLeastOptions) {
      throw Error(
          "options of " + std::to_string(size) + " bytes; the first header's had " + std::to_string(kLeastOptions),
          ErrorKind::usage);
    }
    const ridgeline_options all = defaults(std::min(size, sizeof *options));
    std::memcpy(options, &all, all.struct_size);
    return RIDGELINE_OK;
  });
}

ridgeline_status ridgeline_iterator_settings(char* buffer, size_t capacity, size_t* size) {
  return guarded("ridgeline_iterator_settings", [&] {
    data::IteratorOptions usual;
    usual.pad_last = false;
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const data::IteratorSetting& setting : data::iterator_settings()) {
      all.push_back({{"name", setting.name},
                     {"help", setting.help},
                     {"default", setting.may_be_absent ? nlohmann::ordered_json() : json_of(setting.get(usual))}});
    }
    put_text(all.dump(), buffer, capacity, size);
    return RIDGELINE_OK;
  });
}

ridgeline_status ridgeline_iterator_create(ridgeline_dataset* dataset, const ridgeline_options* options,
                                           ridgeline_iterator** iterator) {
  return guarded("ridgeline_iterator_create", [&] {
    const auto held = Datasets::table().get(dataset);
    require(iterator, "the result");
    const ridgeline_options all = complete(options);
    std::shared_ptr<data::BatchAllocator> memory;
    if (all.allocate) memory = std::make_shared<CallersMemory>(all);
    auto run = std::make_shared<Run>(*held, options_of(all), std::move(memory));
    *iterator = reinterpret_cast<ridgeline_iterator*>(Runs::table().add(std::move(run)));
    return RIDGELINE_OK;
  });
}

ridgeline_status ridgeline_iterator_free(ridgeline_iterator* iterator) {
  return guarded("ridgeline_iterator_free", [&] {
    Runs::table().take(iterator)->close();  // waits for calls of other threads
    return RIDGELINE_OK;
  });
}

ridgeline_status ridgeline_iterator_next(ridgeline_iterator* iterator, int64_t timeout_ms, ridgeline_batch** batch) {
  return guarded("ridgeline_iterator_next", [&] {
    using Clock = std::chrono::steady_clock;
    using std::chrono::milliseconds;
    constexpr milliseconds kSlice{100};  // between two checks whether the iterator was freed
    require(batch, "the result");
    const Clock::time_point begin = Clock::now();
    while (true) {
      const auto run = Runs::table().get(iterator);
      const auto waited = std::chrono::duration_cast<milliseconds>(Clock::now() - begin).count();
      const auto left = milliseconds(timeout_ms < 0 ? kSlice.count() : std::max<std::int64_t>(0, timeout_ms - waited));
      std::shared_ptr<HeldBatch> held;
      switch (run->next(std::min(left, kSlice), held)) {
        case Run::Came::end: return RIDGELINE_END;
        case Run::Came::batch: {
          auto columns = std::make_shared<HeldColumns>(std::move(held));
          *batch = reinterpret_cast<ridgeline_batch*>(Batches::table().add(std::move(columns)));
          return RIDGELINE_OK;
        }
        case Run::Came::nothing:
          if (timeout_ms >= 0 && left <= kSlice) return RIDGELINE_TIMEOUT;
      }
    }
  });
}

ridgeline_status ridgeline_iterator_state(ridgeline_iterator* iterator, char* buffer, size_t capacity, size_t* size) {
  return of_run("ridgeline_iterator_state", iterator,
                [&](data::Iterator& it) { put_text(it.state().to_json(), buffer, capacity, size); });
}

ridgeline_status ridgeline_iterator_restore(ridgeline_iterator* iterator, const char* state) {
  return of_run("ridgeline_iterator_restore", iterator, [&](data::Iterator& it) {
    require(state, "state");
    it.restore(data::IteratorState::from_json(state));
  });
}

ridgeline_status ridgeline_iterator_save(ridgeline_iterator* iterator, const char* path) {
  return of_run("ridgeline_iterator_save", iterator, [&](data::Iterator& it) {
    require(path, "path");
    it.save(path);
  });
}

ridgeline_status ridgeline_iterator_load(ridgeline_iterator* iterator, const char* path) {
  return of_run("ridgeline_iterator_load", iterator, [&](data::Iterator& it) {
    require(path, "path");
    it.restore(std::string(path));
  });
}

ridgeline_status ridgeline_iterator_batches_per_epoch(ridgeline_iterator* iterator, int64_t* batches) {
  return of_run("ridgeline_iterator_batches_per_epoch", iterator, [&](data::Iterator& it) {
    require(batches, "the result");
    *batches = it.batches_per_epoch();
  });
}

ridgeline_status ridgeline_iterator_stats(ridgeline_iterator* iterator, char* buffer, size_t capacity, size_t* size) {
  return of_run("ridgeline_iterator_stats", iterator,
                [&](data::Iterator& it) { put_text(stats_json(it.stats()), buffer, capacity, size); });
}
