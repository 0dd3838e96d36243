// tests/support/shapes_archives.h
//
// The shapes data set as tar archives in WebDataset's layout.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/core/file.h"
#include "ridgeline/data/source/class_folders.h"
#include "ridgeline/data/source/image_folder.h"
#include "ridgeline/format/record/tar.h"

namespace ridgeline::testing {

struct ShapesArchives {
  bool cls = true;          // a field cls with the number
  bool json_name = false;   // a field json with {"id": n, "label": the name}
  bool in_folders = false;  // a sample of class c is c/000001, not 000001
};

// From the class folders in `dir`, one archive of every second image and one of the others: `to`000000.tar, ...
inline void write_shapes_archives(const std::string& dir, const std::string& to, const ShapesArchives& options) {
  const data::ClassFolders folders = data::list_class_folders(dir, data::image_extensions());
  for (std::size_t shard = 0; shard < 2; ++shard) {
    TarWriter writer(to + "00000" + std::to_string(shard) + ".tar");
    for (std::size_t i = shard; i < folders.files.size(); i += 2) {
      const auto label = static_cast<std::size_t>(folders.files[i].label);
      const std::string name = folders.classes[label];
      const std::string key = (options.in_folders ? name + "/" : "") + std::to_string(100000 + i);
      writer.add(key + ".jpg", read_file(folders.files[i].path));
      if (options.cls) writer.add(key + ".cls", std::to_string(label));
      if (options.json_name)
        writer.add(key + ".json", "{\"id\": " + std::to_string(i) + ", \"label\": \"" + name + "\"}");
    }
    writer.finish();
  }
}

}  // namespace ridgeline::testing
