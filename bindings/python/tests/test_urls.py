"""Tar archives behind URLs, from a server of this process that fails now and then; plain and with a certificate."""

import gc
import http.server
import io
import os
import pathlib
import shutil
import ssl
import subprocess
import tarfile
import tempfile
import threading
import time
import unittest
from unittest import mock

import numpy as np

import ridgeline
from ridgeline import data

from support import digest_of, jpeg, run_python, threads


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        with server.lock:
            server.count += 1
            number = server.count
        content = server.files.get(self.path)
        if content is None or (server.faults and number % 5 == 0):
            self.send_response(404 if content is None else 503)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        part = content[first : last + 1]
        self.send_response(206)
        self.send_header("ETag", '"1"')
        self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        if server.faults and number % 7 == 0:
            part = part[: len(part) // 2]
            self.close_connection = True
        self.wfile.write(part)

    def log_message(self, *_):
        pass


class Urls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="ridgeline-urls-")
        rng = np.random.default_rng(3)
        files = {}
        for shard in range(3):
            path = f"{cls.dir}/s-{shard:02}.tar"
            with tarfile.open(path, "w") as tar:
                for i in range(8):
                    for name, content in ((f"{shard}{i}.jpg", jpeg(rng, 50, 60)), (f"{shard}{i}.cls", str(i % 4).encode())):
                        info = tarfile.TarInfo(name)
                        info.size = len(content)
                        tar.addfile(info, io.BytesIO(content))
            files[f"/s-{shard:02}.tar"] = pathlib.Path(path).read_bytes()
        cls.environment = mock.patch.dict(os.environ, {"no_proxy": "127.0.0.1,localhost", "XDG_CACHE_HOME": cls.dir})
        cls.environment.start()
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        cls.server.files, cls.server.count, cls.server.lock, cls.server.faults = files, 0, threading.Lock(), False
        cls.server.handle_error = lambda *_: None  # of clients that leave, or are killed
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.url = f"http://127.0.0.1:{cls.server.server_port}/s-{{00..02}}.tar"
        try:
            len(data.Tar([cls.url]))
        except ridgeline.Error as e:
            cls.tearDownClass()
            raise unittest.SkipTest(str(e)) if "libcurl, which is not there" in str(e) else e

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()
        cls.environment.stop()
        shutil.rmtree(cls.dir)

    def pipeline(self, files):
        made = data.Tar(files, num_classes=4, tries=8)
        return made.shuffle().map(data.RandomResizedCrop(16), data.RandomHorizontalFlip()).batch(5).with_seed(2)

    def test_the_same_bits_as_from_the_files_whatever_fails(self):
        here = digest_of(data.Iterator(self.pipeline([f"{self.dir}/s-*.tar"]), epochs=2))
        self.assertEqual(digest_of(data.Iterator(self.pipeline([self.url]), epochs=2)), here)
        self.server.faults = True
        try:
            self.assertEqual(digest_of(data.Iterator(self.pipeline([self.url]), epochs=2, workers=4)), here)
        finally:
            self.server.faults = False

    def test_a_killed_run_goes_on_in_the_middle_of_an_epoch(self):
        expected = [batch.records for batch in data.Iterator(self.pipeline([self.url]), epochs=2)]
        code = ("import json, os, signal, sys\nfrom ridgeline import data\n"
                "made = data.Tar([sys.argv[1]], num_classes=4, tries=8)\n"
                "made = made.shuffle().map(data.RandomResizedCrop(16), data.RandomHorizontalFlip()).batch(5).with_seed(2)\n"
                "it = data.Iterator(made, epochs=2)\nnext(it), next(it)\n"
                "print(json.dumps(it.state()), flush=True)\nos.kill(os.getpid(), signal.SIGKILL)")
        state = run_python(code, self.url).stdout
        rest = data.Iterator(self.pipeline([self.url]), epochs=2, workers=3, start=state)
        self.assertEqual([batch.records for batch in rest], expected[2:])

    def test_runs_that_are_dropped_leave_no_thread_and_no_connection(self):
        def once():
            it = data.Iterator(self.pipeline([self.url]), workers=3)
            next(it)

        def descriptors():
            gc.collect()
            count = 0
            for fd in os.listdir("/proc/self/fd"):
                try:
                    count += os.readlink(f"/proc/self/fd/{fd}").startswith("socket")
                except FileNotFoundError:  # closed meanwhile
                    pass
            return count

        def settled(least):  # the server closes its side when it sees that ours is closed
            for _ in range(200):
                if descriptors() <= least[0] and threads() <= least[1]:
                    break
                time.sleep(0.02)
            return descriptors(), threads()

        once()
        time.sleep(0.5)
        before = descriptors(), threads()
        for _ in range(60):
            once()
        self.assertLessEqual(settled(before), before)

    def test_errors_name_url_bytes_status_and_tries(self):
        with self.assertRaisesRegex(ridgeline.Error, r"s-03.tar: bytes 0 to 0: status 404 \(Not Found\), 1 try"):
            len(data.Tar([self.url.replace("02}", "03}")]))
        with self.assertRaisesRegex(ridgeline.Error, "only tar archives are read"):
            len(data.Files([self.url]))

    def test_a_server_that_is_away_is_no_bad_sample_and_the_run_goes_on_later(self):
        expected = [batch.records for batch in data.Iterator(self.pipeline([self.url]))]
        away = threading.Event()
        original = Handler.do_GET

        def do_get(handler):
            if away.is_set():
                handler.send_response(404)
                handler.send_header("Content-Length", "0")
                handler.end_headers()
                return
            original(handler)

        with mock.patch.object(Handler, "do_GET", do_get):
            it = data.Iterator(self.pipeline([self.url]), workers=1, slots=2, bad_samples="skip")
            delivered = [next(it).records]
            away.set()
            with self.assertRaises(ridgeline.UnreachableError) as raised:
                while True:
                    delivered.append(next(it).records)
            self.assertIsInstance(raised.exception, ridgeline.RunError)
            self.assertEqual(it.bad_samples(), 0)
            away.clear()
            rest = data.Iterator(self.pipeline([self.url]), start=it.state())
            self.assertEqual(delivered + [batch.records for batch in rest], expected)

    def test_ctrl_c_and_the_end_of_a_process_while_a_server_is_silent(self):
        code = ("import os, signal, socket, sys, threading, time\nfrom ridgeline import data\n"
                "made = data.Tar([sys.argv[1]], num_classes=4, stall_seconds=600).batch(4)\nlen(made)\n"
                "open(sys.argv[2], 'w').close()\n"
                "it = data.Iterator(made)\nthreading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
                "begin = time.time()\ntry:\n    next(it)\nexcept KeyboardInterrupt:\n    pass\n"
                "print(time.time() - begin < 2, flush=True)")
        flag = f"{self.dir}/silent"
        original = Handler.do_GET

        def silent(handler):
            if os.path.exists(flag):
                threading.Event().wait(40)
                handler.close_connection = True
                return
            original(handler)

        with mock.patch.object(Handler, "do_GET", silent):
            done = run_python(code, self.url, flag, timeout=30)
        os.remove(flag)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "True\n", ""))

    def test_ctrl_c_while_an_archive_is_opened(self):
        for what in ("len(made)", "data.Iterator(made)"):
            code = ("import os, signal, sys, threading, time\nfrom ridgeline import data\n"
                    "made = data.Tar([sys.argv[1]], num_classes=4, stall_seconds=600).batch(4)\n"
                    "threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
                    f"begin = time.time()\ntry:\n    {what}\nexcept KeyboardInterrupt:\n"
                    "    print(time.time() - begin < 3, flush=True)")

            def silent(handler):
                threading.Event().wait(20)
                handler.close_connection = True

            with self.subTest(what), mock.patch.object(Handler, "do_GET", silent):
                done = run_python(code, self.url, timeout=30)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "True\n", ""))

    def test_certificates_are_checked(self):
        if not shutil.which("openssl"):
            self.skipTest("no openssl to make a certificate with")
        key, certificate = f"{self.dir}/key.pem", f"{self.dir}/certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"], check=True,
                       capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.files, server.count, server.lock, server.faults = self.server.files, 0, threading.Lock(), False
        server.handle_error = lambda *_: None  # of those who do not trust it
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"https://localhost:{server.server_port}/s-{{00..02}}.tar"
        try:
            with self.assertRaisesRegex(ridgeline.Error, "(?i)certificate.*, 1 try"):
                len(data.Tar([url]))
            with mock.patch.dict(os.environ, {"CURL_CA_BUNDLE": certificate}):
                code = ("import sys\nfrom ridgeline import data\n"
                        "print(sum(int(b['label'].sum()) for b in data.Iterator(data.Tar([sys.argv[1]]).batch(6))))")
                self.assertEqual(run_python(code, url).stdout, "36\n")
        finally:
            server.shutdown()
            server.server_close()


if __name__ == "__main__":
    unittest.main()
