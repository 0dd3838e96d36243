/*
 * bindings/c/ridgeline_infer.h
 *
 * Predictions for C, and for every language that calls C: a model file (`ridgeline export`) goes in, then encoded
 * images or tensors; probabilities and logits come out. No data engine, no training code. docs/infer.md shows a
 * program.
 *
 * A handle is a value that is never used twice: one that was freed or never existed gives RIDGELINE_USAGE, never a
 * crash. Every call may come from any thread; calls on one model take turns. Results and texts go into the caller's
 * memory.
 *
 * Every function returns a status; ridgeline_infer_last_error() tells the rest. On any other status than RIDGELINE_OK,
 * results are undefined and the model is as before.
 */
#ifndef RIDGELINE_INFER_H
#define RIDGELINE_INFER_H

#include <stddef.h>
#include <stdint.h>

#include "ridgeline_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when an existing function or struct changes; additions do not change it. */
#define RIDGELINE_INFER_ABI 1

typedef struct ridgeline_model ridgeline_model;

typedef struct ridgeline_model_options {
  size_t struct_size; /* sizeof(ridgeline_model_options), set by ridgeline_model_options_init */
  int64_t batch_size; /* rows of one run; 0: as the file has them */
  int32_t threads;    /* 0: the cores that the process may use */
  int32_t reserved;   /* 0 */
} ridgeline_model_options;

typedef struct ridgeline_model_info {
  size_t struct_size; /* sizeof(ridgeline_model_info), set by the caller */
  int64_t batch_size; /* rows of one run */
  int64_t height;     /* of the tensors that the graph takes, [rows, height, width, channels] */
  int64_t width;
  int64_t channels;
  int64_t classes;
  int32_t dtype;   /* a ridgeline_dtype: RIDGELINE_U8 pixels, or RIDGELINE_F32 that are normalised */
  int32_t encoded; /* 1: the file has the preprocessing, so that encoded images may be given */
} ridgeline_model_info;

/* The package's version, "0.2.0", and RIDGELINE_INFER_ABI of the library. */
RIDGELINE_API const char* ridgeline_infer_version(void);
RIDGELINE_API int ridgeline_infer_abi(void);
/* Why this thread's last call that failed did; valid until its next call that fails. "" if none did. */
RIDGELINE_API const char* ridgeline_infer_last_error(void);

/* Sets every field to what it is called with by default. */
RIDGELINE_API ridgeline_status ridgeline_model_options_init(ridgeline_model_options* options);
/* options: NULL for the defaults. The file is read whole and may be removed afterwards. */
RIDGELINE_API ridgeline_status ridgeline_model_load(const char* path, const ridgeline_model_options* options,
                                                    ridgeline_model** model);
RIDGELINE_API ridgeline_status ridgeline_model_free(ridgeline_model* model);
RIDGELINE_API ridgeline_status ridgeline_model_describe(ridgeline_model* model, ridgeline_model_info* info);
/* The name of a class. `*size` becomes its bytes without the final zero; it is written where `capacity` holds it with
 * the zero; with a NULL buffer only the size is told. A class without a name has an empty one. */
RIDGELINE_API ridgeline_status ridgeline_model_class_name(ridgeline_model* model, int64_t label, char* buffer,
                                                          size_t capacity, size_t* size);
/*
 * `count` JPEG, PNG, WebP or BMP images, image i of sizes[i] bytes. probabilities and logits: count * classes numbers
 * each, row by row; either may be NULL.
 */
RIDGELINE_API ridgeline_status ridgeline_model_predict_encoded(ridgeline_model* model, const void* const* images,
                                                               const size_t* sizes, int64_t count, float* probabilities,
                                                               float* logits);
/* The same for tensors of the model's dtype, [rows, height, width, channels] without gaps, any number of rows. */
RIDGELINE_API ridgeline_status ridgeline_model_predict(ridgeline_model* model, const void* images, int64_t rows,
                                                       float* probabilities, float* logits);

#ifdef __cplusplus
}
#endif

#endif
