// bindings/python/src/bind.h
//
// Shared by the parts of the extension: objects that Python holds, and the functions that bind each part.
#pragma once

#include <nanobind/nanobind.h>

#include "callables.h"
#include "ridgeline/core/unreachable_error.h"
#include "ridgeline/data/api/dataset.h"
#include "ridgeline/data/runtime/iterator.h"

namespace ridgeline::python {

// A transform or a dataset, and the Python objects that it refers to by name.
struct PyTransform {
  data::Transform transform;
  Tokens tokens;
};
struct PyDataset {
  data::Dataset dataset;
  Tokens tokens;
};

// Every Error of building a graph becomes a usage Error, except for a server that cannot be reached.
template <class F>
auto building(F&& build) {
  try {
    return build();
  } catch (const UnreachableError&) {
    throw;
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::failure) throw;
    throw Error(e.what(), ErrorKind::usage);
  }
}

// [(name, dtype, shape)]; -1 is an extent that varies.
nb::list columns_to_python(const data::Schema& schema);
data::Schema columns_from_python(nb::handle columns);

// Sets iterator settings by name (data/runtime/iterator_settings.h); None leaves a setting unchanged.
void set_iterator_options(data::IteratorOptions& options, nb::handle given);

void bind_dataset(nb::module_& m);
void bind_files(nb::module_& m);
void bind_found(nb::module_& m);
void bind_iterator(nb::module_& m);
void bind_mask_lines(nb::module_& m);

}  // namespace ridgeline::python
