/*
 * Runs a pipeline given as JSON; it can stop and resume.
 *
 *     batches PIPELINE.json [STATE.json [BATCHES]]
 *
 * Prints the columns, then the labels and the mean pixel of every batch. With STATE.json it resumes from that file, if
 * it exists, and saves its position there; it stops after BATCHES batches. The JSON comes from
 * `ridgeline dataset export-json`, or from Dataset.to_json() in Python.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ridgeline_data.h"

static int failed(void) {
  fprintf(stderr, "%s\n", ridgeline_last_error());
  return 1;
}

static char* read_text(const char* path) {
  FILE* file = fopen(path, "rb");
  char* text = NULL;
  size_t size = 0, capacity = 0, got = 0;
  if (!file) return NULL;
  do {
    char* more = realloc(text, capacity += 65536);
    if (!more) break;
    text = more;
    got = fread(text + size, 1, capacity - size - 1, file);
    size += got;
  } while (got > 0);
  fclose(file);
  if (text) text[size] = 0;
  return text;
}

static void print_columns(ridgeline_batch* batch, const ridgeline_batch_info* info) {
  for (size_t i = 0; i < info->columns; ++i) {
    ridgeline_column column;
    if (ridgeline_batch_column_at(batch, i, &column) != RIDGELINE_OK) continue;
    printf("%s %s [", column.name, ridgeline_dtype_name(column.dtype));
    for (int axis = 0; axis < column.rank; ++axis) printf("%s%" PRId64, axis ? "," : "", column.shape[axis]);
    printf("]\n");
  }
}

/* The mean over samples, without padding. */
static double mean_of(const ridgeline_column* image, const ridgeline_batch_info* info) {
  const int64_t count = image->rank > 0 && image->shape[0] > 0 ? image->strides[0] * info->samples : 0;
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += image->dtype == RIDGELINE_F32 ? ((const float*)image->data)[i] : ((const unsigned char*)image->data)[i];
  return count ? sum / (double)count : 0;
}

static int print_batch(ridgeline_batch* batch) {
  ridgeline_batch_info info;
  ridgeline_column image, label;
  if (ridgeline_batch_get_info(batch, &info) != RIDGELINE_OK) return failed();
  if (info.epoch == 0 && info.index == 0) print_columns(batch, &info);
  if (ridgeline_batch_column(batch, "image", &image) != RIDGELINE_OK ||
      ridgeline_batch_column(batch, "label", &label) != RIDGELINE_OK)
    return failed();
  if ((image.dtype != RIDGELINE_F32 && image.dtype != RIDGELINE_U8) || label.dtype != RIDGELINE_I32) {
    fprintf(stderr, "this program shows images of f32 or u8 and labels of i32\n");
    return 1;
  }
  printf("epoch %" PRIu64 " batch %" PRIu64 ": mean %.6f, labels", info.epoch, info.index, mean_of(&image, &info));
  for (int64_t i = 0; i < info.samples; ++i) printf(" %d", ((const int32_t*)label.data)[i]);
  printf("\n");
  return 0;
}

int main(int argc, char** argv) {
  const char* state_path = argc > 2 ? argv[2] : NULL;
  const long most = argc > 3 ? strtol(argv[3], NULL, 10) : -1;
  ridgeline_dataset* dataset = NULL;
  ridgeline_iterator* iterator = NULL;
  ridgeline_batch* batch = NULL;
  ridgeline_options options;
  ridgeline_status status = RIDGELINE_OK;
  char *json, *state = NULL;
  int code = 0;
  if (argc < 2) {
    fprintf(stderr, "usage: %s PIPELINE.json [STATE.json [BATCHES]]\n", argv[0]);
    return 2;
  }
  if (!(json = read_text(argv[1]))) {
    fprintf(stderr, "cannot read %s\n", argv[1]);
    return 1;
  }
  status = ridgeline_dataset_from_json(json, &dataset);
  free(json);
  if (status != RIDGELINE_OK) return failed();

  ridgeline_options_init(&options);
  options.epochs = 2;
  if (state_path) options.start = state = read_text(state_path);
  status = ridgeline_iterator_create(dataset, &options, &iterator);
  free(state);
  if (status != RIDGELINE_OK) return failed();
  for (long i = 0; i != most && code == 0; ++i) {
    status = ridgeline_iterator_next(iterator, -1, &batch);
    if (status == RIDGELINE_END) break;
    if (status != RIDGELINE_OK) return failed();
    code = print_batch(batch);
    ridgeline_batch_free(batch);
  }
  if (state_path && ridgeline_iterator_save(iterator, state_path) != RIDGELINE_OK) return failed();
  ridgeline_iterator_free(iterator);
  ridgeline_dataset_free(dataset);
  return code;
}
