"""The rules of house.py on small made-up trees: each breach is found, and a clean tree passes."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import house  # noqa: E402


class House(unittest.TestCase):
    def setUp(self):
        self._directory = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self._directory.name)
        for folder in house.FOLDERS:
            self.write(f"ridgeline/{folder}/a.h", "#pragma once\n#include <vector>\n")
            self.write(f"docs/{folder}.md", "page\n")
        for folder, parts in house.PARTS.items():
            for part in parts:
                self.write(f"ridgeline/{folder}/{part}/a.h", "#pragma once\n")
        self.write("docs/README.md", "".join(f"[{folder}]({folder}.md)\n" for folder in house.FOLDERS))

    def tearDown(self):
        self._directory.cleanup()

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def found(self, **options):
        return list(house.breaches(self.root, **options))

    def assert_only(self, *fragments):
        found = self.found()
        self.assertEqual(len(found), 1, found)
        for fragment in fragments:
            self.assertIn(fragment, found[0])

    def test_a_clean_tree_passes(self):
        self.assertEqual(self.found(), [])

    def test_every_direction_of_every_pair_of_folders(self):
        for i, ours in enumerate(house.FOLDERS):
            for j, theirs in enumerate(house.FOLDERS):
                self.write(f"ridgeline/{ours}/b.cpp", f'#include "ridgeline/{theirs}/a.h"\n')
                allowed = i <= j and (ours, theirs) != ("graph", "data")
                self.assertEqual(self.found() == [], allowed, f"{ours} includes {theirs}")
                (self.root / f"ridgeline/{ours}/b.cpp").unlink()

    def test_no_kernel_of_a_card_has_atomics(self):
        kernel = "ridgeline/device/cuda/kernels/sum.h"
        self.write(kernel, "// no atomics here\nvoid add(float* to, float x) { *to += x; }\n")
        self.write("ridgeline/device/cuda/comm/c.cpp", "std::atomic<int> alive;\n")  # the host's code may
        self.assertEqual(self.found(), [])
        for code in ("atomicAdd(to, x);", 'asm("red.global.add.f32 [%0], %1;");', 'text += "atom.add.f32";'):
            self.write(kernel, f"\n{code}\n")
            self.assert_only(f"{kernel}:2", "no atomic operation")

    def test_the_two_graphs_are_strangers(self):
        self.write("ridgeline/graph/ir/b.h", '#include "ridgeline/data/a.h"\n')
        self.assert_only("ridgeline/graph/ir/b.h:1", "graph/ and data/ know nothing of each other")

    def test_what_belongs_to_one_device_is_included_by_devices_alone(self):
        self.write("ridgeline/device/cpu/c.h", "")
        self.write("ridgeline/device/c.cpp", '#include "ridgeline/device/cpu/c.h"\n')
        self.assertEqual(self.found(), [])
        for folder in ("cli", "train", "nn", "compile"):
            self.write(f"ridgeline/{folder}/c.cpp", '#include "ridgeline/device/cpu/c.h"\n')
            self.assert_only(f"ridgeline/{folder}/c.cpp:1", "knows devices by their contract alone")
            (self.root / f"ridgeline/{folder}/c.cpp").unlink()

    def test_graph_parts_come_in_order(self):
        self.write("ridgeline/graph/grad/b.cpp", '#include "ridgeline/graph/op/a.h"\n')
        self.assertEqual(self.found(), [])
        self.write("ridgeline/graph/ir/b.cpp", '#include "ridgeline/graph/loop/a.h"\n')
        self.assertEqual(self.found(), [])
        self.write("ridgeline/graph/pass/b.cpp", '\n  #  include "ridgeline/graph/grad/a.h"\n')
        self.assert_only("ridgeline/graph/pass/b.cpp:2", "graph/grad lies above graph/pass")
        self.write("ridgeline/graph/pass/b.cpp", '#include "ridgeline/graph/misc/a.h"\n')
        self.write("ridgeline/graph/misc/a.h", "")
        self.assert_only("graph/misc is not in the list")

    def test_the_parts_of_data_have_an_order(self):
        self.write("ridgeline/data/runtime/b.cpp", '#include "ridgeline/data/pass/a.h"\n')
        self.write("ridgeline/data/source/b.cpp", '#include "ridgeline/data/ir/a.h"\n')
        self.assertEqual(self.found(), [])
        self.write("ridgeline/data/pass/b.cpp", '#include "ridgeline/data/runtime/a.h"\n')
        self.assert_only("ridgeline/data/pass/b.cpp:1", "data/runtime lies above data/pass")

    def test_the_data_graph_knows_no_source_and_no_transform(self):
        for part in ("source", "transform"):
            self.write("ridgeline/data/ir/b.cpp", f'#include "ridgeline/data/{part}/a.h"\n')
            self.assert_only("ridgeline/data/ir/b.cpp:1", f"data/{part} lies above data/ir")

    def test_the_library_of_training_knows_no_recipe(self):
        self.write("ridgeline/train/recipe/b.cpp", '#include "ridgeline/train/a.h"\n#include "ridgeline/train/callback/a.h"\n')
        self.write("ridgeline/train/doctor/b.cpp", '#include "ridgeline/train/recipe/a.h"\n')
        self.assertEqual(self.found(), [])
        self.write("ridgeline/train/b.cpp", '#include "ridgeline/train/recipe/a.h"\n')
        self.assert_only("ridgeline/train/b.cpp:1", "train/recipe lies above train/")

    def test_angle_brackets_and_highway_targets_count(self):
        self.write("ridgeline/core/b.cpp", "#include <ridgeline/image/a.h>\n")
        self.assert_only("image/ lies above core/")
        self.write("ridgeline/core/b.cpp", '#define HWY_TARGET_INCLUDE "ridgeline/train/a.h"\n')
        self.assert_only("train/ lies above core/")

    def test_unknown_folders_are_refused(self):
        self.write("ridgeline/misc/a.h", '#include "ridgeline/core/a.h"\n')
        self.write("docs/misc.md", "page\n")
        self.write("docs/README.md", (self.root / "docs/README.md").read_text() + "(misc.md)\n")
        self.assert_only("ridgeline/misc is not in the list")

    def test_includes_exist_and_carry_their_full_path(self):
        self.write("ridgeline/core/b.h", '#include "ridgeline/core/none.h"\n')
        self.assert_only("there is no ridgeline/core/none.h")
        self.write("ridgeline/core/b.h", '#include "a.h"\n')
        self.assert_only("a.h is included without its full path")
        self.write("ridgeline/core/b.h", '#include "hwy/foreach_target.h"\n')
        self.assertEqual(self.found(), [])

    def test_text_libraries_stay_in_cpp_files(self):
        for name in ("fmt/format.h", "nlohmann/json.hpp", "spdlog/spdlog.h", "CLI/CLI.hpp"):
            self.write("ridgeline/core/b.cpp", f"#include <{name}>\n")
            self.assertEqual(self.found(), [])
            self.write("ridgeline/core/b.h", f"#include <{name}>\n")
            self.assert_only(f"ridgeline/core/b.h:1: {name} belongs into a .cpp file")
            (self.root / "ridgeline/core/b.h").unlink()
        self.write("ridgeline/core/b.h", "#include <nlohmann/json_fwd.hpp>\n")
        self.assertEqual(self.found(), [])

    def test_long_files_need_a_reason(self):
        self.write("ridgeline/core/b.cpp", "\n" * 500)
        self.assertEqual(self.found(), [])
        self.write("ridgeline/core/b.cpp", "\n" * 501)
        self.assert_only("ridgeline/core/b.cpp: 501 lines")
        self.assertEqual(self.found(long_files={"ridgeline/core/b.cpp": "a table"}), [])
        self.write("ridgeline/core/b.cpp", "\n")
        self.assertIn("take it off the list", self.found(long_files={"ridgeline/core/b.cpp": "a table"})[0])
        self.assertIn("there is none", self.found(long_files={"ridgeline/core/c.cpp": "a table"})[0])
        self.write("tests/core/b_test.cpp", "\n" * 501)
        self.assert_only("tests/core/b_test.cpp: 501 lines")

    def test_folders_with_sources_have_a_page_that_the_index_names(self):
        self.write("docs/README.md", "".join(f"({folder}.md)" for folder in house.FOLDERS if folder != "optim"))
        self.assert_only("docs/README.md does not name optim.md")
        (self.root / "docs/optim.md").unlink()
        self.assert_only("docs/optim.md is missing")

    def test_links_of_pages_lead_somewhere(self):
        self.write("HACKING.md", "## Test data, `here`\n")
        self.write("docs/core.md", "[a](graph.md) [b](../HACKING.md#test-data-here) [c](https://there.example/x.md) [d](../ridgeline)\n")
        self.assertEqual(self.found(), [])
        self.write("docs/core.md", "[a](grapf.md)\n")
        self.assert_only("docs/core.md: the link grapf.md leads nowhere")
        self.write("docs/core.md", "[b](../HACKING.md#data)\n")
        self.assert_only("docs/core.md: the link ../HACKING.md#data leads nowhere")

    def test_paragraphs_of_pages_are_short_and_wrapped(self):
        self.write("docs/core.md", "# Core\n\n" + "one " * 60 + "\n\n- " + "two " * 29 + "\n  and\n\n| " + "cell " * 200 + "|\n")
        self.assert_only("docs/core.md:3: 240 columns")
        self.write("docs/core.md", ("word word word word word\n" * 24) + "\n```\n" + "code " * 200 + "\n```\n")
        self.assertEqual(self.found(), [])
        self.write("docs/core.md", "word word word word word\n" * 25)
        self.assert_only("docs/core.md:1: a paragraph of 125 words")
        self.write("docs/core.md", "page\n")
        self.write("docs/options.md", "word " * 200)
        self.assertEqual(self.found(), [])
        self.write("README.md", "line\n\n" * 76)
        self.assert_only("README.md: 152 lines")

    def test_words_that_are_read_twice_are_kept_out(self):
        self.write("ridgeline/core/b.cpp", "// A step cannot hang on it; endurance, deary, hung one.\n")
        self.assertEqual(self.found(), [])
        self.write("ridgeline/core/b.cpp", "\n// What is dear to make.\n")
        self.assert_only("ridgeline/core/b.cpp:2: 'dear': plainer is 'expensive'")
        self.write("ridgeline/core/b.cpp", "")
        self.write("docs/core.md", "An old value gives way.\n")
        self.assert_only("docs/core.md:1: 'gives way': plainer is 'is replaced by'")

    def test_the_program_reports_by_its_exit_status(self):
        command = [sys.executable, house.__file__, str(self.root)]
        self.assertEqual(subprocess.run(command, capture_output=True).returncode, 0)
        self.write("ridgeline/core/b.cpp", '#include "ridgeline/cli/a.h"\n')
        bad = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(bad.returncode, 1)
        self.assertIn("ridgeline/core/b.cpp:1: includes ridgeline/cli/a.h, but cli/ lies above core/", bad.stdout)
        self.assertEqual(subprocess.run(command[:2] + ["/nowhere"], capture_output=True).returncode, 2)


if __name__ == "__main__":
    unittest.main()
