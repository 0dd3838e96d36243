#include "command.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "../values.h"
#include "ridgeline/cli/program.h"

namespace ridgeline::python {

void bind_command(nb::module_& m) {
  m.def(
      "command_line",
      [](nb::list words, std::vector<std::string> own_command, std::string own_python) {
        std::vector<std::string> texts{"ridgeline"};
        for (nb::handle word : words) texts.push_back(text_of(word));
        std::vector<char*> argv;
        for (std::string& text : texts) argv.push_back(text.data());
        argv.push_back(nullptr);
        cli::set_own_command(std::move(own_command));
        cli::set_own_python(std::move(own_python));
        const nb::gil_scoped_release unlocked;
        return cli::run_program(static_cast<int>(texts.size()), argv.data());
      },
      nb::arg("words"), nb::arg("own_command"), nb::arg("own_python"),
      "Runs one command of the program and returns its exit code. own_command: what starts the program once more; "
      "own_python: what runs a Python program.");
}

}  // namespace ridgeline::python
