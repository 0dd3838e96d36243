// Stops a run over data and resumes it elsewhere. Uses only the data engine (links ridgeline_data).
//
//   example_data_resume FOLDER STATE
//
// Reads two batches of FOLDER/<class>/*.jpg with one worker and saves the position in the file STATE. A new iterator
// with four workers resumes from there and gives the same batches as the first one would have given.
#include <exception>
#include <iostream>
#include <string>

#include "ridgeline/core/random.h"
#include "ridgeline/data/data.h"

namespace data = ridgeline::data;

namespace {

// A hash of all pixels of the remaining batches.
std::uint64_t digest_of_rest(data::Iterator& it) {
  std::uint64_t digest = 0;
  while (const auto batch = it.next()) {
    const ridgeline::Tensor& images = batch->image();
    digest = ridgeline::hash64({static_cast<const char*>(images.raw()), images.byte_size()}, digest);
  }
  return digest;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: " << argv[0] << " FOLDER STATE\n";
    return 2;
  }
  try {
    const data::Dataset dataset = data::ImageFolder(argv[1])
                                      .shuffle()
                                      .map(data::RandomResizedCrop(32), data::RandomHorizontalFlip())
                                      .batch(4)
                                      .with_seed(7);
    data::Iterator first(dataset, {.workers = 1, .epochs = 2});
    for (int i = 0; i < 2 && first.next(); ++i) {
    }
    first.save(argv[2]);

    data::Iterator second(dataset, {.workers = 4, .epochs = 2});
    second.restore(argv[2]);
    const bool equal = digest_of_rest(first) == digest_of_rest(second);
    std::cout << "the rest of the run is " << (equal ? "the same" : "another one") << "\n";
    return equal ? 0 : 1;
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
