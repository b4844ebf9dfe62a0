# SPDX-License-Identifier: ISC
"""Results as prove(1) reads them."""
import sys


class Tap:
    """Checks are counted and printed as they come."""

    def __init__(self):
        self.count = self.failed = self.skipped = 0

    def ok(self, good, text, why="", note=""):
        """why: what is wrong, when it is; note: behind the text, when not."""
        self.count += 1
        if good:
            print(f"ok {self.count} - {text}{note}", flush=True)
            return
        self.failed += 1
        print(f"not ok {self.count} - {text}", flush=True)
        lines = f"{text}: {why}" if why else text
        print("#   failed: " + lines.replace("\n", "\n#   "),
              file=sys.stderr, flush=True)  # prove shows only this
        if why:
            print("# " + why.replace("\n", "\n# "), flush=True)

    def skip(self, text, why):
        self.count += 1
        self.skipped += 1
        print(f"ok {self.count} - {text} # skip {why}", flush=True)

    def done(self):
        """Prints the plan; the exit status."""
        print(f"1..{self.count}")
        return 1 if self.failed else 0
