/*
 * bindings/c/ridgeline_data.h
 *
 * The data engine for C, and for every language that calls C. A pipeline is given as JSON (from the command
 * `ridgeline dataset export-json`, Python's Dataset.to_json() or C++); batches are returned as pointers with shapes and
 * strides, or by DLPack. docs/c.md shows a program.
 *
 * Handles: a handle value is never reused. A call with a handle that was freed, is of another kind or never existed
 * returns RIDGELINE_USAGE and never crashes.
 * Threads: every function may be called from any thread; calls on the same iterator are serialised.
 * Memory: a returned pointer belongs to the handle it came from and is valid until that handle is freed. Strings are
 * written to the caller's buffer.
 * Errors: every function returns a status, and ridgeline_last_error() the message. Unless the status is RIDGELINE_OK,
 * output arguments are unchanged.
 */
#ifndef RIDGELINE_DATA_H
#define RIDGELINE_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "ridgeline_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Increased when an existing function or struct changes, but not for additions. */
#define RIDGELINE_C_ABI 2

/* Special values of numbers of rows or batches. */
#define RIDGELINE_FOREVER (-1)
#define RIDGELINE_UNKNOWN (-2)

typedef struct ridgeline_dataset ridgeline_dataset;
typedef struct ridgeline_iterator ridgeline_iterator;
typedef struct ridgeline_batch ridgeline_batch;
struct DLManagedTensor; /* from dlpack.h, versions 0 to 0.8, which NumPy and PyTorch exchange */

/* The version of the package, "0.2.0", and the RIDGELINE_C_ABI with which the library was built. */
RIDGELINE_API const char* ridgeline_version(void);
RIDGELINE_API int ridgeline_c_abi(void);
/* The message of the last call that failed in this thread, "" if none has; valid until the next call that fails. */
RIDGELINE_API const char* ridgeline_last_error(void);
/* The name of a type, "f32", "u8", ... (NULL if it does not exist), and the size of an element in bytes (0 for
 * RIDGELINE_BYTES). */
RIDGELINE_API const char* ridgeline_dtype_name(ridgeline_dtype dtype);
RIDGELINE_API size_t ridgeline_dtype_size(ridgeline_dtype dtype);

/*
 * Functions that return a string: `*size` is set to its length in bytes, without the final zero. The string and the
 * zero are written to `buffer`, which has `capacity` bytes. With a NULL buffer only `*size` is set. If the buffer is
 * too small, the status is RIDGELINE_USAGE, and `*size` is set, too. `size` may be NULL.
 */

/* ---- datasets: descriptions of pipelines; they run nothing */

RIDGELINE_API ridgeline_status ridgeline_dataset_from_json(const char* json, ridgeline_dataset** dataset);
RIDGELINE_API ridgeline_status ridgeline_dataset_free(ridgeline_dataset* dataset);
RIDGELINE_API ridgeline_status ridgeline_dataset_to_json(ridgeline_dataset* dataset, char* buffer, size_t capacity,
                                                         size_t* size);
/* A hash of the JSON without performance hints, the seed and file locations. */
RIDGELINE_API ridgeline_status ridgeline_dataset_hash(ridgeline_dataset* dataset, uint64_t* hash);
/* Number of batches per epoch (of rows, if the graph does not batch), and of samples; or RIDGELINE_FOREVER or
 * RIDGELINE_UNKNOWN. The first call of one of these or of the class functions opens the source's files. */
RIDGELINE_API ridgeline_status ridgeline_dataset_size(ridgeline_dataset* dataset, int64_t* size);
RIDGELINE_API ridgeline_status ridgeline_dataset_num_samples(ridgeline_dataset* dataset, int64_t* samples);
/* The largest label plus one. */
RIDGELINE_API ridgeline_status ridgeline_dataset_num_classes(ridgeline_dataset* dataset, int64_t* classes);
RIDGELINE_API ridgeline_status ridgeline_dataset_class_name(ridgeline_dataset* dataset, int64_t label, char* buffer,
                                                            size_t capacity, size_t* size);
