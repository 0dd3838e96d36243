/*
 * bindings/c/ridgeline_types.h
 *
 * Types shared by the C interfaces of the data engine (ridgeline_data.h) and of inference (ridgeline_infer.h).
 */
#ifndef RIDGELINE_TYPES_H
#define RIDGELINE_TYPES_H

#if defined(__GNUC__)
#define RIDGELINE_API __attribute__((visibility("default")))
#else
#define RIDGELINE_API
#endif

typedef enum ridgeline_status {
  RIDGELINE_OK = 0,
  RIDGELINE_END = 1,         /* no further batch */
  RIDGELINE_TIMEOUT = 2,     /* no batch within the timeout; call again */
  RIDGELINE_USAGE = 3,       /* a wrong argument, handle or graph */
  RIDGELINE_FAILURE = 4,     /* bad data, a missing file */
  RIDGELINE_INTERNAL = 5,    /* a bug of the engine, or out of memory */
  RIDGELINE_UNREACHABLE = 6, /* a server cannot be reached or refuses; may be temporary, the data need not be bad */
  RIDGELINE_STATUS_IS_INT = 0x7fffffff
} ridgeline_status;

typedef enum ridgeline_dtype {
  RIDGELINE_F64 = 0,
  RIDGELINE_F32 = 1,
  RIDGELINE_BF16 = 2,
  RIDGELINE_F16 = 3,
  RIDGELINE_U8 = 4,
  RIDGELINE_I32 = 5,
  RIDGELINE_I64 = 6,
  RIDGELINE_BOOL = 7,
  RIDGELINE_BYTES = 8, /* byte strings: see ridgeline_batch_text */
  RIDGELINE_DTYPE_IS_INT = 0x7fffffff
} ridgeline_dtype;

#endif
