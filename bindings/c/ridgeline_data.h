/*
 * bindings/c/ridgeline_data.h
 *
 * The data engine for C, and for every language that calls C: pipelines come in as JSON (from the command line's
 * `ridgeline dataset export-json`, Python's Dataset.to_json() or C++), batches go out as pointers with shapes and
 * strides or by DLPack. docs/c.md shows a program.
 *
 * Handles are values that are never used twice: one that was freed, belongs to something else or never existed gives
 * RIDGELINE_USAGE, never a crash. Every call may come from any thread; calls on one iterator take turns. What is handed
 * out by pointer belongs to the handle it came from and is valid until that is freed. Texts go into the caller's
 * buffer.
 *
 * Every function returns a status; ridgeline_last_error() tells the rest. On any other status than RIDGELINE_OK,
 * results are left as they were.
 */
#ifndef RIDGELINE_DATA_H
#define RIDGELINE_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "ridgeline_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when an existing function or struct changes; additions do not change it. */
#define RIDGELINE_C_ABI 2

/* Numbers of rows or batches that are none. */
#define RIDGELINE_FOREVER (-1)
#define RIDGELINE_UNKNOWN (-2)

typedef struct ridgeline_dataset ridgeline_dataset;
typedef struct ridgeline_iterator ridgeline_iterator;
typedef struct ridgeline_batch ridgeline_batch;
struct DLManagedTensor; /* of dlpack.h, version 0 to 0.8: what numpy and PyTorch exchange */

/* The package's version, "0.2.0", and RIDGELINE_C_ABI of the library. */
RIDGELINE_API const char* ridgeline_version(void);
RIDGELINE_API int ridgeline_c_abi(void);
/* Why this thread's last call that failed did; valid until its next call that fails. "" if none did. */
RIDGELINE_API const char* ridgeline_last_error(void);
/* "f32", "u8", ...; NULL for a number that is no type. Bytes of one element, 0 for RIDGELINE_BYTES. */
RIDGELINE_API const char* ridgeline_dtype_name(ridgeline_dtype dtype);
RIDGELINE_API size_t ridgeline_dtype_size(ridgeline_dtype dtype);

/*
 * Texts. `*size` becomes the bytes of the text without its final zero. The text is written where `capacity` holds it
 * with the zero; with a NULL buffer only the size is told; a buffer that is too small is RIDGELINE_USAGE, and `*size`
 * tells what it needs. `size` may be NULL.
 */

/* ---- datasets: graphs, nothing that runs */

RIDGELINE_API ridgeline_status ridgeline_dataset_from_json(const char* json, ridgeline_dataset** dataset);
RIDGELINE_API ridgeline_status ridgeline_dataset_free(ridgeline_dataset* dataset);
RIDGELINE_API ridgeline_status ridgeline_dataset_to_json(ridgeline_dataset* dataset, char* buffer, size_t capacity,
                                                         size_t* size);
/* What the JSON says, apart from tuning, the seed and where files lie. */
RIDGELINE_API ridgeline_status ridgeline_dataset_hash(ridgeline_dataset* dataset, uint64_t* hash);
/* Batches of an epoch (rows, where the graph does not end in batches), or RIDGELINE_FOREVER or _UNKNOWN. Samples
 * likewise. These and the classes open the source's files the first time. */
RIDGELINE_API ridgeline_status ridgeline_dataset_size(ridgeline_dataset* dataset, int64_t* size);
RIDGELINE_API ridgeline_status ridgeline_dataset_num_samples(ridgeline_dataset* dataset, int64_t* samples);
/* One more than the greatest label. */
RIDGELINE_API ridgeline_status ridgeline_dataset_num_classes(ridgeline_dataset* dataset, int64_t* classes);
RIDGELINE_API ridgeline_status ridgeline_dataset_class_name(ridgeline_dataset* dataset, int64_t label, char* buffer,
                                                            size_t capacity, size_t* size);
/* All nodes and transforms with their arguments: what the JSON may say. */
RIDGELINE_API ridgeline_status ridgeline_reference_page(char* buffer, size_t capacity, size_t* size);

