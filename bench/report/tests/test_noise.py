# SPDX-License-Identifier: Apache-2.0
"""Tests of the detection of noise."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from report.command.noise import NoiseWatch, describe_noise, machine_seconds, process_seconds, record_notices


class Noise(unittest.TestCase):
    def test_notices(self) -> None:
        self.assertEqual(describe_noise("before the run", 2, 10.0, 0.5, 0.1, 0.3), [])
        busy, = describe_noise("during the run", 2, 10.0, 15.0, 0.0, 4.0)
        self.assertIn("1.5 of its 2 processors (load average 4.0)", busy)
        stolen, = describe_noise("during the run", 2, 10.0, 0.0, 1.0, 0.0)
        self.assertIn("5% of the processors' time", stolen)

    def test_work_of_this_process_is_not_noise(self) -> None:
        process, busy = process_seconds(), machine_seconds()[0]
        subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.4: pass"], check=True)
        process = process_seconds() - process
        self.assertGreater(process, 0.35)  # includes the ended child
        self.assertGreater(machine_seconds()[0] - busy, process - 0.1)

    def test_work_of_others_is_noise(self) -> None:
        processors = os.cpu_count() or 1
        busy_processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processors)]
        watch = NoiseWatch(sample_seconds=0.5)  # running children count as other processes
        self.assertIn("The machine was busy before the run", " ".join(watch.notices))
        for process in busy_processes:
            process.kill()
            process.wait()

    def test_spread_of_rounds(self) -> None:
        name = "max_exchange/host/forward/f32/ascending/text/B:1/N:8/C:8/T:1"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "results.json"
            for times, count in (([1.0, 1.01, 1.0, 0.99, 1.02, 1.0], 0), ([1.0, 1.5, 2.0, 1.1, 1.9, 1.4], 1)):
                rows = [{"name": name, "run_type": "iteration", "ns_per_element": t} for t in times]
                path.write_text(json.dumps({"context": {}, "benchmarks": rows}), encoding="utf-8")
                self.assertEqual(len(record_notices(path, [])), count)
                self.assertEqual(len(json.loads(path.read_text(encoding="utf-8"))["context"]["noise"]), count)
            self.assertEqual(record_notices(path, ["The machine was busy."])[0], "The machine was busy.")
