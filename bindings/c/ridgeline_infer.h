/*
 * bindings/c/ridgeline_infer.h
 *
 * Predictions for C, and for every language that calls C: loads a model file (`ridgeline export`) and computes
 * probabilities and logits of encoded images or tensors. The library contains neither the data engine nor training
 * code. docs/infer.md shows a program.
 *
 * Handles: a handle value is never reused. A call with a handle that was freed or never existed returns RIDGELINE_USAGE
 * and never crashes.
 * Threads: every function may be called from any thread; calls on the same model are serialised.
 * Memory: results and strings are written to the caller's memory.
 * Errors: every function returns a status, and ridgeline_infer_last_error() the message. Unless the status is
 * RIDGELINE_OK, results are undefined and the model is unchanged.
 */
#ifndef RIDGELINE_INFER_H
#define RIDGELINE_INFER_H

#include <stddef.h>
#include <stdint.h>

#include "ridgeline_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Increased when an existing function or struct changes, but not for additions. */
#define RIDGELINE_INFER_ABI 1

typedef struct ridgeline_model ridgeline_model;

typedef struct ridgeline_model_options {
  size_t struct_size; /* sizeof(ridgeline_model_options), set by ridgeline_model_options_init */
  int64_t batch_size; /* rows computed at once; 0: the batch size of the file */
  int32_t threads;    /* compute threads; 0: one per core that the process may use */
  int32_t reserved;   /* must be 0 */
} ridgeline_model_options;

typedef struct ridgeline_model_info {
  size_t struct_size; /* sizeof(ridgeline_model_info), set by the caller */
  int64_t batch_size; /* rows computed at once */
  int64_t height;     /* height, width and channels of the input, [rows, height, width, channels] */
  int64_t width;
  int64_t channels;
  int64_t classes;
  int32_t dtype;   /* ridgeline_dtype of the input: RIDGELINE_U8 pixels, or RIDGELINE_F32, normalised */
  int32_t encoded; /* 1: the file contains the preprocessing, so ridgeline_model_predict_encoded works */
} ridgeline_model_info;

/* The version of the package, "0.2.0", and the RIDGELINE_INFER_ABI with which the library was built. */
RIDGELINE_API const char* ridgeline_infer_version(void);
RIDGELINE_API int ridgeline_infer_abi(void);
/* The message of the last call that failed in this thread, "" if none has; valid until the next call that fails. */
RIDGELINE_API const char* ridgeline_infer_last_error(void);

/* Sets every field to its default. */
RIDGELINE_API ridgeline_status ridgeline_model_options_init(ridgeline_model_options* options);
/* options: NULL for the defaults. The whole file is read and may be removed afterwards. */
RIDGELINE_API ridgeline_status ridgeline_model_load(const char* path, const ridgeline_model_options* options,
                                                    ridgeline_model** model);
RIDGELINE_API ridgeline_status ridgeline_model_free(ridgeline_model* model);
RIDGELINE_API ridgeline_status ridgeline_model_describe(ridgeline_model* model, ridgeline_model_info* info);
/* The name of a class, "" if it has none. `*size` is set to its length in bytes, without the final zero. The name and
 * the zero are written to `buffer` if `capacity` is large enough; with a NULL buffer only `*size` is set. */
RIDGELINE_API ridgeline_status ridgeline_model_class_name(ridgeline_model* model, int64_t label, char* buffer,
                                                          size_t capacity, size_t* size);
/*
 * Predicts `count` JPEG, PNG, WebP or BMP files in memory; image i has sizes[i] bytes. probabilities and logits get
 * count * classes numbers each, image by image; either may be NULL.
 */
RIDGELINE_API ridgeline_status ridgeline_model_predict_encoded(ridgeline_model* model, const void* const* images,
                                                               const size_t* sizes, int64_t count, float* probabilities,
                                                               float* logits);
/* The same for a contiguous tensor of the model's dtype, [rows, height, width, channels], any number of rows. */
RIDGELINE_API ridgeline_status ridgeline_model_predict(ridgeline_model* model, const void* images, int64_t rows,
                                                       float* probabilities, float* logits);

#ifdef __cplusplus
}
#endif

#endif