/* ---- iterators: runs */

typedef struct ridgeline_options {
  size_t struct_size; /* sizeof(ridgeline_options), set by ridgeline_options_init */
  int32_t workers;    /* threads; 0: the graph's hint, else one per core */
  int32_t pull;       /* 1: no threads, ridgeline_iterator_next does the work */
  int32_t raw_images; /* 1: u8 images and a column "flip"; a trailing flip and Normalize are left to the caller */
  int32_t autotune;   /* 1: as few workers as the caller needs */
  int32_t has_seed;   /* 1: `seed` instead of the graph's */
  int32_t pad_last;   /* 1: batches of one size, filled up with rows of zeros that "mask" tells. 0: samples alone, so
                         the last batch, and one with skipped samples, may be shorter: see ridgeline_batch_info */
  uint64_t seed;
  int64_t memory_limit;      /* bytes of prepared batches; 0: the graph's hint, else 512 MiB or six batches */
  int64_t slots;             /* most batches prepared or lent at one time; 0: the graph's hint, else 8 */
  int64_t epochs;            /* passes over the data, 1; RIDGELINE_FOREVER never ends */
  int64_t jpeg_index_memory; /* bytes for indices that make later epochs and runs fast; 0: none; -1: a 16th of memory */
  const char* start;         /* a state to go on from, as JSON; NULL: from the beginning */
  const char* bad_samples;   /* NULL or "raise"; "skip" or "replace" (another sample of the epoch) */
  int64_t bad_sample_budget; /* 1000: bad samples of a run; one more ends it */
  const char* quarantine;    /* a file that gets a JSON line for each bad sample; NULL: none */
  /*
   * Memory of the batches, where it must be special (page-locked for a device); NULL: ordinary memory, 64-byte aligned.
   * allocate returns `bytes` bytes at a multiple of `alignment`, or NULL if it has none. release may be called by
   * any thread, when the iterator and the last of its batches are freed. Both get `memory_user`.
   */
  void* (*allocate)(void* memory_user, size_t bytes, size_t alignment);
  void (*release)(void* memory_user, void* memory);
  void* memory_user;
  /*
   * Any settings as a JSON object, by the names that ridgeline_iterator_settings tells, which knows more than have a
   * field here: {"jpeg_index_directory": ""}. They count in the place of fields of that name. NULL: none.
   */
  const char* settings;
} ridgeline_options;

/*
 * Sets every field to what it is called with by default. `size` is sizeof(ridgeline_options) where the caller was
 * compiled: of a struct that is shorter than the library's no byte behind it is written, of a longer one the fields
 * that the library does not know are left alone, and struct_size says how much was set.
 * ridgeline_options_init(&options) gives the size by itself.
 */
RIDGELINE_API ridgeline_status ridgeline_options_init_sized(ridgeline_options* options, size_t size);
#define ridgeline_options_init(options) ridgeline_options_init_sized((options), sizeof(ridgeline_options))

/* All settings of an iterator with what they are and their defaults, as JSON: [{"name", "help", "default"}, ...]; the
 * default of one that may be absent is null. */
RIDGELINE_API ridgeline_status ridgeline_iterator_settings(char* buffer, size_t capacity, size_t* size);

/* options: NULL for the defaults. Texts in it are copied. The dataset may be freed before the iterator. */
RIDGELINE_API ridgeline_status ridgeline_iterator_create(ridgeline_dataset* dataset, const ridgeline_options* options,
                                                         ridgeline_iterator** iterator);
/*
 * Stops the workers. Batches stay valid. A call on it that is running in another thread ends first; one that waits for
 * a batch ends within a tenth of a second.
 */
RIDGELINE_API ridgeline_status ridgeline_iterator_free(ridgeline_iterator* iterator);
/*
 * The next batch, in an order and with contents that do not depend on threads. timeout_ms: how long to wait; negative:
 * for ever. RIDGELINE_END after the last one. A bad record is RIDGELINE_FAILURE when its batch is due, and again at
 * every later call.
 */
