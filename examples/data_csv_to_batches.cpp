// Reads a CSV manifest into batches. Uses only the data engine (links ridgeline_data).
//
//   example_data_csv_to_batches MANIFEST.csv
//
// The header of the manifest has the column names: `file` is an image file (relative to the manifest), `label` its
// class. Prints the columns, and the labels of each batch; a row that cannot be read is an error with its line.
#include <exception>
#include <iostream>

#include "ridgeline/data/data.h"

int main(int argc, char** argv) {
  namespace data = ridgeline::data;
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " MANIFEST.csv\n";
    return 2;
  }
  try {
    const data::Dataset dataset = data::Csv(argv[1], {.manifest = {.columns = {"file", "label:i32"}, .image = "file"}})
                                      .map(data::Resize(64), data::CenterCrop(64))
                                      .batch(4);
    // Known from the declared columns: the file has not been opened yet.
    std::cout << data::to_string(dataset.columns()) << "\n";
    data::Iterator it(dataset);
    while (const auto batch = it.next()) {
      std::cout << "batch " << batch->index() << ":";
      for (std::int64_t i = 0; i < batch->samples(); ++i) std::cout << " " << batch->label().data<std::int32_t>()[i];
      std::cout << "\n";
    }
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
