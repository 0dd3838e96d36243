"""The last link of the portable extension, with an old C library that is written here."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = ROOT / "bindings" / "python" / "portable" / "link.py"
EXTENSION = """
int shared_of_system(void);
void *old_function(void);
void *PyList_New(long);
#ifdef NEW
void *new_function(void);
#else
static void *new_function(void) { return 0; }
#endif
int helper(void) { return shared_of_system(); }
void *PyInit__core(void) { return helper() ? old_function() : new_function() ? new_function() : PyList_New(0); }
"""


class PortableLink(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ridgeline-portable-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "portable" / "glibc").mkdir(parents=True)
        (self.folder / "system").mkdir()
        (self.folder / "versions").write_text("OLD_1.0 { *; };")
        self.shared("void *old_function(void) { return 0; }", "portable/glibc/libold.so.6",
                    f"-Wl,--version-script={self.folder}/versions")
        self.library = self.shared("int shared_of_system(void) { return 1; }", "system/libpart.so")
        self.compile("int shared_of_system(void) { return 1; }", "part.o")
        subprocess.run(["ar", "rc", self.folder / "system" / "libpart.a", self.folder / "part.o"], check=True)

    def compile(self, text, name, *options):
        subprocess.run(["gcc", "-x", "c", "-fPIC", "-c", *options, "-", "-o", self.folder / name], input=text, text=True,
                       check=True)
        return str(self.folder / name)

    def shared(self, text, name, *options):
        path = self.folder / name
        subprocess.run(["gcc", "-x", "c", "-fPIC", "-shared", "-nodefaultlibs", "-", "-o", path,
                        f"-Wl,-soname,{path.name}", *options], input=text, text=True, check=True)
        return str(path)

    def link(self, *options):
        built = self.compile(EXTENSION, "extension.o", *options)
        self.result = self.folder / "_core.so"
        return subprocess.run([sys.executable, LINK, self.folder / "portable", "g++", "-shared", "-o", self.result, built,
                               self.library, "-ldl"], capture_output=True, text=True)

    def table(self, *options):
        return subprocess.run(["readelf", "--wide", *options, self.result], capture_output=True, text=True, check=True).stdout

    def test_libraries_are_archives_and_one_name_is_shown(self):
        done = self.link()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        needed = self.table("--dynamic")
        self.assertIn("[libold.so.6]", needed)
        self.assertNotIn("libpart", needed)
        self.assertNotIn("libc.so", needed)
        shown = [row.split()[7] for row in self.table("--dyn-syms").splitlines() if " GLOBAL " in row and " UND " not in row]
        self.assertEqual(shown, ["PyInit__core"])
        held = (self.folder / "_core.so.libraries").read_text().split()
        self.assertEqual(held[0], self.library)
        self.assertTrue(held[1].endswith("/libstdc++.a"), held)

    def test_a_name_that_nobody_defines_ends_the_link(self):
        done = self.link("-DNEW")
        self.assertEqual(done.returncode, 1)
        self.assertIn("defines new_function\n", done.stderr)
        self.assertFalse(self.result.exists())

    def test_a_library_without_an_archive_is_named(self):
        (self.folder / "system" / "libpart.a").unlink()
        done = self.link()
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{self.library}: no archive libpart.a", done.stderr)


if __name__ == "__main__":
    unittest.main()