RIDGELINE_API ridgeline_status ridgeline_iterator_next(ridgeline_iterator* iterator, int64_t timeout_ms,
                                                       ridgeline_batch** batch);
/* Where the caller stands after the batches that it got: some 150 bytes of JSON, for `start` or _restore under any
 * number of workers, and under any number of ranks whose batches together are as large. */
RIDGELINE_API ridgeline_status ridgeline_iterator_state(ridgeline_iterator* iterator, char* buffer, size_t capacity,
                                                        size_t* size);
/* Discards what is prepared and goes on from there; an error if it belongs to another graph, seed or data. */
RIDGELINE_API ridgeline_status ridgeline_iterator_restore(ridgeline_iterator* iterator, const char* state);
/* The same by a file, written whole or not at all. */
RIDGELINE_API ridgeline_status ridgeline_iterator_save(ridgeline_iterator* iterator, const char* path);
RIDGELINE_API ridgeline_status ridgeline_iterator_load(ridgeline_iterator* iterator, const char* path);
RIDGELINE_API ridgeline_status ridgeline_iterator_batches_per_epoch(ridgeline_iterator* iterator, int64_t* batches);
/* Where the time of the run went, as JSON; "advice" says in words what to do where the caller waited. The numbers grow
 * while the run goes on, so the text may be longer at the next call: 4096 bytes are enough. */
RIDGELINE_API ridgeline_status ridgeline_iterator_stats(ridgeline_iterator* iterator, char* buffer, size_t capacity,
                                                        size_t* size);

/* ---- batches */

typedef struct ridgeline_batch_info {
  int64_t rows;          /* of this batch: the first extent of every column. With pad_last the batch size */
  int64_t samples;       /* rows that belong to samples; they come first. As many as rows without pad_last; with it
                            fewer in a last batch, and the rows of skipped samples among them have mask 0 */
  uint64_t epoch;        /* from 0 */
  uint64_t index;        /* of this batch in its epoch */
  int32_t last_of_epoch; /* 1 or 0 */
  int32_t copied;        /* 1: a copy, because many batches are kept */
  size_t columns;
  const uint64_t* records; /* of the source, one a sample */
} ridgeline_batch_info;

typedef struct ridgeline_column {
  const char* name;
  ridgeline_dtype dtype;
  int32_t rank;
  const int64_t* shape;   /* the batch's rows in front */
  const int64_t* strides; /* in elements, row by row without gaps; NULL for byte strings */
  void* data;             /* the batch's own memory, 64-byte aligned, may be written to; NULL for byte strings */
  size_t bytes;           /* of data */
} ridgeline_column;

/* Gives the batch's memory back to the workers, unless a DLPack tensor still holds it. */
RIDGELINE_API ridgeline_status ridgeline_batch_free(ridgeline_batch* batch);
RIDGELINE_API ridgeline_status ridgeline_batch_get_info(ridgeline_batch* batch, ridgeline_batch_info* info);
/* By place, or by name: "image", "label", "mask", ... */
RIDGELINE_API ridgeline_status ridgeline_batch_column_at(ridgeline_batch* batch, size_t index,
                                                         ridgeline_column* column);
RIDGELINE_API ridgeline_status ridgeline_batch_column(ridgeline_batch* batch, const char* name,
                                                      ridgeline_column* column);
/* One byte string of a column of RIDGELINE_BYTES; it may hold zeros and ends with none. */
RIDGELINE_API ridgeline_status ridgeline_batch_text(ridgeline_batch* batch, const char* name, int64_t row,
                                                    const char** data, size_t* size);
/*
 * The column as a DLPack tensor over the same memory; its deleter gives the memory back, also after the batch and the
 * iterator are freed. channels_first: 1 shows [N,H,W,C] as [N,C,H,W] without moving a byte.
 */
RIDGELINE_API ridgeline_status ridgeline_batch_dlpack(ridgeline_batch* batch, const char* name, int channels_first,
                                                      struct DLManagedTensor** tensor);

#ifdef __cplusplus
}
#endif

#endif /* RIDGELINE_DATA_H */