/* A reference of all nodes and transforms that the JSON may contain, with their arguments. */
RIDGELINE_API ridgeline_status ridgeline_reference_page(char* buffer, size_t capacity, size_t* size);

/* ---- iterators: they run a dataset */

typedef struct ridgeline_options {
  size_t struct_size; /* sizeof(ridgeline_options), set by ridgeline_options_init */
  int32_t workers;    /* number of worker threads; 0: the graph's hint, else one per core */
  int32_t pull;       /* 1: no worker threads, ridgeline_iterator_next does the work */
  int32_t raw_images; /* 1: u8 images and a column "flip"; the caller does a final flip and Normalize itself */
  int32_t autotune;   /* 1: adapt the number of workers to what the caller needs */
  int32_t has_seed;   /* 1: use `seed` instead of the graph's seed */
  int32_t pad_last;   /* 1: all batches have the same size; missing rows are zeros whose value in "mask" is 0. 0: a last
                         batch, or one with skipped samples, is shorter: see ridgeline_batch_info */
  uint64_t seed;
  int64_t
      memory_limit; /* most memory for prefetched batches, in bytes; 0: the graph's hint, else 512 MiB or six batches */
  int64_t slots;    /* largest number of batches prefetched or in use at once; 0: the graph's hint, else 8 */
  int64_t epochs;   /* number of passes over the data, by default 1; RIDGELINE_FOREVER: endless */
  int64_t
      jpeg_index_memory;   /* most memory for JPEG indices, which speed up later epochs, in bytes; 0: none; -1: 1/16 */
  const char* start;       /* iterator state to resume from, as JSON; NULL: begin at the start */
  const char* bad_samples; /* NULL or "raise", "skip", or "replace" (by another sample of the epoch) */
  int64_t bad_sample_budget; /* number of bad samples that a run tolerates, by default 1000 */
  const char* quarantine;    /* write a JSON line for each bad sample to this file; NULL: none */
  /*
   * Allocator for the memory of batches, such as page-locked memory; NULL: ordinary memory, 64-byte aligned. allocate
   * returns `bytes` bytes at a multiple of `alignment`, or NULL on failure. release may be called from any thread,
   * after the iterator and all its batches are freed. Both get `memory_user`.
   */
  void* (*allocate)(void* memory_user, size_t bytes, size_t alignment);
  void (*release)(void* memory_user, void* memory);
  void* memory_user;
  /*
   * More settings as a JSON object: {"jpeg_index_directory": ""}. ridgeline_iterator_settings lists the names, some of
   * which have no field here. A setting given here replaces the field of the same name. NULL: none.
   */
  const char* settings;
} ridgeline_options;

/*
 * Sets every field to its default. `size` is sizeof(ridgeline_options) of the caller's header, which may be older or
 * newer than the library: nothing is written beyond `size`, fields that the library does not know are left unchanged,
 * and struct_size is set to the size that was initialised. ridgeline_options_init(&options) passes the size.
 */
RIDGELINE_API ridgeline_status ridgeline_options_init_sized(ridgeline_options* options, size_t size);
#define ridgeline_options_init(options) ridgeline_options_init_sized((options), sizeof(ridgeline_options))

/* All settings of an iterator as JSON: [{"name", "help", "default"}, ...]. The default of an optional one is null. */
RIDGELINE_API ridgeline_status ridgeline_iterator_settings(char* buffer, size_t capacity, size_t* size);

/* options: NULL for the defaults. Its strings are copied. The dataset may be freed before the iterator. */
RIDGELINE_API ridgeline_status ridgeline_iterator_create(ridgeline_dataset* dataset, const ridgeline_options* options,
                                                         ridgeline_iterator** iterator);
/*
 * Stops the workers. Batches stay valid. Waits for calls on the iterator in other threads; one that waits for a batch
 * returns within a tenth of a second.
 */
RIDGELINE_API ridgeline_status ridgeline_iterator_free(ridgeline_iterator* iterator);
/*
 * The next batch. Order and contents do not depend on the number of threads. timeout_ms: how long to wait; negative:
 * without limit. RIDGELINE_END after the last batch. A bad record gives RIDGELINE_FAILURE when its batch is due, and in
 * every later call.
 */
