// Files for rows that Python makes: their bytes, and the numbers of a mask. Other threads of Python run meanwhile.
#include <nanobind/ndarray.h>

#include <memory>
#include <string>
#include <string_view>

#include "bind.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/image/png/png.h"
#include "values.h"

namespace ridgeline::python {
namespace {

std::unique_ptr<image::PngValues> decoded(std::string_view file) {
  return std::make_unique<image::PngValues>(
      image::decode_png_values({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}));
}

template <class T>
nb::object array_of(std::unique_ptr<image::PngValues> values) {
  const std::size_t shape[] = {static_cast<std::size_t>(values->height), static_cast<std::size_t>(values->width)};
  void* memory = values->memory.data();
  const nb::capsule owner(values.release(), [](void* held) noexcept { delete static_cast<image::PngValues*>(held); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<2>>(memory, 2, shape, owner));
}

// u8 or u16 [height, width] of a path, or of bytes of Python's.
nb::object read_mask(nb::object file) {
  std::unique_ptr<image::PngValues> values;
  if (PyBytes_Check(file.ptr())) {
    const auto bytes = nb::borrow<nb::bytes>(file);
    const nb::gil_scoped_release unlocked;
    values = decoded({bytes.c_str(), bytes.size()});
  } else {
    const std::string path = text_of(file);
    const nb::gil_scoped_release unlocked;
    const std::string content = read_file(path);
    try {
      values = decoded(content);
    } catch (const Error& e) {
      throw Error(path + ": " + e.what());
    }
  }
  return values->bytes == 2 ? array_of<std::uint16_t>(std::move(values)) : array_of<std::uint8_t>(std::move(values));
}

// Python's own open() and read() give up the interpreter's lock several times, and wait for it again.
nb::bytes file_content(nb::object file) {
  const std::string path = text_of(file);
  const std::string content = [&] {
    const nb::gil_scoped_release unlocked;
    return read_file(path);
  }();
  return nb::bytes(content.data(), content.size());
}

}  // namespace

void bind_files(nb::module_& m) {
  m.def("read_mask", &read_mask);
  m.def("file_content", &file_content);
}

}  // namespace ridgeline::python
