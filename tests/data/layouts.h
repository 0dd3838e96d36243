// tests/data/layouts.h
//
// Folders as people have them, and the report about each.
#pragma once

#include <string>
#include <vector>

namespace ridgeline::data::testing {

struct Layouts {
  const char* name;
  std::vector<const char*> entries;  // in the notation of make() in what_a_folder_holds_test.cpp
  std::string said;                  // DIR is the folder
};
struct CaseLayout {
  const char* name;
  std::string said;
};

// clang-format off
inline const std::vector<Layouts> kLayouts{
    {"the usual",
     {"train/a/1.jpg", "train/b/1.jpg", "val/a/1.jpg", "val/b/1.jpg"},
     "data: DIR: train/ 2 images in 2 classes (training), val/ 2 images in 2 classes (validation)\n"},
    {"words in other cases",
     {"Training/a/1.jpg", "Training/b/1.jpg", "VALIDATION/a/1.jpg", "VALIDATION/b/1.jpg", "Test/a/1.jpg", "Test/b/1.jpg"},
     "data: DIR: Training/ 2 images in 2 classes (training), VALIDATION/ 2 images in 2 classes (validation)\n"
     "not used: Test/ (2 images; evaluate --split=test)\n"},
    {"dev and eval: the first of the list",
     {"train/a/1.jpg", "train/b/1.jpg", "dev/a/1.jpg", "dev/b/1.jpg", "eval/a/1.jpg", "eval/b/1.jpg"},
     "data: DIR: train/ 2 images in 2 classes (training), dev/ 2 images in 2 classes (validation)\n"
     "not used: eval/ (2 images; dev/ is taken)\n"},
    {"test alone beside training",
     {"train/a/1.jpg", "train/b/1.jpg", "testing/a/1.jpg", "testing/b/1.jpg"},
     "data: DIR: train/ 2 images in 2 classes (training), testing/ 2 images in 2 classes (validation)\n"
     "validation is read from testing/, the only part beside training: a model that is chosen by it is not tested by it\n"},
    {"test alone",
     {"test/a/1.jpg", "test/b/1.jpg"},
     "data: DIR: test/ 2 images in 2 classes (validation)\n"
     "validation is read from test/, the only part there is: a model that is chosen by it is not tested by it\n"},
    {"an unlabelled validation part",
     {"train/a/1.jpg", "train/b/1.jpg", "valid/1.jpg", "valid/2.jpg"},
     "data: DIR: train/ 2 images in 2 classes (training)\n"
     "not used: valid/ (2 images; predict, there are no class folders)\n"},
    {"an unlabelled part and one with labels",
     {"train/a/1.jpg", "train/b/1.jpg", "val/1.jpg", "test/a/1.jpg", "test/b/1.jpg"},
     "data: DIR: train/ 2 images in 2 classes (training), test/ 2 images in 2 classes (validation)\n"
     "not used: val/ (1 image; predict, there are no class folders)\n"
     "validation is read from test/, the only part beside training: a model that is chosen by it is not tested by it\n"},
    {"two folders to train on",
     {"train/a/1.jpg", "train/b/1.jpg", "Train/a/1.jpg", "Train/b/1.jpg"},
     "error: DIR holds two training parts, Train/ and train/: which of them is meant? Give one another name\n"},
    {"an empty training part",
     {"train/", "val/a/1.jpg", "val/b/1.jpg"},
     "error: DIR/train holds no data: looked for DIR/train/<class>/* (images); it is empty\n"},
    {"an empty validation part",
     {"train/a/1.jpg", "train/b/1.jpg", "val/"},
     "data: DIR: train/ 2 images in 2 classes (training)\n"
     "not used: val/ (holds no data)\n"},
    {"with an empty val, test is the validation part",
     {"train/a/1.jpg", "train/b/1.jpg", "val/", "test/a/1.jpg", "test/b/1.jpg"},
     "data: DIR: train/ 2 images in 2 classes (training), test/ 2 images in 2 classes (validation)\n"
     "not used: val/ (holds no data)\n"
     "validation is read from test/, the only part beside training: a model that is chosen by it is not tested by it\n"},
    {"classes alone",
     {"bus/1.jpg", "car/1.jpg", "car/2.PNG"},
     "data: DIR: 3 images in 2 classes (training)\n"},
    {"classes called train and test",
     {"bus/1.jpg", "car/1.jpg", "tram/1.jpg", "test/1.jpg", "train/1.jpg"},
     "data: DIR: 5 images in 5 classes (training)\n"},
    {"parts with images and no classes",
     {"train/1.jpg", "test/1.jpg"},
     "data: DIR: train/ 1 image without class folders (predict, there are no class folders)\n"
     "not used: test/ (1 image; predict, there are no class folders)\n"
     "training refuses: DIR/train has images but no class folders: training needs DIR/train/<class>/*.jpg\n"},
    {"parts with images and no classes beside a folder of pictures",
     {"train/1.jpg", "test/1.jpg", "samples/1.jpg"},
     "error: DIR holds 'test', 'train', names of parts, with images and no class folders, beside 'samples': are these classes or parts? Training needs DIR/train/<class>/*\n"},
    {"a test part beside classes",
     {"bus/1.jpg", "car/1.jpg", "test/bus/1.jpg", "test/car/1.jpg"},
     "error: DIR holds 'test', with folders of images as a part has, beside 'bus', 'car': are these classes or parts? Put the images to train on into DIR/train/<class>/*\n"},
    {"parts and a folder beside",
     {"train/a/1.jpg", "train/b/1.jpg", "val/a/1.jpg", "val/b/1.jpg", "samples/1.jpg", "notes/a.txt", "empty/"},
     "data: DIR: train/ 2 images in 2 classes (training), val/ 2 images in 2 classes (validation)\n"
     "not used: empty/ (no images), notes/ (no images), samples/ (1 image; beside the parts)\n"},
    {"Spanish words",
     {"entrenamiento/a/1.jpg", "entrenamiento/b/1.jpg", "prueba/a/1.jpg", "prueba/b/1.jpg"},
     "data: DIR: 4 images in 2 classes (training)\n"
     "training refuses: [image_folder] DIR holds 'entrenamiento', 'prueba', which speak of parts and not of classes: name them train, val and test (a link will do)\n"},
    {"French words as a Mac writes them",
     {"entrai\xcc\x82nement/a/1.jpg", "entrai\xcc\x82nement/b/1.jpg", "essai/a/1.jpg", "essai/b/1.jpg"},
     "data: DIR: 4 images in 2 classes (training)\n"
     "training refuses: [image_folder] DIR holds 'entrai\xcc\x82nement', 'essai', which speak of parts and not of classes: name them train, val and test (a link will do)\n"},
    {"Chinese words",
     {"\xe8\xae\xad\xe7\xbb\x83\xe9\x9b\x86/a/1.jpg", "\xe8\xae\xad\xe7\xbb\x83\xe9\x9b\x86/b/1.jpg", "\xe6\xb5\x8b\xe8\xaf\x95\xe9\x9b\x86/a/1.jpg", "\xe6\xb5\x8b\xe8\xaf\x95\xe9\x9b\x86/b/1.jpg"},
     "data: DIR: 4 images in 2 classes (training)\n"
     "training refuses: [image_folder] DIR holds '\xe6\xb5\x8b\xe8\xaf\x95\xe9\x9b\x86', '\xe8\xae\xad\xe7\xbb\x83\xe9\x9b\x86', which speak of parts and not of classes: name them train, val and test (a link will do)\n"},
    {"words with a year",
     {"train2017/a/1.jpg", "train2017/b/1.jpg", "val2017/a/1.jpg", "val2017/b/1.jpg"},
     "data: DIR: 4 images in 2 classes (training)\n"
     "training refuses: [image_folder] DIR holds 'train2017', 'val2017', which speak of parts and not of classes: name them train, val and test (a link will do)\n"},
    {"words of no language we know",
     {"jifunze/a/1.jpg", "jifunze/b/1.jpg", "mtihani/a/1.jpg", "mtihani/b/1.jpg"},
     "data: DIR: 4 images in 2 classes (training)\n"
     "warning: classes are the folders right in DIR: 'jifunze', 'mtihani' take the images of the folders below ('a', 'b'); the folders below are called alike, so if these are parts, name them train, val and test\n"},
    {"training set in a training set",
     {"training_set/training_set/cats/1.jpg", "training_set/training_set/dogs/1.jpg", "test_set/test_set/cats/1.jpg", "test_set/test_set/dogs/1.jpg"},
     "data: DIR: 4 images in 2 classes (training)\n"
     "training refuses: [image_folder] DIR holds 'test_set', 'training_set', which speak of parts and not of classes: name them train, val and test (a link will do)\n"},
    {"unpacked into a folder of its name",
     {"birds/train/a/1.jpg", "birds/train/b/1.jpg", "birds/val/a/1.jpg", "birds/val/b/1.jpg", "__MACOSX/birds/._train"},
     "data: DIR: 4 images in 1 class (training)\n"
     "not used: __MACOSX/ (1 entry; of a file system)\n"
     "training refuses: [image_folder] DIR holds 'birds' alone, which holds 'train', 'val', names of parts: give DIR/birds\n"},
    {"parts below classes",
     {"bus/train/1.jpg", "bus/val/1.jpg", "car/train/1.jpg", "car/val/1.jpg"},
     "data: DIR: 4 images in 2 classes (training)\n"
     "training refuses: [image_folder] DIR holds 'bus', 'car', each of which holds folders named as parts ('train', 'val'): the parts come first, DIR/train/bus\n"},
    {"one level too deep",
     {"train/images/bus/1.jpg", "train/images/car/1.jpg", "val/images/bus/1.jpg", "val/images/car/1.jpg"},
     "data: DIR: train/ 2 images in 1 class (training), val/ 2 images in 1 class (validation)\n"
     "training refuses: DIR/train holds one class folder, 'images', with 2 folders of images below it ('bus', 'car'): classes are the folders right in DIR/train, so move these up\n"},
    {"one class",
     {"train/a/1.jpg", "train/a/2.jpg", "val/a/1.jpg"},
     "data: DIR: train/ 2 images in 1 class (training), val/ 1 image in 1 class (validation)\n"
     "training refuses: DIR/train holds one class folder, 'a'\n"},
    {"classes with folders below",
     {"cat/2019/1.jpg", "cat/2020/1.jpg", "dog/1.jpg", "dog/2.jpg"},
     "data: DIR: 4 images in 2 classes (training)\n"
     "classes are the folders right in DIR: 'cat' takes the images of the folders below ('2019', '2020')\n"},
    {"an empty class",
     {"train/a/1.jpg", "train/b/", "val/a/1.jpg", "val/b/1.jpg"},
     "data: DIR: train/ 1 image in 2 classes (training), val/ 2 images in 2 classes (validation)\n"
     "broken: train/b/ no images in class folder\n"
     "training refuses: [image_folder] no images in class folder DIR/train/b (looked for .jpg, .jpeg, .jfif, .jpe, .png, .webp, .bmp, .dib)\n"},
    {"images beside classes and parts",
     {"1.jpg", "train/2.jpg", "train/a/1.jpg", "train/b/1.jpg", "val/a/1.jpg", "val/b/1.jpg", "val/b/3.jpg"},
     "data: DIR: train/ 2 images in 2 classes (training), val/ 3 images in 2 classes (validation)\n"
     "not used: 1 image right in train/ (beside the class folders), 1 image right in DIR (beside the parts)\n"},
    {"endings",
     {"train/a/1.jpg", "train/a/1.tif", "train/a/2.GIF", "train/a/notes.txt", "train/a/README", "train/b/1.jpeg", "train/b/labels.csv", "readme.md"},
     "data: DIR: train/ 2 images in 2 classes (training)\n"
     "not used: 1 without ending, 1 .csv, 1 .md, 1 .txt (no images), 1 .gif, 1 .tif (not decoded)\n"},
    {"what file systems drop",
     {"train/.DS_Store", "train/a/1.jpg", "train/a/._1.jpg", "train/a/Thumbs.db", "train/b/1.jpg", "train/b/._1.jpg", "train/b/Thumbs.db", "train/b/.ipynb_checkpoints/1.jpg", "lost+found/", "@eaDir/1.jpg/thumb.jpg", ".git/config"},
     "data: DIR: train/ 2 images in 2 classes (training)\n"
     "not used: train/.DS_Store (hidden), .git/ (1 entry; hidden), train/b/.ipynb_checkpoints/ (1 entry; hidden), @eaDir/ (1 entry; of a file system), 2 Thumbs.db (of a file system), lost+found/ (of a file system), 2 ._* such as ._1.jpg (of a Mac)\n"},
    {"links",
     {".photos/a/1.jpg", ".photos/b/1.jpg", "train -> .photos", "val -> .photos"},
     "data: DIR: train/ 2 images in 2 classes (training), val/ 2 images in 2 classes (validation)\n"
     "not used: .photos/ (2 entries; hidden)\n"
     "warning: train/ and val/ are the same folder: the accuracy would be that of images that were trained on\n"},
    {"a folder of parts among classes",
     {"cat/1.jpg", "dog/1.jpg", "set/train/cat/1.jpg", "set/val/cat/1.jpg"},
     "data: DIR: 4 images in 3 classes (training)\n"
     "training refuses: [image_folder] DIR holds 'cat', 'dog', 'set', of which 'set' holds 'train', 'val', names of parts: give DIR/set\n"},
    {"a FIFO and folders called like images",
     {"train/a/1.jpg", "train/a/2.jpg |", "train/b/1.jpg/3.jpg", "train/b/2.jpg"},
     "data: DIR: train/ 3 images in 2 classes (training)\n"
     "not used: train/a/2.jpg (is a FIFO)\n"
     "broken: train/a/2.jpg is a FIFO\n"
     "broken: train/b/1.jpg/ is a folder with the name of an image\n"},
    {"links to nothing and back",
     {"train/a/1.jpg", "train/a/2.jpg -> gone.jpg", "train/a/notes -> nowhere", "train/b/1.jpg", "train/b/up -> ..", "val -> nowhere", "test -> ."},
     "data: DIR: train/ 2 images in 2 classes (training)\n"
     "not used: train/a/2.jpg (is a link to nothing), test/ (is a link to a folder around it), val (is a link to nothing), 1 without ending (no images)\n"
     "broken: train/a/2.jpg is a link to nothing\n"
     "broken: train/b/up/ is a link to a folder around it\n"
     "training refuses: [image_folder] DIR/train/b/up is a link to a folder around it\n"},
    {"spaces and a newline",
     {"my data/train/class one/1 .jpg", "my data/train/class\ntwo/1.jpg", "my data/val/class one/1.jpg"},
     "data: DIR: 3 images in 1 class (training)\n"
     "training refuses: [image_folder] DIR holds 'my data' alone, which holds 'train', 'val', names of parts: give DIR/my data\n"},
    {"classes of two Unicode forms",
     {"train/caf\xc3\xa9/1.jpg", "train/cafe\xcc\x81/1.jpg", "train/tea/1.jpg"},
     "data: DIR: train/ 3 images in 3 classes (training)\n"
     "warning: the class folders 'cafe\xcc\x81' (6 bytes) and 'caf\xc3\xa9' (5 bytes) of train/ differ only by their Unicode form (NFC, NFD): they are two classes here, move the images of one into the other\n"},
    {"pictures alone",
     {"1.jpg", "2.jpg", "notes.txt"},
     "data: DIR: 2 images without class folders (predict, there are no class folders)\n"
     "not used: 1 .txt (no images)\n"
     "training refuses: DIR has images but no class folders: training needs DIR/<class>/*.jpg\n"},
    {"no pictures",
     {"a.txt", "b/c.csv", "b/d"},
     "error: DIR holds no data: looked for train/<class>/* and val/<class>/*, or <class>/* alone (images: .jpg, .jpeg, .jfif, .jpe, .png, .webp, .bmp, .dib), DIR/train-* and validation-* (TFRecords), *.ridge (packed), *.tar (WebDataset); it holds 1 without ending, 1 .csv, 1 .txt\n"},
    {"empty",
     {"x/y/"},
     "error: DIR holds no data: looked for train/<class>/* and val/<class>/*, or <class>/* alone (images: .jpg, .jpeg, .jfif, .jpe, .png, .webp, .bmp, .dib), DIR/train-* and validation-* (TFRecords), *.ridge (packed), *.tar (WebDataset); it holds 1 empty folder\n"},
    {"annotations of detection",
     {"images/train/1.jpg", "images/val/1.jpg", "labels/train/1.txt", "labels/val/1.txt"},
     "data: DIR: 2 images in 2 classes (training)\n"
     "not used: 2 .txt (no images)\n"
     "broken: labels/ no images in class folder\n"
     "training refuses: [image_folder] DIR holds 'images' alone, which holds 'train', 'val', names of parts: give DIR/images\n"},
    {"shards of slim",
     {"!flowers_train_00000-of-00002.tfrecord", "!flowers_train_00001-of-00002.tfrecord", "!flowers_validation_00000-of-00001.tfrecord", "labels.txt"},
     "data: DIR: flowers_train_*.tfrecord 2 files of TFRecords (training), flowers_validation_*.tfrecord 1 file of TFRecords (validation)\n"
     "not used: 1 .txt (no images)\n"},
    {"shards of TensorFlow Datasets",
     {"!cats-train.tfrecord-00000-of-00001", "!cats-test.tfrecord-00000-of-00001", "features.json", "label.labels.txt"},
     "data: DIR: cats-train.tfrecord-* 1 file of TFRecords (training), cats-test.tfrecord-* 1 file of TFRecords (validation)\n"
     "not used: 1 .json, 1 .txt (no images)\n"
     "validation is read from cats-test.tfrecord-*, the only part beside training: a model that is chosen by it is not tested by it\n"},
    {"shards in folders",
     {"!train/data-00000-of-00001", "!train/validation-00000-of-00001", "!validation/data-00000-of-00001", "train/data-00000-of-00001.idx"},
     "data: DIR: train/data-* 1 file of TFRecords (training), validation/data-* 1 file of TFRecords (validation)\n"
     "not used: train/validation-* (1 file; named after another part than train/), 1 .idx (an index, not needed)\n"},
    {"shards and folders side by side",
     {"!train-00000-of-00001", "train/a/1.jpg", "train/b/1.jpg", "1.jpg"},
     "data: DIR: train-* 1 file of TFRecords (training)\n"
     "not used: 1 image right in DIR (TFRecords are taken), train/ (2 images; TFRecords are taken)\n"},
    {"a shard that is missing, and an empty one",
     {"!train-00000-of-00004", "!train-00003-of-00004", "?train-00001-of-00004", "!test-00000-of-00001.gz", "!validation-00000-of-00001"},
     "data: DIR: train-* 3 files of TFRecords (training), validation-* 1 file of TFRecords (validation)\n"
     "not used: test-*.gz (1 file; evaluate --split=test)\n"
     "broken: train-00001-of-00004 is empty\n"
     "broken: train-00002-of-00004 is missing: 3 of 4 shards are there\n"},
    {"two sets of shards",
     {"!train-00000-of-00001", "!train-00000-of-00002", "!train-00001-of-00002"},
     "data: DIR: train-* 3 files of TFRecords (training)\n"
     "broken: train-* are two sets in one folder, of 1 and of 2 shards: the images would come twice\n"},
    {"lists beside folders",
     {"train-labels.csv", "train-0.txt", "train_1", "train/a/1.jpg", "train/b/1.jpg", "val/a/1.jpg", "val/b/1.jpg"},
     "data: DIR: train/ 2 images in 2 classes (training), val/ 2 images in 2 classes (validation)\n"
     "not used: train_1 (1 file; does not begin as records do), 1 .csv, 1 .txt (no images)\n"},
    {"records without a part",
     {"!birds.tfrecord", "!trees.tfrecord"},
     "data: DIR: birds.tfrecord, trees.tfrecord 2 files of TFRecords (training)\n"},
    {"records with a part and one without",
     {"!train-0", "!val-0", "!more.tfrecord"},
     "data: DIR: train-0 1 file of TFRecords (training), val-0 1 file of TFRecords (validation)\n"
     "not used: more.tfrecord (1 file; the name tells no part)\n"},
    {"packed files",
     {"train.ridge", "val_224.ridge", "test.ridge", "other.ridge"},
     "data: DIR: train.ridge 1 file of packed images (training), val_224.ridge 1 file of packed images (validation)\n"
     "not used: test.ridge (1 file; evaluate --split=test), other.ridge (1 file; the name tells no part)\n"},
    {"packed files, records and folders",
     {"all.ridge", "!train-0", "train/a/1.jpg"},
     "data: DIR: all.ridge 1 file of packed images (training)\n"
     "not used: train/ (1 image; packed files are taken), train-0 (1 file; packed files are taken)\n"},
    {"MNIST",
     {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte"},
     "error: DIR holds no data: looked for train/<class>/* and val/<class>/*, or <class>/* alone (images: .jpg, .jpeg, .jfif, .jpe, .png, .webp, .bmp, .dib), DIR/train-* and validation-* (TFRecords), *.ridge (packed), *.tar (WebDataset); it holds 3 without ending\n"},
};

// Folders of RIDGELINE_CASES.
inline const std::vector<CaseLayout> kCases{
    {"class-named-train",
     "data: DIR: 24 images in 4 classes (training)\n"},
    {"csv-beside-train",
     "data: DIR: train/ 12 images in 2 classes (training), val/ 4 images in 2 classes (validation)\n"
     "not used: 1 .csv (no images)\n"},
    {"first-shard-without-class-0",
     "data: DIR: train-* 2 files of TFRecords (training), validation-* 1 file of TFRecords (validation)\n"},
    {"hidden-below-class",
     "data: DIR: train/ 12 images in 2 classes (training), val/ 6 images in 2 classes (validation)\n"
     "not used: train/.DS_Store (hidden), train/cat/.ipynb_checkpoints/ (1 entry; hidden), train/cat/Thumbs.db (of a file system)\n"},
    {"kaggle-unlabelled-test",
     "data: DIR: train/ 20 images in 2 classes (training)\n"
     "not used: test/ (5 images; predict, there are no class folders)\n"},
    {"one-level-too-deep",
     "data: DIR: train/ 12 images in 1 class (training), val/ 4 images in 1 class (validation)\n"
     "training refuses: DIR/train holds one class folder, 'images', with 2 folders of images below it ('bus', 'car'): classes are the folders right in DIR/train, so move these up\n"},
    {"other-formats",
     "data: DIR: train/ 24 images in 2 classes (training), val/ 4 images in 2 classes (validation)\n"
     "not used: 1 .gif, 1 .ppm, 1 .tif (not decoded)\n"},
    {"shard-1-missing",
     "data: DIR: train-* 2 files of TFRecords (training), validation-* 1 file of TFRecords (validation)\n"
     "broken: train-00001-of-00003 is missing: 2 of 3 shards are there\n"},
    {"slim-names",
     "data: DIR: flowers_train_*.tfrecord 1 file of TFRecords (training), flowers_validation_*.tfrecord 1 file of TFRecords (validation)\n"},
    {"train-valid-test",
     "data: DIR: train/ 12 images in 2 classes (training), valid/ 4 images in 2 classes (validation)\n"
     "not used: test/ (4 images; evaluate --split=test)\n"},
    {"val-lacks-a-class",
     "data: DIR: train/ 24 images in 4 classes (training), val/ 9 images in 3 classes (validation)\n"},
};
// clang-format on

}  // namespace ridgeline::data::testing