RIDGELINE_API ridgeline_status ridgeline_iterator_next(ridgeline_iterator* iterator, int64_t timeout_ms,
                                                       ridgeline_batch** batch);
/* The position after the batches that the caller has got: about 150 bytes of JSON for `start` or
 * ridgeline_iterator_restore, with any number of workers, and any number of ranks with the same total batch size. */
RIDGELINE_API ridgeline_status ridgeline_iterator_state(ridgeline_iterator* iterator, char* buffer, size_t capacity,
                                                        size_t* size);
/* Discards prefetched batches and continues from the state; an error if it is of another graph, seed or data. */
RIDGELINE_API ridgeline_status ridgeline_iterator_restore(ridgeline_iterator* iterator, const char* state);
/* The same with a file, which is written atomically. */
RIDGELINE_API ridgeline_status ridgeline_iterator_save(ridgeline_iterator* iterator, const char* path);
RIDGELINE_API ridgeline_status ridgeline_iterator_load(ridgeline_iterator* iterator, const char* path);
RIDGELINE_API ridgeline_status ridgeline_iterator_batches_per_epoch(ridgeline_iterator* iterator, int64_t* batches);
/* Time statistics of the run as JSON; "advice" is a text about what to change if the caller had to wait. The length
 * may grow between calls, as the numbers do: 4096 bytes are enough. */
RIDGELINE_API ridgeline_status ridgeline_iterator_stats(ridgeline_iterator* iterator, char* buffer, size_t capacity,
                                                        size_t* size);

/* ---- batches */

typedef struct ridgeline_batch_info {
  int64_t rows;          /* of this batch: the first extent of every column; with pad_last the batch size */
  int64_t samples;       /* number of rows that are samples; they come first. Without pad_last equal to rows; with it
                            less in a last batch, and rows of skipped samples among them have mask 0 */
  uint64_t epoch;        /* number of the epoch, from 0 */
  uint64_t index;        /* number of this batch in its epoch, from 0 */
  int32_t last_of_epoch; /* 1 or 0 */
  int32_t copied;        /* 1: a copy, since the caller holds many batches */
  size_t columns;
  const uint64_t* records; /* record numbers in the source, one per sample */
} ridgeline_batch_info;

typedef struct ridgeline_column {
  const char* name;
  ridgeline_dtype dtype;
  int32_t rank;
  const int64_t* shape;   /* the first extent is the number of rows */
  const int64_t* strides; /* in elements, for contiguous row-major data; NULL for byte strings */
  void* data;             /* memory of the batch, 64-byte aligned, may be modified; NULL for byte strings */
  size_t bytes;           /* size of data */
} ridgeline_column;

/* Returns the batch's memory to the workers, once no DLPack tensor holds it. */
RIDGELINE_API ridgeline_status ridgeline_batch_free(ridgeline_batch* batch);
RIDGELINE_API ridgeline_status ridgeline_batch_get_info(ridgeline_batch* batch, ridgeline_batch_info* info);
/* A column by index, or by name: "image", "label", "mask", ... */
RIDGELINE_API ridgeline_status ridgeline_batch_column_at(ridgeline_batch* batch, size_t index,
                                                         ridgeline_column* column);
RIDGELINE_API ridgeline_status ridgeline_batch_column(ridgeline_batch* batch, const char* name,
                                                      ridgeline_column* column);
/* One byte string of a column of type RIDGELINE_BYTES. It may contain zeros and is not terminated by one. */
RIDGELINE_API ridgeline_status ridgeline_batch_text(ridgeline_batch* batch, const char* name, int64_t row,
                                                    const char** data, size_t* size);
/*
 * The column as a DLPack tensor over the same memory, which stays valid until the tensor's deleter is called, also
 * after the batch and the iterator are freed. channels_first: 1: [N,H,W,C] as [N,C,H,W], by strides, without a copy.
 */
RIDGELINE_API ridgeline_status ridgeline_batch_dlpack(ridgeline_batch* batch, const char* name, int channels_first,
                                                      struct DLManagedTensor** tensor);

#ifdef __cplusplus
}
#endif

#endif /* RIDGELINE_DATA_H */
