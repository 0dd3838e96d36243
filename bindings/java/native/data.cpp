// libridgeline_data_java: ridgeline_data.h for NativeData.java.
#include <limits>

#include "bindings/c/ridgeline_data.h"
#include "bindings/java/native/support.h"
#include "ridgeline_NativeData.h"  // written by javac

using ridgeline::java::array_of;
using ridgeline::java::bytes_of;
using ridgeline::java::fail;
using ridgeline::java::good;
using ridgeline::java::handle_of;
using ridgeline::java::number_of;
using ridgeline::java::text_of;

const char* ridgeline::java::last_error() { return ridgeline_last_error(); }

namespace {

// What `get` makes of a dataset or an iterator.
template <class T, class Number>
jlong number(JNIEnv* env, jlong handle, ridgeline_status (*get)(T*, Number*)) {
  Number value = 0;
  good(env, get(handle_of<T>(handle), &value));
  return static_cast<jlong>(value);
}

template <class T>
jbyteArray text(JNIEnv* env, jlong handle, ridgeline_status (*get)(T*, char*, size_t, size_t*)) {
  return text_of(
      env, [&](char* buffer, size_t room, size_t* size) { return get(handle_of<T>(handle), buffer, room, size); });
}

// `act` with a text that Java gave.
void with_text(JNIEnv* env, jlong iterator, jbyteArray given,
               ridgeline_status (*act)(ridgeline_iterator*, const char*)) {
  const std::string held = bytes_of(env, given);
  if (!env->ExceptionCheck()) good(env, act(handle_of<ridgeline_iterator>(iterator), held.c_str()));
}

bool column_of(JNIEnv* env, jlong batch, jint index, ridgeline_column& column) {
  return good(env, ridgeline_batch_column_at(handle_of<ridgeline_batch>(batch), static_cast<size_t>(index), &column));
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): names that Java prescribes

jlong Java_ridgeline_NativeData_datasetFromJson(JNIEnv* env, jclass, jbyteArray json) {
  const std::string held = bytes_of(env, json);
  ridgeline_dataset* dataset = nullptr;
  if (!env->ExceptionCheck()) good(env, ridgeline_dataset_from_json(held.c_str(), &dataset));
  return number_of(dataset);
}

void Java_ridgeline_NativeData_freeDataset(JNIEnv* env, jclass, jlong dataset) {
  good(env, ridgeline_dataset_free(handle_of<ridgeline_dataset>(dataset)));
}

jbyteArray Java_ridgeline_NativeData_datasetToJson(JNIEnv* env, jclass, jlong dataset) {
  return text(env, dataset, ridgeline_dataset_to_json);
}

jlong Java_ridgeline_NativeData_datasetHash(JNIEnv* env, jclass, jlong dataset) {
  return number(env, dataset, ridgeline_dataset_hash);
}

jlong Java_ridgeline_NativeData_datasetSize(JNIEnv* env, jclass, jlong dataset) {
  return number(env, dataset, ridgeline_dataset_size);
}

jlong Java_ridgeline_NativeData_datasetSamples(JNIEnv* env, jclass, jlong dataset) {
  return number(env, dataset, ridgeline_dataset_num_samples);
}

jlong Java_ridgeline_NativeData_datasetClasses(JNIEnv* env, jclass, jlong dataset) {
  return number(env, dataset, ridgeline_dataset_num_classes);
}

jbyteArray Java_ridgeline_NativeData_datasetClassName(JNIEnv* env, jclass, jlong dataset, jlong label) {
  return text_of(env, [&](char* buffer, size_t room, size_t* size) {
    return ridgeline_dataset_class_name(handle_of<ridgeline_dataset>(dataset), label, buffer, room, size);
  });
}

jbyteArray Java_ridgeline_NativeData_referencePage(JNIEnv* env, jclass) {
  return text_of(env, ridgeline_reference_page);
}

jbyteArray Java_ridgeline_NativeData_iteratorSettings(JNIEnv* env, jclass) {
  return text_of(env, ridgeline_iterator_settings);
}

jlong Java_ridgeline_NativeData_createIterator(JNIEnv* env, jclass, jlong dataset, jbyteArray settings) {
  const std::string held = bytes_of(env, settings);
  ridgeline_options options;
  ridgeline_iterator* iterator = nullptr;
  if (env->ExceptionCheck() || !good(env, ridgeline_options_init(&options))) return 0;
  options.settings = held.c_str();
  good(env, ridgeline_iterator_create(handle_of<ridgeline_dataset>(dataset), &options, &iterator));
  return number_of(iterator);
}

void Java_ridgeline_NativeData_freeIterator(JNIEnv* env, jclass, jlong iterator) {
  good(env, ridgeline_iterator_free(handle_of<ridgeline_iterator>(iterator)));
}

jlong Java_ridgeline_NativeData_nextBatch(JNIEnv* env, jclass, jlong iterator, jlong milliseconds) {
  ridgeline_batch* batch = nullptr;
  const ridgeline_status status =
      ridgeline_iterator_next(handle_of<ridgeline_iterator>(iterator), milliseconds, &batch);
  if (status == RIDGELINE_END) return ridgeline_NativeData_NO_FURTHER_BATCH;
  if (status == RIDGELINE_TIMEOUT) return ridgeline_NativeData_NO_BATCH_IN_TIME;
  good(env, status);
  return number_of(batch);
}

jbyteArray Java_ridgeline_NativeData_iteratorState(JNIEnv* env, jclass, jlong iterator) {
  return text(env, iterator, ridgeline_iterator_state);
}

void Java_ridgeline_NativeData_restoreIterator(JNIEnv* env, jclass, jlong iterator, jbyteArray state) {
  with_text(env, iterator, state, ridgeline_iterator_restore);
}

void Java_ridgeline_NativeData_saveIterator(JNIEnv* env, jclass, jlong iterator, jbyteArray path) {
  with_text(env, iterator, path, ridgeline_iterator_save);
}

void Java_ridgeline_NativeData_loadIterator(JNIEnv* env, jclass, jlong iterator, jbyteArray path) {
  with_text(env, iterator, path, ridgeline_iterator_load);
}

jlong Java_ridgeline_NativeData_batchesPerEpoch(JNIEnv* env, jclass, jlong iterator) {
  return number(env, iterator, ridgeline_iterator_batches_per_epoch);
}

jbyteArray Java_ridgeline_NativeData_iteratorStatistics(JNIEnv* env, jclass, jlong iterator) {
  return text(env, iterator, ridgeline_iterator_stats);
}

void Java_ridgeline_NativeData_freeBatch(JNIEnv* env, jclass, jlong batch) {
  good(env, ridgeline_batch_free(handle_of<ridgeline_batch>(batch)));
}

jlongArray Java_ridgeline_NativeData_batchNumbers(JNIEnv* env, jclass, jlong batch) {
  ridgeline_batch_info info;
  if (!good(env, ridgeline_batch_get_info(handle_of<ridgeline_batch>(batch), &info))) return nullptr;
  std::vector<jlong> numbers(7);
  numbers[ridgeline_NativeData_ROWS] = info.rows;
  numbers[ridgeline_NativeData_SAMPLES] = info.samples;
  numbers[ridgeline_NativeData_EPOCH] = static_cast<jlong>(info.epoch);
  numbers[ridgeline_NativeData_INDEX] = static_cast<jlong>(info.index);
  numbers[ridgeline_NativeData_LAST_OF_EPOCH] = info.last_of_epoch;
  numbers[ridgeline_NativeData_COPIED] = info.copied;
  numbers[ridgeline_NativeData_COLUMNS] = static_cast<jlong>(info.columns);
  return array_of(env, numbers);
}

jlongArray Java_ridgeline_NativeData_batchRecords(JNIEnv* env, jclass, jlong batch) {
  ridgeline_batch_info info;
  if (!good(env, ridgeline_batch_get_info(handle_of<ridgeline_batch>(batch), &info))) return nullptr;
  return array_of(env, std::vector<jlong>(info.records, info.records + info.samples));
}

jbyteArray Java_ridgeline_NativeData_columnName(JNIEnv* env, jclass, jlong batch, jint index) {
  ridgeline_column column;
  if (!column_of(env, batch, index, column)) return nullptr;
  return array_of(env, column.name, std::char_traits<char>::length(column.name));
}

jint Java_ridgeline_NativeData_columnDType(JNIEnv* env, jclass, jlong batch, jint index) {
  ridgeline_column column;
  return column_of(env, batch, index, column) ? static_cast<jint>(column.dtype) : 0;
}

jlongArray Java_ridgeline_NativeData_columnShape(JNIEnv* env, jclass, jlong batch, jint index) {
  ridgeline_column column;
  if (!column_of(env, batch, index, column)) return nullptr;
  return array_of(env, std::vector<jlong>(column.shape, column.shape + column.rank));
}

jobject Java_ridgeline_NativeData_columnBuffer(JNIEnv* env, jclass, jlong batch, jint index) {
  ridgeline_column column;
  if (!column_of(env, batch, index, column) || !column.data) return nullptr;
  if (column.bytes > static_cast<size_t>(std::numeric_limits<jint>::max())) {
    const std::string words = std::string("column '") + column.name + "' has " + std::to_string(column.bytes) +
                              " bytes, Java's buffers hold 2147483647: take smaller batches";
    fail(env, RIDGELINE_USAGE, words.c_str());
    return nullptr;
  }
  return env->NewDirectByteBuffer(column.data, static_cast<jlong>(column.bytes));
}

jbyteArray Java_ridgeline_NativeData_batchText(JNIEnv* env, jclass, jlong batch, jbyteArray name, jlong row) {
  const std::string held = bytes_of(env, name);
  const char* data = nullptr;
  size_t size = 0;
  if (env->ExceptionCheck() ||
      !good(env, ridgeline_batch_text(handle_of<ridgeline_batch>(batch), held.c_str(), row, &data, &size)))
    return nullptr;
  return array_of(env, data, size);
}

// NOLINTEND(readability-identifier-naming)
