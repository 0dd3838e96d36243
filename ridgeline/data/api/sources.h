// ridgeline/data/api/sources.h
//
// Where records come from. Each function makes a Dataset of one node; files are opened when something asks for their
// content; columns that the arguments tell need none. Mistakes in the arguments are Errors at the call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/data/api/dataset.h"
#include "ridgeline/data/source/class_folders.h"

namespace ridgeline::data {

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.

// Class folders: DIR/<class>/**/*.jpg. Classes sorted by name give labels 0, 1, ... Columns: image bytes, label i32.
struct ImageFolderOptions {
  std::vector<std::string> extensions = image_extensions();  // lower case; the content decides how to decode
  bool recursive = true;                                     // folders below a class's, too
  // Class indexing: only these folders, with these labels (empty: 0, 1, ... in their order).
  std::vector<std::string> classes = {};
  std::vector<std::int64_t> labels = {};
};
Dataset ImageFolder(const std::string& dir, ImageFolderOptions options = {});

// How files of records are shared out and held.
struct RecordFileOptions {
  // Sharding by file: every file_shards-th file from file_shard on, no other is opened. Parts are as unequal as the
  // files. Dataset::shard shares out rows instead: parts are equal to a row, a shuffle below it mixes all files, and a
  // run goes on with another number of ranks (a state of a sharded-by-file run belongs to its number of parts).
  std::int64_t file_shards = 1;
  std::int64_t file_shard = 0;
  // Compressed files are held in memory inflated: the bytes of all of them together. Beyond is an Error.
  std::int64_t inflate_limit = std::int64_t{4} << 30;
};

// TFRecord shards of tf.train.Examples with the slim ImageNet keys (image/encoded, image/class/label,
// image/object/bbox). Plain, GZIP or ZLIB. Columns: image bytes, label i32.
enum class LabelBase {
  automatic,  // 0 if the first shard has a label 0, else 1
  zero,
  one,
};
// "auto", "0" or "1".
LabelBase parse_label_base(const std::string& text);
struct TFRecordOptions {
  LabelBase label_base = LabelBase::automatic;
  std::int64_t num_classes = 0;  // a label outside is an Error; 0: unknown, labels are not checked against it
  RecordFileOptions record_files = {};
};
// `pattern` as of a shell: "imagenet/train-*". Shards in the order of their names.
Dataset TFRecord(const std::string& pattern, TFRecordOptions options = {});
Dataset TFRecord(std::vector<std::string> files, TFRecordOptions options = {});

// A pair of idx files (plain or gz): images u8 [N,H,W] or [N,H,W,C], labels u8 or i32 [N]. Opened at once: their
// extents are part of the schema.
struct IdxOptions {
  std::int64_t label_base = 0;  // subtracted from stored labels
  bool transposed = false;      // pictures lie on their side (EMNIST)
  std::vector<std::string> class_names = {};
};
Dataset Idx(const std::string& images, const std::string& labels, IdxOptions options = {});

// Columns in memory, all with the same first extent. A u8 column "image" [N,H,W,C] can be transformed; others pass.
Dataset InMemory(std::vector<NamedTensor> columns);
// Whole files by shell pattern: columns image (bytes) and path.
Dataset Files(std::vector<std::string> patterns);

struct ExamplesOptions {
  std::string schema = "";                // JSON file with types and shapes; empty: as the first record shows them
  std::vector<std::string> columns = {};  // that are read; empty: all
  std::string label = "";                 // the column of these that holds the class: comes as label, i32; empty: none
  std::int64_t label_base = 0;            // subtracted from stored labels
  std::int64_t num_classes = 0;           // labels outside are errors; 0: unknown
  RecordFileOptions record_files = {};
};
// tf.train.Examples of any keys in TFRecord files: typed columns.
Dataset Examples(std::vector<std::string> files, ExamplesOptions options = {});

// "NAME:TYPE" for a column of a manifest: bytes (the default), i32, i64, f32, f64, and the last four with [] for lists.
struct ManifestOptions {
  std::vector<std::string> columns = {};  // empty: CSV all as bytes, JSON as the first line shows them
  std::string image = "";                 // column that names an image file: its bytes become the column image
  std::string root = "";                  // folder that image files are relative to; empty: the manifest's
  std::int64_t num_classes = 0;           // labels outside (column label) are errors; 0: unknown
};
Dataset JsonLines(const std::string& file, ManifestOptions options = {});
struct CsvOptions {
  ManifestOptions manifest = {};
  char delimiter = ',';
  bool header = true;  // false: the columns must be given
};
Dataset Csv(const std::string& file, CsvOptions options = {});

enum class CifarKind { cifar10, cifar100, cifar100_coarse };
// The binary files (data_batch_1.bin, train.bin, ...).
Dataset Cifar(std::vector<std::string> files, CifarKind kind = CifarKind::cifar10);

struct TarOptions {
  std::vector<std::string> image{"jpg", "jpeg", "png"};  // fields that may be the image
  std::string label = "cls";                             // field with the class as text; empty: no column label
  std::vector<std::string> fields = {};                  // further ones, as bytes
  std::int64_t num_classes = 0;                          // labels outside are errors; 0: unknown
};
// Tar archives in WebDataset's layout. Columns: image, label, the fields, key.
Dataset Tar(std::vector<std::string> files, TarOptions options = {});

// Ridgeline's own files of rows (ridgeline dataset pack).
Dataset Packed(std::vector<std::string> files, std::vector<std::string> columns = {});

// Rows from code of the user's own, by the name that register_generator or register_stream (ir/generators.h) got.
Dataset FromGenerator(const std::string& name);
Dataset FromStream(const std::string& name);

// A data set by its name: imagenet, cifar10, cifar100, mnist, fashion_mnist, flowers102, manifest, voc, coco, ...
// (format/dataset_recipes.h). With boxes: the columns boxes f32 [?,4] (fractions: top, left, bottom, right) and
// box_labels.
Dataset NamedSet(const std::string& set, const std::string& split, const std::string& root, bool boxes = false);
// NOLINTEND(readability-identifier-naming)

}  // namespace ridgeline::data
