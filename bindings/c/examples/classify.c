/*
 * Classifies images with a model file that `ridgeline export` wrote.
 *
 *     classify MODEL.rdgm IMAGE...
 *
 * Prints for every image its file, the most probable class and the probability, separated by tabs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ridgeline_infer.h"

static int failed(void) {
  fprintf(stderr, "%s\n", ridgeline_infer_last_error());
  return 1;
}

static void* read_bytes(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  char* bytes = NULL;
  size_t capacity = 0, got = 0;
  *size = 0;
  if (!file) return NULL;
  do {
    char* more = realloc(bytes, capacity += 65536);
    if (!more) break;
    bytes = more;
    got = fread(bytes + *size, 1, capacity - *size, file);
    *size += got;
  } while (got > 0);
  fclose(file);
  return bytes;
}

int main(int count, char** words) {
  ridgeline_model* model;
  ridgeline_model_info info = {sizeof info, 0, 0, 0, 0, 0, 0, 0};
  float* probabilities;
  if (count < 3) {
    fprintf(stderr, "usage: classify MODEL.rdgm IMAGE...\n");
    return 2;
  }
  if (ridgeline_model_load(words[1], NULL, &model) != RIDGELINE_OK ||
      ridgeline_model_describe(model, &info) != RIDGELINE_OK)
    return failed();
  probabilities = malloc((size_t)info.classes * sizeof *probabilities);
  if (!probabilities) return 1;
  for (int i = 2; i < count; ++i) {
    char name[256] = "";
    int64_t best = 0;
    size_t size;
    void* bytes = read_bytes(words[i], &size);
    const void* image = bytes;
    if (!bytes) {
      fprintf(stderr, "%s cannot be read\n", words[i]);
      return 1;
    }
    if (ridgeline_model_predict_encoded(model, &image, &size, 1, probabilities, NULL) != RIDGELINE_OK) return failed();
    free(bytes);
    for (int64_t k = 1; k < info.classes; ++k)
      if (probabilities[k] > probabilities[best]) best = k;
    if (ridgeline_model_class_name(model, best, name, sizeof name, NULL) != RIDGELINE_OK) return failed();
    printf("%s\t%" PRId64 "\t%s\t%.4f\n", words[i], best, name, probabilities[best]);
  }
  free(probabilities);
  return ridgeline_model_free(model) == RIDGELINE_OK ? 0 : failed();
}
