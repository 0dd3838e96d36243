// Datasets, and functions about the library itself.
#include <string>
#include <vector>

#include "bindings/c/ridgeline_data.h"
#include "bindings/c/src/guard.h"
#include "bindings/c/src/handles.h"
#include "bindings/shared/run.h"
#include "ridgeline/core/dtype.h"
#include "ridgeline/core/unreachable_error.h"
#include "ridgeline/data/api/dataset.h"
#include "ridgeline/data/ir/registry.h"

using ridgeline::DType;
using ridgeline::Error;
using ridgeline::ErrorKind;
using ridgeline::UnreachableError;
using ridgeline::c::guarded;
using ridgeline::c::put_text;
using ridgeline::c::require;
using ridgeline::data::Dataset;
using Datasets = ridgeline::c::Handles<Dataset>;

// The constants of the header are those of the engine.
static_assert(RIDGELINE_F64 == static_cast<int>(DType::f64) && RIDGELINE_F32 == static_cast<int>(DType::f32) &&
              RIDGELINE_BF16 == static_cast<int>(DType::bf16) && RIDGELINE_F16 == static_cast<int>(DType::f16) &&
              RIDGELINE_U8 == static_cast<int>(DType::u8) && RIDGELINE_I32 == static_cast<int>(DType::i32) &&
              RIDGELINE_I64 == static_cast<int>(DType::i64) && RIDGELINE_BOOL == static_cast<int>(DType::boolean) &&
              RIDGELINE_BYTES == static_cast<int>(DType::bytes));
static_assert(RIDGELINE_FOREVER == ridgeline::data::kForever && RIDGELINE_UNKNOWN == ridgeline::data::kUnknown);

namespace {

bool is_dtype(ridgeline_dtype dtype) { return dtype >= RIDGELINE_F64 && dtype <= RIDGELINE_BYTES; }

// Every Error of a graph is a usage Error for the caller, except for a server that cannot be reached.
template <class F>
auto of_graph(F&& f) {
  try {
    return f();
  } catch (const UnreachableError&) {
    throw;
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::failure) throw;
    throw Error(e.what(), ErrorKind::usage);
  }
}

template <class F>
ridgeline_status answer(const char* function, ridgeline_dataset* dataset, std::int64_t* result, F&& question) {
  return guarded(function, [&] {
    const auto held = Datasets::table().get(dataset);
    require(result, "the result");
    *result = question(*held);
    return RIDGELINE_OK;
  });
}

}  // namespace

const char* ridgeline_version(void) { return RIDGELINE_VERSION; }
int ridgeline_c_abi(void) { return RIDGELINE_C_ABI; }
const char* ridgeline_last_error(void) { return ridgeline::c::last_error(); }

const char* ridgeline_dtype_name(ridgeline_dtype dtype) {
  return is_dtype(dtype) ? ridgeline::name_of(static_cast<DType>(dtype)).data() : nullptr;
}
size_t ridgeline_dtype_size(ridgeline_dtype dtype) {
  return is_dtype(dtype) ? ridgeline::size_of(static_cast<DType>(dtype)) : 0;
}

ridgeline_status ridgeline_dataset_from_json(const char* json, ridgeline_dataset** dataset) {
  return guarded("ridgeline_dataset_from_json", [&] {
    require(json, "json");
    require(dataset, "the result");
    auto made = of_graph([&] { return std::make_shared<Dataset>(Dataset::from_json(json)); });
    *dataset = reinterpret_cast<ridgeline_dataset*>(Datasets::table().add(std::move(made)));
    return RIDGELINE_OK;
  });
}

ridgeline_status ridgeline_dataset_free(ridgeline_dataset* dataset) {
  return guarded("ridgeline_dataset_free", [&] {
    Datasets::table().take(dataset);
    return RIDGELINE_OK;
  });
}

ridgeline_status ridgeline_dataset_to_json(ridgeline_dataset* dataset, char* buffer, size_t capacity, size_t* size) {
  return guarded("ridgeline_dataset_to_json", [&] {
    put_text(Datasets::table().get(dataset)->to_json(), buffer, capacity, size);
    return RIDGELINE_OK;
  });
}

ridgeline_status ridgeline_dataset_hash(ridgeline_dataset* dataset, uint64_t* hash) {
  return guarded("ridgeline_dataset_hash", [&] {
    const auto held = Datasets::table().get(dataset);
    require(hash, "the result");
    *hash = held->hash();
    return RIDGELINE_OK;
  });
}

ridgeline_status ridgeline_dataset_size(ridgeline_dataset* dataset, int64_t* size) {
  return answer("ridgeline_dataset_size", dataset, size, [](const Dataset& d) { return d.size(); });
}
ridgeline_status ridgeline_dataset_num_samples(ridgeline_dataset* dataset, int64_t* samples) {
  return answer("ridgeline_dataset_num_samples", dataset, samples,
                [](const Dataset& d) { return d.num_samples_if_known(); });
}
ridgeline_status ridgeline_dataset_num_classes(ridgeline_dataset* dataset, int64_t* classes) {
  return answer("ridgeline_dataset_num_classes", dataset, classes, [](const Dataset& d) { return d.num_classes(); });
}

ridgeline_status ridgeline_dataset_class_name(ridgeline_dataset* dataset, int64_t label, char* buffer, size_t capacity,
                                              size_t* size) {
  return guarded("ridgeline_dataset_class_name", [&] {
    for (const auto& [name, its_label] : Datasets::table().get(dataset)->class_indexing()) {
      if (its_label != label) continue;
      put_text(name, buffer, capacity, size);
      return RIDGELINE_OK;
    }
    throw Error("no class has the label " + std::to_string(label) + ", or the source knows no names", ErrorKind::usage);
  });
}

ridgeline_status ridgeline_reference_page(char* buffer, size_t capacity, size_t* size) {
  return guarded("ridgeline_reference_page", [&] {
    put_text(ridgeline::data::reference_page(), buffer, capacity, size);
    return RIDGELINE_OK;
  });
}
